package redis

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// asking is what admission asks of the gates while it sells; *Gates does it. ErrUnavailable: nothing was done. Any
// other error: it is not known; every call may be made again.
type asking interface {
	Admit(ctx context.Context, call AdmitCall) (AdmitReply, error)
	Pull(ctx context.Context, c *sluice.Campaign, to int, want int64) (int64, error)
	SoldOut(ctx context.Context, c *sluice.Campaign, to int) (SoldOut, error)
	Holders(ctx context.Context, c *sluice.Campaign, shard int, from int64) (Holders, error)
	Find(ctx context.Context, campaigns []sluice.Campaign, id sluice.ClaimID) (sluice.Claim, bool, error)
}

// watching is what admission looks at, and what it tells the gates of the ledger; *Gates does it.
type watching interface {
	State(ctx context.Context, c sluice.Campaign) ([]sluice.ShardState, error)
	Apply(ctx context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error)
	Replicated(ctx context.Context, c *sluice.Campaign, shard, replicas int) error
	Complete(ctx context.Context, c sluice.Campaign) error
	SameServer(ctx context.Context, c *sluice.Campaign, shard int) (bool, error)
}

// servers says which servers hold the gates; *Client does it.
type servers interface {
	// Identity gives the run id of each master by its address.
	Identity(ctx context.Context) (map[string]string, error)
}

// Ledger is what admission needs of the truth.
type Ledger interface {
	// Settle writes claims in one transaction and gives their outcomes in order; it is idempotent by claim id.
	// ErrUnavailable: nothing was written. Any other error: it is not known what was.
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	// ClaimRecords gives the rows that there are of these claims.
	ClaimRecords(ctx context.Context, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.ClaimRecord, error)
	// DonePermitOps marks ops as done. Idempotent.
	DonePermitOps(ctx context.Context, seqs []int64) error
}

// Adjustments is the ledger's book of changes to totals.
type Adjustments interface {
	// Adjustment gives what is recorded under a change id; ErrNotFound where there is nothing.
	Adjustment(ctx context.Context, changeID string) (sluice.Adjustment, error)
	// RecordAdjustment writes an increase; its units go to the gates by a permit operation. Idempotent by change id.
	RecordAdjustment(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
	// BeginAdjustment writes a decrease down as pending, with its revision and epoch. Idempotent by change id.
	BeginAdjustment(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
	// FinishAdjustment carries out a pending decrease of which the gates gave -done.Applied units in the epoch
	// done.Epoch. It comes back pending, with the present epoch, where the campaign's epoch has moved since.
	FinishAdjustment(ctx context.Context, done sluice.Adjustment) (sluice.Adjustment, error)
}

// Fleet is what degraded mode needs of the other nodes. It lies in the ledger.
type Fleet interface {
	// OpenEpoch moves the campaign from epoch from to the next one; false: somebody else did.
	OpenEpoch(ctx context.Context, campaign string, from int64, cause sluice.EpochCause) (bool, error)
	Epochs(ctx context.Context, campaign string) ([]sluice.Epoch, error)
	// Nodes tells of every node's last heartbeat.
	Nodes(ctx context.Context) ([]sluice.Node, error)
}

// Direct admits claims in the ledger itself, without any gate: see internal/direct. Idempotent by claim id.
type Direct interface {
	Admit(ctx context.Context, claim sluice.Claim) sluice.Decision
}

// Outcomes waits for what settling a claim comes to.
type Outcomes interface {
	// Await gives the claim as it stands once it has an outcome, or when wait is over: queued then.
	Await(ctx context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error)
}

// Publisher hands claims to the broker.
type Publisher interface {
	// Publish returns nil once the broker has confirmed all of them. Any error: some may have been published.
	Publish(ctx context.Context, claims []sluice.Claim) error
}
