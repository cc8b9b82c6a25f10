package redis

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
)

// Put takes a campaign or its new settings over. It arms nothing: it looks at the gates and reads who holds claims, as
// far as that works within a second, and goes on without where it does not.
func (a *Admission) Put(ctx context.Context, set sluice.Campaign) error {
	a.mu.Lock()
	c := a.find(set.ID)
	fresh := c == nil
	if fresh {
		c = &campaign{a: a, id: set.ID, reader: make(chan struct{}, 1)}
		c.set.Store(&set)
		c.peers.Store(new([]string))
		c.flushed.Store(set.Epoch) // a node that did not know the campaign has promised nothing
		c.split(max(1, set.Shards))
		c.ranAt.Store(-int64(identityEvery)) // the first look compares
		all := maps.Clone(*a.byID.Load())
		all[set.ID] = c
		a.byID.Store(&all)
	}
	a.group(set.LimitGroup)
	a.mu.Unlock()
	if !fresh {
		a.update(c, set)
	}
	if active(&set, sluice.MillisOf(a.cfg.Now())) || fresh {
		call, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = a.refresh(call, c) // the watch goes on trying
	}
	return nil
}

// Arm takes over many campaigns, those of one limit group before anybody claims in them.
func (a *Admission) Arm(
	ctx context.Context, all []sluice.Campaign, progress func(campaign string, rows, of int64),
) error {
	for _, set := range all {
		if err := a.Put(ctx, set); err != nil {
			return err
		}
		if progress != nil {
			progress(set.ID, 0, 0)
		}
	}
	return nil
}

