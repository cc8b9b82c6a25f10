package redis

import (
	"context"
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

// firstEpoch is what a campaign is created with; its first arming opens the next one.
const firstEpoch = 1

// Permit says what is available and queued, and since when the campaign is sold out (zero while it is not), as the
// gates said at the last look: see Age. ok is false until they were seen once, and while a campaign that never had
// gates is armed for the first time: all of its stock is free then, and not sold out.
func (a *Admission) Permit(id string) (p sluice.Permit, soldOutAt sluice.Millis, ok bool) {
	c := a.find(id)
	if c == nil {
		return p, 0, false
	}
	s := c.seen.Load()
	if s == nil || !s.armed && s.epoch <= firstEpoch {
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

// Apply hands what committed transactions mean for the gates to them. It never blocks and promises nothing: whatever
// does not arrive stays in the ledger.
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
