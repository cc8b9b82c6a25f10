package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-sale/sluice"
)

// ledgerModel is the rules of settling, written down a second time as plainly as they can be.
type ledgerModel struct {
	free map[string]int64
	used map[string]int64 // by campaign and user
	rows map[sluice.ClaimID]modelRow
}

type modelRow struct {
	quantity int
	reason   sluice.Reason
}

func (m *ledgerModel) settle(c sluice.Claim, limit int64) (sluice.Reason, bool) {
	if r, ok := m.rows[c.ID]; ok {
		if r.quantity != c.Quantity {
			return sluice.ReasonRequestIDReused, false
		}
		return r.reason, true
	}
	q, who, reason := int64(c.Quantity), c.Campaign+"/"+c.User, sluice.ReasonConfirmed
	switch {
	case m.used[who]+q > limit:
		reason = sluice.ReasonLimitReached
	case q > m.free[c.Campaign]:
		reason = sluice.ReasonSoldOut
	default:
		m.used[who] += q
		m.free[c.Campaign] -= q
	}
	m.rows[c.ID] = modelRow{c.Quantity, reason}
	return reason, false
}

func (l *ledgerTest) model(t *testing.T) {
	const seed, batches = 42, 150
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &ledgerModel{free: map[string]int64{}, used: map[string]int64{}, rows: map[sluice.ClaimID]modelRow{}}
	total := map[string]int64{"g0": 300, "g1": 40, "k0": 300, "k1": 25}
	for id, n := range total {
		change := limitOf(3)
		if id[0] == 'k' {
			change = asCoupon(3)
		}
		l.campaign(t, id, n, change)
		m.free[id] = n
	}
	ids := []string{"g0", "g1", "k0", "k1"}
	for range batches {
		batch := make([]sluice.Claim, 1+rng.IntN(30))
		for i := range batch {
			id := ids[rng.IntN(len(ids))]
			user, request, q := fmt.Sprint("u", rng.IntN(120)), fmt.Sprint(rng.IntN(4)), 1+rng.IntN(4)
			if batch[i] = ledgerClaim(id, user, request, q); id[0] == 'k' {
				batch[i] = couponClaim(id, user, request, q)
			}
		}
		for i, o := range l.settle(t, batch...) {
			want, replayed := m.settle(batch[i], 3)
			if o.Reason != want || o.Replayed != replayed {
				t.Fatalf("claim %+v came to %+v, the model says %v, replayed %v", batch[i], o, want, replayed)
			}
		}
	}
	for id, n := range total {
		sold := n - m.free[id]
		if id[0] == 'k' {
			l.stock(t, id, 0, sold)
		} else {
			l.stock(t, id, sold, 0)
		}
	}
}

func (l *ledgerTest) adjust(t *testing.T, campaign, change string, asked, applied int64) sluice.Adjustment {
	t.Helper()
	a, err := l.Stock.RecordAdjustment(t.Context(), sluice.Adjustment{
		ChangeID: change, Campaign: campaign, Asked: asked, Applied: applied, At: ledgerStart + 9,
	}, ledgerActor)
	if err != nil {
		t.Fatalf("adjustment %s of %s by %d: %v", change, campaign, asked, err)
	}
	return a
}

