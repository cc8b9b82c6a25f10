package direct

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// nudge asks for a look at a campaign soon. It never blocks: where many looks are asked for the next one at all
// campaigns comes soon enough.
func (a *Admission) nudge(c *campaign) {
	if c == nil {
		return
	}
	select {
	case a.nudged <- c:
	default:
	}
}

// watch looks at the campaigns, all of them every now and then.
func (a *Admission) watch() {
	defer a.done.Done()
	tick := time.NewTicker(a.cfg.Watch)
	defer tick.Stop()
	var last error
	for looked := time.Duration(0); ; looked = a.mono() {
		asked := false
		select {
		case <-a.ctx.Done():
			return
		case <-a.nudged:
			if asked = true; !a.rest(nudgedAfter - (a.mono() - looked)) {
				return
			}
			a.drain()
		case <-tick.C:
		}
		if a.cfg.Spare && a.mono()-time.Duration(a.claimed.Load()) > spareFor {
			continue
		}
		err := a.look(asked)
		if err != nil && last == nil && a.ctx.Err() == nil {
			a.cfg.Log.Warn("cannot look at the campaigns", "err", err)
		}
		last = err
	}
}

// drain takes the nudges that one look answers.
func (a *Admission) drain() {
	for {
		select {
		case <-a.nudged:
		default:
			return
		}
	}
}

// look takes over every campaign's stock, and renews the markers. One that was not asked for reads new holders as
// well.
func (a *Admission) look(asked bool) error {
	ctx, cancel := context.WithTimeout(a.ctx, maxLook)
	defer cancel()
	if len(*a.byID.Load()) == 0 {
		return nil
	}
	all, err := a.ledger.Campaigns(ctx)
	if err != nil {
		return err
	}
	for _, set := range all {
		if c := a.find(set.ID); c != nil && !c.retired.Load() {
			if err := a.lookAt(ctx, c, set, asked); err != nil {
				return fmt.Errorf("direct: %s: %w", c.id, err)
			}
		}
	}
	return nil
}

func (a *Admission) lookAt(ctx context.Context, c *campaign, set sluice.Campaign, asked bool) error {
	now := a.mono()
	c.mu.Lock()
	moved := c.set.Stock.Held+c.set.Stock.Sold != set.Stock.Held+set.Stock.Sold
	open := c.set.Schedule(sluice.MillisOf(a.cfg.Now())) == sluice.ReasonNone
	switch {
	case open:
		c.closedAt = 0
	case c.closedAt == 0:
		c.closedAt = now
	}
	closing := c.closedAt != 0 && now-c.closedAt < closedFor
	c.mu.Unlock()
	if err := a.stock(ctx, c, set); err != nil {
		return err
	}
	if open && set.Stock.Free() <= 0 {
		if time.Duration(c.marker.Load())-now < renewAt {
			return a.mark(ctx, c)
		}
		return nil
	}
	if closing || moved && !asked {
		return a.sync(ctx, c)
	}
	return nil
}

// stock takes over what the ledger says of a campaign's stock.
func (a *Admission) stock(ctx context.Context, c *campaign, set sluice.Campaign) error {
	c.mu.Lock()
	c.set.Stock, c.set.Revision, c.set.Epoch = set.Stock, set.Revision, set.Epoch
	if set.Stock.Free() > 0 {
		c.soldOutAt = 0
	}
	ask := set.Stock.Free() <= 0 && c.soldOutAt == 0
	c.mu.Unlock()
	if !ask {
		return nil
	}
	at, err := a.losers.LastSold(ctx, c.id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set.Stock.Free() <= 0 {
		c.soldOutAt = at
	}
	return nil
}

// mark sets the marker: the lease first, then the holders, so that whoever holds a claim while the marker stands is
// among them. It ends a second after the lease was asked for, which is before the ledger sells again.
func (a *Admission) mark(ctx context.Context, c *campaign) error {
	asked := a.mono()
	leased, err := a.losers.LeaseSoldOut(ctx, c.id)
	if err != nil || !leased {
		return err
	}
	if err := a.sync(ctx, c); err != nil {
		return err
	}
	c.marker.Store(int64(asked + lease))
	return nil
}

// sync reads the holders that came since the last time.
func (a *Admission) sync(ctx context.Context, c *campaign) error {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	for {
		users, last, err := a.losers.Holders(ctx, c.id, c.cursor, holdersAtOnce)
		if err != nil {
			return err
		}
		c.holders.add(users...)
		c.cursor = last
		if len(users) < holdersAtOnce {
			return nil
		}
	}
}
