// Package analysis reads what was decided on a campaign after its sale, from the decision log or from the ledger's own
// counts, and says whom the units went to, who was refused most, which rules spoke, and which accounts look like one
// hand. It reads the log once, from the front to the back, in memory that is bounded whatever the log holds: counts by
// reason, second and rule are exact; the lists of who had most come from Space-Saving counters and say their error;
// numbers of different accounts come from the smallest hashes and say theirs. It judges nobody: a cluster is a hint for
// a person, and nothing is blocked by it.
package analysis
