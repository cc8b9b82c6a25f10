package conformance

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// Admitter is what every admission backend offers to the gate and to operators.
type Admitter interface {
	Admit(ctx context.Context, claim sluice.Claim) sluice.Decision
	Replay(ctx context.Context, campaign string, id sluice.ClaimID, quantity int) (sluice.Decision, bool)
	SoldOut(campaign string) bool
	Permit(campaign string) (sluice.Permit, sluice.Millis, bool)
	Adjust(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
}

// AdmissionBench is one admission backend over a ledger of its own, and the handles the suite needs beside it.
type AdmissionBench struct {
	Admission func() Admitter // the present one: Restart replaces it
	Create    func(t *testing.T, c sluice.Campaign)
	Update    func(t *testing.T, c sluice.Campaign) // settings that may change
	CloseOne  func(t *testing.T, id sluice.ClaimID) // cancels the order of a claim
	Verify    func(t *testing.T, campaign string) sluice.Verification
	Restart   func(t *testing.T) // everything in process memory is lost

	// Queues names a backend that answers QUEUED first: within Queues the claim gets its outcome, by somebody in the
	// background; what the ledger did reaches the gate, and the marker comes and goes. Zero: all of that is at once.
	Queues time.Duration
}

// Admission runs the suite that every admission backend passes.
func Admission(t *testing.T, open func(t *testing.T) AdmissionBench) {
	tests := []struct {
		name string
		run  func(*admissionTest, *testing.T)
	}{
		{"exactly the stock is admitted", (*admissionTest).exactStock},
		{"a claim above what is left is refused alone", (*admissionTest).tooManyAtOnce},
		{"the limit counts units", (*admissionTest).limitCountsUnits},
		{"a replay gives the claim again", (*admissionTest).replay},
		{"a replay survives sold-out, the end and a restart", (*admissionTest).replayLater},
		{"a request id with another quantity is refused", (*admissionTest).reused},
		{"500 copies at once are one claim", (*admissionTest).copies},
		{"500 claims of one user at once stay within the limit", (*admissionTest).oneUser},
		{"Alice is not alice", (*admissionTest).caseSensitive},
		{"a closed order's unit can be claimed at once", (*admissionTest).release},
		{"adjustments", (*admissionTest).adjustments},
		{"claims and decreases at once", (*admissionTest).decreaseRace},
		{"a limit group shares the limit", (*admissionTest).limitGroup},
		{"window and control", (*admissionTest).window},
		{"grants stay inside total and limit", (*admissionTest).grants},
		{"coupons have codes of their own", (*admissionTest).coupons},
		{"a restart changes no answer and no unit", (*admissionTest).restart},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tc.run(&admissionTest{AdmissionBench: open(t)}, t)
		})
	}
}

type admissionTest struct {
	AdmissionBench
	n atomic.Int64
}

func (a *admissionTest) campaign(t *testing.T, change func(*sluice.Campaign)) sluice.Campaign {
	t.Helper()
	now := time.Now()
	c := sluice.Campaign{
		ID: fmt.Sprintf("c%d", a.n.Add(1)), Kind: sluice.KindGoods, Title: "a campaign",
		Stock: sluice.Stock{Total: 5}, Created: 5, PerUserLimit: 1,
		StartsAt: sluice.MillisOf(now.Add(-time.Hour)), EndsAt: sluice.MillisOf(now.Add(time.Hour)),
		Goods:   sluice.Goods{SKU: "sku", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
		Control: sluice.ControlOpen, CreatedAt: sluice.MillisOf(now), UpdatedAt: sluice.MillisOf(now),
	}
	if change != nil {
		change(&c)
	}
	c.Created = c.Stock.Total
	a.Create(t, c)
	return c
}

func total(n int64) func(*sluice.Campaign) { return func(c *sluice.Campaign) { c.Stock.Total = n } }

func claimOf(campaign, user, request string, quantity int) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
		RequestID: request, Quantity: quantity, At: sluice.MillisOf(time.Now()),
	}
}

