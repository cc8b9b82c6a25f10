package sqldb

import (
	"context"
	"database/sql"

	"github.com/sluice-sale/sluice"
)

// Tallies sums a campaign's rows, all of one snapshot. It reads every row of the campaign: about a second a
// million.
func (db *DB) Tallies(ctx context.Context, campaign string) (t sluice.Tallies, err error) {
	c, err := db.Campaign(ctx, campaign)
	if err != nil {
		return t, err
	}
	done, err := db.count(ctx)
	if err != nil {
		return t, err
	}
	defer done()
	t = sluice.Tallies{Orders: map[sluice.OrderState]int64{}, Closes: map[sluice.CloseReason]int64{},
		Coupons: map[sluice.CouponState]int64{}}
	if c.Kind == sluice.KindGoods {
		if err = db.tallyOrders(ctx, c.No, &t); err == nil {
			err = db.tallyHolders(ctx, c.No, &t.Holding)
		}
	} else {
		err = db.tallyCoupons(ctx, c.No, &t)
	}
	if err != nil {
		return t, readFailed(err, "rows of "+campaign)
	}
	return t, nil
}

func (db *DB) tallyOrders(ctx context.Context, no int64, t *sluice.Tallies) error {
	lo, hi := seqRange(no)
	rows, err := db.rdb.QueryContext(ctx, `SELECT state, COALESCE(close_reason, ''), source, COUNT(*), SUM(quantity),
		SUM(live_units), MIN(created_ms), MAX(created_ms), SUM(paid_ms IS NOT NULL),
		SUM((paid_ms IS NOT NULL) * amount_minor),
		SUM(refund_due), SUM(refund_due * amount_minor), SUM(refunded_ms IS NOT NULL),
		SUM((refunded_ms IS NOT NULL) * amount_minor)
		FROM orders WHERE seq BETWEEN ? AND ? GROUP BY 1, 2, 3`, lo, hi)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var state sluice.OrderState
		var why sluice.CloseReason
		var source sluice.Source
		var n, units, live, paid, paidMinor, due, dueMinor, refunded, refundedMinor int64
		var first, last sluice.Millis
		err := rows.Scan(&state, &why, &source, &n, &units, &live, &first, &last, &paid, &paidMinor, &due, &dueMinor,
			&refunded, &refundedMinor)
		if err != nil {
			return err
		}
		t.Orders[state] += n
		if state == sluice.OrderRejected {
			t.Rejected += n
			continue
		}
		addClaims(t, source, n, units, first, last)
		if why != "" {
			t.Closes[why] += n
		}
		if state == sluice.OrderUnpaid {
			t.Held += live
		} else {
			t.Sold += live
		}
		t.PaidCount, t.PaidMinor = t.PaidCount+paid, t.PaidMinor+paidMinor
		t.RefundDueCount, t.RefundDueMinor = t.RefundDueCount+due, t.RefundDueMinor+dueMinor
		t.RefundedCount, t.RefundedMinor = t.RefundedCount+refunded, t.RefundedMinor+refundedMinor
	}
	return rows.Err()
}

// tallyHolders finds who held most units without paying.
func (db *DB) tallyHolders(ctx context.Context, no int64, h *sluice.Hoarding) error {
	lo, hi := seqRange(no)
	err := db.rdb.QueryRowContext(ctx, `SELECT COALESCE(SUM(quantity), 0) FROM orders
		WHERE seq BETWEEN ? AND ? AND close_reason = 'expired'`, lo, hi).Scan(&h.ExpiredUnits)
	if err != nil {
		return err
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT user_id, COUNT(*), SUM((state = 'unpaid') * live_units),
		SUM((state = 'closed') * quantity) FROM orders
		WHERE seq BETWEEN ? AND ? AND (state = 'unpaid' OR close_reason = 'expired')
		GROUP BY user_id ORDER BY SUM(quantity) DESC, user_id LIMIT ?`, lo, hi, sluice.MaxTopHolders)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var x sluice.Holder
		if err := rows.Scan(&x.User, &x.Orders, &x.Unpaid, &x.Expired); err != nil {
			return err
		}
		h.Top = append(h.Top, x)
		h.TopUnits += x.Unpaid + x.Expired
	}
	return rows.Err()
}

func (db *DB) tallyCoupons(ctx context.Context, no int64, t *sluice.Tallies) error {
	lo, hi := seqRange(no)
	rows, err := db.rdb.QueryContext(ctx, `SELECT state, source, COUNT(*), SUM(n = 0), SUM(live_units), MIN(created_ms),
		MAX(created_ms), SUM((state = 'redeemed') * spend_minor), SUM((state = 'redeemed') * discount_minor)
		FROM coupons WHERE seq BETWEEN ? AND ? GROUP BY 1, 2`, lo, hi)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var state sluice.CouponState
		var source sluice.Source
		var n, claims, live int64
		var first, last sluice.Millis
		var spend, discount sql.NullInt64
		if err := rows.Scan(&state, &source, &n, &claims, &live, &first, &last, &spend, &discount); err != nil {
			return err
		}
		t.Coupons[state] += n
		if state == sluice.CouponRejected {
			t.Rejected += claims
			continue
		}
		addClaims(t, source, claims, n, first, last)
		t.Sold += live
		t.RedeemedSpendMinor, t.DiscountMinor = t.RedeemedSpendMinor+spend.Int64, t.DiscountMinor+discount.Int64
	}
	return rows.Err()
}

func addClaims(t *sluice.Tallies, source sluice.Source, claims, units int64, first, last sluice.Millis) {
	t.Claims, t.Units = t.Claims+claims, t.Units+units
	if source == sluice.SourceGrant {
		t.Grants += claims
	}
	if t.FirstUnitAt == 0 || first < t.FirstUnitAt {
		t.FirstUnitAt = first
	}
	t.LastUnitAt = max(t.LastUnitAt, last)
}

// maxReleases bounds how many orders NextReleases looks at.
const maxReleases = 2000

// NextReleases gives the wall time at which the first unpaid order of each campaign falls due, for those whose
// first is among the next 2,000 of all; none while payments are down. It takes a few milliseconds.
func (db *DB) NextReleases(ctx context.Context, now sluice.Millis) (map[string]sluice.Millis, error) {
	clock, err := db.readClock(ctx)
	if err != nil || clock.Since != 0 {
		return nil, err
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT c.id, d.due FROM (SELECT seq >> 32 AS no, MIN(due_ms) AS due FROM
		(SELECT seq, due_ms FROM orders WHERE state = 'unpaid' ORDER BY due_ms LIMIT ?) f GROUP BY 1) d
		JOIN campaigns c ON c.no = d.no`, maxReleases)
	if err != nil {
		return nil, readFailed(err, "the next releases")
	}
	defer func() { _ = rows.Close() }()
	next := map[string]sluice.Millis{}
	for rows.Next() {
		var id string
		var due sluice.Millis
		if err := rows.Scan(&id, &due); err != nil {
			return nil, readFailed(err, "the next releases")
		}
		next[id] = clock.Wall(due, now)
	}
	if err := rows.Err(); err != nil {
		return nil, readFailed(err, "the next releases")
	}
	return next, nil
}
