package memory

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/sluice-sale/sluice"
)

// DefaultKeepEnded is how long a campaign's claims stay in memory after its end. Later the ledger answers for it:
// nobody hurries any more, and what was ever sold neither fills the memory nor lengthens a start.
const DefaultKeepEnded = 72 * time.Hour

// maxLookups bounds the replays of retired campaigns that ask the ledger at once; more are BUSY.
const maxLookups = 4

// over says whether a campaign may be retired. One that shares a limit may not: its claims count for the others.
func (a *Admission) over(set *sluice.Campaign, now sluice.Millis) bool {
	end := set.EndsAt
	if set.Control == sluice.ControlEnded {
		end = min(end, set.UpdatedAt)
	}
	return set.LimitGroup == "" && now > end.Add(a.cfg.KeepEnded)
}

// Retire lets go of the campaigns that ended long ago, and says how many. It is cheap; call it now and then.
func (a *Admission) Retire() (n int) {
	now := sluice.MillisOf(a.cfg.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := maps.Clone(*a.byID.Load())
	retired := maps.Clone(*a.retired.Load())
	for id, c := range kept {
		c.book.mu.RLock()
		done := c.known && !c.reloading && c.queued == 0 && len(c.book.pending) == 0 && a.over(&c.set, now)
		kind := c.set.Kind
		c.book.mu.RUnlock()
		if done {
			delete(kept, id)
			retired[id] = kind
			n++
		}
	}
	if n > 0 {
		a.retired.Store(&retired)
		a.byID.Store(&kept)
	}
	return n
}

// retire notes a campaign that is not armed at all. Callers hold a.mu.
func (a *Admission) retire(set *sluice.Campaign) {
	retired := maps.Clone(*a.retired.Load())
	retired[set.ID] = set.Kind
	a.retired.Store(&retired)
}

// recall takes a campaign that goes on after all from the retired ones. Callers hold a.mu.
func (a *Admission) recall(id string) {
	if _, ok := (*a.retired.Load())[id]; ok {
		retired := maps.Clone(*a.retired.Load())
		delete(retired, id)
		a.retired.Store(&retired)
	}
}

// admitUnarmed answers a claim on a campaign that is not armed: it is unknown, or was over long ago.
func (a *Admission) admitUnarmed(ctx context.Context, claim *sluice.Claim) sluice.Decision {
	kind, ok := (*a.retired.Load())[claim.Campaign]
	if !ok {
		return sluice.Refuse(sluice.ReasonUnknownCampaign)
	}
	if d, found := a.lookUp(ctx, kind, claim.ID, claim.Quantity); found {
		return d
	}
	return sluice.Refuse(sluice.ReasonEnded)
}

// lookUp answers a claim on a retired campaign from its row; false where there is none.
func (a *Admission) lookUp(
	ctx context.Context, kind sluice.Kind, id sluice.ClaimID, quantity int,
) (sluice.Decision, bool) {
	select {
	case a.lookups <- struct{}{}:
		defer func() { <-a.lookups }()
	default:
		return busy(retryFullMS), true
	}
	rec, err := a.ledger.ClaimRecord(ctx, id)
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return sluice.Decision{}, false
	case err != nil:
		a.cfg.Log.Warn("cannot read the row of a claim", "claim", id.String(), "err", err)
		return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: id, Kind: kind, Quantity: quantity}, true
	case rec.Quantity != quantity:
		return sluice.Refuse(sluice.ReasonRequestIDReused), true
	}
	return sluice.Decision{
		Reason: rec.Code, State: rec.State, Replayed: true, HasID: true, ID: id, Kind: kind, Quantity: quantity,
		CouponCodes: rec.CouponCodes, Closed: rec.Closed,
	}, true
}
