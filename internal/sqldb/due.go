package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// maxDue bounds the rows that one transaction of a sweep ends. It is small enough that the claims waiting behind
// it wait a few milliseconds, and each transaction takes one such piece only.
const maxDue = 256

// dueRow is one order or coupon that fell due.
type dueRow struct {
	seq        int64
	id         sluice.ClaimID
	due        sluice.Millis
	campaignNo int64
	live       int64 // of an order
	limit      int64 // of an order
	quantity   int64 // of the claim
}

// CloseDue closes up to most (at most 256, 0 means that) unpaid orders that are due by the payment clock, the
// oldest first, in one transaction behind payments and claims. Units and, by the campaign's policy, limits come
// back with it. While the clock stands still nothing is due. It is idempotent; call it again while Sweep.Next is
// not in the future.
//
// A campaign whose counters do not allow it is told to Config.Doubt and left out, so that it does not hold up the
// others.
func (db *DB) CloseDue(ctx context.Context, now sluice.Millis, most int) (s sluice.Sweep, err error) {
	var leaveOut [maxLeftOut]any
	for i := range leaveOut {
		leaveOut[i] = 0
	}
	for i := 0; ; i++ {
		err = db.writeAgain(ctx, laneBackground, func(t *tx) (err error) {
			s, err = t.closeDue(now, most, leaveOut)
			return err
		})
		var broken *brokenError
		if !errors.As(err, &broken) || i == maxLeftOut {
			return s, err
		}
		leaveOut[i] = broken.no
	}
}

// maxLeftOut bounds the campaigns that one piece leaves out.
const maxLeftOut = 4

func (t *tx) closeDue(now sluice.Millis, most int, leaveOut [maxLeftOut]any) (s sluice.Sweep, err error) {
	clock, err := t.paymentClock()
	if err != nil {
		return s, err
	}
	if clock.Since != 0 {
		s.Stopped = true
		return s, nil
	}
	reading := clock.Read(now)
	due, err := t.dueRows(`SELECT seq, claim_id, due_ms, campaign_no, live_units, limit_units, quantity FROM orders
		WHERE state = 'unpaid' AND due_ms <= ? AND campaign_no NOT IN (?, ?, ?, ?) ORDER BY due_ms LIMIT ?`,
		append(append([]any{reading}, leaveOut[:]...), atMost(most))...)
	if err != nil {
		return s, err
	}
	for _, group := range byCampaign(due) {
		if err := t.closeGroup(group, now); err != nil {
			return s, err
		}
	}
	if s.Done = len(due); s.Done > 0 {
		s.Lag = max(0, reading-due[0].due)
	}
	next, err := t.firstMoment(`SELECT due_ms FROM orders
		WHERE state = 'unpaid' AND campaign_no NOT IN (?, ?, ?, ?) ORDER BY due_ms LIMIT 1`, leaveOut[:]...)
	if err == nil && next != 0 {
		s.Next = clock.Wall(next, now)
	}
	return s, err
}

// closeGroup closes due orders of one campaign.
func (t *tx) closeGroup(group []dueRow, now sluice.Millis) error {
	campaign, tm, err := t.campaignTerms(group[0].campaignNo)
	if err != nil {
		return err
	}
	var sum sluice.Effects
	ids := make([]byte, 0, len(group)*len(sluice.ClaimID{}))
	for _, r := range group {
		o := sluice.Order{State: sluice.OrderUnpaid, LiveUnits: r.live, LimitUnits: r.limit}
		_, e, err := o.Close(sluice.CloseExpired, tm.Goods.LimitBackOnClose, now)
		if err != nil {
			return err
		}
		sum.Held += e.Held
		sum.Sold += e.Sold
		t.release(campaign, r.id, e)
		ids = append(ids, r.id[:]...)
	}
	query := closeDueKeep
	if tm.Goods.LimitBackOnClose {
		query = closeDueBack
	}
	if err := t.updateSeqs(query, group, now); err != nil {
		return err
	}
	if err := t.effects(group[0].campaignNo, campaign, sluice.ClaimID{}, sum); err != nil {
		return err
	}
	return t.eventBatch(now, "order.closed", group[0].campaignNo, ids)
}

var (
	closeDueBack = `UPDATE orders SET state = 'closed', close_reason = 'expired', closed_ms = ?,
		live_units = 0, limit_units = 0
		WHERE state = 'unpaid' AND seq IN (` + questionMarks(maxDue) + `)`
	closeDueKeep = `UPDATE orders SET state = 'closed', close_reason = 'expired', closed_ms = ?, live_units = 0
		WHERE state = 'unpaid' AND seq IN (` + questionMarks(maxDue) + `)`
	expireDue = `UPDATE coupons SET state = 'expired', ended_ms = valid_until_ms,
		lock_ref = NULL, lock_by = NULL, locked_until_ms = NULL
		WHERE (state = 'issued' OR state = 'locked' AND locked_until_ms <= ?) AND seq IN (` + questionMarks(maxDue) + `)`
)

