// Package gate decides on every claim: it walks the funnel, an ordered list of small checks, and the first check that
// has an answer gives it. What it refuses costs no disk, no network and no allocation.
//
// The gate knows campaigns, switches, blocks, audiences and keys from snapshots that others put in; it never reads them
// itself. It does not word its answers, knows no HTTP and keeps no units: the last check asks the Admitter.
package gate
