// Package client is the Go SDK of Sluice: claims, orders and coupons of one buyer, redemptions of one merchant, and the
// payment side's notifications. It imports the standard library and the words of package sluice only.
//
// # Claims
//
// [Client.Claim] gets one claim through to an answer, and keeps three promises on the way:
//
//   - The request id is chosen before the first try. Whatever happens, the claim has one name, so it cannot be made
//     twice.
//   - After an answer that leaves the outcome open (a timeout, a broken connection, a 5xx, a reply that cannot be read)
//     the claim is not sent again. The client asks the server what became of it until it knows; only when the server
//     says that there is none is the same request id sent again.
//   - BUSY and TOO_FREQUENT are answered with patience: the client waits as long as the server asks it to, and a random
//     while longer, a bounded number of times.
//
// A refusal (SOLD_OUT, LIMIT_REACHED, NOT_STARTED and so on) is a value, not an error: look at [Claim.Won], then at
// [Claim.Code]. Errors are for a request that cannot be right ([Problem]) and for an outcome that stayed open
// ([UncertainError]); errors.Is matches both with the sentinels of package sluice.
//
// # Passes
//
// Where a campaign asks for a pass, Claim gets one by itself: it solves a proof of work, asks for one in place of
// other puzzles or hands them to [Client.Solver], signs each try where the pass came with a key, and waits for the
// buyer's own slot of a spread opening. [Client.Pass] earns a pass ahead, from ten minutes before the start. A pass is
// bound to [Client.Device]: one of a buyer's own program is kept with [LastingDevice].
//
// # Time
//
// All waiting goes by package time, so a test inside a testing/synctest bubble takes no time. Clocks are compared by
// [Client.SyncTime]; what the buyer's own clock says does not matter.
package client
