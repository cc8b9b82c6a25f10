package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
)

// useCoupon walks the table of a merchant's steps.
func (b *tradeTest) useCoupon(t *testing.T) {
	c := b.campaign(t, couponCampaign)
	day := sluice.Millis(86_400_000)
	type step struct {
		op       sluice.CouponOp
		merchant string
		ref      string
		spend    int64
		at       sluice.Millis
		code     string // of the refusal
		state    sluice.CouponState
	}
	lock, unlock, redeem, reverse := sluice.CouponLock, sluice.CouponUnlock, sluice.CouponRedeem, sluice.CouponReverse
	issued, locked, redeemed := sluice.CouponIssued, sluice.CouponLocked, sluice.CouponRedeemed
	for name, steps := range map[string][]step{
		"plain": {{redeem, "m1", "a", 5000, 1, "", redeemed}, {redeem, "m1", "b", 5000, 2,
			"COUPON_REDEEMED", ""}},
		"below the minimum": {{redeem, "m1", "a", 4999, 1, "MIN_SPEND_NOT_MET", ""}, {redeem, "m1", "a", 5000, 2,
			"", redeemed}},
		"another's merchant": {{redeem, "m3", "a", 5000, 1, "COUPON_NOT_VALID_HERE", ""}, {lock, "m3", "a", 0, 1,
			"COUPON_NOT_VALID_HERE", ""}},
		"expired": {{redeem, "m1", "a", 5000, day, "COUPON_EXPIRED", ""}, {lock, "m1", "a", 0, day,
			"COUPON_EXPIRED", ""}},
		"the last moment": {{redeem, "m1", "a", 5000, day - 1, "", redeemed}},
		"locked": {{lock, "m1", "a", 0, 1, "", locked}, {redeem, "m1", "b", 5000, 2, "COUPON_LOCKED", ""},
			{redeem, "m2", "a", 5000, 2, "COUPON_LOCKED", ""}, {unlock, "m1", "b", 0, 3, "COUPON_LOCKED", ""},
			{redeem, "m1", "a", 5000, 4, "", redeemed}},
		"unlocked": {{lock, "m1", "a", 0, 1, "", locked}, {unlock, "m1", "a", 0, 2, "", issued},
			{unlock, "m1", "a", 0, 3, "", issued}, {redeem, "m1", "b", 5000, 4, "", redeemed}},
		"lock over": {{lock, "m1", "a", 0, 1, "", locked}, {redeem, "m1", "b", 5000, 1001, "",
			redeemed}},
		"locked past its validity": {{lock, "m1", "a", 0, day - 1, "", locked}, {redeem, "m1", "a", 5000, day + 1,
			"", redeemed}},
		"reversed": {{redeem, "m1", "a", 9000, 1, "", redeemed}, {reverse, "m2", "a", 0, 2, "NOT_REDEEMED_BY", ""},
			{reverse, "m1", "b", 0, 2, "NOT_REDEEMED_BY", ""}, {reverse, "m1", "a", 0, 3, "", issued},
			{redeem, "m1", "a", 9000, 4, "REDEMPTION_REVERSED", ""}, {redeem, "m1", "c", 9000, 5, "", redeemed}},
		"reversed too late": {{redeem, "m1", "a", 9000, 1, "", redeemed}, {reverse, "m1", "a", 0, day + 1, "",
			sluice.CouponExpired}},
	} {
		_, codes := b.claim(t, c, "u", 1)
		for i, s := range steps {
			u := sluice.CouponUse{Op: s.op, Code: codes[0], Reference: name + s.ref, Merchant: s.merchant,
				SpendMinor:  s.spend,
				LockedUntil: tradeStart + s.at + 1000, At: tradeStart + s.at}
			r, err := b.Coupons.UseCoupon(t.Context(), u)
			what := fmt.Sprintf("%s, step %d", name, i)
			if s.code != "" {
				refused(t, what, err, sluice.ErrConflict, s.code)
			} else if err != nil || r.State != s.state || r.Replayed {
				t.Fatalf("%s: %+v %v, want %s", what, r, err, s.state)
			}
		}
		b.audit(t, c)
	}
	_, err := b.Coupons.UseCoupon(t.Context(), sluice.CouponUse{Op: redeem, Code: sluice.NewCouponCode(),
		Merchant: "m1", Reference: "z"})
	refused(t, "an unknown code", err, sluice.ErrNotFound, "")
}

