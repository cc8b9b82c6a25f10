package upkeep

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Campaigns lists what is on sale. Stocks, epochs and revisions are those of the last commit.
type Campaigns interface {
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
}

// Freezer stops a campaign whose figures are in doubt and tells people. Idempotent; it tries until that is recorded,
// and does not block.
type Freezer interface {
	Freeze(campaign, why string)
}

// FreezeFunc is a Freezer.
type FreezeFunc func(campaign, why string)

// Freeze calls f.
func (f FreezeFunc) Freeze(campaign, why string) { f(campaign, why) }

// Gates looks at the gates of campaigns. It takes whole campaigns, since shards and limit group say where a gate lies.
// Nothing of it changes a gate. ErrUnavailable may be asked again.
type Gates interface {
	// State tells of every shard that answered, in their order, each as of one moment; a shard without a gate has Armed
	// false. A shard that cannot be reached is left out and is the error.
	State(ctx context.Context, c sluice.Campaign) ([]sluice.ShardState, error)
	// Claims hands over all claims of a shard, in batches and in any order; the slice is used again. A claim that is there
	// throughout is handed over at least once, maybe twice; of one that comes, settles or ends meanwhile any state may be
	// seen. An error of each ends it.
	Claims(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.GateClaim) error) error
	// Lookup gives what the gates hold of these claims, whichever shard has them; a claim that no gate holds is absent.
	Lookup(ctx context.Context, c sluice.Campaign, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.GateClaim, error)
	// Pending hands over the claims of a shard that are admitted and not settled, whole, in batches.
	Pending(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.Claim) error) error
}

// Repairs changes gates. Each of it is idempotent, and any number of callers may do the same at once. ErrUnavailable
// and ErrUncertain may be asked again.
type Repairs interface {
	// Apply applies what the ledger has committed, in this order, and gives a result for each. An op of a later epoch
	// than the gate's, or for a gate that is not there, is kept; one of an earlier epoch is dropped. The results that
	// come with an error are those of the ops before it.
	Apply(ctx context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error)
	// Settled ends "pending" for claims that have a row in the ledger.
	Settled(ctx context.Context, claims []sluice.Claim) error
	// Complete brings the transfers that are under way between the campaign's shards to their end.
	Complete(ctx context.Context, c sluice.Campaign) error
	// Drop deletes a slice of a campaign's keys and says whether there is more: first everything but the claims of its
	// users, and with claims set these too. ErrConflict while there are claims that are not settled.
	Drop(ctx context.Context, c sluice.Campaign, claims bool) (more bool, err error)
}

// Armory builds gates for an epoch.
type Armory interface {
	// Seal stops admission in every shard of the campaign that answers, for good until an epoch of at least epoch is
	// armed, and tells of them as State does. A shard without a gate is sealed too: only an epoch as late is armed there.
	Seal(ctx context.Context, c sluice.Campaign, epoch int64) ([]sluice.ShardState, error)
	// Home gives the shard of c that a user's claims belong to.
	Home(c sluice.Campaign, user sluice.UserKey) int
	// Join puts rows of the ledger among the claims of a shard that is sealed for epoch c.Epoch: a claim is in the end
	// in the later of the states that gate and row have. What only the gate has stays. ErrConflict: it was armed for
	// this epoch, or sealed or armed for a later one.
	Join(ctx context.Context, c sluice.Campaign, shard int, rows []sluice.ClaimRow) error
	// Arm opens a shard for epoch c.Epoch with window, limit and revision of c and with available = share - Σ live units,
	// all of it at once; available may be below zero, where the ledger has given away what the gate had promised.
	// Outbox and pending claims stay. ErrConflict as for Join; arming again after it was done does nothing.
	Arm(ctx context.Context, c sluice.Campaign, shard int, share int64) error
}

// EpochLedger keeps the epochs of campaigns.
type EpochLedger interface {
	// OpenEpoch moves the campaign from epoch from to the next one; false: somebody else did.
	OpenEpoch(ctx context.Context, campaign string, from int64, cause sluice.EpochCause) (bool, error)
	// Reshard opens an epoch, planned, from which on the campaign has another number of shards.
	Reshard(ctx context.Context, campaign string, from int64, shards int) (bool, error)
	// EpochArmed records that the gates of an epoch are open. Idempotent.
	EpochArmed(ctx context.Context, campaign string, epoch int64) error
	Epochs(ctx context.Context, campaign string) ([]sluice.Epoch, error)
	// Nodes tells of every node's last heartbeat.
	Nodes(ctx context.Context) ([]sluice.Node, error)
}

// Rows reads the ledger's own account of a campaign.
type Rows interface {
	// Load reads a campaign and all its claims as of one moment: see sqldb.
	Load(ctx context.Context, campaign string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error) error
	// ClaimRows gives the rows that there are of these claims of a campaign.
	ClaimRows(ctx context.Context, campaign string, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.ClaimRow, error)
	// Totals gives a campaign's total, and what it has to be: what was created plus all adjustments, as of one moment.
	Totals(ctx context.Context, campaign string) (total, accounted int64, err error)
	// Verify recomputes a campaign from rows, as of one moment, at which permit is asked; nil: there is none.
	Verify(ctx context.Context, campaign string, permit func() sluice.Permit) (sluice.Verification, error)
	// PermitOps gives the first ops after a row that are not marked done, of one campaign, or of all for "".
	PermitOps(ctx context.Context, campaign string, after int64, limit int) ([]sluice.PermitOp, error)
}

// Ops keeps what the ledger has to tell the gates.
type Ops interface {
	PermitOps(ctx context.Context, campaign string, after int64, limit int) ([]sluice.PermitOp, error)
	// DonePermitOps marks ops as done. Idempotent.
	DonePermitOps(ctx context.Context, seqs []int64) error
}

// Settler is the one door to the ledger.
type Settler interface {
	// Settle writes claims in one transaction and gives their outcomes in order; it is idempotent by claim id.
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	ClaimRecords(ctx context.Context, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.ClaimRecord, error)
	// FailTries counts a failed try of each claim; the last of a bounded number makes a dead letter.
	FailTries(ctx context.Context, claims []sluice.Claim, reason string) ([]sluice.ClaimID, error)
}

// Letters lists dead letters: claims that wait for a person, and are nobody else's business.
type Letters interface {
	DeadLetters(ctx context.Context, q sluice.DeadLetterQuery) (sluice.Page[sluice.DeadLetter], error)
}

// Adjustments finishes decreases.
type Adjustments interface {
	// PendingAdjustments gives the decreases that are written down and not done, of all campaigns, each with the epoch
	// whose gates have to be asked.
	PendingAdjustments(ctx context.Context) ([]sluice.Adjustment, error)
	// FinishAdjustment writes down that a.Applied units (at most 0) were taken from the gates in epoch a.Epoch. It comes
	// back pending where the campaign's epoch has moved since: the gates have to be asked again.
	FinishAdjustment(ctx context.Context, a sluice.Adjustment) (sluice.Adjustment, error)
}

// RunLedger keeps the runs of the reconciler.
type RunLedger interface {
	// RecordRun gives the number of the run.
	RecordRun(ctx context.Context, r sluice.ReconcileRun) (id int64, err error)
}

// Leader elects one node for a job, by the ledger's clock.
type Leader interface {
	// Lead asks for the job for a term, or for one more term. The token grows with every new term of office.
	Lead(ctx context.Context, job, node string, term time.Duration) (token int64, leads bool, err error)
	// Resign gives the job up. Idempotent.
	Resign(ctx context.Context, job, node string) error
}