func (l *ledgerTest) adjustments(t *testing.T) {
	l.campaign(t, "g", 10, nil)
	l.campaign(t, "h", 10, nil)
	told := len(l.Told())
	up := l.adjust(t, "g", "c1", 5, 0)
	if up.Applied != 5 || up.Total != 15 || up.Revision != 2 {
		t.Fatalf("an increase: %+v", up)
	}
	want := sluice.PermitOp{Kind: sluice.PermitAdjust, Campaign: "g", Units: 5, Revision: 2}
	if ops := l.Told()[told:]; len(ops) != 1 || ops[0] != want {
		t.Fatalf("the permit was told %+v", ops)
	}
	down := l.adjust(t, "g", "c2", -8, -3)
	if down.Asked != -8 || down.Applied != -3 || down.Total != 12 || down.Revision != 3 {
		t.Fatalf("a decrease: %+v", down)
	}
	nothing := l.adjust(t, "g", "c3", -8, 0)
	if nothing.Applied != 0 || nothing.Total != 12 {
		t.Fatalf("a decrease of nothing: %+v", nothing)
	}
	for _, old := range []sluice.Adjustment{down, up, nothing, up} { // replays, also late and out of order
		again := l.adjust(t, "g", old.ChangeID, old.Asked, -1)
		if again != old {
			t.Fatalf("replay: %+v, was %+v", again, old)
		}
		if read, err := l.Stock.Adjustment(t.Context(), old.ChangeID); err != nil || read != old {
			t.Fatalf("read: %+v %v", read, err)
		}
	}
	if ops := l.Told()[told:]; len(ops) != 3 || ops[1].Units != -3 || ops[2].Units != 0 {
		t.Fatalf("three adjustments and their replays told the permit %+v", ops)
	}
	for _, bad := range []sluice.Adjustment{
		{ChangeID: "c1", Campaign: "g", Asked: 6},
		{ChangeID: "c1", Campaign: "g", Asked: -5, Applied: -5},
		{ChangeID: "c1", Campaign: "h", Asked: 5},
	} {
		_, err := l.Stock.RecordAdjustment(t.Context(), bad, ledgerActor)
		refused(t, fmt.Sprintf("%+v", bad), err, sluice.ErrConflict, "CHANGE_ID_REUSED")
	}
	nowhere := sluice.Adjustment{ChangeID: "c9", Campaign: "none", Asked: 1}
	_, err := l.Stock.RecordAdjustment(t.Context(), nowhere, ledgerActor)
	refused(t, "no campaign", err, sluice.ErrNotFound, "")
	if _, err := l.Stock.Adjustment(t.Context(), "c9"); !errors.Is(err, sluice.ErrNotFound) {
		t.Fatalf("an unknown change id: %v", err)
	}
	for _, bad := range []sluice.Adjustment{
		{ChangeID: "z", Campaign: "g"},
		{ChangeID: "z", Campaign: "g", Asked: sluice.MaxTotal},
		{ChangeID: "z", Campaign: "g", Asked: -3, Applied: -4},
		{ChangeID: "z", Campaign: "g", Asked: -3, Applied: 1},
	} {
		if _, err := l.Stock.RecordAdjustment(t.Context(), bad, ledgerActor); !errors.Is(err, sluice.ErrInvalid) {
			t.Fatalf("%+v: %v", bad, err)
		}
	}
	l.stock(t, "g", 0, 0)
}

func (l *ledgerTest) decreases(t *testing.T) {
	l.campaign(t, "g", 5, nil)
	for i := range 3 {
		l.want(t, ledgerClaim("g", fmt.Sprint("u", i), "1", 1), sluice.ReasonConfirmed)
	}
	bad := sluice.Adjustment{ChangeID: "c1", Campaign: "g", Asked: -3, Applied: -3, At: ledgerStart}
	_, err := l.Stock.RecordAdjustment(t.Context(), bad, ledgerActor)
	refused(t, "a decrease below what is held", err, sluice.ErrConflict, "STOCK_TAKEN")
	if _, err := l.Stock.Adjustment(t.Context(), "c1"); !errors.Is(err, sluice.ErrNotFound) {
		t.Fatalf("a refused change is recorded: %v", err)
	}
	l.adjust(t, "g", "c1", -3, -2)
	l.want(t, ledgerClaim("g", "u9", "1", 1), sluice.ReasonSoldOut)
	l.adjust(t, "g", "c2", 1, 0)
	l.want(t, ledgerClaim("g", "u9", "2", 1), sluice.ReasonConfirmed)
	l.stock(t, "g", 4, 0)
}