func (b *tradeTest) redeemOnce(t *testing.T) {
	c := b.campaign(t, couponCampaign)
	_, codes := b.claim(t, c, "u", 2)
	use := func(op sluice.CouponOp, code, merchant, ref string, spend int64) (sluice.Redemption, error) {
		return b.Coupons.UseCoupon(t.Context(), sluice.CouponUse{
			Op: op, Code: code, Merchant: merchant, Reference: ref, SpendMinor: spend,
			At: tradeStart + sluice.Millis(b.n.Add(1)),
		})
	}
	first, err := use(sluice.CouponRedeem, codes[0], "m1", "r1", 8800)
	if err != nil || first.DiscountMinor != 1000 || first.SpendMinor != 8800 || first.Currency != "CNY" {
		t.Fatalf("redeem: %+v %v", first, err)
	}
	again, err := use(sluice.CouponRedeem, codes[0], "m1", "r1", 8800)
	first.Replayed = true
	if err != nil || again != first {
		t.Fatalf("redeem again: %+v %v, want %+v", again, err, first)
	}
	_, err = use(sluice.CouponRedeem, codes[1], "m1", "r1", 8800)
	refused(t, "the reference on another coupon", err, sluice.ErrConflict, "REFERENCE_REUSED")
	_, err = use(sluice.CouponRedeem, codes[0], "m1", "r1", 8801)
	refused(t, "the reference with another amount", err, sluice.ErrConflict, "REFERENCE_REUSED")
	if r, err := use(sluice.CouponRedeem, codes[1], "m2", "r1", 8800); err != nil || r.Replayed {
		t.Fatalf("another merchant's reference: %+v %v", r, err)
	}
	back, err := use(sluice.CouponReverse, codes[0], "m1", "r1", 0)
	if err != nil || back.State != sluice.CouponIssued || back.DiscountMinor != 1000 {
		t.Fatalf("reverse: %+v %v", back, err)
	}
	if _, err := use(sluice.CouponRedeem, codes[0], "m1", "r2", 6000); err != nil {
		t.Fatal(err)
	}
	again, err = use(sluice.CouponReverse, codes[0], "m1", "r1", 0)
	if err != nil || !again.Replayed || again.State != sluice.CouponRedeemed || again.DiscountMinor != 1000 {
		t.Fatalf("reverse again: %+v %v", again, err)
	}
	b.audit(t, c)
}

