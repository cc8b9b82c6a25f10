package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-sale/sluice"
)

// maxTries bounds how often a write is begun again because another one came first.
const maxTries = 5

// errMoved means that a row was not any more what had been read: the transaction is run again from the start.
var errMoved = errors.New("sqldb: the row has moved on")

// writeAgain is write for a read followed by a conditional update: it begins again where another writer came in
// between. With one writer that does not happen; a database with many does it under load.
func (db *DB) writeAgain(ctx context.Context, l lane, fn func(*tx) error) (err error) {
	for range maxTries {
		if err = db.write(ctx, l, fn); !errors.Is(err, errMoved) {
			var broken *brokenError
			if errors.As(err, &broken) && db.cfg.Doubt != nil {
				db.cfg.Doubt(broken.campaign, broken.Error())
			}
			return err
		}
	}
	return fmt.Errorf("%w: %w", sluice.ErrUnavailable, err)
}

// brokenError means that a step was undone because the campaign's counters would have left their bounds.
type brokenError struct {
	campaign string
	no       int64
	cause    error
}

// Error says which campaign and what broke.
func (e *brokenError) Error() string {
	return "sqldb: the counters of " + e.campaign + " do not allow the step: " + e.cause.Error()
}

// Unwrap gives the cause, and ErrUnavailable: nothing was done.
func (e *brokenError) Unwrap() []error { return []error{sluice.ErrUnavailable, e.cause} }

// orderRow is an order with what its row says beside it.
type orderRow struct {
	sluice.Order
	seq        int64
	campaignNo int64
	limitBack  bool
}

const orderColumns = `o.seq, o.claim_id, o.campaign_no, c.id, c.terms, o.user_id, COALESCE(o.request_id, ''), o.source,
	o.quantity, o.amount_minor, o.state, COALESCE(o.close_reason, ''), COALESCE(o.rejected, ''), o.refund_due,
	o.live_units, o.limit_units, o.created_ms, o.due_ms, COALESCE(o.paid_ms, 0), COALESCE(o.closed_ms, 0),
	COALESCE(o.refunded_ms, 0)`

const orderByClaim = `SELECT ` + orderColumns + `
	FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id = ?`

// termsCache keeps the terms of the campaigns met while one page or one batch is read.
type termsCache map[int64]terms

func (tc termsCache) of(no int64, text string) (terms, error) {
	if t, ok := tc[no]; ok {
		return t, nil
	}
	t, err := parseTerms(text)
	if err == nil {
		tc[no] = t
	}
	return t, err
}

// scanOrder reads one row of orderColumns.
func scanOrder(
	scan func(...any) error, tc termsCache, clock sluice.PaymentClock, now sluice.Millis,
) (r orderRow, err error) {
	var id []byte
	var text, state, reason, rejected string
	err = scan(&r.seq, &id, &r.campaignNo, &r.Campaign, &text, &r.User, &r.RequestID, &r.Source,
		&r.Quantity, &r.AmountMinor, &state, &reason, &rejected, &r.RefundDue,
		&r.LiveUnits, &r.LimitUnits, &r.CreatedAt, &r.DueAt, &r.PaidAt, &r.ClosedAt, &r.RefundedAt)
	if err != nil {
		return r, err
	}
	t, err := tc.of(r.campaignNo, text)
	if err != nil {
		return r, err
	}
	copy(r.ID[:], id)
	r.State, r.CloseReason = sluice.OrderState(state), sluice.CloseReason(reason)
	r.Rejected, _ = sluice.ParseReason(rejected)
	r.Currency, r.limitBack = t.Goods.Currency, t.Goods.LimitBackOnClose
	r.ExpiresAt = clock.Wall(r.DueAt, now)
	return r, nil
}

// order reads the order of a claim inside the transaction; ErrNotFound where there is none.
func (t *tx) order(id sluice.ClaimID, now sluice.Millis) (r orderRow, err error) {
	clock, err := t.paymentClock()
	if err != nil {
		return r, err
	}
	scan := func(into ...any) error { return t.row(orderByClaim, []any{id[:]}, into...) }
	return scanOrder(scan, termsCache{}, clock, now)
}

