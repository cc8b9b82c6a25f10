package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// anOrder draws an order of the goods campaign that cost something, or nil.
func (w *World) anOrder() (*campaign, *claim) {
	c := w.campaigns[0]
	x := w.pickClaim(c)
	if x == nil || c.set.Goods.PriceMinor == 0 {
		return c, nil
	}
	return c, x
}

// pay sends a payment: right, or wrong in its amount.
func (w *World) pay(ctx context.Context) error {
	c, x := w.anOrder()
	if x == nil {
		return nil
	}
	p := sluice.Payment{
		Reference: w.name("pay"), Order: x.id, AmountMinor: int64(x.quantity) * c.set.Goods.PriceMinor, Currency: "CNY",
		Status: sluice.PaymentSucceeded, Received: w.now,
	}
	if w.rng.IntN(5) == 0 {
		p.AmountMinor++
	}
	x.payments = append(x.payments, p)
	return w.notify(ctx, c, x, p, false)
}

// payAgain repeats a notification: nothing may happen but the same answer.
func (w *World) payAgain(ctx context.Context) error {
	c, x := w.anOrder()
	if x == nil || len(x.payments) == 0 {
		return nil
	}
	return w.notify(ctx, c, x, x.payments[w.rng.IntN(len(x.payments))], true)
}

func (w *World) notify(ctx context.Context, c *campaign, x *claim, p sluice.Payment, again bool) error {
	want := sluice.PaymentApplied
	switch {
	case again:
		want = x.results[p.Reference]
	case p.AmountMinor != int64(x.quantity)*c.set.Goods.PriceMinor:
		want = sluice.PaymentMismatch
	case x.order != sluice.OrderUnpaid:
		want = sluice.PaymentRefundDue
	}
	var rec sluice.PaymentRecord
	retried, err := w.write(func() (err error) {
		rec, err = w.db.Pay(ctx, p)
		return err
	})
	w.note("pay %v %s again=%v: %s %s", x.id, x.order, again, rec.Result, errOf(err))
	if err != nil {
		return fmt.Errorf("pay: %w", err)
	}
	if rec.Result != want || rec.Replayed != again && !retried {
		return fmt.Errorf("payment %s: %s (replayed %v), has to be %s", p.Reference, rec.Result, rec.Replayed, want)
	}
	if again {
		return w.sameOrder(ctx, x)
	}
	if x.results == nil {
		x.results = map[string]sluice.PaymentResult{}
	}
	x.results[p.Reference] = want
	switch want {
	case sluice.PaymentApplied:
		x.order = sluice.OrderPaid
	case sluice.PaymentRefundDue:
		x.due = true
	}
	return w.sameOrder(ctx, x)
}

// sameOrder compares an order's row with the history.
func (w *World) sameOrder(ctx context.Context, x *claim) error {
	o, err := w.db.Order(ctx, x.id, w.now)
	if err != nil {
		return err
	}
	if o.State != x.order || o.RefundDue != x.due || o.LiveUnits != x.live || o.LimitUnits != x.limit {
		return fmt.Errorf("order %v: the row says %s due=%v live=%d limit=%d, the history %s %v %d %d",
			x.id, o.State, o.RefundDue, o.LiveUnits, o.LimitUnits, x.order, x.due, x.live, x.limit)
	}
	return nil
}

func (w *World) cancel(ctx context.Context) error {
	c, x := w.anOrder()
	if x == nil {
		return nil
	}
	can := x.order == sluice.OrderUnpaid || x.order == sluice.OrderClosed
	_, err := w.write(func() error {
		_, err := w.db.CloseOrder(ctx, x.id, sluice.CloseCancelled, sluice.Actor{}, w.now)
		return err
	})
	w.note("cancel %v %s: %s", x.id, x.order, errOf(err))
	if (err == nil) != can || err != nil && !errors.Is(err, sluice.ErrConflict) {
		return fmt.Errorf("cancel of an order that is %s: %w", x.order, err)
	}
	c.close(x)
	return w.sameOrder(ctx, x)
}