func (b *tradeTest) redeemRace(t *testing.T) {
	c := b.campaign(t, couponCampaign)
	for round := range 20 {
		_, codes := b.claim(t, c, "u", 1)
		var all sync.WaitGroup
		var mu sync.Mutex
		won, replayed := 0, 0
		for i := range 16 {
			all.Go(func() {
				r, err := b.Coupons.UseCoupon(context.Background(), sluice.CouponUse{
					Op: sluice.CouponRedeem, Code: codes[0], Merchant: "m1", Reference: fmt.Sprint(round, "-", i%8),
					SpendMinor: 5000, At: tradeStart + 1,
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && r.Replayed:
					replayed++
				case err == nil:
					won++
				case !errors.Is(err, sluice.ErrConflict):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won != 1 || replayed != 1 {
			t.Fatalf("round %d: %d redeemed, %d replayed", round, won, replayed)
		}
	}
	b.audit(t, c)
}

func (b *tradeTest) expire(t *testing.T) {
	const day sluice.Millis = 86_400_000
	c := b.campaign(t, couponCampaign)
	_, codes := b.claim(t, c, "u", 10)
	b.Settle(t, b.claimAt(c, "v", 1, tradeStart+5000))
	use := func(op sluice.CouponOp, code string, at, until sluice.Millis) {
		_, err := b.Coupons.UseCoupon(t.Context(), sluice.CouponUse{
			Op: op, Code: code, Merchant: "m1", Reference: code, SpendMinor: 5000, At: tradeStart + at,
			LockedUntil: tradeStart + until,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	use(sluice.CouponLock, codes[0], day-1, day+900_000)
	use(sluice.CouponLock, codes[1], 1, 1000)
	use(sluice.CouponRedeem, codes[2], 1, 0)
	for _, st := range []struct {
		at   sluice.Millis
		most int
		done int
		next sluice.Millis
	}{
		{day - 1, 100, 0, day},
		{day, 6, 6, day},
		{day, 6, 2, day + 5000},
		{day + 5000, 6, 1, 0},
		{day + 899_999, 6, 0, 0},
		{day + 900_000, 6, 1, 0},
	} {
		s, err := b.Due.ExpireCoupons(t.Context(), tradeStart+st.at, st.most)
		want := st.next
		if want != 0 {
			want += tradeStart
		}
		if err != nil || s.Done != st.done || s.Next != want || s.Lag < 0 {
			t.Fatalf("at %d: %+v %v, want %d done, next %d", st.at, s, err, st.done, want)
		}
	}
	states := map[sluice.CouponState]int{}
	for _, x := range b.allCoupons(t, sluice.CouponQuery{Campaign: c.ID}) {
		states[x.State]++
		if x.State == sluice.CouponExpired && (x.EndedAt != x.ValidUntil || x.LockRef != "" || x.LiveUnits != 1) {
			t.Fatalf("an expired coupon: %+v", x)
		}
	}
	if states[sluice.CouponExpired] != 10 || states[sluice.CouponRedeemed] != 1 {
		t.Fatalf("states %v", states)
	}
	b.audit(t, c)
}

func (b *tradeTest) revoke(t *testing.T) {
	c := b.campaign(t, couponCampaign)
	id, codes := b.claim(t, c, "u", 5)
	var units, limit int64
	for i, choice := range []sluice.RevokeChoice{
		{}, {UnitBack: true}, {LimitBack: true}, {UnitBack: true, LimitBack: true},
	} {
		for range 2 {
			x, err := b.Coupons.RevokeCoupon(t.Context(), codes[i], choice, tradeOperator(), tradeStart+7)
			if err != nil || x.State != sluice.CouponRevoked || x.EndedAt != tradeStart+7 {
				t.Fatalf("revoke: %+v %v", x, err)
			}
		}
		if choice.UnitBack {
			units++
		}
		if choice.LimitBack {
			limit++
		}
		if u, l, _ := b.released(id); u != units || l != limit {
			t.Fatalf("%+v: %d units and %d of the limit given back, want %d and %d", choice, u, l, units, limit)
		}
		if log := b.Audited(t); len(log) != i+1 || log[0].Action != "coupon.revoke" {
			t.Fatalf("audit log: %+v", log)
		}
	}
	u := sluice.CouponUse{Op: sluice.CouponLock, Code: codes[4], Merchant: "m1", Reference: "a", At: tradeStart + 8,
		LockedUntil: tradeStart + 1000}
	if _, err := b.Coupons.UseCoupon(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if x, err := b.Coupons.FreeCoupon(t.Context(), codes[4], tradeOperator(), tradeStart+9); err != nil ||
		x.State != sluice.CouponIssued {
		t.Fatalf("free: %+v %v", x, err)
	}
	u.Op, u.SpendMinor = sluice.CouponRedeem, 5000
	if _, err := b.Coupons.UseCoupon(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	_, err := b.Coupons.RevokeCoupon(t.Context(), codes[4], sluice.RevokeChoice{}, tradeOperator(), tradeStart+10)
	refused(t, "revoke of a redeemed coupon", err, sluice.ErrConflict, "COUPON_STATE")
	_, err = b.Coupons.RevokeCoupon(t.Context(), sluice.NewCouponCode(), sluice.RevokeChoice{}, tradeOperator(),
		tradeStart)
	refused(t, "revoke of an unknown code", err, sluice.ErrNotFound, "")
	u = sluice.CouponUse{Op: sluice.CouponRedeem, Code: codes[0], Merchant: "m1", Reference: "b", SpendMinor: 5000,
		At: tradeStart + 11}
	_, err = b.Coupons.UseCoupon(t.Context(), u)
	refused(t, "redeem of a revoked coupon", err, sluice.ErrConflict, "COUPON_REVOKED")
	b.audit(t, c)
}

func (b *tradeTest) findCoupons(t *testing.T) {
	one, two := b.campaign(t, couponCampaign), b.campaign(t, couponCampaign)
	var mine []string
	for i := range 10 {
		claim := b.claimAt([]sluice.Campaign{one, two}[i%2], "Alice", 2, tradeStart+sluice.Millis(i))
		b.Settle(t, claim)
		mine = append(mine, claim.CouponCodes...)
		b.claim(t, one, "alice", 1)
	}
	codes := func(q sluice.CouponQuery) (all []string) {
		for _, x := range b.allCoupons(t, q) {
			all = append(all, x.Code)
		}
		return all
	}
	slices.Reverse(mine)
	if got := codes(sluice.CouponQuery{User: "Alice"}); !slices.Equal(got, mine) {
		t.Fatalf("a wallet, newest first: %v, want %v", got, mine)
	}
	if got := codes(sluice.CouponQuery{Code: mine[3]}); !slices.Equal(got, mine[3:4]) {
		t.Fatalf("by code: %v", got)
	}
	if got := codes(sluice.CouponQuery{User: "Alice", Campaign: one.ID}); len(got) != 10 {
		t.Fatalf("a user's of a campaign: %v", got)
	}
	if got := codes(sluice.CouponQuery{Campaign: one.ID}); len(got) != 20 {
		t.Fatalf("a campaign's: %v", got)
	}
	x, err := b.Coupons.Coupon(t.Context(), mine[0], tradeStart+86_400_000+10)
	if err != nil || x.State != sluice.CouponExpired || x.User != "Alice" || x.Campaign != two.ID {
		t.Fatalf("a coupon past its validity: %+v %v", x, err)
	}
	_, err = b.Coupons.Coupon(t.Context(), sluice.NewCouponCode(), tradeStart)
	refused(t, "an unknown code", err, sluice.ErrNotFound, "")
}
