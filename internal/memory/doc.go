// Package memory is admission on one machine: it decides in process memory who gets a unit, and answers CONFIRMED
// only once the ledger has committed the claim. Claims are decided as they arrive; the winners gather into a batch
// while the last one is being synced, and a batch is one transaction. Losers are answered from memory and never
// reach the disk.
//
// The state is a permit, the ledger the truth: it is rebuilt from rows at start, and read back whenever a commit
// failed. The package refuses to guess: what it does not know it answers BUSY or UNAVAILABLE.
package memory
