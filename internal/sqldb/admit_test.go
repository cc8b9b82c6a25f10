package sqldb_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestAdmit decides on claims that no permit has admitted: what fits is a row, what does not leaves none, and a retry
// has the answer of the first try.
func TestAdmit(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 3}, PerUserLimit: 2})
		create(t, db, sluice.Campaign{ID: "k", Kind: sluice.KindCoupon, Stock: sluice.Stock{Total: 1}})
		told := &ops{}
		db.SetPermit(told)
		coupon := goods("k", "a", "1")
		coupon.CouponCodes = []string{sluice.NewCouponCode()}
		second := goods("k", "b", "1")
		second.CouponCodes = []string{sluice.NewCouponCode()}
		a1, c1 := goods("g", "a", "1"), goods("g", "c", "1")
		a1.Quantity, c1.Quantity = 2, 2
		batch := []sluice.Claim{a1, goods("g", "a", "2"), c1, goods("g", "b", "1"), goods("none", "a", "1"), coupon,
			second}
		want := []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonLimitReached, sluice.ReasonSoldOut,
			sluice.ReasonConfirmed, sluice.ReasonUnknownCampaign, sluice.ReasonConfirmed, sluice.ReasonSoldOut}
		for try := range 2 {
			out, err := db.Admit(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range out {
				state, won := sluice.ClaimNone, want[i] == sluice.ReasonConfirmed
				if won {
					state = sluice.ClaimConfirmed
				}
				if o.Reason != want[i] || o.State != state || o.Replayed != (won && try == 1) {
					t.Errorf("try %d, claim %d: %+v, want %v", try, i, o, want[i])
				}
				_, err := db.ClaimRecord(t.Context(), batch[i].ID)
				if won != (err == nil) || !won && !errors.Is(err, sluice.ErrNotFound) {
					t.Errorf("the row of claim %d: %v", i, err)
				}
			}
		}
		if now := told.told(); len(now) != 0 {
			t.Errorf("the permit was told %+v", now)
		}
		for _, id := range []string{"g", "k"} {
			if v, err := db.Verify(t.Context(), id, nil); err != nil || !v.OK {
				t.Errorf("%s: %+v %v", id, v, err)
			}
		}
	})
}

// TestTakes looks at what permits in other processes are told of claims that they may not know: those that were
// admitted without them, or in an epoch before this one.
func TestTakes(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{Remote: true})
		create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 10}, PerUserLimit: 9})
		if ok, err := db.OpenEpoch(t.Context(), "g", 1, sluice.EpochPlanned); err != nil || !ok {
			t.Fatal(ok, err)
		}
		claim := func(request string, epoch int64) sluice.Claim {
			c := goods("g", "a", request)
			c.Epoch = epoch
			return c
		}
		settled := []sluice.Claim{claim("0", 0), claim("1", 1), claim("2", 2)}
		if _, err := db.Settle(t.Context(), settled); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Admit(t.Context(), []sluice.Claim{claim("3", 0)}); err != nil {
			t.Fatal(err)
		}
		list, err := db.PermitOps(t.Context(), "g", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := []sluice.ClaimID{settled[0].ID, settled[1].ID, claim("3", 0).ID}
		for i, op := range list {
			if i >= len(want) || op.Kind != sluice.PermitTake || op.Claim != want[i] || op.Units != 1 || op.LimitUnits != 1 ||
				op.Epoch != 2 {
				t.Errorf("operation %d: %+v", i, op)
			}
		}
		if len(list) != len(want) {
			t.Errorf("%d operations, want %d", len(list), len(want))
		}
	})
}

// TestAdmitAtOnce has many batches ask for the last units: no unit is sold twice and none is left.
func TestAdmitAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		nodes := []*sqldb.DB{open(t, sqldb.Config{}), open(t, sqldb.Config{})}
		create(t, nodes[0], sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 100}})
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 40 {
					claims := []sluice.Claim{goods("g", fmt.Sprint("u", w%4, "-", i), "1")}
					if _, err := nodes[w%2].Admit(t.Context(), claims); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if v, err := nodes[1].Verify(t.Context(), "g", nil); err != nil || !v.OK || v.Held+v.Sold != 100 {
			t.Errorf("%+v %v", v, err)
		}
	})
}