func (a *admissionTest) admit(campaign, user, request string, quantity int) sluice.Decision {
	return a.decide(claimOf(campaign, user, request, quantity))
}

func want(t *testing.T, what string, d sluice.Decision, r sluice.Reason) {
	t.Helper()
	if d.Reason != r {
		t.Fatalf("%s: got %v (state %v), want %v", what, d.Reason, d.State, r)
	}
}

// exact checks that the campaign's sum is exact and that live units are what the test expects.
func (a *admissionTest) exact(t *testing.T, campaign string, live int64) {
	t.Helper()
	var v sluice.Verification
	a.within(func() bool {
		v = a.Verify(t, campaign)
		return v.OK && v.Queued == 0 && v.Held+v.Sold == live
	})
	if !v.OK || v.Drift != 0 || v.UsersOverLimit != 0 || v.UnitsOverTotal != 0 {
		t.Fatalf("verify %s: %+v", campaign, v)
	}
	if v.Held+v.Sold != live || v.Available+v.Queued+v.Held+v.Sold != v.Total {
		t.Fatalf("verify %s: want %d live units: %+v", campaign, live, v)
	}
}

func (a *admissionTest) parallel(n int, each func(i int) sluice.Decision) map[sluice.Reason]int {
	var mu sync.Mutex
	count := map[sluice.Reason]int{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			d := each(i)
			mu.Lock()
			count[d.Reason]++
			mu.Unlock()
		})
	}
	all.Wait()
	return count
}

func (a *admissionTest) exactStock(t *testing.T) {
	for _, stock := range []int64{1, 5, 64} {
		c := a.campaign(t, total(stock))
		got := a.parallel(int(stock)*3+3, func(i int) sluice.Decision { return a.admit(c.ID, fmt.Sprint("u", i), "r", 1) })
		if int64(got[sluice.ReasonConfirmed]) != stock || got[sluice.ReasonSoldOut] != int(stock)*2+3 {
			t.Fatalf("stock %d: %v", stock, got)
		}
		if !a.within(func() bool { return a.Admission().SoldOut(c.ID) }) {
			t.Error("the marker does not stand")
		}
		if !a.within(func() bool {
			p, at, ok := a.Admission().Permit(c.ID)
			return ok && p.Available == 0 && p.Queued == 0 && at != 0
		}) {
			p, at, ok := a.Admission().Permit(c.ID)
			t.Errorf("permit %+v, sold out at %d, %v", p, at, ok)
		}
		a.exact(t, c.ID, stock)
	}
}

func (a *admissionTest) tooManyAtOnce(t *testing.T) {
	c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.PerUserLimit = 5, 10 })
	want(t, "3 of 5", a.admit(c.ID, "u1", "r", 3), sluice.ReasonConfirmed)
	want(t, "3 of 2", a.admit(c.ID, "u2", "r", 3), sluice.ReasonSoldOut)
	if a.Admission().SoldOut(c.ID) {
		t.Error("the marker stands while two units are free")
	}
	want(t, "2 of 2", a.admit(c.ID, "u3", "r", 2), sluice.ReasonConfirmed)
	want(t, "1 of 0", a.admit(c.ID, "u4", "r", 1), sluice.ReasonSoldOut)
	a.exact(t, c.ID, 5)
}

