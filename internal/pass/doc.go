// Package pass gives out passes, reads them, and checks the signatures of signed requests. A pass is a short text that
// says who may claim what, with which device and until when, under a key that all nodes share: reading one needs no
// store. The desk decides whether a buyer gets a pass or a challenge first; it makes no puzzle and judges no answer,
// and who looks suspicious is the gate's to say.
package pass