// timePasses moves the clock, now and then backwards, and sweeps what fell due.
func (w *World) timePasses(ctx context.Context) error {
	by := time.Duration(w.rng.IntN(50)) * time.Second
	if w.rng.IntN(8) == 0 {
		by = -by
	}
	w.now = w.now.Add(by)
	reading := w.clock.Read(w.now)
	c := w.campaigns[0]
	var due []*claim
	for _, id := range c.order {
		if x := c.claims[id]; x.order == sluice.OrderUnpaid && x.deadline <= reading && w.clock.Since == 0 {
			due = append(due, x)
		}
	}
	closed := 0
	for {
		s, err := w.db.CloseDue(ctx, w.now, 1+w.rng.IntN(3))
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		closed += s.Done
		if s.Done == 0 {
			break
		}
	}
	w.note("%v pass, %d fall due", by, closed)
	if closed != len(due) {
		return fmt.Errorf("%d orders were closed, %d had fallen due", closed, len(due))
	}
	for _, x := range due {
		c.close(x)
		if err := w.sameOrder(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// paymentsDown stops the clock of unpaid windows, or lets it go on.
func (w *World) paymentsDown(ctx context.Context) error {
	down := w.clock.Since == 0
	s := sluice.SwitchSetting{Name: sluice.SwitchPaymentsDown, Value: 1, Set: down, At: w.now}
	if _, err := w.db.SetSwitch(ctx, s, operator); err != nil {
		return err
	}
	if down {
		w.clock = w.clock.Stop(w.now)
	} else {
		w.clock = w.clock.Start(w.now)
	}
	w.note("payments down: %v", down)
	return nil
}

func (w *World) refund(ctx context.Context) error {
	_, x := w.anOrder()
	if x == nil {
		return nil
	}
	choice := sluice.RefundChoice{UnitBack: w.rng.IntN(2) == 0, LimitBack: w.rng.IntN(2) == 0}
	_, err := w.db.RefundOrder(ctx, x.id, choice, operator, w.now)
	w.note("refund %v %s due=%v %+v: %s", x.id, x.order, x.due, choice, errOf(err))
	can := x.due || x.refunded || x.order == sluice.OrderPaid || x.order == sluice.OrderRefunded
	if (err == nil) != can {
		return fmt.Errorf("refund of an order that is %s: %w", x.order, err)
	}
	switch {
	case err != nil:
	case x.due:
		x.due, x.refunded = false, true
	case x.order == sluice.OrderPaid:
		x.order, x.refunded = sluice.OrderRefunded, true
		if choice.UnitBack {
			x.live = 0
		}
		if choice.LimitBack {
			x.limit = 0
		}
	}
	return w.sameOrder(ctx, x)
}

// aCoupon draws one coupon, or nil.
func (w *World) aCoupon() (*claim, *coupon) {
	x := w.pickClaim(w.campaigns[1])
	if x == nil {
		return nil, nil
	}
	return x, &x.coupons[w.rng.IntN(len(x.coupons))]
}

// coupon plays a merchant's step: redeem under a new or a used reference, or reverse.
func (w *World) coupon(ctx context.Context) error {
	_, k := w.aCoupon()
	if k == nil {
		return nil
	}
	u := sluice.CouponUse{
		Op: sluice.CouponRedeem, Code: k.code, Merchant: "m", Reference: w.name("buy"), SpendMinor: 9900, At: w.now,
	}
	can := k.redeemed == "" && !k.revoked
	switch w.rng.IntN(4) {
	case 0: // again under the same reference
		if k.redeemed != "" {
			u.Reference, can = k.redeemed, true
		}
	case 1:
		u.Op = sluice.CouponReverse
		if can = k.redeemed != ""; can {
			u.Reference = k.redeemed
		}
	}
	var r sluice.Redemption
	_, err := w.write(func() (err error) {
		r, err = w.db.UseCoupon(ctx, u)
		return err
	})
	w.note("%s of a coupon (redeemed by %q, revoked %v): %s", u.Op, k.redeemed, k.revoked, errOf(err))
	if (err == nil) != can || err != nil && !errors.Is(err, sluice.ErrConflict) {
		return fmt.Errorf("%s: allowed %v: %w", u.Op, can, err)
	}
	if err != nil {
		return nil
	}
	if r.DiscountMinor != 500 {
		return fmt.Errorf("%s: discount %d", u.Op, r.DiscountMinor)
	}
	if u.Op == sluice.CouponReverse {
		k.redeemed = ""
	} else {
		k.redeemed = u.Reference
	}
	return nil
}

func (w *World) revoke(ctx context.Context) error {
	x, k := w.aCoupon()
	if k == nil {
		return nil
	}
	choice := sluice.RevokeChoice{UnitBack: w.rng.IntN(2) == 0, LimitBack: w.rng.IntN(2) == 0}
	_, err := w.write(func() error {
		_, err := w.db.RevokeCoupon(ctx, k.code, choice, operator, w.now)
		return err
	})
	w.note("revoke a coupon (redeemed by %q, revoked %v) %+v: %s", k.redeemed, k.revoked, choice, errOf(err))
	if (err == nil) != (k.redeemed == "") {
		return fmt.Errorf("revoke of a coupon redeemed by %q: %w", k.redeemed, err)
	}
	if err == nil && !k.revoked {
		k.revoked = true
		if choice.UnitBack {
			x.live--
		}
		if choice.LimitBack {
			x.limit--
		}
	}
	return nil
}