func (a *admissionTest) limitCountsUnits(t *testing.T) {
	c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.PerUserLimit = 20, 3 })
	first := a.admit(c.ID, "u", "r1", 2)
	want(t, "2 of 3", first, sluice.ReasonConfirmed)
	d := a.admit(c.ID, "u", "r2", 2)
	want(t, "2 more", d, sluice.ReasonLimitReached)
	if len(d.Claims) != 1 || d.Claims[0] != first.ID {
		t.Errorf("the user's claims: %v", d.Claims)
	}
	want(t, "1 more", a.admit(c.ID, "u", "r3", 1), sluice.ReasonConfirmed)
	want(t, "a fourth", a.admit(c.ID, "u", "r4", 1), sluice.ReasonLimitReached)
	for _, q := range []int{0, -1, -5, 4, 1 << 30} {
		if d := a.admit(c.ID, "v", fmt.Sprint("q", q), q); d.Reason == sluice.ReasonConfirmed {
			t.Errorf("quantity %d was admitted", q)
		}
	}
	a.exact(t, c.ID, 3)
}

func sameClaim(t *testing.T, what string, first, again sluice.Decision) {
	t.Helper()
	if again.Reason != first.Reason || again.ID != first.ID || !again.Replayed || again.Quantity != first.Quantity ||
		fmt.Sprint(again.CouponCodes) != fmt.Sprint(first.CouponCodes) {
		t.Fatalf("%s: first %+v, again %+v", what, first, again)
	}
}

func (a *admissionTest) replay(t *testing.T) {
	c := a.campaign(t, total(3))
	if _, ok := a.Admission().Replay(context.Background(), c.ID, claimOf(c.ID, "u", "r", 1).ID, 1); ok {
		t.Fatal("a claim that never was is replayed")
	}
	first := a.admit(c.ID, "u", "r", 1)
	want(t, "first", first, sluice.ReasonConfirmed)
	sameClaim(t, "again", first, a.admit(c.ID, "u", "r", 1))
	d, ok := a.Admission().Replay(context.Background(), c.ID, first.ID, 1)
	if !ok {
		t.Fatal("the replay is not known")
	}
	sameClaim(t, "by the replay check", first, d)
	a.exact(t, c.ID, 1)
}

func (a *admissionTest) replayLater(t *testing.T) {
	for _, kind := range []sluice.Kind{sluice.KindGoods, sluice.KindCoupon} {
		c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.Kind = 1, kind; couponTerms(c) })
		first := a.admit(c.ID, "u", "r", 1)
		want(t, "first", first, sluice.ReasonConfirmed)
		want(t, "another", a.admit(c.ID, "v", "r", 1), sluice.ReasonSoldOut)
		check := func(what string) {
			t.Helper()
			d, ok := a.Admission().Replay(context.Background(), c.ID, first.ID, 1)
			if !ok {
				t.Fatal(what + ": not known")
			}
			sameClaim(t, what, first, d)
			sameClaim(t, what, first, a.admit(c.ID, "u", "r", 1))
		}
		check("after sold-out")
		since := sluice.Millis(0)
		a.within(func() bool { _, since, _ = a.Admission().Permit(c.ID); return since != 0 })
		a.Restart(t)
		check("after a restart")
		if _, at, ok := a.Admission().Permit(c.ID); !ok || at != since {
			t.Errorf("sold out since %d, after a restart since %d (%v)", since, at, ok)
		}
		c.EndsAt = sluice.MillisOf(time.Now().Add(-time.Minute))
		a.Update(t, c)
		check("after the end")
		a.Restart(t)
		check("after the end and a restart")
		a.exact(t, c.ID, 1)
	}
}

func (a *admissionTest) reused(t *testing.T) {
	c := a.campaign(t, func(c *sluice.Campaign) { c.PerUserLimit = 5 })
	want(t, "first", a.admit(c.ID, "u", "r", 1), sluice.ReasonConfirmed)
	want(t, "other quantity", a.admit(c.ID, "u", "r", 2), sluice.ReasonRequestIDReused)
	d, ok := a.Admission().Replay(context.Background(), c.ID, claimOf(c.ID, "u", "r", 2).ID, 2)
	if !ok || d.Reason != sluice.ReasonRequestIDReused {
		t.Errorf("replay with another quantity: %v %v", d.Reason, ok)
	}
	want(t, "another user's same id", a.admit(c.ID, "v", "r", 2), sluice.ReasonConfirmed)
	a.exact(t, c.ID, 3)
}

