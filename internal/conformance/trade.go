package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice"
)

// OrderLedger is what every ledger offers for orders.
type OrderLedger interface {
	Order(ctx context.Context, id sluice.ClaimID, now sluice.Millis) (sluice.Order, error)
	Orders(ctx context.Context, q sluice.OrderQuery, now sluice.Millis) (sluice.Page[sluice.Order], error)
	Pay(ctx context.Context, p sluice.Payment) (sluice.PaymentRecord, error)
	CloseOrder(ctx context.Context, id sluice.ClaimID, why sluice.CloseReason, by sluice.Actor, now sluice.Millis,
	) (sluice.Order, error)
	RefundOrder(ctx context.Context, id sluice.ClaimID, c sluice.RefundChoice, by sluice.Actor, now sluice.Millis,
	) (sluice.Order, error)
}

// CouponLedger is what every ledger offers for coupons.
type CouponLedger interface {
	UseCoupon(ctx context.Context, u sluice.CouponUse) (sluice.Redemption, error)
	Coupon(ctx context.Context, code string, now sluice.Millis) (sluice.Coupon, error)
	Coupons(ctx context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error)
	RevokeCoupon(ctx context.Context, code string, c sluice.RevokeChoice, by sluice.Actor, now sluice.Millis,
	) (sluice.Coupon, error)
	FreeCoupon(ctx context.Context, code string, by sluice.Actor, now sluice.Millis) (sluice.Coupon, error)
}

// DueLedger is what every ledger offers to the agents, and the list of payments for people.
type DueLedger interface {
	CloseDue(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)
	ExpireCoupons(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)
	Payments(ctx context.Context, q sluice.PaymentQuery) (sluice.Page[sluice.PaymentRecord], error)
}

// TradeBench is one ledger, empty, and the handles the suite needs beside it.
type TradeBench struct {
	Orders   OrderLedger
	Coupons  CouponLedger
	Due      DueLedger
	Create   func(t *testing.T, c sluice.Campaign)
	Settle   func(t *testing.T, claims ...sluice.Claim) []sluice.Outcome
	Stock    func(t *testing.T, campaign string) sluice.Stock
	Down     func(t *testing.T, down bool, now sluice.Millis) // the switch payments_down
	Released func() []sluice.PermitOp                         // what was given back so far, in order
	Audited  func(t *testing.T) []sluice.AuditEntry           // newest first
}

// Trade runs the suite on orders and coupons that every ledger passes.
func Trade(t *testing.T, open func(t *testing.T) TradeBench) {
	tests := []struct {
		name string
		run  func(*tradeTest, *testing.T)
	}{
		{"a payment is taken once", (*tradeTest).payOnce},
		{"late and double money is due for a refund", (*tradeTest).refundDue},
		{"wrong amount, currency and order are kept", (*tradeTest).mismatch},
		{"a payment that succeeds later counts then", (*tradeTest).succeedsLater},
		{"pay, cancel and expiry at once end an order once", (*tradeTest).endsOnce},
		{"a close gives back once, by the policy", (*tradeTest).closeOnce},
		{"a refund gives back what was chosen", (*tradeTest).refundChoices},
		{"due orders are closed piece by piece", (*tradeTest).due},
		{"nothing is due while payments are down", (*tradeTest).paymentsDown},
		{"a clock that jumps closes nothing twice", (*tradeTest).clockJumps},
		{"orders are found", (*tradeTest).findOrders},
		{"orders of load tests are left out", (*tradeTest).loadTests},
		{"lock, unlock, redeem, reverse", (*tradeTest).useCoupon},
		{"a redemption is repeated by its reference", (*tradeTest).redeemOnce},
		{"redeems of one coupon at once are one", (*tradeTest).redeemRace},
		{"coupons expire, locked ones later", (*tradeTest).expire},
		{"a revoke gives back what was chosen", (*tradeTest).revoke},
		{"coupons are found", (*tradeTest).findCoupons},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tc.run(&tradeTest{TradeBench: open(t)}, t)
		})
	}
}

// The moment at which the suite's sales begin, and who does what an operator does.
const tradeStart sluice.Millis = 1_900_000_000_000