// stepOrder writes what a transition made of the order, with its effects on the counters and the permit.
func (t *tx) stepOrder(was orderRow, is sluice.Order, e sluice.Effects) error {
	if is == was.Order {
		return nil
	}
	if err := t.before(was.Campaign, e); err != nil {
		return err
	}
	n, err := t.exec(`UPDATE orders SET state = ?, live_units = ?, limit_units = ?, paid_ms = ?, closed_ms = ?,
		close_reason = ?, refund_due = ?, refunded_ms = ?
		WHERE claim_id = ? AND state = ? AND refund_due = ? AND live_units = ? AND limit_units = ?`,
		string(is.State), is.LiveUnits, is.LimitUnits, orNull(is.PaidAt), orNull(is.ClosedAt),
		textOrNull(string(is.CloseReason)), is.RefundDue, orNull(is.RefundedAt),
		is.ID[:], string(was.State), was.RefundDue, was.LiveUnits, was.LimitUnits)
	if err != nil {
		return err
	}
	if n == 0 {
		return errMoved
	}
	return t.effects(was.campaignNo, was.Campaign, is.ID, e)
}

// before takes the campaign's lock ahead of the rows of a step that has effects on the campaign. All such steps, and
// settling, meet at that lock, so that none waits for another one's row while it holds what that one needs.
func (t *tx) before(campaign string, e sluice.Effects) error {
	if t.w != nil || e == (sluice.Effects{}) { // with one writer there is nobody to wait for
		return nil
	}
	_, _, err := t.lockCampaign(campaign)
	return err
}

// effects moves the campaign's counters and gives back to the permit.
func (t *tx) effects(campaignNo int64, campaign string, id sluice.ClaimID, e sluice.Effects) error {
	if e.Held != 0 || e.Sold != 0 {
		_, err := t.exec(`UPDATE campaigns SET held = held + ?, sold = sold + ? WHERE no = ?`, e.Held, e.Sold, campaignNo)
		if isBroken(err) {
			return &brokenError{campaign: campaign, no: campaignNo, cause: err}
		}
		if err != nil {
			return fmt.Errorf("sqldb: counters of %s: %w", campaign, err)
		}
	}
	if e.ReleaseUnits != 0 || e.ReleaseLimit != 0 {
		t.release(campaign, id, e)
	}
	return nil
}

// CloseOrder ends an unpaid order, as by says: a zero Actor is the buyer or the clock, an operator is put down in
// the audit log. A closed order stays as it is. ErrNotFound: no such order. ErrConflict: it is paid, refunded or
// was never granted.
func (db *DB) CloseOrder(
	ctx context.Context, id sluice.ClaimID, why sluice.CloseReason, by sluice.Actor, now sluice.Millis,
) (sluice.Order, error) {
	step := func(was orderRow) (sluice.Order, sluice.Effects, error) { return was.Close(why, was.limitBack, now) }
	return db.order(ctx, id, "order.closed", "order.cancel", by, now, step)
}

// RefundOrder marks that the shop gave money back, as the choice says, and puts it down in the audit log.
// Repeating it changes nothing. ErrNotFound: no such order. ErrConflict: there is no money on it.
func (db *DB) RefundOrder(
	ctx context.Context, id sluice.ClaimID, c sluice.RefundChoice, by sluice.Actor, now sluice.Millis,
) (sluice.Order, error) {
	step := func(was orderRow) (sluice.Order, sluice.Effects, error) { return c.Apply(was.Order, now) }
	return db.order(ctx, id, "order.refunded", "order.refund", by, now, step)
}

// order takes a step of an order, with its event and its row in the audit log, unless it changes nothing.
func (db *DB) order(
	ctx context.Context, id sluice.ClaimID, event, action string, by sluice.Actor, now sluice.Millis,
	step func(orderRow) (sluice.Order, sluice.Effects, error),
) (o sluice.Order, err error) {
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		was, err := t.order(id, now)
		if err != nil {
			return err
		}
		is, e, err := step(was)
		if err != nil {
			return err
		}
		o = is
		if is == was.Order {
			return nil
		}
		if err := t.stepOrder(was, is, e); err != nil {
			return err
		}
		if err := t.event(now, event, was.campaignNo, id.OrderID(), orderEvent(is)); err != nil {
			return err
		}
		return t.auditOrder(now, by, action, was.Order, is)
	})
	return o, err
}

// auditOrder puts down what an operator did to an order; whoever is no operator leaves no row.
func (t *tx) auditOrder(now sluice.Millis, by sluice.Actor, action string, was, is sluice.Order) error {
	if by.Role == "" {
		return nil
	}
	return t.audit(now, by, action, "order/"+is.ID.OrderID(), orderEvent(was), orderEvent(is))
}

