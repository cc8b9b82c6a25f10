package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// againAfter is how long a node that could not reach gates which others have armed meanwhile lets them be: it is cut
// off, and the sale goes on without it.
const againAfter = time.Minute

// degrading is a campaign's way to the ledger, step by step; one step at a time.
type degrading struct {
	busy      atomic.Bool
	sealed    int64         // owned by the step: the last epoch that the gates were sealed for
	opened    int64         // owned by the step: the last epoch in which claims went to the ledger
	notBefore time.Duration // owned by the step
}

// Degrade has claims go to the ledger although the gates can be reached, or ends that: the gates are armed anew then.
// It does not block; every node has to be told.
func (a *Admission) Degrade(on bool) { a.forced.Store(on) }

// degraded takes the next step of a campaign whose gates cannot be reached, where the policy says so, or of any
// where an operator does: open an epoch that is never armed, so that no gate anywhere admits; settle what this node
// promised; wait until all live nodes have; then admit in the ledger. It does not block.
func (a *Admission) degraded(c *campaign) {
	if a.deps.Fleet == nil || a.deps.Direct == nil {
		return
	}
	epoch := c.set.Load().Epoch
	wanted := a.forced.Load() || a.cfg.Policy == PolicyLedger && c.broken(a.cfg.DegradeAfter)
	if c.directIn.Load() == epoch || !wanted || !c.degrade.busy.CompareAndSwap(false, true) {
		return
	}
	started := a.background(func() {
		defer c.degrade.busy.Store(false)
		ctx, cancel := context.WithTimeout(a.ctx, a.cfg.MaxWait)
		defer cancel()
		if err := a.stepDown(ctx, c); err != nil {
			a.cfg.Log.Warn("degraded admission has to wait", "campaign", c.id, "err", err)
		}
	})
	if !started {
		c.degrade.busy.Store(false)
	}
}

// broken says whether some shard could not be reached for so long, and still cannot be.
func (c *campaign) broken(since time.Duration) bool {
	if !c.blind.Load() {
		return false
	}
	for _, l := range *c.lanes.Load() {
		if open, d := l.breaker.standing(); open && d >= since {
			return true
		}
	}
	return false
}

func (a *Admission) stepDown(ctx context.Context, c *campaign) error {
	forced := a.forced.Load()
	if !forced && a.mono() < c.degrade.notBefore {
		return nil
	}
	epochs, err := a.deps.Fleet.Epochs(ctx, c.id)
	if err != nil || len(epochs) == 0 {
		return err
	}
	last := epochs[len(epochs)-1]
	if last.Cause != sluice.EpochDegraded {
		if !forced && c.degrade.opened != 0 && last.Epoch > c.degrade.opened && last.ArmedAt != 0 {
			c.degrade.notBefore, c.degrade.opened = a.mono()+againAfter, 0
			return nil
		}
		opened, err := a.deps.Fleet.OpenEpoch(ctx, c.id, last.Epoch, sluice.EpochDegraded)
		if err != nil || !opened {
			return err // somebody else opened one: look again
		}
		last.Epoch++
		a.cfg.Log.Warn("an epoch without gates", "campaign", c.id, "epoch", last.Epoch, "asked_for", forced)
	}
	if forced && c.degrade.sealed != last.Epoch {
		a.sealFor(ctx, c, last.Epoch)
	}
	a.SetEpoch(c.id, last.Epoch)
	if c.flushed.Load() < last.Epoch {
		return nil // this node still holds promises
	}
	nodes, err := a.deps.Fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	for i := range nodes {
		if nodes[i].Alive() && nodes[i].ID != a.cfg.Node && nodes[i].Flushed[c.id] < last.Epoch {
			return nil // so does that one
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set.Load().Epoch == last.Epoch {
		c.degrade.opened = last.Epoch
		c.directIn.Store(last.Epoch)
	}
	return nil
}

// sealFor stops the gates that an operator does without, once: a node that does not know of the epoch, and counts as
// dead because the ledger is away for it, would promise there what the ledger sells. Gates that cannot be reached are
// left as they are, as they are where nobody asked.
func (a *Admission) sealFor(ctx context.Context, c *campaign, epoch int64) {
	if a.deps.Gates == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTime)
	defer cancel()
	c.degrade.sealed = epoch
	if _, err := a.deps.Gates.Seal(ctx, *c.set.Load(), epoch); err != nil {
		a.cfg.Log.Warn("gates are not sealed for an epoch without them", "campaign", c.id, "epoch", epoch, "err", err)
	}
}

// admitDirect has the ledger itself decide.
func (a *Admission) admitDirect(ctx context.Context, c *campaign, claim sluice.Claim) sluice.Decision {
	c.directs.Add(1)
	defer c.directs.Add(-1)
	if c.directIn.Load() == 0 || !a.bucket.take(a.mono()) {
		return busy(retryFullMS)
	}
	claim.Epoch = 0
	d := a.deps.Direct.Admit(ctx, claim)
	if d.Reason.Admitted() {
		c.holders.add(claim.ID.User())
	}
	return d
}

// Degraded says whether claims of a campaign go to the ledger now.
func (a *Admission) Degraded(id string) bool {
	c := a.find(id)
	return c != nil && c.directIn.Load() != 0
}

// bucket lets a rate through.
type bucket struct {
	rate, burst float64

	mu     sync.Mutex
	tokens float64
	at     time.Duration
}

func (b *bucket) take(now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.burst, b.tokens+(now-b.at).Seconds()*b.rate)
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
