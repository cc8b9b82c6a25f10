package redis

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the watch.
const (
	identityEvery = 500 * time.Millisecond
	idleEvery     = 10               // a campaign that is not on sale is looked at on every so many-th round
	lookAhead     = 30 * time.Minute // a campaign counts as on sale so long before its start,
	lookAfter     = 10 * time.Minute // and after its end
	maxRefreshes  = 32               // campaigns that are looked at at once
	doubtEvery    = 500 * time.Millisecond
)

// seen is a campaign's gates as they were at one moment.
type seen struct {
	began     time.Duration
	at        time.Duration
	permit    sluice.Permit
	soldOutAt sluice.Millis
	epoch     int64 // that the node believed in
	armed     bool  // all shards, in this epoch
	live      int64
	shards    []sluice.ShardState
}

// active says whether a campaign is on sale, or about to be, or just was.
func active(set *sluice.Campaign, now sluice.Millis) bool {
	return set.Control != sluice.ControlDraft && now > set.StartsAt.Add(-lookAhead) && now < set.EndsAt.Add(lookAfter)
}

// watch looks at gates and servers until the admission is closed.
func (a *Admission) watch() {
	defer a.done.Done()
	tick := time.NewTicker(a.cfg.Poll)
	defer tick.Stop()
	room := make(chan struct{}, maxRefreshes)
	last := a.mono() - identityEvery
	for round := 0; ; round++ {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
		now := sluice.MillisOf(a.cfg.Now())
		if a.mono()-last >= identityEvery {
			last = a.mono()
			a.runs.ask(a)
		}
		for _, c := range *a.byID.Load() {
			c.renew()
			a.degraded(c)
			if c.retired.Load() {
				continue
			}
			if !active(c.set.Load(), now) && round%idleEvery != 0 || !c.refreshing.CompareAndSwap(false, true) {
				continue
			}
			select {
			case room <- struct{}{}:
			case <-a.ctx.Done():
				return
			}
			started := a.background(func() {
				defer func() { c.refreshing.Store(false); <-room }()
				ctx, cancel := context.WithTimeout(a.ctx, a.cfg.CallTime)
				defer cancel()
				_ = a.refresh(ctx, c)
			})
			if !started {
				return
			}
		}
	}
}

// Refresh looks at a campaign's gates now, for those who want to know what the permit says at this moment.
func (a *Admission) Refresh(ctx context.Context, id string) error {
	c := a.find(id)
	if c == nil {
		return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "no such campaign")
	}
	return a.refresh(ctx, c)
}

// refresh looks at a campaign's gates, and reads on in the lists of holders where claims have come.
func (a *Admission) refresh(ctx context.Context, c *campaign) error {
	set := c.set.Load()
	began := a.mono()
	shards, err := a.look.State(ctx, *set)
	c.blind.Store(err != nil)
	if err != nil {
		return err
	}
	for _, l := range *c.lanes.Load() { // as good as a probe, also while no claim comes this way
		if open, _ := l.breaker.standing(); open {
			l.breaker.done(true)
		}
	}
	before := c.seen.Load()
	now := a.note(c, set, shards, began)
	if now.armed && int64(a.mono())-c.ranAt.Load() >= int64(identityEvery) {
		c.ranAt.Store(int64(a.mono()))
		if err := a.sameServers(ctx, c, set); err != nil {
			return err
		}
	}
	if now.armed && (before == nil || before.live != now.live || !c.fetched.Load()) {
		return a.fetchHolders(ctx, c)
	}
	return nil
}

// sameServers doubts gates whose server is another one than when they were armed.
func (a *Admission) sameServers(ctx context.Context, c *campaign, set *sluice.Campaign) error {
	for shard := range c.shards() {
		same, err := a.look.SameServer(ctx, set, shard)
		if err != nil {
			return err
		}
		if !same {
			a.doubt(c, set.Epoch, "the server of a gate is another one than when it was armed", true)
			return nil
		}
	}
	return nil
}