func (a *admissionTest) copies(t *testing.T) {
	c := a.campaign(t, total(100))
	got := a.parallel(500, func(int) sluice.Decision { return a.admit(c.ID, "u", "r", 1) })
	if got[sluice.ReasonConfirmed] != 500 {
		t.Fatalf("copies: %v", got)
	}
	a.exact(t, c.ID, 1)
}

func (a *admissionTest) oneUser(t *testing.T) {
	for _, limit := range []int{1, 3} {
		c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.PerUserLimit = 100, limit })
		got := a.parallel(500, func(i int) sluice.Decision { return a.admit(c.ID, "u", fmt.Sprint("r", i), 1) })
		if got[sluice.ReasonConfirmed] != limit || got[sluice.ReasonLimitReached] != 500-limit {
			t.Fatalf("limit %d: %v", limit, got)
		}
		a.exact(t, c.ID, int64(limit))
	}
}

func (a *admissionTest) caseSensitive(t *testing.T) {
	c := a.campaign(t, nil)
	for _, u := range []string{"Alice", "alice", "ALICE", "alice "} {
		want(t, u, a.admit(c.ID, u, "r", 1), sluice.ReasonConfirmed)
	}
	a.exact(t, c.ID, 4)
}

func (a *admissionTest) release(t *testing.T) {
	for _, back := range []bool{true, false} {
		c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.Goods.LimitBackOnClose = 1, back })
		first := a.admit(c.ID, "u", "r", 1)
		want(t, "first", first, sluice.ReasonConfirmed)
		want(t, "second", a.admit(c.ID, "v", "r", 1), sluice.ReasonSoldOut)
		a.CloseOne(t, first.ID)
		if !a.within(func() bool { return !a.Admission().SoldOut(c.ID) }) {
			t.Fatal("the marker outlives the returned unit")
		}
		a.exact(t, c.ID, 0)
		d := a.admit(c.ID, "u", "r", 1)
		sameClaim(t, "replay of a closed claim", first, d)
		if d.State != sluice.ClaimReleased || d.Closed != sluice.CloseCancelled {
			t.Errorf("its state is %v %v", d.State, d.Closed)
		}
		if back {
			a.soon(t, "the same user again", c.ID, "u", "r2", sluice.ReasonConfirmed)
		} else {
			a.soon(t, "the same user again", c.ID, "u", "r2", sluice.ReasonLimitReached)
			a.soon(t, "another user", c.ID, "v", "r2", sluice.ReasonConfirmed)
		}
		a.exact(t, c.ID, 1)
	}
}

func (a *admissionTest) adjust(t *testing.T, c, change string, delta int64) sluice.Adjustment {
	t.Helper()
	asked := sluice.Adjustment{ChangeID: change, Campaign: c, Asked: delta, At: sluice.MillisOf(time.Now())}
	got, err := a.Admission().Adjust(context.Background(), asked, sluice.Actor{Name: "op"})
	if err != nil {
		t.Fatalf("adjust %s by %d: %v", c, delta, err)
	}
	return got
}

