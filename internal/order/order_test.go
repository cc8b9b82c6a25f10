package order_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/order"
)

// book is a ledger of one order that notes what it was asked.
type book struct {
	order sluice.Order
	rec   sluice.PaymentRecord
	err   error
	asked []string
	paid  sluice.Payment
	query sluice.OrderQuery
	by    sluice.Actor
}

func (b *book) Order(_ context.Context, id sluice.ClaimID, _ sluice.Millis) (sluice.Order, error) {
	b.asked = append(b.asked, "order")
	if id != b.order.ID {
		return sluice.Order{}, sluice.ErrNotFound
	}
	return b.order, b.err
}

func (b *book) Orders(_ context.Context, q sluice.OrderQuery, _ sluice.Millis) (sluice.Page[sluice.Order], error) {
	b.query = q
	return sluice.Page[sluice.Order]{Items: []sluice.Order{b.order}}, b.err
}

func (b *book) Pay(_ context.Context, p sluice.Payment) (sluice.PaymentRecord, error) {
	b.asked, b.paid = append(b.asked, "pay"), p
	return b.rec, b.err
}

func (b *book) CloseOrder(
	_ context.Context, _ sluice.ClaimID, why sluice.CloseReason, by sluice.Actor, _ sluice.Millis,
) (sluice.Order, error) {
	b.asked, b.by = append(b.asked, "close "+string(why)), by
	return b.order, b.err
}

func (b *book) RefundOrder(
	_ context.Context, _ sluice.ClaimID, _ sluice.RefundChoice, by sluice.Actor, _ sluice.Millis,
) (sluice.Order, error) {
	b.asked, b.by = append(b.asked, "refund"), by
	return b.order, b.err
}

func newBook(state sluice.OrderState) *book {
	return &book{order: sluice.Order{
		ID: sluice.NewClaimID("c", "alice", sluice.SourceClaim, "r"), User: "alice", State: state, AmountMinor: 200,
		Currency: "CNY",
	}}
}

func TestOnlyTheOwner(t *testing.T) {
	other := sluice.NewClaimID("c", "alice", sluice.SourceClaim, "none")
	for _, tc := range []struct {
		what, user string
		id         func(*book) sluice.ClaimID
		readOnly   bool
		sandbox    bool
		state      sluice.OrderState
		cancel     error // of Cancel
		pay        error // of PaySandbox
		asked      string
	}{
		{"the owner", "alice", nil, false, true, sluice.OrderUnpaid, nil, nil, "order close cancelled order pay"},
		{"somebody else", "bob", nil, false, true, sluice.OrderUnpaid, sluice.ErrNotFound, sluice.ErrNotFound,
			"order order"},
		{"another case", "Alice", nil, false, true, sluice.OrderUnpaid, sluice.ErrNotFound, sluice.ErrNotFound,
			"order order"},
		{"no such order", "alice", func(*book) sluice.ClaimID { return other }, false, true, sluice.OrderUnpaid,
			sluice.ErrNotFound, sluice.ErrNotFound, "order order"},
		{"read only", "alice", nil, true, true, sluice.OrderUnpaid, sluice.ErrUnavailable, sluice.ErrUnavailable, ""},
		{"no sandbox", "alice", nil, false, false, sluice.OrderUnpaid, nil, sluice.ErrNotFound,
			"order close cancelled"},
		{"paid", "alice", nil, false, true, sluice.OrderPaid, nil, nil, "order close cancelled order"},
		{"closed", "alice", nil, false, true, sluice.OrderClosed, nil, sluice.ErrConflict,
			"order close cancelled order"},
		{"refunded", "alice", nil, false, true, sluice.OrderRefunded, nil, sluice.ErrConflict,
			"order close cancelled order"},
	} {
		b := newBook(tc.state)
		d := order.New(order.Config{Sandbox: tc.sandbox, ReadOnly: func() bool { return tc.readOnly }}, b)
		id := b.order.ID
		if tc.id != nil {
			id = tc.id(b)
		}
		if _, err := d.Cancel(t.Context(), tc.user, id); !errors.Is(err, tc.cancel) {
			t.Errorf("%s: cancel: %v, want %v", tc.what, err, tc.cancel)
		}
		if _, err := d.PaySandbox(t.Context(), tc.user, id); !errors.Is(err, tc.pay) {
			t.Errorf("%s: pay: %v, want %v", tc.what, err, tc.pay)
		}
		if got := strings.Join(b.asked, " "); got != tc.asked {
			t.Errorf("%s: the ledger was asked %q, want %q", tc.what, got, tc.asked)
		}
		if b.by != (sluice.Actor{}) {
			t.Errorf("%s: a buyer's step names an actor: %+v", tc.what, b.by)
		}
	}
}

func TestSandboxPaysInFullUnderOneReference(t *testing.T) {
	b := newBook(sluice.OrderUnpaid)
	now := time.UnixMilli(5000)
	d := order.New(order.Config{Sandbox: true, Now: func() time.Time { return now }}, b)
	if _, err := d.PaySandbox(t.Context(), "alice", b.order.ID); err != nil {
		t.Fatal(err)
	}
	want := sluice.Payment{Reference: "sandbox:" + b.order.ID.OrderID(), Order: b.order.ID, AmountMinor: 200,
		Currency: "CNY", Status: sluice.PaymentSucceeded, Received: 5000}
	if b.paid != want {
		t.Errorf("paid %+v, want %+v", b.paid, want)
	}
}