// updateSeqs runs a set-based update of the group's rows, which must all be as they were read. The list of a shorter
// group is filled up with its last row, so that one prepared statement serves every length.
func (t *tx) updateSeqs(query string, group []dueRow, now sluice.Millis) error {
	args := make([]any, 1, maxDue+1)
	args[0] = now
	for i := range maxDue {
		args = append(args, group[min(i, len(group)-1)].seq)
	}
	n, err := t.exec(query, args...)
	if err == nil && n != int64(len(group)) {
		return errMoved
	}
	return err
}

// ExpireCoupons marks up to most (at most 256, 0 means that) coupons past their validity as expired, the oldest
// first, in one transaction behind payments and claims. A coupon that is locked for a purchase waits until the
// lock is over. It is idempotent; call it again while Sweep.Next is not in the future.
func (db *DB) ExpireCoupons(ctx context.Context, now sluice.Millis, most int) (s sluice.Sweep, err error) {
	err = db.writeAgain(ctx, laneBackground, func(t *tx) error {
		s = sluice.Sweep{}
		due, err := t.dueRows(`SELECT seq, claim_id, valid_until_ms, campaign_no, 0, 0, quantity FROM coupons
			WHERE state IN ('issued', 'locked') AND valid_until_ms <= ? AND (state = 'issued' OR locked_until_ms <= ?)
			ORDER BY valid_until_ms LIMIT ?`, now, now, atMost(most))
		if err != nil {
			return err
		}
		for _, group := range byCampaign(due) {
			if err := t.updateSeqs(expireDue, group, now); err != nil {
				return err
			}
			if err := t.tellExpired(group, now); err != nil {
				return err
			}
		}
		if s.Done = len(due); s.Done > 0 {
			s.Lag = max(0, now-due[0].due)
		}
		if s.Done == atMost(most) {
			s.Next = now
			return nil
		}
		s.Next, err = t.firstMoment(`SELECT MIN(valid_until_ms) FROM coupons
			WHERE state IN ('issued', 'locked') AND valid_until_ms > ?`, now)
		return err
	})
	return s, err
}

// tellExpired writes the events of expired coupons of one campaign. A batch names claims, so that it can only tell of
// coupons that are their claim's only one; the others are told one by one, with their number.
func (t *tx) tellExpired(group []dueRow, now sluice.Millis) error {
	ids := make([]byte, 0, len(group)*len(sluice.ClaimID{}))
	tc := termsCache{}
	for _, r := range group {
		if r.quantity == 1 {
			ids = append(ids, r.id[:]...)
			continue
		}
		c, err := scanCoupon(func(into ...any) error { return t.row(couponBySeq, []any{r.seq}, into...) }, tc)
		if err != nil {
			return err
		}
		if err := t.event(now, "coupon.expired", r.campaignNo, r.id.String(), couponEvent(c.Coupon)); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.eventBatch(now, "coupon.expired", group[0].campaignNo, ids)
}

func atMost(most int) int {
	if most <= 0 {
		return maxDue
	}
	return min(most, maxDue)
}

func (t *tx) dueRows(query string, args ...any) (due []dueRow, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r dueRow
		var id []byte
		if err := rows.Scan(&r.seq, &id, &r.due, &r.campaignNo, &r.live, &r.limit, &r.quantity); err != nil {
			return nil, err
		}
		copy(r.id[:], id)
		due = append(due, r)
	}
	return due, rows.Err()
}

// byCampaign splits rows by campaign, in the order in which the campaigns first appear.
func byCampaign(due []dueRow) (groups [][]dueRow) {
	at := map[int64]int{}
	for _, r := range due {
		i, ok := at[r.campaignNo]
		if !ok {
			i = len(groups)
			at[r.campaignNo] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// campaignTerms reads a campaign's id and terms inside the transaction.
func (t *tx) campaignTerms(no int64) (id string, tm terms, err error) {
	var text string
	if err = t.row(`SELECT id, terms FROM campaigns WHERE no = ?`, []any{no}, &id, &text); err != nil {
		return "", tm, fmt.Errorf("sqldb: campaign no. %d: %w", no, err)
	}
	tm, err = parseTerms(text)
	return id, tm, err
}

// firstMoment runs a query for the earliest moment; zero where there is none.
func (t *tx) firstMoment(query string, args ...any) (sluice.Millis, error) {
	var m sql.NullInt64
	err := t.row(query, args, &m)
	if errors.Is(err, sluice.ErrNotFound) {
		return 0, nil
	}
	return sluice.Millis(m.Int64), err
}
