// Package order is what buyers, the payment side and operators may do with orders: look, cancel, pay, refund. It
// decides who may ask for what and checks what came in; what a step means is decided by the root's transitions,
// inside the ledger's transactions. It refuses to decide anything from what it has read before.
package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-sale/sluice"
)

// Ledger keeps the orders. Errors are the root's sentinels: after ErrUnavailable nothing was done, after
// ErrUncertain the call may be repeated, since every step is idempotent. now is the moment of the step, for the
// shown deadline too.
type Ledger interface {
	// Order reads one order; ErrNotFound where there is none.
	Order(ctx context.Context, id sluice.ClaimID, now sluice.Millis) (sluice.Order, error)
	// Orders reads a page, newest first.
	Orders(ctx context.Context, q sluice.OrderQuery, now sluice.Millis) (sluice.Page[sluice.Order], error)
	// Pay records a payment and applies it. Idempotent by its reference.
	Pay(ctx context.Context, p sluice.Payment) (sluice.PaymentRecord, error)
	// CloseOrder ends an unpaid order; a zero actor is its owner. ErrConflict where it is paid or refunded.
	CloseOrder(ctx context.Context, id sluice.ClaimID, why sluice.CloseReason, by sluice.Actor, now sluice.Millis,
	) (sluice.Order, error)
	// RefundOrder marks money as given back. ErrConflict where there is none on it.
	RefundOrder(ctx context.Context, id sluice.ClaimID, c sluice.RefundChoice, by sluice.Actor, now sluice.Millis,
	) (sluice.Order, error)
}

// Config sets a Desk up. Zero values mean the defaults given.
type Config struct {
	Now       func() time.Time                          // default time.Now
	Log       *slog.Logger                              // default: discard
	Sandbox   bool                                      // buyers may pay with nothing, to try things out
	ReadOnly  func() bool                               // buyers' steps are refused meanwhile; default never
	OnPayment func(r sluice.PaymentResult, replay bool) // may be nil; must not block
}

// Desk serves orders. It is safe for concurrent use and has no state of its own.
type Desk struct {
	cfg    Config
	ledger Ledger
}

// New makes a Desk on ledger.
func New(cfg Config, ledger Ledger) *Desk {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ReadOnly == nil {
		cfg.ReadOnly = func() bool { return false }
	}
	return &Desk{cfg: cfg, ledger: ledger}
}

// Wallet gives a page of the user's orders, newest first.
func (d *Desk) Wallet(ctx context.Context, user, cursor string, limit int) (sluice.Page[sluice.Order], error) {
	return d.ledger.Orders(ctx, sluice.OrderQuery{User: user, Cursor: cursor, Limit: limit}, d.now())
}

// Cancel ends the user's own unpaid order. It is idempotent; an order that expired meanwhile is answered as it is.
// ErrNotFound also where the order is somebody else's. ErrConflict: it is paid or refunded.
func (d *Desk) Cancel(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error) {
	if _, err := d.own(ctx, user, id); err != nil {
		return sluice.Order{}, err
	}
	return d.ledger.CloseOrder(ctx, id, sluice.CloseCancelled, sluice.Actor{}, d.now())
}

// PaySandbox pays the user's own order without money, as a payment side would: once. ErrNotFound: the sandbox is
// off, or the order is not the user's. ErrConflict: it is closed or refunded.
func (d *Desk) PaySandbox(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error) {
	if !d.cfg.Sandbox {
		return sluice.Order{}, sluice.NewFault(sluice.ErrNotFound, "NO_SANDBOX", "the sandbox payment provider is off")
	}
	o, err := d.own(ctx, user, id)
	if err != nil {
		return sluice.Order{}, err
	}
	switch o.State {
	case sluice.OrderUnpaid:
	case sluice.OrderPaid:
		return o, nil
	default:
		return o, sluice.NewFault(sluice.ErrConflict, "ORDER_STATE", "cannot pay an order that is "+string(o.State))
	}
	return d.take(ctx, sluice.Payment{
		Reference: "sandbox:" + id.OrderID(), Order: id, AmountMinor: o.AmountMinor, Currency: o.Currency,
		Status: sluice.PaymentSucceeded, Received: d.now(),
	})
}