// drift plants each kind of difference between rows, counters and permit, looks for it, and takes it out again.
func (l *ledgerTest) drift(t *testing.T) {
	l.campaign(t, "g", 10, limitOf(4))
	l.campaign(t, "k", 10, asCoupon(4))
	l.settle(t, ledgerClaim("g", "a", "1", 2), ledgerClaim("g", "b", "1", 1), couponClaim("k", "a", "1", 2))
	l.adjust(t, "g", "c1", 3, 0)
	free := map[string]int64{"g": 10, "k": 8}
	check := func(campaign string, p sluice.Permit) sluice.Verification {
		t.Helper()
		v, err := l.Stock.Verify(t.Context(), campaign, func() sluice.Permit { return p })
		if err != nil {
			t.Fatalf("verify: %v", err)
		}
		return v
	}
	for id, n := range free {
		if v := check(id, sluice.Permit{Available: n}); !v.OK || v.Drift != 0 || v.CheckedAt == 0 {
			t.Fatalf("no drift in %s: %+v", id, v)
		}
		if v := check(id, sluice.Permit{Available: n - 2, Queued: 2}); !v.OK || v.Queued != 2 {
			t.Fatalf("queued units of %s: %+v", id, v)
		}
		for _, p := range []sluice.Permit{{Available: n - 1}, {Available: n + 1}, {Available: n, Queued: 1}} {
			if v := check(id, p); v.OK || v.Drift != 1 {
				t.Fatalf("permit %+v of %s: %+v", p, id, v)
			}
		}
	}
	for _, tc := range []struct{ what, campaign, plant, undo string }{
		{"held", "g", "UPDATE campaigns SET held = held + 1 WHERE id = 'g'",
			"UPDATE campaigns SET held = held - 1 WHERE id = 'g'"},
		{"sold", "k", "UPDATE campaigns SET sold = sold - 1 WHERE id = 'k'",
			"UPDATE campaigns SET sold = sold + 1 WHERE id = 'k'"},
		{"total", "g", "UPDATE campaigns SET total = total + 2 WHERE id = 'g'",
			"UPDATE campaigns SET total = total - 2 WHERE id = 'g'"},
		{"created", "k", "UPDATE campaigns SET created_total = 9 WHERE id = 'k'",
			"UPDATE campaigns SET created_total = 10 WHERE id = 'k'"},
		{"an adjustment", "g", "UPDATE adjustments SET applied = 4", "UPDATE adjustments SET applied = 3"},
		{"an order's units", "g", "UPDATE orders SET live_units = 0 WHERE user_id = 'a'",
			"UPDATE orders SET live_units = 2 WHERE user_id = 'a'"},
		{"a coupon's unit", "k", "UPDATE coupons SET live_units = 0 WHERE n = 1",
			"UPDATE coupons SET live_units = 1 WHERE n = 1"},
		{"held for sold", "g", "UPDATE orders SET state = 'paid' WHERE user_id = 'b'",
			"UPDATE orders SET state = 'unpaid' WHERE user_id = 'b'"},
	} {
		l.Plant(t, tc.plant)
		if v := check(tc.campaign, sluice.Permit{Available: free[tc.campaign]}); v.OK || v.Drift == 0 {
			t.Errorf("%s: %+v", tc.what, v)
		}
		l.Plant(t, tc.undo)
		if v := check(tc.campaign, sluice.Permit{Available: free[tc.campaign]}); !v.OK {
			t.Errorf("%s, taken out again: %+v", tc.what, v)
		}
	}
	l.Plant(t, "UPDATE campaigns SET total = 2, created_total = -1 WHERE id = 'g'")
	if v := check("g", sluice.Permit{}); v.OK || v.UnitsOverTotal != 1 {
		t.Errorf("3 units of a total of 2: %+v", v)
	}
}

func (l *ledgerTest) overLimit(t *testing.T) {
	l.campaign(t, "g", 100, limitOf(2))
	l.campaign(t, "k", 100, asCoupon(2))
	for _, id := range []string{"x", "y"} {
		kind := limitOf(3)
		if id == "y" {
			kind = asCoupon(3)
		}
		l.campaign(t, id, 100, func(c *sluice.Campaign) { kind(c); c.LimitGroup = "both" })
	}
	for i := range 6 {
		user := fmt.Sprint("u", i)
		l.settle(t, ledgerClaim("g", user, "1", 2), couponClaim("k", user, "1", 2), ledgerClaim("x", user, "1", 2),
			couponClaim("y", user, "1", 1))
	}
	over := func(id string) int64 {
		v, err := l.Stock.Verify(t.Context(), id, nil)
		if err != nil || v.OK != (v.UsersOverLimit == 0) {
			t.Fatalf("verify %s: %+v %v", id, v, err)
		}
		return v.UsersOverLimit
	}
	for _, id := range []string{"g", "k", "x", "y"} {
		if n := over(id); n != 0 {
			t.Fatalf("%d users over the limit of %s", n, id)
		}
	}
	l.Plant(t, "UPDATE orders SET limit_units = 3 WHERE user_id IN ('u1', 'u2') AND limit_units = 2")
	if g, x, y, k := over("g"), over("x"), over("y"), over("k"); g != 2 || x != 2 || y != 2 || k != 0 {
		t.Fatalf("two users over the limits of orders: %d, %d, %d, %d", g, x, y, k)
	}
	l.Plant(t, "UPDATE coupons SET limit_units = 2 WHERE user_id = 'u3'")
	if g, k, y := over("g"), over("k"), over("y"); g != 2 || k != 1 || y != 3 {
		t.Fatalf("one more over the limits of coupons: %d, %d, %d", g, k, y)
	}
}