func (a *admissionTest) adjustments(t *testing.T) {
	c := a.campaign(t, total(2))
	want(t, "u1", a.admit(c.ID, "u1", "r", 1), sluice.ReasonConfirmed)
	want(t, "u2", a.admit(c.ID, "u2", "r", 1), sluice.ReasonConfirmed)
	want(t, "u3", a.admit(c.ID, "u3", "r", 1), sluice.ReasonSoldOut)
	up := a.adjust(t, c.ID, c.ID+"-up", 3)
	if up.Applied != 3 || up.Total != 5 {
		t.Fatalf("increase: %+v", up)
	}
	a.soon(t, "u3 again", c.ID, "u3", "r", sluice.ReasonConfirmed)
	if again := a.adjust(t, c.ID, c.ID+"-up", 3); again != up {
		t.Fatalf("repeated: %+v, first %+v", again, up)
	}
	down := a.adjust(t, c.ID, c.ID+"-down", -10)
	if down.Asked != -10 || down.Applied != -2 || down.Total != 3 || down.Revision != up.Revision+1 {
		t.Fatalf("decrease: %+v", down)
	}
	want(t, "u4", a.admit(c.ID, "u4", "r", 1), sluice.ReasonSoldOut)
	if _, err := a.Admission().Adjust(context.Background(),
		sluice.Adjustment{ChangeID: c.ID + "-down", Campaign: c.ID, Asked: -11}, sluice.Actor{}); err == nil {
		t.Fatal("a change id was used for two changes")
	}
	a.Restart(t)
	if again := a.adjust(t, c.ID, c.ID+"-down", -10); again != down {
		t.Fatalf("repeated after a restart: %+v, first %+v", again, down)
	}
	a.exact(t, c.ID, 3)
}

func (a *admissionTest) decreaseRace(t *testing.T) {
	c := a.campaign(t, total(200))
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { a.adjust(t, c.ID, fmt.Sprint(c.ID, "-", i), -7) })
	}
	got := a.parallel(300, func(i int) sluice.Decision { return a.admit(c.ID, fmt.Sprint("u", i), "r", 1) })
	all.Wait()
	var v sluice.Verification
	a.within(func() bool { v = a.Verify(t, c.ID); return v.OK && v.Queued == 0 })
	if !v.OK || got[sluice.ReasonConfirmed] != int(v.Held) || v.Held+v.Available != v.Total {
		t.Fatalf("%v, %+v", got, v)
	}
}

func (a *admissionTest) limitGroup(t *testing.T) {
	group := func(c *sluice.Campaign) { c.Stock.Total, c.PerUserLimit, c.LimitGroup = 10, 2, "g" }
	c1 := a.campaign(t, group)
	c2 := a.campaign(t, func(c *sluice.Campaign) { group(c); c.Kind = sluice.KindCoupon; couponTerms(c) })
	other := a.campaign(t, total(10))
	first := a.admit(c1.ID, "u", "r", 1)
	want(t, "first", first, sluice.ReasonConfirmed)
	want(t, "second", a.admit(c2.ID, "u", "r", 1), sluice.ReasonConfirmed)
	d := a.admit(c1.ID, "u", "r2", 1)
	want(t, "third", d, sluice.ReasonLimitReached)
	if len(d.Claims) != 2 {
		t.Errorf("claims of the group: %v", d.Claims)
	}
	want(t, "third in the other", a.admit(c2.ID, "u", "r2", 1), sluice.ReasonLimitReached)
	want(t, "outside the group", a.admit(other.ID, "u", "r", 1), sluice.ReasonConfirmed)
	a.Restart(t)
	want(t, "after a restart", a.admit(c2.ID, "u", "r3", 1), sluice.ReasonLimitReached)
	a.CloseOne(t, first.ID)
	a.soon(t, "after a close", c2.ID, "u", "r4", sluice.ReasonConfirmed)
	a.exact(t, c1.ID, 0)
	a.exact(t, c2.ID, 2)
}