func TestNotifyBounds(t *testing.T) {
	b := newBook(sluice.OrderUnpaid)
	d := order.New(order.Config{}, b)
	good := sluice.Payment{Reference: "p", Order: b.order.ID, AmountMinor: 1, Currency: "CNY", Status: "succeeded"}
	for what, tc := range map[string]struct {
		change func(*sluice.Payment)
		ok     bool
	}{
		"good":              {func(*sluice.Payment) {}, true},
		"no reference":      {func(p *sluice.Payment) { p.Reference = "" }, false},
		"a long reference":  {func(p *sluice.Payment) { p.Reference = strings.Repeat("x", 128) }, true},
		"too long a one":    {func(p *sluice.Payment) { p.Reference = strings.Repeat("x", 129) }, false},
		"no currency":       {func(p *sluice.Payment) { p.Currency = "" }, false},
		"a long currency":   {func(p *sluice.Payment) { p.Currency = strings.Repeat("x", 17) }, false},
		"no status":         {func(p *sluice.Payment) { p.Status = "" }, false},
		"no order":          {func(p *sluice.Payment) { p.Order = sluice.ClaimID{} }, false},
		"a text for it":     {func(p *sluice.Payment) { p.Order, p.OrderText = sluice.ClaimID{}, "x" }, true},
		"a negative amount": {func(p *sluice.Payment) { p.AmountMinor = -1 }, true}, // a mismatch, kept for a person
		"too long an order": {func(p *sluice.Payment) { p.OrderText = strings.Repeat("x", 129) }, false},
		"another status":    {func(p *sluice.Payment) { p.Status = "pending" }, true},
	} {
		p := good
		tc.change(&p)
		b.asked = nil
		_, err := d.Notify(t.Context(), p)
		if tc.ok != (err == nil) || !tc.ok && !errors.Is(err, sluice.ErrInvalid) || tc.ok != (len(b.asked) == 1) {
			t.Errorf("%s: %v, asked %v", what, err, b.asked)
		}
	}
}

// TestAlarms holds that refused money is answered with its fault each time, told once and counted.
func TestAlarms(t *testing.T) {
	for _, tc := range []struct {
		rec  sluice.PaymentRecord
		err  error
		want error
		log  string
	}{
		{sluice.PaymentRecord{Result: sluice.PaymentApplied}, nil, nil, ""},
		{sluice.PaymentRecord{Result: sluice.PaymentIgnored}, nil, nil, ""},
		{sluice.PaymentRecord{Result: sluice.PaymentRefundDue}, nil, nil, "level=WARN"},
		{sluice.PaymentRecord{Result: sluice.PaymentRefundDue, Replayed: true}, nil, nil, ""},
		{sluice.PaymentRecord{Result: sluice.PaymentMismatch}, nil, sluice.ErrConflict, "level=ERROR"},
		{sluice.PaymentRecord{Result: sluice.PaymentMismatch, Replayed: true}, nil, sluice.ErrConflict, ""},
		{sluice.PaymentRecord{Result: sluice.PaymentUnknownOrder}, nil, sluice.ErrNotFound, "level=ERROR"},
		{sluice.PaymentRecord{}, sluice.NewFault(sluice.ErrConflict, "REFERENCE_REUSED", ""), sluice.ErrConflict,
			"level=ERROR"},
		{sluice.PaymentRecord{}, sluice.ErrUncertain, sluice.ErrUncertain, ""},
	} {
		b := newBook(sluice.OrderUnpaid)
		b.rec, b.err = tc.rec, tc.err
		var log bytes.Buffer
		var counted []sluice.PaymentResult
		d := order.New(order.Config{
			Log:       slog.New(slog.NewTextHandler(&log, nil)),
			OnPayment: func(r sluice.PaymentResult, _ bool) { counted = append(counted, r) },
		}, b)
		_, err := d.Notify(t.Context(), sluice.Payment{Reference: "p", Order: b.order.ID, Currency: "CNY",
			Status: "succeeded"})
		if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%+v: %v, want %v", tc.rec, err, tc.want)
		}
		if (len(counted) == 1) != (tc.err == nil) || (log.Len() > 0) != (tc.log != "") ||
			!strings.Contains(log.String(), tc.log) {
			t.Errorf("%+v: counted %v, logged %q", tc.rec, counted, log.String())
		}
	}
}

func TestOperatorsAreNamed(t *testing.T) {
	b := newBook(sluice.OrderPaid)
	d := order.New(order.Config{ReadOnly: func() bool { return true }}, b)
	by := sluice.Actor{KeyID: "k", Role: sluice.RoleOperator}
	if _, err := d.CancelFor(t.Context(), b.order.ID, by); err != nil || b.by != by {
		t.Errorf("cancel: %v by %+v", err, b.by)
	}
	if _, err := d.Refund(t.Context(), b.order.ID, sluice.RefundChoice{}, by); err != nil || b.by != by {
		t.Errorf("refund: %v by %+v", err, b.by)
	}
	if _, err := d.Wallet(t.Context(), "alice", "7", 3); err != nil ||
		b.query != (sluice.OrderQuery{User: "alice", Cursor: "7", Limit: 3}) {
		t.Errorf("wallet: %v %+v", err, b.query)
	}
}