// orderNote is what events and the audit log say of an order.
type orderNote struct {
	ClaimID     string             `json:"claim_id,omitempty"`
	UserID      string             `json:"user_id,omitempty"`
	State       sluice.OrderState  `json:"state"`
	CloseReason sluice.CloseReason `json:"close_reason,omitempty"`
	Quantity    int                `json:"quantity"`
	AmountMinor int64              `json:"amount_minor"`
	Currency    string             `json:"currency"`
	RefundDue   bool               `json:"refund_due"`
	LiveUnits   int64              `json:"live_units"`
	LimitUnits  int64              `json:"limit_units"`
	Reference   string             `json:"reference,omitempty"`
}

func orderEvent(o sluice.Order) orderNote {
	return orderNote{ClaimID: o.ID.String(), UserID: o.User, State: o.State, CloseReason: o.CloseReason,
		Quantity: o.Quantity, AmountMinor: o.AmountMinor, Currency: o.Currency, RefundDue: o.RefundDue,
		LiveUnits: o.LiveUnits, LimitUnits: o.LimitUnits}
}

// Order reads one order as it stands; ErrNotFound where there is none. now is the moment for ExpiresAt.
func (db *DB) Order(ctx context.Context, id sluice.ClaimID, now sluice.Millis) (sluice.Order, error) {
	clock, err := db.readClock(ctx)
	if err != nil {
		return sluice.Order{}, err
	}
	row := db.rdb.QueryRowContext(ctx, orderByClaim, id[:])
	r, err := scanOrder(row.Scan, termsCache{}, clock, now)
	if err != nil {
		return sluice.Order{}, readFault(err, "order "+id.OrderID())
	}
	return r.Order, nil
}

// Orders searches. A user, an id, a payment or RefundDue are looked up in an index; the rest is a walk from the
// newest order backwards over a bounded number of rows.
func (db *DB) Orders(
	ctx context.Context, q sluice.OrderQuery, now sluice.Millis,
) (page sluice.Page[sluice.Order], err error) {
	clock, err := db.readClock(ctx)
	if err != nil {
		return page, err
	}
	if q.Payment != "" {
		id, err := db.orderPaidBy(ctx, q.Payment)
		if err != nil {
			return page, err
		}
		if id == (sluice.ClaimID{}) || q.ID != (sluice.ClaimID{}) && q.ID != id {
			return page, nil
		}
		q.ID = id
	}
	s := search{table: "orders", columns: orderColumns, limit: q.Limit, cursor: q.Cursor}
	s.claim(q.ID, q.User)
	if q.RefundDue {
		s.where, s.indexed = append(s.where, refundDue), true
	}
	if found, err := s.campaign(ctx, db, q.Campaign); err != nil || !found {
		return page, err
	}
	if named := q.ID != (sluice.ClaimID{}) || q.RequestID != "" || q.Campaign != ""; q.NoLoadTests && !named {
		if err := s.noLoadTests(ctx, db); err != nil {
			return page, err
		}
	}
	s.when(q.RequestID != "", `o.request_id = ?`, q.RequestID)
	s.when(q.State != "", `o.state = ?`, string(q.State))
	s.when(q.State == "" && !q.RefundDue && q.ID == sluice.ClaimID{}, `o.state <> ?`, string(sluice.OrderRejected))
	tc := termsCache{}
	return runSearch(ctx, db, s, func(scan func(...any) error) (sluice.Order, int64, error) {
		r, err := scanOrder(scan, tc, clock, now)
		return r.Order, r.seq, err
	})
}

// orderPaidBy gives the order that a payment names, the zero id where there is no such payment.
func (db *DB) orderPaidBy(ctx context.Context, reference string) (id sluice.ClaimID, err error) {
	var b []byte
	err = db.rdb.QueryRowContext(ctx, `SELECT claim_id FROM payments WHERE reference = ?`, reference).Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return id, readFault(err, "payment "+reference)
	}
	copy(id[:], b)
	return id, nil
}

func (db *DB) readClock(ctx context.Context) (c sluice.PaymentClock, err error) {
	row := db.rdb.QueryRowContext(ctx, `SELECT stopped_ms, since_ms FROM payment_clock WHERE one = 1`)
	err = row.Scan(&c.Stopped, &c.Since)
	if err != nil {
		return c, readFault(err, "the payment clock")
	}
	return c, nil
}

// readFault translates an error of a read.
func readFault(err error, doing string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("sqldb: %s: %w", doing, sluice.ErrNotFound)
	}
	return translate(err, doing)
}

func orNull(m sluice.Millis) sql.NullInt64 { return sql.NullInt64{Int64: int64(m), Valid: m != 0} }

func textOrNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// questionMarks gives n placeholders.
func questionMarks(n int) string { return strings.Repeat("?, ", n-1) + "?" }