// own reads an order for its owner. Who owns an order never changes, so that a step may follow the look.
func (d *Desk) own(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error) {
	if d.cfg.ReadOnly() {
		return sluice.Order{}, sluice.NewFault(sluice.ErrUnavailable, "READ_ONLY", "orders cannot be changed at present")
	}
	o, err := d.ledger.Order(ctx, id, d.now())
	if err != nil {
		return sluice.Order{}, err
	}
	if o.User != user {
		return sluice.Order{}, fmt.Errorf("order %s of another user: %w", id.OrderID(), sluice.ErrNotFound)
	}
	return o, nil
}

// Notify takes a notification whose signature has been verified. It is idempotent by its reference. The order is
// given as it stands after it. ErrInvalid: it cannot be kept. ErrConflict: amount or currency is not the order's, or
// the reference names another payment. ErrNotFound: there is no such order. Those two are kept for a person first, and
// a repeated notification gets them again. ErrUnavailable, ErrUncertain: repeat it.
func (d *Desk) Notify(ctx context.Context, p sluice.Payment) (sluice.Order, error) {
	var bad []sluice.FieldFault
	check := func(field, value string, most int) {
		if len(value) < 1 || len(value) > most {
			bad = append(bad, sluice.FieldFault{Field: field, Detail: fmt.Sprintf("must be 1 to %d bytes", most)})
		}
	}
	check("reference", p.Reference, sluice.MaxReference)
	check("currency", p.Currency, sluice.MaxCurrencyText)
	check("status", p.Status, sluice.MaxPaymentStatus)
	if len(p.OrderText) > sluice.MaxReference || p.OrderText == "" && p.Order == (sluice.ClaimID{}) {
		check("order_id", p.OrderText, sluice.MaxReference)
	}
	if err := sluice.Invalid(bad...); err != nil {
		return sluice.Order{}, err
	}
	p.Received = d.now()
	return d.take(ctx, p)
}

// take has a payment recorded and turns what it came to into an answer.
func (d *Desk) take(ctx context.Context, p sluice.Payment) (sluice.Order, error) {
	rec, err := d.ledger.Pay(ctx, p)
	if err != nil {
		if errors.Is(err, sluice.ErrConflict) {
			d.cfg.Log.Error("payment refused: its reference names another one", "reference", p.Reference,
				"order", p.Order.OrderID(), "amount_minor", p.AmountMinor, "currency", p.Currency)
		}
		return sluice.Order{}, err
	}
	if d.cfg.OnPayment != nil {
		d.cfg.OnPayment(rec.Result, rec.Replayed)
	}
	fault := rec.Result.Fault()
	switch {
	case fault != nil && !rec.Replayed:
		d.cfg.Log.Error("payment kept for a person", "result", string(rec.Result), "reference", p.Reference,
			"order", p.Order.OrderID(), "amount_minor", p.AmountMinor, "currency", p.Currency,
			"order_amount_minor", rec.Settled.AmountMinor, "order_currency", rec.Settled.Currency)
	case rec.Result == sluice.PaymentRefundDue && !rec.Replayed:
		d.cfg.Log.Warn("payment is due for a refund", "reference", p.Reference, "order", p.Order.OrderID(),
			"state", string(rec.Settled.State))
	}
	return rec.Settled, fault
}

// Search gives a page of orders for operators.
func (d *Desk) Search(ctx context.Context, q sluice.OrderQuery) (sluice.Page[sluice.Order], error) {
	return d.ledger.Orders(ctx, q, d.now())
}

// Get gives one order for operators; ErrNotFound where there is none.
func (d *Desk) Get(ctx context.Context, id sluice.ClaimID) (sluice.Order, error) {
	return d.ledger.Order(ctx, id, d.now())
}

// CancelFor ends an unpaid order on an operator's word, who is put down in the audit log.
func (d *Desk) CancelFor(ctx context.Context, id sluice.ClaimID, by sluice.Actor) (sluice.Order, error) {
	return d.ledger.CloseOrder(ctx, id, sluice.CloseCancelled, by, d.now())
}

// Refund marks that the shop gave the money back. Unit and limit come back only where the choice says so.
func (d *Desk) Refund(
	ctx context.Context, id sluice.ClaimID, c sluice.RefundChoice, by sluice.Actor,
) (sluice.Order, error) {
	return d.ledger.RefundOrder(ctx, id, c, by, d.now())
}

func (d *Desk) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }
