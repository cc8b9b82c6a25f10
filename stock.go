package sluice

// Stock is the ledger's count of a campaign. Held units are settled and unpaid; a coupon's unit is sold at once.
// Total >= Held + Sold at every instant.
type Stock struct {
	Total, Held, Sold int64
}

// Free gives Total - Held - Sold.
func (s Stock) Free() int64 { return s.Total - s.Held - s.Sold }

// Permit is what admission says of a campaign at one instant. Queued units are decided and not committed yet.
type Permit struct {
	Available int64
	Queued    int64
}

// Adjustment is an operator's change of Total. Asked is what was wanted, Applied what was done: a decrease takes only
// what is available. Total and Revision are those after it.
type Adjustment struct {
	ChangeID string
	Campaign string
	Asked    int64
	Applied  int64
	Total    int64
	Revision int64
	At       Millis
	// Pending: a decrease that is written down and not done yet. Its units have to be taken from the gates under
	// Revision in Epoch, which is the campaign's at the time of the answer; Applied and Total are those of the end only
	// once it is done.
	Pending bool
	Epoch   int64
}

// PermitOpKind says what a PermitOp does to the permit.
type PermitOpKind uint8

// The kinds of PermitOp.
const (
	PermitRelease PermitOpKind = iota // a claim gives back units, limit units, or both
	PermitAdjust                      // the total changed by Units, negative for a decrease: those were taken before
	PermitSettled                     // a batch was committed: Units leave "queued"
	PermitTake                        // a claim that the permit does not know takes units of it; may leave a debt
)

// PermitOp is what a committed ledger transaction means for the permit. Truth first, then the permit: it is applied
// after the commit and before the transaction's caller hears of it.
type PermitOp struct {
	Kind       PermitOpKind
	Campaign   string
	Claim      ClaimID
	Units      int64 // units given back, settled, or by which the total changed
	LimitUnits int64 // units of the user's limit given back (release) or taken (take); >= 0
	// Of an operation that is on its way to another process, so that it is applied once and in its epoch:
	Seq      int64 // its row in the ledger; 0 where the permit is in this process
	Epoch    int64 // of the campaign when the operation was written, read under the campaign's lock
	Revision int64 // of an adjust
	// Quantity is what the claim of a release or a take had before any of it was given back; 0: all of it is meant. A
	// coupon claim gives back one coupon at a time: with it a gate that hears of a release before it hears of the claim
	// knows what is left, and with Seq it applies each of them once.
	Quantity int64
}

// PermitVerdict says what a gate made of a PermitOp.
type PermitVerdict uint8

// The verdicts. What was dropped belongs to an epoch that is over: the gate was loaded from the rows that say the same.
const (
	PermitKept    PermitVerdict = iota // the gate is missing, or in an epoch before it, or a revision is missing: later
	PermitDone                         // applied, now or before
	PermitDropped                      // never to be applied
)

// PermitResult is what applying a PermitOp came to. Taken and Epoch are of a decrease that was done: the units that all
// shards together gave for its revision, and their epoch.
type PermitResult struct {
	Verdict PermitVerdict
	Taken   int64
	Epoch   int64
}

// Verification is a campaign recomputed from rows.
type Verification struct {
	OK             bool
	Total          int64
	Available      int64 // what the permit says
	Queued         int64
	Held           int64
	Sold           int64
	UsersOverLimit int64
	UnitsOverTotal int64
	// Drift is Total - Available - Queued - Held - Sold, plus |counters - rows|, plus |Total - created - Σ adjustments|.
	Drift     int64
	CheckedAt Millis
}
