// Package challenge makes puzzles and judges answers: proof of work, a slider, a text image, and widgets of services
// that are asked by "siteverify". It decides whether an answer is right, whether it comes in time, and whether the
// puzzle was used before. It refuses to say who is asked for one, or what is given to whom solves it: that is the pass
// desk's.
//
// A challenge is stateless until it is answered. Its id says its kind, its times and a random nonce, under a keyed hash
// over these and whom it is for; what is to be found (a number, a position, a text) is another keyed hash of the nonce.
// So no answer is in what is sent, not even in cipher; a challenge of one node is judged by any other; and a crowd that
// asks and never answers costs no memory. What is remembered is that an answer was tried, in a store that nodes share.
package challenge
