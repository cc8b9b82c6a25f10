package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what the ledger tells the gates by the fast road. What does not fit, or fails, stays in the ledger, and the
// releaser carries it.
const (
	maxOps    = 1 << 16
	opsOfCall = 512
	maxDone   = 1000
)

// Permit says what is available and queued, and since when the campaign is sold out (zero while it is not), as the gates
// said at the last look: see Age. ok is false until they were seen once.
func (a *Admission) Permit(id string) (p sluice.Permit, soldOutAt sluice.Millis, ok bool) {
	c := a.find(id)
	if c == nil {
		return p, 0, false
	}
	s := c.seen.Load()
	if s == nil {
		return p, 0, false
	}
	return s.permit, s.soldOutAt, true
}

// Age says how old Permit's answer is; false where there is none.
func (a *Admission) Age(id string) (time.Duration, bool) {
	c := a.find(id)
	if c == nil || c.seen.Load() == nil {
		return 0, false
	}
	return a.mono() - c.seen.Load().at, true
}

// backlogged says whether so much is admitted and not settled that no more is taken on.
func (c *campaign) backlogged(bound int64) bool {
	s := c.seen.Load()
	return s != nil && s.permit.Queued > bound
}

// opQueue holds operations on their way to the gates.
type opQueue struct {
	wake chan struct{}

	mu  sync.Mutex
	ops []sluice.PermitOp
}

// Apply hands what committed transactions mean for the gates to them. It never blocks and promises nothing: whatever does
// not arrive stays in the ledger.
func (a *Admission) Apply(ops []sluice.PermitOp) {
	q := &a.ops
	q.mu.Lock()
	for i := range ops {
		if ops[i].Kind != sluice.PermitSettled && len(q.ops) < maxOps {
			q.ops = append(q.ops, ops[i])
		}
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *opQueue) take() (ops []sluice.PermitOp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.ops), opsOfCall)
	ops, q.ops = q.ops[:n:n], q.ops[n:]
	if len(q.ops) == 0 {
		q.ops = nil
	}
	return ops
}

// carry brings operations to the gates, in order.
func (a *Admission) carry() {
	defer a.done.Done()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.ops.wake:
		}
		for {
			ops := a.ops.take()
			if len(ops) == 0 {
				break
			}
			a.apply(ops)
		}
	}
}

func (a *Admission) apply(ops []sluice.PermitOp) {
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.MaxWait)
	defer cancel()
	results, err := a.look.Apply(ctx, ops)
	if err != nil {
		a.cfg.Log.Warn("operations wait for the releaser", "ops", len(ops), "err", err)
	}
	var done []int64
	for i := range results {
		if results[i].Verdict != sluice.PermitKept && i < len(ops) && ops[i].Seq != 0 {
			done = append(done, ops[i].Seq)
		}
	}
	for len(done) > 0 {
		n := min(len(done), maxDone)
		if err := a.deps.Ledger.DonePermitOps(ctx, done[:n]); err != nil {
			a.cfg.Log.Warn("operations that were applied are not marked; they are harmless twice", "ops", n, "err", err)
			return
		}
		done = done[n:]
	}
}

// maxAsks bounds how often a decrease asks the gates: each time but the first since the epoch moved.
const maxAsks = 4

// Adjust changes the campaign's total under a change id, before or during the sale, whichever node is asked. A decrease
// takes only what is available. The same change id with the same Asked gives the recorded answer; with another it is an
// ErrConflict. ErrUnavailable with the code ADJUSTMENT_PENDING: a decrease is written down and will be carried out; ask
// again with the same id.
func (a *Admission) Adjust(ctx context.Context, adj sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error) {
	old, err := a.deps.Adjustments.Adjustment(ctx, adj.ChangeID)
	switch {
	case err == nil && (old.Campaign != adj.Campaign || old.Asked != adj.Asked):
		return adj, sluice.NewFault(sluice.ErrConflict, "CHANGE_ID_REUSED", "the change id was used for another adjustment")
	case err == nil && !old.Pending:
		return old, nil
	case err != nil && !errors.Is(err, sluice.ErrNotFound):
		return adj, err
	}
	if adj.Asked >= 0 {
		adj.Applied = adj.Asked
		return a.increase(ctx, adj, by)
	}
	is, err := a.deps.Adjustments.BeginAdjustment(ctx, adj, by)
	for range maxAsks {
		if err != nil || !is.Pending {
			return is, err
		}
		a.SetEpoch(is.Campaign, is.Epoch)
		taken, err := a.takeBack(ctx, is)
		if err != nil {
			a.cfg.Log.Warn("a decrease waits for the gates", "change", adj.ChangeID, "err", err)
			break
		}
		is, err = a.deps.Adjustments.FinishAdjustment(ctx, adj.ChangeID, is.Epoch, taken, sluice.MillisOf(a.cfg.Now()))
		if err != nil {
			return is, err
		}
	}
	if !is.Pending {
		return is, nil
	}
	return is, sluice.NewFault(sluice.ErrUnavailable, "ADJUSTMENT_PENDING",
		"the decrease is written down and will be carried out; ask again with the same change id")
}

// takeBack takes the units of a decrease from the gates of its epoch.
func (a *Admission) takeBack(ctx context.Context, is sluice.Adjustment) (int64, error) {
	call, cancel := context.WithTimeout(ctx, a.cfg.MaxWait)
	defer cancel()
	results, err := a.look.Apply(call, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: is.Campaign, Units: is.Asked, Epoch: is.Epoch, Revision: is.Revision,
	}})
	switch {
	case err != nil:
		return 0, err
	case len(results) != 1 || results[0].Verdict != sluice.PermitDone || results[0].Epoch != is.Epoch:
		return 0, sluice.NewFault(sluice.ErrUnavailable, "ADJUSTMENT_PENDING", "the gates are of another epoch")
	}
	return results[0].Taken, nil
}

// increase writes more units down and hands them to the gates at once; should that fail the releaser does it.
func (a *Admission) increase(
	ctx context.Context, adj sluice.Adjustment, by sluice.Actor,
) (sluice.Adjustment, error) {
	is, err := a.deps.Adjustments.RecordAdjustment(ctx, adj, by)
	if err != nil {
		return is, err
	}
	c := a.find(is.Campaign)
	if c == nil {
		return is, nil
	}
	epoch := is.Epoch
	if epoch == 0 {
		epoch = c.set.Load().Epoch
	}
	call, cancel := context.WithTimeout(ctx, a.cfg.CallTime)
	defer cancel()
	if _, err := a.look.Apply(call, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: is.Campaign, Units: is.Applied, Epoch: epoch, Revision: is.Revision,
	}}); err != nil {
		a.cfg.Log.Warn("an increase waits for the releaser", "change", is.ChangeID, "err", err)
	}
	return is, nil
}
