package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// maxEvents bounds a page of the feed.
const maxEvents = 5000

// eventRow is one row of the table: one event, or a batch of them.
type eventRow struct {
	seq      int64
	at       sluice.Millis
	typ      string
	campaign sql.NullString
	subject  string
	data     sql.NullString
	ids      []byte
}

// Events gives up to limit events after the one named, oldest first. The feed only grows at its end and an event's id
// and content never change, so that whoever keeps the last id it has dealt with sees every event at least once, in
// order.
func (db *DB) Events(ctx context.Context, after sluice.EventID, limit int) ([]sluice.Event, error) {
	limit = min(max(limit, 1), maxEvents)
	if db.dialect == dialectMySQL {
		if err := db.placeEvents(ctx, limit); err != nil {
			return nil, readFailed(err, "events")
		}
	}
	rows, err := db.eventRows(ctx, after, limit)
	if err != nil {
		return nil, readFailed(err, "events")
	}
	var list []sluice.Event
	for _, r := range rows {
		first := 0
		if r.seq == after.Seq {
			first = after.Index + 1
		}
		if list, err = db.appendEvents(ctx, list, r, first, limit); err != nil {
			return nil, readFailed(err, fmt.Sprintf("events of row %d", r.seq))
		}
		if len(list) == limit {
			break
		}
	}
	return list, nil
}

// eventRows reads so many rows that they hold limit events: each holds at least one, but the first may have been read.
func (db *DB) eventRows(ctx context.Context, after sluice.EventID, limit int) ([]eventRow, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT e.seq, e.at_ms, e.type, c.id, e.subject, e.data, e.ids
		FROM events e LEFT JOIN campaigns c ON c.no = e.campaign_no WHERE e.seq >= ? ORDER BY e.seq LIMIT ?`,
		after.Seq, limit+1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []eventRow
	for held := 0; held < limit && rows.Next(); {
		var r eventRow
		if err := rows.Scan(&r.seq, &r.at, &r.typ, &r.campaign, &r.subject, &r.data, &r.ids); err != nil {
			return nil, err
		}
		list = append(list, r)
		if r.seq != after.Seq {
			held += max(1, len(r.ids)/len(sluice.ClaimID{}))
		}
	}
	return list, rows.Err()
}

// appendEvents adds the events of one row from the index first on.
func (db *DB) appendEvents(
	ctx context.Context, list []sluice.Event, r eventRow, first, limit int,
) ([]sluice.Event, error) {
	e := sluice.Event{Type: r.typ, At: r.at, Campaign: r.campaign.String, Subject: r.subject}
	if r.ids == nil {
		if first > 0 {
			return list, nil
		}
		e.ID = sluice.EventID{Seq: r.seq}
		if r.data.Valid {
			e.Data = json.RawMessage(r.data.String)
		}
		return append(list, e), nil
	}
	size := len(sluice.ClaimID{})
	for i := first; i < len(r.ids)/size && len(list) < limit; i++ {
		var id sluice.ClaimID
		copy(id[:], r.ids[i*size:])
		e.ID = sluice.EventID{Seq: r.seq, Index: i}
		var err error
		if e.Subject, e.Data, err = db.batchEvent(ctx, r.typ, id); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// claimNote is the data of an event that stands in a batch: what its claim was when it was settled, which never
// changes.
type claimNote struct {
	ID          string             `json:"claim_id"`
	State       string             `json:"state"`
	CloseReason sluice.CloseReason `json:"close_reason,omitempty"`
	User        string             `json:"user_id,omitempty"`
	RequestID   string             `json:"request_id,omitempty"`
	Source      string             `json:"source,omitempty"`
	Quantity    int                `json:"quantity,omitempty"`
	AmountMinor *int64             `json:"amount_minor,omitempty"`
	Currency    string             `json:"currency,omitempty"`
	CreatedAt   sluice.Millis      `json:"created_at_ms,omitempty"`
}

// batchEvent gives subject and data of one event of a batch. A row that is gone leaves the event without its data.
func (db *DB) batchEvent(ctx context.Context, typ string, id sluice.ClaimID) (string, json.RawMessage, error) {
	n := claimNote{ID: id.String()}
	subject := id.String()
	var err error
	switch typ {
	case "coupon.issued":
		n.State = string(sluice.CouponIssued)
		err = db.noteCoupons(ctx, &n, id)
	case "coupon.expired":
		n.State = string(sluice.CouponExpired)
		err = db.noteCoupons(ctx, &n, id)
	case "order.closed":
		n.State, n.CloseReason, subject = string(sluice.OrderClosed), sluice.CloseExpired, id.OrderID()
		err = db.noteOrder(ctx, &n, id)
	case "order.paid":
		n.State, subject = string(sluice.OrderPaid), id.OrderID()
		err = db.noteOrder(ctx, &n, id)
	default:
		n.State, subject = string(sluice.OrderUnpaid), id.OrderID()
		err = db.noteOrder(ctx, &n, id)
	}
	if err != nil {
		return "", nil, err
	}
	data, err := json.Marshal(n)
	return subject, data, err
}

func (db *DB) noteOrder(ctx context.Context, n *claimNote, id sluice.ClaimID) error {
	rows, err := db.rdb.QueryContext(ctx, `SELECT o.user_id, COALESCE(o.request_id, ''), o.source, o.quantity,
		o.amount_minor,
		o.created_ms, COALESCE(c.terms ->> '$.goods.currency', '')
		FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id = ?`, id[:])
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var source sluice.Source
		var amount int64
		if err := rows.Scan(&n.User, &n.RequestID, &source, &n.Quantity, &amount, &n.CreatedAt, &n.Currency); err != nil {
			return err
		}
		n.Source, n.AmountMinor = source.String(), &amount
		if amount == 0 && n.State == string(sluice.OrderUnpaid) {
			n.State = string(sluice.OrderPaid)
		}
	}
	return rows.Err()
}

// noteCoupons fills in a claim on coupons. A code is as good as money: it is never in the feed.
func (db *DB) noteCoupons(ctx context.Context, n *claimNote, id sluice.ClaimID) error {
	rows, err := db.rdb.QueryContext(ctx, `SELECT user_id, COALESCE(request_id, ''), source, quantity, created_ms
		FROM coupons WHERE claim_id = ? AND code IS NOT NULL LIMIT 1`, id[:])
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var source sluice.Source
		if err := rows.Scan(&n.User, &n.RequestID, &source, &n.Quantity, &n.CreatedAt); err != nil {
			return err
		}
		n.Source = source.String()
	}
	return rows.Err()
}
