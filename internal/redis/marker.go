package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the marker.
const (
	renewAhead = 500 * time.Millisecond // before its end a marker that is asked for is renewed
	maxPieces  = 1 << 14                // pieces of one list that are read in one go
)

// SoldOut says that the node refuses newcomers on its own. It reads one atomic, and the clock where the marker
// stands; it allocates nothing. The marker stands only under leases of every shard, so that nobody is admitted
// anywhere meanwhile, and only once every holder is known here.
func (a *Admission) SoldOut(id string) bool {
	c := a.find(id)
	return c != nil && c.soldOut()
}

func (c *campaign) soldOut() bool {
	until := c.marker.Load()
	if until == 0 || int64(c.a.mono()) >= until {
		return false
	}
	if !c.asked.Load() {
		c.asked.Store(true)
	}
	return true
}

// verdict is what all shards together say to a claim that its own has no units for.
type verdict struct {
	soldOut bool
	came    bool // units came to the claim's shard
	err     error
}

// judge asks all shards for many claims at once: units are pulled where there are any, else the campaign is sold out.
func (l *lane) judge(asking []int, rs []verdict) {
	a := l.c.a
	set := l.c.set.Load()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), a.cfg.CallTime)
	defer cancel()
	var v verdict
	if want := int64(slices.Max(asking)); want > 0 && l.c.shards() > 1 {
		v = l.search(ctx, set, want)
	} else {
		v = a.verdict(ctx, l.c, set, l.shard)
	}
	for i := range rs {
		rs[i] = v
	}
}

// search brings units to the shard, and asks for a verdict only where there are none anywhere nor on their way. A shard
// under a lease takes nothing in: asked for one too soon, and again by every claim that finds nothing, the shards would
// keep each other's units out for ever.
func (l *lane) search(ctx context.Context, set *sluice.Campaign, want int64) verdict {
	a := l.c.a
	came, err := a.gates.Pull(ctx, set, l.shard, want)
	if came > 0 {
		return verdict{came: true}
	}
	if err != nil {
		return verdict{err: err}
	}
	shards, err := a.look.State(ctx, *set)
	if err != nil {
		return verdict{err: err}
	}
	some, under := false, false
	for i := range shards {
		s := &shards[i]
		some = some || s.Available > 0 || !s.Armed || s.Epoch != set.Epoch
		under = under || s.Out > 0
	}
	if under { // whoever sees a transfer completes it: who began it may be gone
		return verdict{err: a.look.Complete(ctx, *set)}
	}
	if some {
		return verdict{}
	}
	return a.verdict(ctx, l.c, set, l.shard)
}

func (a *Admission) verdict(ctx context.Context, c *campaign, set *sluice.Campaign, shard int) (v verdict) {
	is, err := a.gates.SoldOut(ctx, set, shard)
	switch {
	case err != nil:
		return verdict{err: err}
	case !is.SoldOut || is.Until.IsZero():
		c.marker.Store(0)
		return verdict{soldOut: is.SoldOut, came: is.Pulled}
	}
	// The holders come after the verdict: whoever was admitted before it is among them.
	if err := a.fetchHolders(ctx, c); err != nil {
		a.cfg.Log.Warn("no marker without the holders", "campaign", c.id, "err", err)
		return verdict{soldOut: true}
	}
	c.stand(set.Epoch, is.Until.Sub(a.began))
	return verdict{soldOut: true}
}

// stand sets the marker, unless the epoch has moved meanwhile: its leases are worth nothing then.
func (c *campaign) stand(epoch int64, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set.Load().Epoch == epoch && c.doubted.Load() != epoch {
		c.asked.Store(false)
		c.marker.Store(int64(until))
	}
}

// kick asks for a verdict in the background, one at a time.
func (c *campaign) kick() {
	if !c.kicking.CompareAndSwap(false, true) {
		return
	}
	work := func() {
		defer c.kicking.Store(false)
		(*c.lanes.Load())[0].verdicts.do(new(int))
	}
	if !c.a.background(work) {
		c.kicking.Store(false)
	}
}

// renew keeps a marker that is asked for, and lets one go that nobody asks for.
func (c *campaign) renew() {
	until := c.marker.Load()
	if until == 0 {
		return
	}
	left := time.Duration(until) - c.a.mono()
	switch {
	case left <= 0:
		c.marker.CompareAndSwap(until, 0)
	case left < renewAhead && c.asked.Load():
		c.kick()
	}
}

// offset is how far a shard's list of holders has been read.
type offset struct {
	epoch int64
	next  int64
}

// fetchHolders reads on in the lists of all shards, to their ends. One reader at a time.
func (a *Admission) fetchHolders(ctx context.Context, c *campaign) error {
	select {
	case c.reader <- struct{}{}:
		defer func() { <-c.reader }()
	case <-ctx.Done():
		return fmt.Errorf("redis: holders of %s: %w", c.id, sluice.ErrUnavailable)
	}
	set := c.set.Load()
	n := c.shards()
	if len(c.offsets) != n {
		c.offsets = make([]offset, n)
	}
	for shard := range n {
		if err := a.fetchShard(ctx, c, set, shard); err != nil {
			return err
		}
	}
	c.fetched.Store(true)
	c.holders.settleDown()
	return nil
}

func (a *Admission) fetchShard(ctx context.Context, c *campaign, set *sluice.Campaign, shard int) error {
	at := &c.offsets[shard]
	for range maxPieces {
		piece, err := a.gates.Holders(ctx, set, shard, at.next)
		if err != nil {
			return err
		}
		if piece.Status == GateNone {
			return fmt.Errorf("redis: holders of %s: no gate: %w", c.id, sluice.ErrUnavailable)
		}
		if piece.Epoch != at.epoch || piece.Total < at.next {
			if piece.Epoch == at.epoch {
				a.doubt(c, at.epoch, "the list of holders has become shorter", true)
			}
			if at.next > 0 { // another list: from its start
				*at = offset{epoch: piece.Epoch}
				continue
			}
			at.epoch = piece.Epoch
		}
		c.holders.add(piece.Keys...)
		at.next = piece.Next
		if at.next >= piece.Total || len(piece.Keys) == 0 {
			return nil
		}
	}
	return fmt.Errorf("redis: holders of %s: the list grows faster than it is read: %w", c.id, sluice.ErrUnavailable)
}
