package sluice_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-sale/sluice"
)

// orders gives one order in each state that an order can be in, with and without money to give back.
func orders() map[string]sluice.Order {
	base := sluice.Order{Quantity: 2, AmountMinor: 200, Currency: "CNY", LiveUnits: 2, LimitUnits: 2,
		State: sluice.OrderUnpaid}
	make := func(change func(*sluice.Order)) sluice.Order {
		o := base
		change(&o)
		return o
	}
	paid := func(o *sluice.Order) { o.State, o.PaidAt = sluice.OrderPaid, 5 }
	closed := func(o *sluice.Order) {
		o.State, o.CloseReason, o.ClosedAt, o.LiveUnits, o.LimitUnits = sluice.OrderClosed, sluice.CloseExpired, 5, 0, 0
	}
	rejected := func(o *sluice.Order) {
		o.State, o.Rejected, o.LiveUnits, o.LimitUnits = sluice.OrderRejected, sluice.ReasonSoldOut, 0, 0
	}
	return map[string]sluice.Order{
		"unpaid":           base,
		"paid":             make(paid),
		"paid twice":       make(func(o *sluice.Order) { paid(o); o.RefundDue = true }),
		"paid, extra back": make(func(o *sluice.Order) { paid(o); o.RefundedAt = 6 }),
		"refunded":         make(func(o *sluice.Order) { paid(o); o.State, o.RefundedAt = sluice.OrderRefunded, 6 }),
		"refunded, due": make(func(o *sluice.Order) {
			paid(o)
			o.State, o.RefundedAt,
				o.RefundDue = sluice.OrderRefunded, 6, true
		}),
		"closed":        make(closed),
		"closed, due":   make(func(o *sluice.Order) { closed(o); o.RefundDue = true }),
		"closed, back":  make(func(o *sluice.Order) { closed(o); o.RefundedAt = 6 }),
		"rejected":      make(rejected),
		"rejected, due": make(func(o *sluice.Order) { rejected(o); o.RefundDue = true }),
	}
}

type orderStep struct {
	state   sluice.OrderState
	due     bool
	effects sluice.Effects
	refused bool
	same    bool // the order is as it was
}

// orderTable says what each command makes of each state.
func orderTable() map[string]map[string]orderStep {
	const unpaid, paid, closed, refunded, rejected = sluice.OrderUnpaid, sluice.OrderPaid, sluice.OrderClosed,
		sluice.OrderRefunded, sluice.OrderRejected
	back := sluice.Effects{Held: -2, ReleaseUnits: 2}
	backAll := sluice.Effects{Held: -2, ReleaseUnits: 2, ReleaseLimit: 2}
	sold := sluice.Effects{Held: -2, Sold: 2}
	same := func(s sluice.OrderState, due bool) orderStep { return orderStep{state: s, due: due, same: true} }
	no := func(s sluice.OrderState, due bool) orderStep {
		return orderStep{state: s, due: due, same: true, refused: true}
	}
	lifted := func(s sluice.OrderState) orderStep { return orderStep{state: s} }
	dueNow := func(s sluice.OrderState) orderStep { return orderStep{state: s, due: true} }
	return map[string]map[string]orderStep{
		"unpaid": {"pay": {state: paid, effects: sold}, "close": {state: closed, effects: back},
			"close with limit": {state: closed, effects: backAll}, "refund": no(unpaid,
				false), "refund extra": same(unpaid, false)},
		"paid": {"pay": dueNow(paid), "close": no(paid, false), "close with limit": no(paid, false),
			"refund":       {state: refunded, effects: sluice.Effects{Sold: -2, ReleaseUnits: 2, ReleaseLimit: 2}},
			"refund extra": same(paid, false)},
		"paid twice": {"pay": same(paid, true), "close": no(paid, true), "close with limit": no(paid, true),
			"refund": lifted(paid), "refund extra": lifted(paid)},
		"paid, extra back": {"pay": dueNow(paid), "close": no(paid, false), "close with limit": no(paid, false),
			"refund":       {state: refunded, effects: sluice.Effects{Sold: -2, ReleaseUnits: 2, ReleaseLimit: 2}},
			"refund extra": same(paid, false)},
		"refunded": {"pay": dueNow(refunded), "close": no(refunded, false), "close with limit": no(refunded, false),
			"refund": same(refunded, false), "refund extra": same(refunded, false)},
		"refunded, due": {"pay": same(refunded, true), "close": no(refunded, true), "close with limit": no(refunded,
			true),
			"refund": lifted(refunded), "refund extra": lifted(refunded)},
		"closed": {"pay": dueNow(closed), "close": same(closed, false), "close with limit": same(closed, false),
			"refund": no(closed, false), "refund extra": same(closed, false)},
		"closed, due": {"pay": same(closed, true), "close": same(closed, true), "close with limit": same(closed, true),
			"refund": lifted(closed), "refund extra": lifted(closed)},
		"closed, back": {"pay": dueNow(closed), "close": same(closed, false), "close with limit": same(closed, false),
			"refund": same(closed, false), "refund extra": same(closed, false)},
		"rejected": {"pay": dueNow(rejected), "close": no(rejected, false), "close with limit": no(rejected, false),
			"refund": no(rejected, false), "refund extra": same(rejected, false)},
		"rejected, due": {"pay": same(rejected, true), "close": no(rejected, true), "close with limit": no(rejected,
			true),
			"refund": lifted(rejected), "refund extra": lifted(rejected)},
	}
}

