// Package fault breaks the boundary to the store, for tests: each call can be refused, carried out with its answer
// lost, or held. It decides when a call fails; what that must mean is for the tests to say. Nothing in production
// imports it.
package fault