// group tells the campaigns of a limit group of each other. Callers hold a.mu.
func (a *Admission) group(name string) {
	if name == "" {
		return
	}
	var ids []string
	for id, c := range *a.byID.Load() {
		if c.set.Load().LimitGroup == name {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		peers := slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
		a.find(id).peers.Store(&peers)
	}
}

// split gives the campaign lanes for so many shards. Callers hold the lock, or are alone.
func (c *campaign) split(n int) {
	lanes := make([]*lane, n)
	for i := range lanes {
		lanes[i] = newLane(c, i)
	}
	c.lanes.Store(&lanes)
}

// update takes settings over. The epoch only grows.
func (a *Admission) update(c *campaign, set sluice.Campaign) {
	epoch := set.Epoch
	c.mu.Lock()
	old := c.set.Load()
	set.Epoch = old.Epoch
	if max(1, set.Shards) != c.shards() {
		c.split(max(1, set.Shards))
	}
	c.set.Store(&set)
	c.mu.Unlock()
	a.SetEpoch(c.id, epoch)
}

// SetEpoch tells of an epoch that was opened in the ledger. Claims of earlier ones that this node has promised are then
// settled by it, and Flushed tells when none is left. An earlier epoch than the one that is known changes nothing.
func (a *Admission) SetEpoch(id string, epoch int64) {
	c := a.find(id)
	if c == nil {
		return
	}
	c.mu.Lock()
	old := c.set.Load()
	if epoch <= old.Epoch {
		c.mu.Unlock()
		return
	}
	set := *old
	set.Epoch = epoch
	c.set.Store(&set)
	c.marker.Store(0)
	c.directIn.Store(0)
	c.mu.Unlock()
	a.promised.raise(id, epoch)
	a.flush(c)
}

// Retire lets go of who holds claims of campaigns that ended long ago, and says of how many campaigns. Replays of their
// claims are looked up in the ledger from then on. It is cheap; call it now and then.
func (a *Admission) Retire() (n int) {
	now := sluice.MillisOf(a.cfg.Now())
	for _, c := range *a.byID.Load() {
		set := c.set.Load()
		end := set.EndsAt
		if set.Control == sluice.ControlEnded {
			end = min(end, set.UpdatedAt)
		}
		over := now > end.Add(a.cfg.KeepEnded)
		if c.retired.CompareAndSwap(!over, over); over && c.holders.any() {
			c.holders.clear()
			n++
		}
	}
	return n
}

// Flushed gives, by campaign, the epoch before which this node holds no promise any more: for its heartbeat.
func (a *Admission) Flushed() map[string]int64 {
	all := map[string]int64{}
	for id, c := range *a.byID.Load() {
		all[id] = c.flushed.Load()
	}
	return all
}

// Standing gives the epochs in which this node admits, and the campaigns whose breaker is open, of those that are
// active: for its heartbeat.
func (a *Admission) Standing() sluice.NodeStanding {
	s := sluice.NodeStanding{Epochs: map[string]int64{}}
	now := sluice.MillisOf(a.cfg.Now())
	for id, c := range *a.byID.Load() {
		set := c.set.Load()
		if !active(set, now) {
			continue
		}
		s.Epochs[id] = set.Epoch
		for _, l := range *c.lanes.Load() {
			if open, _ := l.breaker.standing(); open {
				s.Cut = append(s.Cut, id)
				break
			}
		}
	}
	slices.Sort(s.Cut)
	return s
}

// Promised gives the claims of a campaign that were answered QUEUED in epochs before this one and have no outcome yet.
func (a *Admission) Promised(campaign string, before int64) []sluice.Claim {
	return a.promised.before(campaign, before, a.cfg.MaxPromised)
}

// Holds says whether this node answered QUEUED for a claim and has not been told of its outcome.
func (a *Admission) Holds(id sluice.ClaimID) bool {
	return a.promised.holds(id)
}

// Settled ends promises whose outcome is in the ledger.
func (a *Admission) Settled(ids []sluice.ClaimID) { a.promised.drop(ids) }

// Uncertain is called by a ledger that does not know whether it committed. The gates need nothing: what the ledger has
// to tell them stands in its own rows.
func (a *Admission) Uncertain([]string) {}

// flush settles the promises of epochs that are over, in the background, until none is left.
func (a *Admission) flush(c *campaign) {
	if !c.flushing.CompareAndSwap(false, true) {
		return
	}
	if !a.background(func() { a.flushOut(c) }) {
		c.flushing.Store(false)
	}
}

// Pauses between two tries to settle what was promised.
const (
	firstFlush = 10 * time.Millisecond
	lastFlush  = 500 * time.Millisecond
)

func (a *Admission) flushOut(c *campaign) {
	pause := firstFlush
	for {
		epoch := c.set.Load().Epoch
		if a.flushOnce(c, epoch) {
			c.flushed.Store(epoch)
			c.flushing.Store(false)
			// An epoch that came between the last look and the store above found the flush still running.
			if c.set.Load().Epoch == epoch || !c.flushing.CompareAndSwap(false, true) {
				return
			}
			continue
		}
		if !a.rest(pause) {
			c.flushing.Store(false)
			return
		}
		pause = min(2*pause, lastFlush)
	}
}

// flushOnce says whether nothing of an epoch before this one is promised, or under way to the ledger without a gate.
func (a *Admission) flushOnce(c *campaign, epoch int64) bool {
	if c.directs.Load() > 0 {
		return false
	}
	for {
		claims := a.promised.before(c.id, epoch, maxAsk)
		if len(claims) == 0 {
			return true
		}
		outcomes, err := a.settle(c, claims)
		if err != nil {
			a.cfg.Log.Warn("promised claims are not settled yet", "campaign", c.id, "claims", len(claims), "err", err)
			return false
		}
		var done []sluice.ClaimID
		for i := range outcomes {
			if ended(&outcomes[i]) {
				done = append(done, claims[i].ID)
				continue
			}
			a.promised.refused(claims[i].ID)
			a.cfg.Log.Error("the ledger refuses a promised claim", "claim", claims[i].ID.String(),
				"reason", outcomes[i].Reason.String())
		}
		a.promised.drop(done)
	}
}

// remind looks up the outcome of promised claims that nobody told of.
func (a *Admission) remind() {
	defer a.done.Done()
	tick := time.NewTicker(a.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
		for {
			ids := a.promised.overdue(a.mono())
			if len(ids) == 0 {
				break
			}
			ctx, cancel := context.WithTimeout(a.ctx, a.cfg.MaxWait)
			rows, err := a.deps.Ledger.ClaimRecords(ctx, ids)
			cancel()
			if err != nil {
				break
			}
			var done []sluice.ClaimID
			for id := range rows {
				done = append(done, id)
			}
			a.promised.drop(done)
		}
	}
}

// Campaign gives what the node knows of a campaign, with the epoch that it believes in.
func (a *Admission) Campaign(id string) (sluice.Campaign, bool) {
	c := a.find(id)
	if c == nil {
		return sluice.Campaign{}, false
	}
	return *c.set.Load(), true
}
