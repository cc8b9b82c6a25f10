// Package direct admits claims in the ledger itself: for several nodes on one database without Redis, and for the
// time in which Redis is away. It decides nothing: it gathers concurrent claims of one campaign into batches, which
// the ledger decides under the campaign's lock, and keeps from it those who cannot win, by a marker that lives for a
// second. It refuses to remember a permit: whatever it knows of a campaign is a copy that may be late.
package direct