func tradeOperator() sluice.Actor {
	return sluice.Actor{KeyID: "key_1", Name: "ops", Role: sluice.RoleOperator, Reason: "asked for"}
}

type tradeTest struct {
	TradeBench
	n atomic.Int64
}

func (b *tradeTest) campaign(t *testing.T, change func(*sluice.Campaign)) sluice.Campaign {
	t.Helper()
	c := sluice.Campaign{
		ID: fmt.Sprintf("t%d", b.n.Add(1)), Kind: sluice.KindGoods, Title: "a sale", Stock: sluice.Stock{Total: 1000},
		PerUserLimit: 100, StartsAt: tradeStart, EndsAt: tradeStart + 86_400_000, Control: sluice.ControlOpen,
		Goods: sluice.Goods{SKU: "s", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
	}
	if change != nil {
		change(&c)
	}
	if c.Kind == sluice.KindCoupon {
		c.Goods = sluice.Goods{}
	}
	c.Created = c.Stock.Total
	b.Create(t, c)
	return c
}

func couponCampaign(c *sluice.Campaign) {
	c.Kind = sluice.KindCoupon
	c.Coupon = sluice.CouponTerms{
		Type: sluice.CouponAmountOff, Value: 1000, MinSpendMinor: 5000, Currency: "CNY", ValidDays: 1,
		MerchantIDs: []string{"m1", "m2"},
	}
}

// claim settles one claim of quantity and gives its id and codes.
func (b *tradeTest) claim(t *testing.T, c sluice.Campaign, user string, quantity int) (sluice.ClaimID, []string) {
	t.Helper()
	claim := b.claimAt(c, user, quantity, tradeStart)
	out := b.Settle(t, claim)
	if out[0].Reason != sluice.ReasonConfirmed {
		t.Fatalf("settle: %+v", out[0])
	}
	return claim.ID, claim.CouponCodes
}

func (b *tradeTest) claimAt(c sluice.Campaign, user string, quantity int, at sluice.Millis) sluice.Claim {
	request := fmt.Sprint("r", b.n.Add(1))
	claim := sluice.Claim{
		ID: sluice.NewClaimID(c.ID, user, sluice.SourceClaim, request), Campaign: c.ID, User: user, RequestID: request,
		Quantity: quantity, At: at,
	}
	if c.Kind == sluice.KindCoupon {
		for range quantity {
			claim.CouponCodes = append(claim.CouponCodes, sluice.NewCouponCode())
		}
	}
	return claim
}

func (b *tradeTest) pay(reference string, id sluice.ClaimID, amount int64) (sluice.PaymentRecord, error) {
	return b.Orders.Pay(context.Background(), sluice.Payment{
		Reference: reference, Order: id, AmountMinor: amount, Currency: "CNY", Status: sluice.PaymentSucceeded,
		Received: tradeStart + 1000,
	})
}

// audit recounts the campaign from its rows and compares with its counters and with what the permit was told.
func (b *tradeTest) audit(t *testing.T, c sluice.Campaign) {
	t.Helper()
	var held, sold, live, settled int64
	if c.Kind == sluice.KindCoupon {
		for _, x := range b.allCoupons(t, sluice.CouponQuery{Campaign: c.ID}) {
			sold += x.LiveUnits
			settled++
		}
	} else {
		for _, o := range b.allOrders(t, sluice.OrderQuery{Campaign: c.ID}) {
			settled += int64(o.Quantity)
			if o.State == sluice.OrderUnpaid {
				held += o.LiveUnits
			} else {
				sold += o.LiveUnits
			}
		}
	}
	live = held + sold
	if s := b.Stock(t, c.ID); s.Held != held || s.Sold != sold || s.Total < live {
		t.Fatalf("%s: counters %+v, but the rows hold %d and sold %d", c.ID, s, held, sold)
	}
	var back int64
	seen := map[sluice.ClaimID]int64{}
	for _, op := range b.Released() {
		if op.Kind == sluice.PermitRelease && op.Campaign == c.ID {
			back += op.Units
			seen[op.Claim] += op.Units
		}
	}
	if settled-back != live {
		t.Fatalf("%s: %d units settled, %d given back, %d live", c.ID, settled, back, live)
	}
}

func (b *tradeTest) allOrders(t *testing.T, q sluice.OrderQuery) (all []sluice.Order) {
	t.Helper()
	for q.Limit = 7; ; {
		page, err := b.Orders.Orders(context.Background(), q, tradeStart)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

func (b *tradeTest) allCoupons(t *testing.T, q sluice.CouponQuery) (all []sluice.Coupon) {
	t.Helper()
	if q.At == 0 {
		q.At = tradeStart
	}
	for q.Limit = 7; ; {
		page, err := b.Coupons.Coupons(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// refused checks that err is a Fault of that kind and code.
func refused(t *testing.T, what string, err, kind error, code string) {
	t.Helper()
	var f *sluice.Fault
	switch {
	case !errors.Is(err, kind):
		t.Fatalf("%s: %v, want %v", what, err, kind)
	case code != "" && (!errors.As(err, &f) || f.Code != code):
		t.Fatalf("%s: %v, want code %s", what, err, code)
	}
}

func (b *tradeTest) payOnce(t *testing.T) {
	c := b.campaign(t, nil)
	id, _ := b.claim(t, c, "u1", 2)
	other, _ := b.claim(t, c, "u1", 2)
	first, err := b.pay("p1", id, 200)
	if err != nil || first.Result != sluice.PaymentApplied || first.Replayed ||
		first.Settled.State != sluice.OrderPaid {
		t.Fatalf("pay: %+v %v", first, err)
	}
	again, err := b.pay("p1", id, 200)
	if err != nil || again.Result != sluice.PaymentApplied || !again.Replayed || again.Settled != first.Settled {
		t.Fatalf("pay again: %+v %v", again, err)
	}
	for what, p := range map[string]sluice.Payment{
		"another order":    {Reference: "p1", Order: other, AmountMinor: 200, Currency: "CNY", Status: "succeeded"},
		"another amount":   {Reference: "p1", Order: id, AmountMinor: 201, Currency: "CNY", Status: "succeeded"},
		"another currency": {Reference: "p1", Order: id, AmountMinor: 200, Currency: "EUR", Status: "succeeded"},
	} {
		_, err := b.Orders.Pay(t.Context(), p)
		refused(t, what, err, sluice.ErrConflict, "REFERENCE_REUSED")
	}
	if o, err := b.Orders.Order(t.Context(), other, tradeStart); err != nil || o.State != sluice.OrderUnpaid {
		t.Fatalf("the other order: %+v %v", o, err)
	}
	b.audit(t, c)
}

func (b *tradeTest) refundDue(t *testing.T) {
	c := b.campaign(t, nil)
	late, _ := b.claim(t, c, "u1", 1)
	double, _ := b.claim(t, c, "u1", 1)
	_, err := b.Orders.CloseOrder(t.Context(), late, sluice.CloseExpired, sluice.Actor{}, tradeStart)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.pay("first", double, 100); err != nil {
		t.Fatal(err)
	}
	for _, id := range []sluice.ClaimID{late, double} {
		rec, err := b.pay("extra"+id.String(), id, 100)
		if err != nil || rec.Result != sluice.PaymentRefundDue || !rec.Settled.RefundDue {
			t.Fatalf("extra money: %+v %v", rec, err)
		}
	}
	if due := b.allOrders(t, sluice.OrderQuery{RefundDue: true}); len(due) != 2 {
		t.Fatalf("due for a refund: %+v", due)
	}
	extra := sluice.RefundChoice{ExtraOnly: true}
	for range 2 {
		for _, id := range []sluice.ClaimID{late, double} {
			o, err := b.Orders.RefundOrder(t.Context(), id, extra, tradeOperator(), tradeStart+5000)
			if err != nil || o.RefundDue || o.RefundedAt != tradeStart+5000 || o.State == sluice.OrderRefunded {
				t.Fatalf("refund of the extra money: %+v %v", o, err)
			}
		}
	}
	if due := b.allOrders(t, sluice.OrderQuery{RefundDue: true}); len(due) != 0 {
		t.Fatalf("still due for a refund: %+v", due)
	}
	if n := len(b.Audited(t)); n < 2 || b.Audited(t)[0].Action != "order.refund" ||
		b.Audited(t)[0].Actor != tradeOperator() {
		t.Fatalf("audit log: %+v", b.Audited(t))
	}
	b.audit(t, c)
}

func (b *tradeTest) mismatch(t *testing.T) {
	c := b.campaign(t, nil)
	id, _ := b.claim(t, c, "u1", 1)
	stranger := sluice.NewClaimID(c.ID, "nobody", sluice.SourceClaim, "x")
	tests := []struct {
		p    sluice.Payment
		want sluice.PaymentResult
	}{
		{sluice.Payment{Reference: "low", Order: id, AmountMinor: 99, Currency: "CNY"}, sluice.PaymentMismatch},
		{sluice.Payment{Reference: "high", Order: id, AmountMinor: 101, Currency: "CNY"}, sluice.PaymentMismatch},
		{sluice.Payment{Reference: "euro", Order: id, AmountMinor: 100, Currency: "EUR"}, sluice.PaymentMismatch},
		{sluice.Payment{Reference: "who", Order: stranger, AmountMinor: 100, Currency: "CNY"},
			sluice.PaymentUnknownOrder},
		{sluice.Payment{Reference: "text", OrderText: "order-7", AmountMinor: 100, Currency: "CNY"},
			sluice.PaymentUnknownOrder},
		{sluice.Payment{Reference: "20", OrderText: "12345678901234567890", AmountMinor: 1, Currency: "CNY"},
			sluice.PaymentUnknownOrder},
	}
	for _, tc := range tests {
		tc.p.Status, tc.p.Received = sluice.PaymentSucceeded, tradeStart
		for _, replay := range []bool{false, true} {
			rec, err := b.Orders.Pay(t.Context(), tc.p)
			if err != nil || rec.Result != tc.want || rec.Replayed != replay || !rec.Same(tc.p) ||
				rec.Result.Fault() == nil {
				t.Fatalf("%s: %+v %v, want %s", tc.p.Reference, rec, err, tc.want)
			}
		}
		kept, err := b.Due.Payments(t.Context(), sluice.PaymentQuery{Reference: tc.p.Reference})
		if err != nil || len(kept.Items) != 1 || kept.Items[0].Payment != tc.p {
			t.Fatalf("%s was not kept: %+v %v", tc.p.Reference, kept, err)
		}
	}
	kept, err := b.Due.Payments(t.Context(), sluice.PaymentQuery{Result: sluice.PaymentMismatch, Limit: 2})
	if err != nil || len(kept.Items) != 2 || kept.Next == "" || kept.Items[0].Reference != "euro" {
		t.Fatalf("mismatches: %+v %v", kept, err)
	}
	if o, err := b.Orders.Order(t.Context(), id, tradeStart); err != nil || o.State != sluice.OrderUnpaid {
		t.Fatalf("the order: %+v %v", o, err)
	}
	b.audit(t, c)
}

func (b *tradeTest) succeedsLater(t *testing.T) {
	c := b.campaign(t, nil)
	id, _ := b.claim(t, c, "u1", 1)
	p := sluice.Payment{Reference: "p1", Order: id, AmountMinor: 100, Currency: "CNY", Status: "pending",
		Received: tradeStart}
	for _, replay := range []bool{false, true} {
		rec, err := b.Orders.Pay(t.Context(), p)
		if err != nil || rec.Result != sluice.PaymentIgnored || rec.Replayed != replay {
			t.Fatalf("pending: %+v %v", rec, err)
		}
	}
	p.Status = sluice.PaymentSucceeded
	for _, replay := range []bool{false, true} {
		rec, err := b.Orders.Pay(t.Context(), p)
		if err != nil || rec.Result != sluice.PaymentApplied || rec.Replayed != replay ||
			rec.Settled.State != sluice.OrderPaid {
			t.Fatalf("succeeded: %+v %v", rec, err)
		}
	}
	b.succeedsWithAnotherAmount(t, c)
	p.Status = "failed"
	if rec, err := b.Orders.Pay(t.Context(), p); err != nil || rec.Result != sluice.PaymentApplied || !rec.Replayed {
		t.Fatalf("a status after success: %+v %v", rec, err)
	}
	b.audit(t, c)
}

// succeedsWithAnotherAmount: what a payment that did not count had said of its amount binds nobody. Money that comes
// under its reference is held against the order, and kept.
func (b *tradeTest) succeedsWithAnotherAmount(t *testing.T, c sluice.Campaign) {
	t.Helper()
	for i, tc := range []struct {
		before, amount int64
		currency       string
		want           sluice.PaymentResult
	}{
		{0, 100, "CNY", sluice.PaymentApplied}, {100, 99, "CNY", sluice.PaymentMismatch},
		{100, 100, "EUR", sluice.PaymentMismatch},
	} {
		id, _ := b.claim(t, c, "u2", 1)
		p := sluice.Payment{Reference: fmt.Sprint("later", i), Order: id, AmountMinor: tc.before, Currency: "CNY",
			Status: "created", Received: tradeStart}
		if rec, err := b.Orders.Pay(t.Context(), p); err != nil || rec.Result != sluice.PaymentIgnored {
			t.Fatalf("created: %+v %v", rec, err)
		}
		p.AmountMinor, p.Currency, p.Status, p.Received = tc.amount, tc.currency, sluice.PaymentSucceeded, tradeStart+1
		elsewhere := p
		elsewhere.Order, _ = b.claim(t, c, "u2", 1)
		_, err := b.Orders.Pay(t.Context(), elsewhere)
		refused(t, "for another order", err, sluice.ErrConflict, "REFERENCE_REUSED")
		for _, replay := range []bool{false, true} {
			rec, err := b.Orders.Pay(t.Context(), p)
			if err != nil || rec.Result != tc.want || rec.Replayed != replay || rec.AmountMinor != tc.amount {
				t.Fatalf("succeeded: %+v %v, want %s", rec, err, tc.want)
			}
		}
		kept, err := b.Due.Payments(t.Context(), sluice.PaymentQuery{Reference: p.Reference})
		if err != nil || len(kept.Items) != 1 || kept.Items[0].Payment != p || kept.Items[0].Result != tc.want {
			t.Fatalf("kept: %+v %v, want %+v", kept, err, p)
		}
	}
}

// endsOnce lets three ways to end an order race, many times.
func (b *tradeTest) endsOnce(t *testing.T) {
	c := b.campaign(t, nil)
	ended := map[sluice.OrderState]int{}
	for round := range 200 {
		id, _ := b.claim(t, c, "u", 1)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := b.pay(id.String(), id, 100); err != nil {
				t.Error("pay", err)
			}
		})
		all.Go(func() {
			_, err := b.Orders.CloseOrder(context.Background(), id, sluice.CloseCancelled, sluice.Actor{}, tradeStart+1)
			if err != nil && !errors.Is(err, sluice.ErrConflict) {
				t.Error("cancel", err)
			}
		})
		all.Go(func() {
			if _, err := b.Due.CloseDue(context.Background(), tradeStart+900_000, 0); err != nil {
				t.Error("expire", err)
			}
		})
		all.Wait()
		o, err := b.Orders.Order(t.Context(), id, tradeStart)
		if err != nil || o.RefundDue != (o.State == sluice.OrderClosed) {
			t.Fatalf("round %d: %+v %v", round, o, err)
		}
		ended[o.State]++
		_, _ = b.Orders.RefundOrder(t.Context(), id, sluice.RefundChoice{UnitBack: true, LimitBack: true},
			tradeOperator(), tradeStart+2)
	}
	if ended[sluice.OrderPaid]+ended[sluice.OrderClosed] != 200 {
		t.Fatalf("ended %v", ended)
	}
	b.audit(t, c)
	// Whatever was released was released once: every claim is whole again.
	back := map[sluice.ClaimID]int64{}
	for _, op := range b.Released() {
		if back[op.Claim] += op.Units; back[op.Claim] > 1 {
			t.Fatalf("claim %s gave back %d units", op.Claim, back[op.Claim])
		}
	}
	if len(back) != 200 || b.Stock(t, c.ID).Sold != 0 {
		t.Fatalf("%d claims gave back, stock %+v", len(back), b.Stock(t, c.ID))
	}
}
