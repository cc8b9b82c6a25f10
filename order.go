package sluice

// OrderState is where an order stands. A claim that was promised and then rejected is an order row in state rejected.
type OrderState string

// The states of an order.
const (
	OrderUnpaid   OrderState = "unpaid"
	OrderPaid     OrderState = "paid"
	OrderRefunded OrderState = "refunded"
	OrderClosed   OrderState = "closed"
	OrderRejected OrderState = "rejected"
)

// CloseReason says why an order was closed.
type CloseReason string

// The close reasons.
const (
	CloseExpired   CloseReason = "expired"
	CloseCancelled CloseReason = "cancelled"
)

// Order is one confirmed claim on goods. Its id is ID.OrderID(). DueAt is a reading of the PaymentClock; ExpiresAt
// is the wall time it stands for, as the ledger saw it when the order was read.
type Order struct {
	ID          ClaimID
	Campaign    string
	User        string
	RequestID   string
	Source      Source
	Quantity    int
	AmountMinor int64 // for the whole quantity
	Currency    string
	State       OrderState
	CloseReason CloseReason
	Rejected    Reason // why, in state rejected
	RefundDue   bool   // money came after the close, or twice, and has not gone back
	LiveUnits   int64
	LimitUnits  int64
	CreatedAt   Millis
	DueAt       Millis
	ExpiresAt   Millis
	PaidAt      Millis
	ClosedAt    Millis
	RefundedAt  Millis
}

// Effects is what a transition means for the stock and the permit. The ledger writes them in the transaction of the
// transition; the permit follows.
type Effects struct {
	Held, Sold   int64 // changes of the ledger's counters
	ReleaseUnits int64 // units to give back to the permit
	ReleaseLimit int64 // units of the user's limit to give back
}

// NewOrder is the order that settling claim gives: unpaid, or paid at once where it costs nothing.
func NewOrder(claim Claim, goods Goods, clock PaymentClock) (Order, Effects) {
	q := int64(claim.Quantity)
	o := Order{
		ID: claim.ID, Campaign: claim.Campaign, User: claim.User, RequestID: claim.RequestID, Source: claim.Source,
		Quantity: claim.Quantity, AmountMinor: q * goods.PriceMinor, Currency: goods.Currency, State: OrderUnpaid,
		LiveUnits: q, LimitUnits: q, CreatedAt: claim.At,
		DueAt: clock.Read(claim.At) + Millis(goods.UnpaidWindowSec*1000),
	}
	if o.AmountMinor == 0 {
		o.State, o.PaidAt = OrderPaid, claim.At
		return o, Effects{Sold: q}
	}
	return o, Effects{Held: q}
}

// Pay applies money that has arrived in full. An unpaid order is paid, whatever the clock says: only a close ends it.
// Any other state keeps the money as due for a refund; due says so.
func (o Order) Pay(now Millis) (next Order, e Effects, due bool) {
	if o.State != OrderUnpaid {
		o.RefundDue = true
		return o, Effects{}, true
	}
	o.State, o.PaidAt = OrderPaid, now
	return o, Effects{Held: -o.LiveUnits, Sold: o.LiveUnits}, false
}

// Close ends an unpaid order. limitBack says whether the user's limit comes back with the units. Closing a closed order
// changes nothing and is no error; a paid or refunded one is an ErrConflict.
func (o Order) Close(why CloseReason, limitBack bool, now Millis) (Order, Effects, error) {
	switch o.State {
	case OrderClosed:
		return o, Effects{}, nil
	case OrderUnpaid:
	default:
		return o, Effects{}, NewFault(ErrConflict, "ORDER_STATE", "cannot close an order that is "+string(o.State))
	}
	e := Effects{Held: -o.LiveUnits, ReleaseUnits: o.LiveUnits}
	o.State, o.CloseReason, o.ClosedAt, o.LiveUnits = OrderClosed, why, now, 0
	if limitBack {
		e.ReleaseLimit, o.LimitUnits = o.LimitUnits, 0
	}
	return o, e, nil
}

// Refund marks that the shop has given the money back: of a paid order, or of one whose money came late or twice
// (then the state stays and RefundDue is lifted). A paid order with RefundDue was paid twice: its first refund gives
// back the second payment. Repeating a refund changes nothing. Giving the unit and the limit back are two choices.
func (o Order) Refund(unitBack, limitBack bool, now Millis) (Order, Effects, error) {
	switch {
	case o.RefundDue:
		o.RefundDue, o.RefundedAt = false, now
		return o, Effects{}, nil
	case o.State == OrderRefunded, o.State != OrderPaid && o.RefundedAt != 0:
		return o, Effects{}, nil
	case o.State != OrderPaid:
		return o, Effects{}, NewFault(ErrConflict, "ORDER_STATE", "no money to refund on an order that is "+string(o.State))
	}
	var e Effects
	o.State, o.RefundedAt = OrderRefunded, now
	if unitBack {
		e.Sold, e.ReleaseUnits, o.LiveUnits = -o.LiveUnits, o.LiveUnits, 0
	}
	if limitBack {
		e.ReleaseLimit, o.LimitUnits = o.LimitUnits, 0
	}
	return o, e, nil
}