// note keeps what the gates said, and compares it with what they said before: to a look that had ended when this one
// began. Of two that overlap the one that is noted last may be the older one, and tell of no step back.
func (a *Admission) note(c *campaign, set *sluice.Campaign, shards []sluice.ShardState, began time.Duration) *seen {
	s := &seen{began: began, at: a.mono(), epoch: set.Epoch, shards: shards, armed: len(shards) >= c.shards()}
	later := int64(0)
	for _, x := range shards {
		s.permit.Available += x.Available + x.Returning + x.Out
		s.permit.Queued += x.Queued
		s.live += x.Live
		s.soldOutAt = max(s.soldOutAt, x.LastAt)
		if x.Shard < c.shards() {
			s.armed = s.armed && x.Armed && x.Epoch == set.Epoch
			later = max(later, x.Epoch)
		}
	}
	before := c.seen.Load()
	switch {
	case s.permit.Available > 0:
		s.soldOutAt = 0
	case s.soldOutAt == 0 && before != nil && before.soldOutAt != 0:
		s.soldOutAt = before.soldOutAt
	case s.soldOutAt == 0:
		s.soldOutAt = sluice.MillisOf(a.cfg.Now())
	}
	if before == nil || before.began <= began {
		c.seen.Store(s)
	}
	// Only what is of the same epoch can be compared: a gate of an epoch before is being armed anew.
	wasArmed := before != nil && before.armed && before.epoch == set.Epoch && before.at <= began
	switch {
	case later > set.Epoch:
		a.SetEpoch(c.id, later)
	case a.forced.Load(): // the gates are left alone until an operator wants them back
	case !s.armed && wasArmed:
		a.doubt(c, set.Epoch, "a gate that was armed is gone or of an earlier epoch", true)
	case !s.armed && active(set, sluice.MillisOf(a.cfg.Now())):
		a.doubt(c, set.Epoch, "a gate is not armed", false)
	case s.armed && wasArmed && backwards(before.shards, shards):
		a.doubt(c, set.Epoch, "a gate has gone back to an earlier revision", true)
	case c.directIn.Load() != 0:
		a.doubt(c, set.Epoch, "the gates can be reached again", false)
	case c.doubted.Load() == set.Epoch && set.Epoch != 0:
		a.doubt(c, set.Epoch, "a gate was in doubt and was not armed anew", true)
	}
	return s
}

// backwards says whether a gate knows less in the same epoch than it did.
func backwards(before, now []sluice.ShardState) bool {
	for _, b := range before {
		for _, n := range now {
			if b.Shard == n.Shard && b.Epoch == n.Epoch && (n.Revision < b.Revision || n.LastAt < b.LastAt) {
				return true
			}
		}
	}
	return false
}

// doubt has the campaign armed anew. A strong doubt stops this node's admission at once: the gate may sell again what
// it has forgotten that it sold. A weak one says that the gates of the epoch are not there: most often they are being
// armed at this moment, and then nothing is left to do.
func (a *Admission) doubt(c *campaign, epoch int64, why string, strong bool) {
	c.mu.Lock()
	if c.set.Load().Epoch != epoch {
		c.mu.Unlock()
		return
	}
	if strong {
		c.doubted.Store(epoch)
		c.marker.Store(0)
	}
	now := int64(a.mono())
	tell := now-c.doubtAt.Load() >= int64(doubtEvery) || c.doubtAt.Load() == 0
	if tell {
		c.doubtAt.Store(max(1, now))
	}
	c.mu.Unlock()
	switch {
	case !tell:
	case strong:
		a.cfg.Log.Warn("a gate is in doubt", "campaign", c.id, "epoch", epoch, "why", why)
		a.cfg.Doubt(c.id, epoch, why)
	case epoch <= sluice.FirstEpoch:
		a.cfg.Log.Info("a campaign is to be armed for the first time", "campaign", c.id)
		a.cfg.Doubt(c.id, epoch, why)
	default:
		a.cfg.Log.Info("a campaign is to be armed", "campaign", c.id, "epoch", epoch, "why", why)
		a.cfg.Doubt(c.id, epoch-1, why) // those of this epoch would do
	}
}

// runs are the servers as they were last: another run id means a server that was started anew, or one that took over.
type runs struct {
	asking sync.Mutex // one look at a time; the tick that finds it taken passes by
	known  map[string]bool
}

// ask compares the servers with those that are known. Every campaign is in doubt after a change, since which of them
// the server held is no longer known.
func (r *runs) ask(a *Admission) {
	if !r.asking.TryLock() {
		return
	}
	started := a.background(func() {
		defer r.asking.Unlock()
		ctx, cancel := context.WithTimeout(a.ctx, a.cfg.CallTime)
		defer cancel()
		ids, err := a.rdb.Identity(ctx)
		if err != nil || len(ids) == 0 {
			return
		}
		first, fresh := r.known == nil, false
		if first {
			r.known = map[string]bool{}
		}
		for _, id := range ids {
			fresh = fresh || !r.known[id]
			r.known[id] = true
		}
		if first || !fresh {
			return
		}
		for _, c := range *a.byID.Load() {
			if s := c.seen.Load(); s != nil && s.armed {
				a.doubt(c, s.epoch, "a server was started anew or replaced", true)
			}
		}
	})
	if !started {
		r.asking.Unlock()
	}
}
