package memory_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

// fakeLedger keeps claims in a map, tells admission of commits as the real one does, and fails when it is told to.
type fakeLedger struct {
	mu        sync.Mutex
	campaigns map[string]sluice.Campaign
	claims    map[sluice.ClaimID]sluice.Claim
	changes   map[string]sluice.Adjustment
	adm       *memory.Admission

	batches [][]sluice.Claim
	before  func(batch int) error // runs before the n-th Settle writes; its error stops it
	after   func(batch int) error // runs after it has written; its error is the answer
	outcome func(sluice.Claim) sluice.Reason
	loads   int
	loading func(n int) error
	begun   func(n int) // runs when a load has begun and no row of it has been read
}

func newFake(campaigns ...sluice.Campaign) *fakeLedger {
	f := &fakeLedger{
		campaigns: map[string]sluice.Campaign{}, claims: map[sluice.ClaimID]sluice.Claim{},
		changes: map[string]sluice.Adjustment{},
	}
	for _, c := range campaigns {
		f.campaigns[c.ID] = c
	}
	return f
}

func (f *fakeLedger) Settle(_ context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	f.mu.Lock()
	n := len(f.batches)
	f.batches = append(f.batches, claims)
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(n); err != nil {
			return nil, err
		}
	}
	out := make([]sluice.Outcome, len(claims))
	var ops []sluice.PermitOp
	f.mu.Lock()
	for i, k := range claims {
		out[i] = sluice.Outcome{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, CouponCodes: k.CouponCodes}
		ops = append(ops, sluice.PermitOp{Kind: sluice.PermitSettled, Campaign: k.Campaign, Units: int64(k.Quantity)})
		if f.outcome != nil {
			if r := f.outcome(k); r != sluice.ReasonConfirmed {
				out[i] = sluice.Outcome{Reason: r, State: sluice.ClaimRejected}
				continue
			}
		}
		f.claims[k.ID] = k
		c := f.campaigns[k.Campaign]
		c.Stock.Held += int64(k.Quantity)
		f.campaigns[k.Campaign] = c
	}
	f.mu.Unlock()
	if f.after != nil {
		if err := f.after(n); err != nil {
			return nil, err
		}
	}
	f.adm.Apply(ops)
	return out, nil
}

func (f *fakeLedger) Load(
	_ context.Context, id string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error,
) error {
	f.mu.Lock()
	f.loads++
	n := f.loads
	f.mu.Unlock()
	if f.loading != nil {
		if err := f.loading(n); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	begin(f.campaigns[id])
	if f.begun != nil {
		f.begun(n)
	}
	for _, k := range f.claims {
		if k.Campaign != id {
			continue
		}
		q := int32(k.Quantity)
		if err := each([]sluice.ClaimRow{{ID: k.ID, Quantity: q, LiveUnits: q, LimitUnits: q}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeLedger) ClaimRecord(_ context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.claims[id]
	if !ok {
		return sluice.ClaimRecord{}, sluice.ErrNotFound
	}
	return sluice.ClaimRecord{Claim: k, State: sluice.ClaimConfirmed, Code: sluice.ReasonConfirmed}, nil
}

func (f *fakeLedger) Adjustment(_ context.Context, id string) (sluice.Adjustment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.changes[id]
	if !ok {
		return a, sluice.ErrNotFound
	}
	return a, nil
}

func (f *fakeLedger) RecordAdjustment(
	_ context.Context, a sluice.Adjustment, _ sluice.Actor,
) (sluice.Adjustment, error) {
	if f.before != nil {
		if err := f.before(-1); err != nil {
			return a, err
		}
	}
	f.mu.Lock()
	c := f.campaigns[a.Campaign]
	c.Stock.Total += a.Applied
	c.Revision++
	f.campaigns[a.Campaign] = c
	a.Total, a.Revision = c.Stock.Total, c.Revision
	f.changes[a.ChangeID] = a
	f.mu.Unlock()
	if f.after != nil {
		if err := f.after(-1); err != nil {
			return a, err
		}
	}
	f.adm.Apply([]sluice.PermitOp{{Kind: sluice.PermitAdjust, Campaign: a.Campaign, Units: a.Applied}})
	return a, nil
}

func (f *fakeLedger) settled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batches)
}

var (
	errRefused = fmt.Errorf("refused: %w", sluice.ErrUnavailable)
	errLost    = fmt.Errorf("lost: %w", sluice.ErrUncertain)
)

var operator = sluice.Actor{KeyID: "k", Name: "test", Role: sluice.RoleAdmin}
