// Package sluice holds the words of the flash-sale and coupon engine: campaigns, claims, orders, coupons, the reasons
// of a refusal and the transitions between states. It decides what a step means and whether it is allowed; it does no
// I/O, starts no goroutine and imports the standard library only. Everything else is built around it, in internal.
package sluice