func (a *admissionTest) window(t *testing.T) {
	now := time.Now()
	early := a.campaign(t, func(c *sluice.Campaign) {
		c.StartsAt, c.EndsAt = sluice.MillisOf(now.Add(time.Hour)), sluice.MillisOf(now.Add(2*time.Hour))
	})
	d := a.admit(early.ID, "u", "r", 1)
	want(t, "early", d, sluice.ReasonNotStarted)
	if d.StartsInMS < 3_500_000 || d.StartsInMS > 3_600_000 {
		t.Errorf("starts_in_ms %d", d.StartsInMS)
	}
	late := a.campaign(t, func(c *sluice.Campaign) {
		c.StartsAt, c.EndsAt = sluice.MillisOf(now.Add(-2*time.Hour)), sluice.MillisOf(now.Add(-time.Hour))
	})
	want(t, "late", a.admit(late.ID, "u", "r", 1), sluice.ReasonEnded)
	c := a.campaign(t, nil)
	c.Control = sluice.ControlPaused
	a.Update(t, c)
	want(t, "paused", a.admit(c.ID, "u", "r", 1), sluice.ReasonPaused)
	c.Control = sluice.ControlOpen
	a.Update(t, c)
	want(t, "resumed", a.admit(c.ID, "u", "r", 1), sluice.ReasonConfirmed)
	want(t, "unknown", a.admit("nobody", "u", "r", 1), sluice.ReasonUnknownCampaign)
}

func (a *admissionTest) grants(t *testing.T) {
	now := time.Now()
	c := a.campaign(t, func(c *sluice.Campaign) {
		c.Stock.Total, c.StartsAt = 2, sluice.MillisOf(now.Add(time.Minute))
	})
	grant := func(user, id string) sluice.Decision {
		g := claimOf(c.ID, user, id, 1)
		g.Source = sluice.SourceGrant
		g.ID = sluice.NewClaimID(c.ID, user, sluice.SourceGrant, id)
		return a.decide(g)
	}
	first := grant("u", "g1")
	want(t, "before the start", first, sluice.ReasonConfirmed)
	sameClaim(t, "again", first, grant("u", "g1"))
	want(t, "above the limit", grant("u", "g2"), sluice.ReasonLimitReached)
	want(t, "another", grant("v", "g1"), sluice.ReasonConfirmed)
	want(t, "above the total", grant("w", "g1"), sluice.ReasonSoldOut)
	a.exact(t, c.ID, 2)
}

func couponTerms(c *sluice.Campaign) {
	if c.Kind == sluice.KindCoupon {
		c.Goods = sluice.Goods{}
		c.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1000, Currency: "CNY", ValidDays: 7}
	}
}

func (a *admissionTest) coupons(t *testing.T) {
	c := a.campaign(t, func(c *sluice.Campaign) {
		c.Stock.Total, c.PerUserLimit, c.Kind = 40, 3, sluice.KindCoupon
		couponTerms(c)
	})
	seen := map[string]bool{}
	for i := range 10 {
		d := a.admit(c.ID, fmt.Sprint("u", i), "r", 3)
		want(t, "coupon", d, sluice.ReasonConfirmed)
		if len(d.CouponCodes) != 3 {
			t.Fatalf("codes: %v", d.CouponCodes)
		}
		for _, code := range d.CouponCodes {
			if _, ok := sluice.ParseCouponCode(code); !ok || seen[code] {
				t.Fatalf("code %q: well-formed %v, seen %v", code, ok, seen[code])
			}
			seen[code] = true
		}
		sameClaim(t, "replay", d, a.admit(c.ID, fmt.Sprint("u", i), "r", 3))
	}
	a.exact(t, c.ID, 30)
}

func (a *admissionTest) restart(t *testing.T) {
	c := a.campaign(t, func(c *sluice.Campaign) { c.Stock.Total, c.PerUserLimit = 50, 2 })
	firsts := map[string]sluice.Decision{}
	for i := range 20 {
		u := fmt.Sprint("u", i)
		firsts[u] = a.admit(c.ID, u, "r", 1+i%2)
		want(t, u, firsts[u], sluice.ReasonConfirmed)
	}
	for range 2 {
		a.Restart(t)
		for u, first := range firsts {
			sameClaim(t, u, first, a.admit(c.ID, u, "r", first.Quantity))
			if first.Quantity == 2 {
				want(t, u+" over the limit", a.admit(c.ID, u, "r2", 1), sluice.ReasonLimitReached)
			}
		}
		a.exact(t, c.ID, 30)
	}
}
