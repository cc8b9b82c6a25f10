package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Put arms a new campaign, or takes over the settings of a known one. It returns once the campaign's state is known.
func (a *Admission) Put(ctx context.Context, set sluice.Campaign) error {
	a.mu.Lock()
	c, fresh := a.put(set)
	a.mu.Unlock()
	if c == nil { // over long ago
		return nil
	}
	if fresh {
		err := a.load(ctx, c, nil)
		if err != nil { // it is in the ledger: go on trying
			a.done.Add(1)
			go a.reload(c)
		}
		return err
	}
	c.book.mu.Lock()
	thawed := c.set.Control == sluice.ControlFrozen && set.Control == sluice.ControlOpen
	total := c.set.Stock
	c.set = set
	c.set.Stock = total // the permit moves by PermitOps alone
	c.book.mu.Unlock()
	if thawed { // whatever was in doubt, the rows are not
		return a.ReadBack(ctx, set.ID)
	}
	return nil
}

// ReadBack builds the campaign's permit anew from the ledger's rows and returns once it is known. Claims are BUSY
// meanwhile. ErrNotFound: it is not armed. ErrUnavailable: ctx ended first; the reading goes on.
func (a *Admission) ReadBack(ctx context.Context, id string) error {
	c := a.find(id)
	if c == nil {
		return fmt.Errorf("memory: read back %s: %w", id, sluice.ErrNotFound)
	}
	a.doubt([]*campaign{c})
	if !c.await(ctx) {
		return fmt.Errorf("memory: read back %s: %w", id, sluice.ErrUnavailable)
	}
	return nil
}

// Arm loads campaigns one after the other; those of one limit group admit once all of them are loaded. progress is
// told how many claims of a campaign have been read, of how many expected; it may be nil.
func (a *Admission) Arm(
	ctx context.Context, all []sluice.Campaign, progress func(campaign string, rows, of int64),
) error {
	var fresh []*campaign
	a.mu.Lock()
	for _, set := range all {
		if c, isNew := a.put(set); isNew {
			fresh = append(fresh, c)
		}
	}
	a.mu.Unlock()
	for _, c := range fresh {
		c.book.mu.RLock()
		of := c.set.Stock.Held + c.set.Stock.Sold
		c.book.mu.RUnlock()
		report := func(rows int64) {
			if progress != nil {
				progress(c.id, rows, max(of, rows))
			}
		}
		if err := a.load(ctx, c, report); err != nil {
			return err
		}
	}
	return nil
}

// load reads a campaign's state from the ledger. PermitOps that commit meanwhile are kept and applied at the end.
func (a *Admission) load(ctx context.Context, c *campaign, progress func(rows int64)) error {
	c.adjusting.Lock()
	defer c.adjusting.Unlock()
	b := c.book
	begin := func(set sluice.Campaign) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if c.set.LimitGroup == "" {
			b.claims = newClaims(int((set.Stock.Held + set.Stock.Sold) / int64(max(1, set.PerUserLimit)))) // at least
		} else {
			b.claims = b.without(c.no)
		}
		c.set = set
		c.available, c.queued, c.taken = set.Stock.Total, 0, 0
		c.buffering, c.buffered, c.again = true, nil, false
	}
	rows, last := int64(0), sluice.Millis(0) // last: when the last live claim came
	each := func(batch []sluice.ClaimRow) error {
		b.mu.Lock()
		for i := range batch {
			r := &batch[i]
			b.add(record{
				id: r.ID, quantity: r.Quantity, live: r.LiveUnits, limit: r.LimitUnits, campaign: c.no, rejected: r.Rejected,
			})
			c.available -= int64(r.LiveUnits)
			if r.LiveUnits > 0 {
				last = max(last, r.At)
			}
		}
		b.mu.Unlock()
		rows += int64(len(batch))
		if progress != nil {
			progress(rows)
		}
		return nil
	}
	if err := a.ledger.Load(ctx, c.id, begin, each); err != nil {
		b.mu.Lock()
		c.buffering, c.buffered = false, nil
		b.mu.Unlock()
		return fmt.Errorf("memory: load %s: %w", c.id, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := ""
	if live := c.set.Stock.Held + c.set.Stock.Sold; c.available != c.set.Stock.Total-live {
		wrong = fmt.Sprintf("the counters say %d live units, the rows %d", live, c.set.Stock.Total-c.available)
	}
	if c.again { // a commit failed after the snapshot: its rows may be missing
		c.buffering, c.buffered = false, nil
		a.commit.reload(c)
		return nil
	}
	c.known, c.reloading, c.buffering = true, false, false
	b.unknown--
	c.soldOut.Store(false)
	c.mark(cmp.Or(last, sluice.MillisOf(a.cfg.Now())))
	for _, op := range c.buffered {
		c.apply(op, sluice.MillisOf(a.cfg.Now()))
	}
	c.buffered = nil
	close(c.ready)
	if wrong != "" {
		go a.cfg.Doubt(c.id, wrong)
	}
	return nil
}

// distrust stops admissions until the state has been read back. Callers hold the book's lock.
func (c *campaign) distrust() {
	c.reloading = true
	if c.known {
		c.known = false
		c.book.unknown++
		c.ready = make(chan struct{})
		c.soldOut.Store(false) // BUSY, not SOLD_OUT: a unit may turn out to be free
	}
}

// doubt has the state of campaigns read back.
func (a *Admission) doubt(all []*campaign) {
	seen := map[*campaign]bool{}
	for _, c := range all {
		if seen[c] {
			continue
		}
		seen[c] = true
		c.book.mu.Lock()
		if c.reloading {
			c.again = c.buffering
		} else {
			c.distrust()
			a.commit.reload(c)
		}
		c.book.mu.Unlock()
	}
}

// Uncertain is called by the ledger when a commit that touched these campaigns failed.
func (a *Admission) Uncertain(campaigns []string) {
	var all []*campaign
	for _, id := range campaigns {
		if c := a.find(id); c != nil {
			all = append(all, c)
		}
	}
	a.doubt(all)
}

// Bounds of the wait between two tries to read a campaign back, and before the next time while no commit goes well.
const (
	minReloadWait = 20 * time.Millisecond
	maxReloadWait = 2 * time.Second
	hastyReloads  = 4 // so many follow at once
)

// reload reads a campaign back, again and again until it works or the admission is closed. No batch in flight
// holds claims of the campaign: the committer started this between two batches and dropped those that had
// gathered.
func (a *Admission) reload(c *campaign) {
	defer a.done.Done()
	c.book.mu.Lock()
	c.reloads++
	vain := c.reloads - hastyReloads
	c.book.mu.Unlock()
	if vain > 0 && !a.rest(min(minReloadWait<<min(vain-1, 16), maxReloadWait)) {
		return
	}
	for wait := minReloadWait; ; wait = min(2*wait, maxReloadWait) {
		err := a.load(a.ctx, c, nil)
		if err == nil {
			a.cfg.Log.Info("campaign read back from the ledger", "campaign", c.id)
			return
		}
		a.cfg.Log.Error("cannot read a campaign back", "campaign", c.id, "err", err, "again_in", wait)
		if !a.rest(wait) {
			return
		}
	}
}

// rest waits; false where the admission is closed meanwhile.
func (a *Admission) rest(wait time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// await blocks until the campaign's state is known; false where ctx ends first.
func (c *campaign) await(ctx context.Context) bool {
	c.book.mu.RLock()
	ready := c.ready
	c.book.mu.RUnlock()
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}
