package redis

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// asking is what admission asks of the gates while it sells; *Gates does it. ErrUnavailable: nothing was done. Any other
// error: it is not known; every call may be made again.
type asking interface {
	Admit(ctx context.Context, call AdmitCall) (AdmitReply, error)
	Dry(ctx context.Context, p Place, epoch int64, shard int) (Lease, error)
	Holders(ctx context.Context, p Place, shard int, from int64) (Holders, error)
	Pull(ctx context.Context, p Place, epoch int64, to int, want int64) (int64, error)
	Find(ctx context.Context, places []Place, id sluice.ClaimID) (sluice.Claim, bool, error)
}

// watching is what admission looks at, and what it tells the gates of the ledger; *Gates does it.
type watching interface {
	State(ctx context.Context, p Place) ([]sluice.ShardState, error)
	Apply(ctx context.Context, p Place, ops []sluice.PermitOp) ([]OpResult, error)
	Adjust(ctx context.Context, p Place, epoch, revision, delta int64) (took int64, r OpResult, err error)
}

// servers says which servers hold the gates; *Client does it.
type servers interface {
	// Identity gives the run id of each master by its address.
	Identity(ctx context.Context) (map[string]string, error)
}

// Truth is what admission needs of the ledger.
type Truth interface {
	// Settle writes claims in one transaction and gives their outcomes in order; it is idempotent by claim id.
	// ErrUnavailable: nothing was written. Any other error: it is not known what was.
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	// ClaimRecords gives the rows that there are of these claims.
	ClaimRecords(ctx context.Context, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.ClaimRecord, error)
	// BeginAdjustment writes an adjustment down: an increase is done by it, a decrease is pending. Idempotent by change id.
	BeginAdjustment(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
	// FinishAdjustment writes down that a.Applied units were taken from the gates in epoch a.Epoch. It comes back pending
	// where the campaign's epoch has moved since.
	FinishAdjustment(ctx context.Context, a sluice.Adjustment) (sluice.Adjustment, error)
	// DonePermitOps marks ops as done. Idempotent.
	DonePermitOps(ctx context.Context, seqs []int64) error
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
	// Await gives the claim's row as soon as there is one; ErrNotFound where there is none within wait.
	Await(ctx context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error)
}

// Publisher hands claims to the broker.
type Publisher interface {
	// Publish returns nil once the broker has confirmed all of them. Any error: some may have been published.
	Publish(ctx context.Context, claims []sluice.Claim) error
}
