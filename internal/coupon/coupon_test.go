package coupon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/coupon"
)

// book is a ledger that notes what it was asked.
type book struct {
	use      sluice.CouponUse
	query    sluice.CouponQuery
	code     string
	by       sluice.Actor
	asked    int
	replayed bool
	err      error
}

func (b *book) UseCoupon(_ context.Context, u sluice.CouponUse) (sluice.Redemption, error) {
	b.asked, b.use = b.asked+1, u
	return sluice.Redemption{Replayed: b.replayed}, b.err
}

func (b *book) Coupon(_ context.Context, code string, _ sluice.Millis) (sluice.Coupon, error) {
	b.asked, b.code = b.asked+1, code
	return sluice.Coupon{}, b.err
}

func (b *book) Coupons(_ context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error) {
	b.asked, b.query = b.asked+1, q
	return sluice.Page[sluice.Coupon]{}, b.err
}

func (b *book) RevokeCoupon(
	_ context.Context, code string, _ sluice.RevokeChoice, by sluice.Actor, _ sluice.Millis,
) (sluice.Coupon, error) {
	b.asked, b.code, b.by = b.asked+1, code, by
	return sluice.Coupon{}, b.err
}

func (b *book) FreeCoupon(_ context.Context, code string, by sluice.Actor, _ sluice.Millis) (sluice.Coupon, error) {
	b.asked, b.code, b.by = b.asked+1, code, by
	return sluice.Coupon{}, b.err
}

func TestSteps(t *testing.T) {
	code := sluice.NewCouponCode()
	typed := strings.ToLower(sluice.FormatCouponCode(code))
	good := sluice.CouponUse{Op: sluice.CouponRedeem, Code: typed, Reference: "r", Merchant: "m", SpendMinor: 5}
	for what, tc := range map[string]struct {
		change   func(*sluice.CouponUse)
		lock     int64
		readOnly bool
		want     error
		until    sluice.Millis
	}{
		"good":               {func(*sluice.CouponUse) {}, 0, false, nil, 1_000_000 + 900_000},
		"a lock of a second": {func(*sluice.CouponUse) {}, 1, false, nil, 1_000_000 + 1000},
		"a lock of a day":    {func(*sluice.CouponUse) {}, 86_400, false, nil, 1_000_000 + 86_400_000},
		"a longer lock":      {func(*sluice.CouponUse) {}, 86_401, false, sluice.ErrInvalid, 0},
		"a negative lock":    {func(*sluice.CouponUse) {}, -1, false, sluice.ErrInvalid, 0},
		"no reference":       {func(u *sluice.CouponUse) { u.Reference = "" }, 0, false, sluice.ErrInvalid, 0},
		"a long reference": {func(u *sluice.CouponUse) { u.Reference = strings.Repeat("x", 129) }, 0, false,
			sluice.ErrInvalid, 0},
		"a negative amount": {func(u *sluice.CouponUse) { u.SpendMinor = -1 }, 0, false, sluice.ErrInvalid, 0},
		"a forged code":     {func(u *sluice.CouponUse) { u.Code = code[:15] + "?" }, 0, false, sluice.ErrNotFound, 0},
		"read only":         {func(*sluice.CouponUse) {}, 0, true, sluice.ErrUnavailable, 0},
	} {
		b := &book{}
		d := coupon.New(coupon.Config{
			Now: func() time.Time { return time.UnixMilli(1_000_000) }, ReadOnly: func() bool { return tc.readOnly },
		}, b)
		u := good
		tc.change(&u)
		_, err := d.Use(t.Context(), u, tc.lock)
		if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || (b.asked == 1) != (tc.want == nil) {
			t.Errorf("%s: %v, asked %d times", what, err, b.asked)
		}
		want := sluice.CouponUse{Op: sluice.CouponRedeem, Code: code, Reference: "r", Merchant: "m", SpendMinor: 5,
			LockedUntil: tc.until, At: 1_000_000}
		if tc.want == nil && b.use != want {
			t.Errorf("%s: %+v, want %+v", what, b.use, want)
		}
	}
}

func TestStepsAreCountedOnce(t *testing.T) {
	b := &book{}
	n := 0
	d := coupon.New(coupon.Config{OnUse: func(sluice.CouponOp) { n++ }}, b)
	u := sluice.CouponUse{Op: sluice.CouponRedeem, Code: sluice.NewCouponCode(), Reference: "r", Merchant: "m"}
	for _, step := range []struct {
		replayed bool
		err      error
		want     int
	}{{false, nil, 1}, {true, nil, 1}, {false, sluice.ErrConflict, 1}, {false, nil, 2}} {
		b.replayed, b.err = step.replayed, step.err
		if _, err := d.Use(t.Context(), u, 0); !errors.Is(err, step.err) || n != step.want {
			t.Errorf("%+v: %v, counted %d", step, err, n)
		}
	}
}

func TestOperators(t *testing.T) {
	b := &book{}
	d := coupon.New(coupon.Config{}, b)
	code := sluice.NewCouponCode()
	shown := sluice.FormatCouponCode(code)
	by := sluice.Actor{KeyID: "k", Role: sluice.RoleOperator}
	steps := map[string]func(string) error{
		"get":    func(c string) error { _, err := d.Get(t.Context(), c); return err },
		"revoke": func(c string) error { _, err := d.Revoke(t.Context(), c, sluice.RevokeChoice{}, by); return err },
		"unlock": func(c string) error { _, err := d.Unlock(t.Context(), c, by); return err },
	}
	for what, step := range steps {
		b.code, b.asked = "", 0
		if err := step("nonsense"); !errors.Is(err, sluice.ErrNotFound) || b.asked != 0 {
			t.Errorf("%s of nonsense: %v, asked %d times", what, err, b.asked)
		}
		if err := step(shown); err != nil || b.code != code {
			t.Errorf("%s: %v of %q", what, err, b.code)
		}
	}
	if b.by != by {
		t.Errorf("by %+v", b.by)
	}
	b.asked = 0
	if page, err := d.Search(t.Context(), sluice.CouponQuery{Code: "nonsense"}); err != nil || len(page.Items) != 0 ||
		b.asked != 0 {
		t.Errorf("a search for nonsense: %v %v", page, err)
	}
	if _, err := d.Search(t.Context(), sluice.CouponQuery{Code: shown}); err != nil || b.query.Code != code ||
		b.query.At == 0 {
		t.Errorf("a search: %+v %v", b.query, err)
	}
	if _, err := d.Wallet(t.Context(), "alice", "7", 3); err != nil || b.query.User != "alice" || b.query.At == 0 {
		t.Errorf("a wallet: %+v %v", b.query, err)
	}
}