// RefundExtra marks that the shop has given back money that came late or twice, and nothing else: without RefundDue it
// changes nothing. A caller who repeats himself after an uncertain answer cannot refund the order itself by it.
func (o Order) RefundExtra(now Millis) Order {
	if o.RefundDue {
		o.RefundDue, o.RefundedAt = false, now
	}
	return o
}

// Receive says what payment p does to the order. Only a payment that succeeded, of the exact amount in the order's
// currency, counts as money for it; any other leaves the order alone.
func (o Order) Receive(p Payment, now Millis) (next Order, e Effects, r PaymentResult) {
	switch {
	case p.Status != PaymentSucceeded:
		return o, Effects{}, PaymentIgnored
	case p.AmountMinor != o.AmountMinor || p.Currency != o.Currency:
		return o, Effects{}, PaymentMismatch
	case p.AmountMinor == 0:
		return o, Effects{}, PaymentIgnored // an order that cost nothing was paid at once, and no money came
	}
	next, e, due := o.Pay(now)
	if due {
		return next, e, PaymentRefundDue
	}
	return next, e, PaymentApplied
}

// PaymentSucceeded is the status of a payment that brought money.
const PaymentSucceeded = "succeeded"

// Bounds of a payment's texts, in bytes.
const (
	MaxReference     = 128
	MaxPaymentStatus = 64
	MaxCurrencyText  = 16
)

// Payment is a notification of the payment side, or of the sandbox. Reference names it for good: a second one with the
// same reference is the same payment.
type Payment struct {
	Reference   string // 1 to 128 bytes
	Order       ClaimID
	OrderText   string // what stood in its place, where that is no order id: money all the same
	AmountMinor int64
	Currency    string
	Status      string // PaymentSucceeded; anything else is recorded and changes nothing
	Received    Millis
}

// Same says whether p and q, which share a reference, are the same payment. The status may move on.
func (p Payment) Same(q Payment) bool {
	return p.SameOrder(q) && p.AmountMinor == q.AmountMinor && p.Currency == q.Currency
}

// SameOrder says whether p and q are for the same order. Of a payment that did not count nothing else has to last: one
// that is announced before it is made may not know its amount.
func (p Payment) SameOrder(q Payment) bool { return p.Order == q.Order && p.OrderText == q.OrderText }

// PaymentResult says what a payment came to.
type PaymentResult string

// The payment results.
const (
	PaymentApplied      PaymentResult = "applied"       // the order is paid by it
	PaymentRefundDue    PaymentResult = "refund_due"    // late or double
	PaymentIgnored      PaymentResult = "ignored"       // a status that is not "succeeded"
	PaymentMismatch     PaymentResult = "mismatch"      // wrong amount or currency: kept for a person
	PaymentUnknownOrder PaymentResult = "unknown_order" // kept for a person
)

// Fault is the error that the payment side is answered, nil where the payment was taken. A repeated notification gets
// the same one.
func (r PaymentResult) Fault() error {
	switch r {
	case PaymentMismatch:
		return NewFault(ErrConflict, "PAYMENT_MISMATCH",
			"amount or currency is not the order's; the payment is kept for a person")
	case PaymentUnknownOrder:
		return NewFault(ErrNotFound, "UNKNOWN_ORDER", "there is no such order; the payment is kept for a person")
	}
	return nil
}

// PaymentRecord is a payment as the ledger keeps it. Replayed says that it had been recorded before; Settled is
// the order as it stands now, the zero Order where there is none.
type PaymentRecord struct {
	Payment
	Result   PaymentResult
	Replayed bool
	Settled  Order
}

// RefundChoice says what a refund of an operator covers. The zero value marks the money as returned and keeps unit
// and limit.
type RefundChoice struct {
	UnitBack  bool
	LimitBack bool
	ExtraOnly bool // only money that came late or twice; never the order itself
}

// Apply is Refund or RefundExtra, as chosen.
func (c RefundChoice) Apply(o Order, now Millis) (Order, Effects, error) {
	if c.ExtraOnly {
		return o.RefundExtra(now), Effects{}, nil
	}
	return o.Refund(c.UnitBack, c.LimitBack, now)
}