// TestOrderTransitions is the whole table: every state and every command.
func TestOrderTransitions(t *testing.T) {
	want := orderTable()
	const now sluice.Millis = 1000
	commands := map[string]func(sluice.Order) (sluice.Order, sluice.Effects, error){
		"pay": func(o sluice.Order) (sluice.Order, sluice.Effects, error) {
			next, e, due := o.Pay(now)
			if due != (o.State != sluice.OrderUnpaid) {
				t.Errorf("pay of %s: due is %v", o.State, due)
			}
			return next, e, nil
		},
		"close": func(o sluice.Order) (sluice.Order, sluice.Effects, error) {
			return o.Close(sluice.CloseCancelled, false, now)
		},
		"close with limit": func(o sluice.Order) (sluice.Order, sluice.Effects, error) {
			return o.Close(sluice.CloseExpired, true, now)
		},
		"refund": func(o sluice.Order) (sluice.Order, sluice.Effects, error) {
			return sluice.RefundChoice{UnitBack: true, LimitBack: true}.Apply(o, now)
		},
		"refund extra": func(o sluice.Order) (sluice.Order, sluice.Effects, error) {
			return sluice.RefundChoice{UnitBack: true, LimitBack: true, ExtraOnly: true}.Apply(o, now)
		},
	}
	for state, o := range orders() {
		for command, do := range commands {
			w, ok := want[state][command]
			if !ok {
				t.Fatalf("no row for %s of %s", command, state)
			}
			next, e, err := do(o)
			switch {
			case w.refused != errors.Is(err, sluice.ErrConflict) || w.refused != (err != nil):
				t.Errorf("%s of %s: %v", command, state, err)
			case next.State != w.state || next.RefundDue != w.due || e != w.effects || w.same != (next == o):
				t.Errorf("%s of %s: %+v %+v, want %+v", command, state, next, e, w)
			case next.LiveUnits != o.LiveUnits-e.ReleaseUnits || next.LimitUnits != o.LimitUnits-e.ReleaseLimit:
				t.Errorf("%s of %s: units and effects differ: %+v %+v", command, state, next, e)
			}
			again, e2, err := do(next)
			if command != "pay" && err == nil && state != "paid twice" && (again != next || e2 != sluice.Effects{}) {
				t.Errorf("%s of %s, repeated: %+v %+v", command, state, again, e2)
			}
		}
	}
}

func TestReceive(t *testing.T) {
	good := sluice.Payment{AmountMinor: 200, Currency: "CNY", Status: sluice.PaymentSucceeded}
	for i, tc := range []struct {
		change func(*sluice.Payment)
		state  sluice.OrderState
		want   sluice.PaymentResult
	}{
		{func(*sluice.Payment) {}, sluice.OrderUnpaid, sluice.PaymentApplied},
		{func(*sluice.Payment) {}, sluice.OrderClosed, sluice.PaymentRefundDue},
		{func(*sluice.Payment) {}, sluice.OrderPaid, sluice.PaymentRefundDue},
		{func(p *sluice.Payment) { p.AmountMinor++ }, sluice.OrderUnpaid, sluice.PaymentMismatch},
		{func(p *sluice.Payment) { p.AmountMinor = 0 }, sluice.OrderPaid, sluice.PaymentMismatch},
		{func(p *sluice.Payment) { p.Currency = "cny" }, sluice.OrderUnpaid, sluice.PaymentMismatch},
		{func(p *sluice.Payment) { p.Status = "SUCCEEDED" }, sluice.OrderUnpaid, sluice.PaymentIgnored},
		{func(p *sluice.Payment) { p.Status, p.AmountMinor = "failed", 1 }, sluice.OrderUnpaid, sluice.PaymentIgnored},
		// Nothing came, and nothing has to go back.
		{func(p *sluice.Payment) { p.AmountMinor = 0 }, "free", sluice.PaymentIgnored},
		{func(*sluice.Payment) {}, "free", sluice.PaymentMismatch},
	} {
		p, o := good, orders()[string(tc.state)]
		if tc.state == "free" {
			o = orders()[string(sluice.OrderPaid)]
			o.AmountMinor = 0
		}
		tc.change(&p)
		next, e, got := o.Receive(p, 9)
		touched := next != o || e != sluice.Effects{}
		if got != tc.want || touched != (got == sluice.PaymentApplied || got == sluice.PaymentRefundDue) {
			t.Errorf("case %d: %s, %+v %+v", i, got, next, e)
		}
		if refused := got == sluice.PaymentMismatch; refused != (got.Fault() != nil) {
			t.Errorf("case %d: fault %v", i, got.Fault())
		}
	}
}

func TestNewOrder(t *testing.T) {
	goods := sluice.Goods{PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 60}
	claim := sluice.Claim{Quantity: 3, At: 10_000}
	for _, tc := range []struct {
		price   int64
		state   sluice.OrderState
		effects sluice.Effects
	}{{100, sluice.OrderUnpaid, sluice.Effects{Held: 3}}, {0, sluice.OrderPaid, sluice.Effects{Sold: 3}}} {
		goods.PriceMinor = tc.price
		o, e := sluice.NewOrder(claim, goods, sluice.PaymentClock{Stopped: 500})
		if o.State != tc.state || e != tc.effects || o.AmountMinor != 3*tc.price || o.DueAt != 10_000-500+60_000 ||
			(o.PaidAt != 0) != (tc.price == 0) {
			t.Errorf("price %d: %+v %+v", tc.price, o, e)
		}
	}
}

func ExamplePaymentClock() {
	var c sluice.PaymentClock
	due := c.Read(1_000) + 900 // a window of 900 ms, opened at 1,000
	c = c.Stop(1_500)
	fmt.Println(c.Wall(due, 1_700)) // 200 ms later than planned so far
	c = c.Start(2_500)
	fmt.Println(c.Wall(due, 2_500), c.Read(2_900) >= due)
	// Output:
	// 2100
	// 2900 true
}
