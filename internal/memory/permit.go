package memory

import (
	"context"
	"errors"

	"github.com/sluice-sale/sluice"
)

// Apply carries out what committed transactions mean for the permit. The ledger's writer calls it after each commit, in
// order, before the callers of the transaction are answered: a unit that came back can be claimed at once.
func (a *Admission) Apply(ops []sluice.PermitOp) {
	now := sluice.MillisOf(a.cfg.Now())
	for i := range ops {
		c := a.find(ops[i].Campaign)
		if c == nil {
			continue
		}
		c.book.mu.Lock()
		switch {
		case c.known:
			c.apply(ops[i], now)
		case c.buffering:
			c.buffered = append(c.buffered, ops[i])
		} // else the snapshot that is still to be taken has it
		c.book.mu.Unlock()
	}
}

func (c *campaign) apply(op sluice.PermitOp, now sluice.Millis) {
	switch op.Kind {
	case sluice.PermitSettled:
		c.queued -= op.Units
	case sluice.PermitAdjust:
		if op.Units < 0 { // the units of a decrease were taken before its commit
			c.taken += op.Units
		} else {
			c.available += op.Units
		}
	case sluice.PermitRelease:
		if r := c.book.find(op.Claim); r != nil {
			c.available += c.book.give(r, op.Units, op.LimitUnits)
		}
	}
	c.mark(now)
}

// Adjust changes the campaign's total under a change id, before or during the sale. A decrease takes only units
// that are available, from the permit first and then from the ledger; an increase goes to the ledger first. The
// same change id with the same Asked gives the recorded answer; with another it is an ErrConflict. ErrUncertain:
// ask again with the same id.
func (a *Admission) Adjust(ctx context.Context, adj sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error) {
	c := a.find(adj.Campaign)
	if c == nil {
		return adj, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "no such campaign")
	}
	c.adjusting.Lock()
	defer c.adjusting.Unlock()
	old, err := a.ledger.Adjustment(ctx, adj.ChangeID)
	switch {
	case err == nil && (old.Campaign != adj.Campaign || old.Asked != adj.Asked):
		return adj, sluice.NewFault(sluice.ErrConflict, "CHANGE_ID_REUSED", "the change id was used for another adjustment")
	case err == nil:
		return old, nil
	case !errors.Is(err, sluice.ErrNotFound):
		return adj, err
	}
	if adj.Asked >= 0 {
		adj.Applied = adj.Asked
		return a.ledger.RecordAdjustment(ctx, adj, by)
	}
	now := sluice.MillisOf(a.cfg.Now())
	c.book.mu.Lock()
	if !c.known {
		c.book.mu.Unlock()
		return adj, sluice.NewFault(sluice.ErrUnavailable, "BUSY", "the campaign is being read back from the ledger")
	}
	n := min(-adj.Asked, max(0, c.available))
	c.available -= n
	c.taken += n
	c.mark(now)
	c.book.mu.Unlock()
	adj.Applied = -n
	done, err := a.ledger.RecordAdjustment(ctx, adj, by)
	if err == nil {
		return done, nil
	}
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	nothing := errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrConflict) ||
		errors.Is(err, sluice.ErrInvalid)
	if !nothing {
		if !c.reloading {
			c.distrust()
			a.commit.reload(c)
		}
		return adj, err
	}
	if c.known { // nothing was written: the units go back
		c.available += n
		c.taken -= n
		c.mark(now)
	}
	return adj, err
}
