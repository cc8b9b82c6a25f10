package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Pay records a payment and what it came to, in one transaction with the order: an unpaid order is paid by it, any
// other keeps the money as due for a refund. It is idempotent by p.Reference: the recorded answer is given again,
// with Replayed set. A payment that was recorded with another status and has succeeded since is carried out then, by
// the amount that it has then.
// ErrConflict: the reference names another payment. ErrUncertain: repeat it.
func (db *DB) Pay(ctx context.Context, p sluice.Payment) (rec sluice.PaymentRecord, err error) {
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		rec = sluice.PaymentRecord{Payment: p}
		known, err := t.payment(p.Reference)
		switch {
		case errors.Is(err, sluice.ErrNotFound):
			return t.pay(&rec, false)
		case err != nil:
			return err
		case known.Result == sluice.PaymentIgnored && known.SameOrder(p) && p.Status != known.Status:
			return t.pay(&rec, true)
		case !known.Same(p):
			return sluice.NewFault(sluice.ErrConflict, "REFERENCE_REUSED",
				"the reference names a payment of another order, amount or currency")
		}
		rec = known
		rec.Replayed = true
		return t.settled(&rec, p.Received)
	})
	return rec, err
}

// pay carries out a payment that is new, or known with a status that did not count.
func (t *tx) pay(rec *sluice.PaymentRecord, known bool) error {
	was, err := t.order(rec.Order, rec.Received)
	switch {
	case err == nil:
		if err := t.payOrder(rec, was); err != nil {
			return err
		}
	case !errors.Is(err, sluice.ErrNotFound):
		return err
	case rec.Status == sluice.PaymentSucceeded:
		rec.Result = sluice.PaymentUnknownOrder
	default:
		rec.Result = sluice.PaymentIgnored
	}
	if err := t.recordPayment(rec, known); err != nil {
		return err
	}
	return t.paymentEvent(rec, was)
}

// payOrder applies the payment to the order that it names.
func (t *tx) payOrder(rec *sluice.PaymentRecord, was orderRow) error {
	is, e, result := was.Receive(rec.Payment, rec.Received)
	rec.Result, rec.Settled = result, is
	return t.stepOrder(was, is, e)
}

// recordPayment writes the payment's row. A reference that another writer has just recorded begins again.
func (t *tx) recordPayment(rec *sluice.PaymentRecord, known bool) error {
	if known {
		n, err := t.exec(`UPDATE payments SET amount_minor = ?, currency = ?, status = ?, result = ?, received_ms = ?
			WHERE reference = ? AND result = 'ignored'`,
			rec.AmountMinor, rec.Currency, rec.Status, string(rec.Result), rec.Received, rec.Reference)
		if err == nil && n == 0 {
			return errMoved
		}
		return err
	}
	_, err := t.exec(`INSERT INTO payments (reference, claim_id, amount_minor, currency, status, result, received_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		rec.Reference, paidFor(rec.Payment), rec.AmountMinor, rec.Currency, rec.Status, string(rec.Result), rec.Received)
	if isUnique(err) {
		return errMoved
	}
	return err
}

func (t *tx) paymentEvent(rec *sluice.PaymentRecord, was orderRow) error {
	note := orderEvent(rec.Settled)
	note.Reference = rec.Reference
	switch rec.Result {
	case sluice.PaymentApplied:
		return t.event(rec.Received, "order.paid", was.campaignNo, rec.Order.OrderID(), note)
	case sluice.PaymentRefundDue:
		return t.event(rec.Received, "order.refund_due", was.campaignNo, rec.Order.OrderID(), note)
	case sluice.PaymentMismatch, sluice.PaymentUnknownOrder:
		return t.event(rec.Received, "payment.mismatch", was.campaignNo, rec.Reference, paymentNote{
			Result: rec.Result, OrderID: orderText(rec.Payment), AmountMinor: rec.AmountMinor, Currency: rec.Currency,
			OrderAmountMinor: was.AmountMinor, OrderCurrency: was.Currency,
		})
	}
	return nil
}

// paymentNote is what the event of a refused payment says.
type paymentNote struct {
	Result           sluice.PaymentResult `json:"result"`
	OrderID          string               `json:"order_id"`
	AmountMinor      int64                `json:"amount_minor"`
	Currency         string               `json:"currency"`
	OrderAmountMinor int64                `json:"order_amount_minor,omitempty"`
	OrderCurrency    string               `json:"order_currency,omitempty"`
}

const paymentColumns = `reference, claim_id, amount_minor, currency, status, result, received_ms`

func scanPayment(scan func(...any) error) (rec sluice.PaymentRecord, err error) {
	var order []byte
	var result string
	err = scan(&rec.Reference, &order, &rec.AmountMinor, &rec.Currency, &rec.Status, &result, &rec.Received)
	if err != nil {
		return rec, err
	}
	rec.Result = sluice.PaymentResult(result)
	if len(order) == len(rec.Order) {
		copy(rec.Order[:], order)
	} else {
		rec.OrderText = strings.TrimRight(string(order), "\x00")
	}
	return rec, nil
}

// paidFor gives what payments.claim_id keeps: the order, or the text that stood in its place, never as long as an id.
func paidFor(p sluice.Payment) []byte {
	text := strings.TrimRight(p.OrderText, "\x00")
	switch len(text) {
	case 0:
		return p.Order[:]
	case len(p.Order):
		text += "\x00"
	}
	return []byte(text)
}

func orderText(p sluice.Payment) string {
	if p.OrderText != "" {
		return p.OrderText
	}
	return p.Order.OrderID()
}

// payment reads a recorded payment inside the transaction.
func (t *tx) payment(reference string) (sluice.PaymentRecord, error) {
	return scanPayment(func(into ...any) error {
		return t.row(`SELECT `+paymentColumns+` FROM payments WHERE reference = ?`, []any{reference}, into...)
	})
}

// settled adds the order as it stands now.
func (t *tx) settled(rec *sluice.PaymentRecord, now sluice.Millis) error {
	r, err := t.order(rec.Order, now)
	if err == nil {
		rec.Settled = r.Order
	}
	if errors.Is(err, sluice.ErrNotFound) {
		return nil
	}
	return err
}

// Payments searches: a reference or an order are looked up in an index, the rest is a bounded walk from the newest
// backwards.
func (db *DB) Payments(ctx context.Context, q sluice.PaymentQuery) (sluice.Page[sluice.PaymentRecord], error) {
	s := search{table: "payments", columns: `o.seq, o.` + paymentColumns, limit: q.Limit, cursor: q.Cursor, alone: true}
	if q.Reference != "" {
		s.when(true, `o.reference = ?`, q.Reference)
		s.indexed = true
	}
	if q.Order != (sluice.ClaimID{}) {
		s.when(true, `o.claim_id = ?`, paidFor(sluice.Payment{Order: q.Order}))
		s.indexed = true
	}
	s.when(q.Result != "", `o.result = ?`, string(q.Result))
	return runSearch(ctx, db, s, func(scan func(...any) error) (sluice.PaymentRecord, int64, error) {
		var seq int64
		rec, err := scanPayment(func(into ...any) error { return scan(append([]any{&seq}, into...)...) })
		if err != nil {
			err = fmt.Errorf("sqldb: payments: %w", err)
		}
		return rec, seq, err
	})
}
