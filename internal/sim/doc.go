// Package sim plays seeded histories of a sale against the real admission and the real ledger: claims, copies,
// payments, cancels, expiries, adjustments, grants, redemptions, failing commits, crashes and restarts. Three
// judges watch: an oracle that knows from the history alone what every answer has to be; an auditor that recounts
// the rows with SQL of its own; and the ledger's own verify. A history is a pure function of its seed, so that a
// failing seed is a reproduction.
package sim
