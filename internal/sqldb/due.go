package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	if len(due) > 0 {
		s.Lag = max(0, reading-due[0].due)
	}
	for _, group := range byCampaign(due) {
		n, err := t.closeGroup(group, now)
		if err != nil {
			return s, err
		}
		s.Done += n
	}
	next, err := t.firstMoment(`SELECT due_ms FROM orders
		WHERE state = 'unpaid' AND campaign_no NOT IN (?, ?, ?, ?) ORDER BY due_ms LIMIT 1`, leaveOut[:]...)
	if err == nil && next != 0 {
		s.Next = clock.Wall(next, now)
	}
	return s, err
}

// closeGroup closes those of the due orders of one campaign that are unpaid still, and says how many they were.
func (t *tx) closeGroup(group []dueRow, now sluice.Millis) (closed int, err error) {
	campaign, tm, err := t.campaignTerms(group[0].campaignNo)
	if err != nil {
		return 0, err
	}
	if group, err = t.stillDue(campaign, group); err != nil || len(group) == 0 {
		return 0, err
	}
	var sum sluice.Effects
	ids := make([]byte, 0, len(group)*len(sluice.ClaimID{}))
	for _, r := range group {
		o := sluice.Order{State: sluice.OrderUnpaid, LiveUnits: r.live, LimitUnits: r.limit}
		_, e, err := o.Close(sluice.CloseExpired, tm.Goods.LimitBackOnClose, now)
		if err != nil {
			return 0, err
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
		return 0, err
	}
	if err := t.effects(group[0].campaignNo, campaign, sluice.ClaimID{}, sum); err != nil {
		return 0, err
	}
	return len(group), t.eventBatch(now, "order.closed", group[0].campaignNo, ids)
}

// stillDue takes the campaign's lock and leaves out the rows that somebody ended before: nobody ends one without it.
func (t *tx) stillDue(campaign string, group []dueRow) ([]dueRow, error) {
	if t.w != nil { // with one writer nothing has moved
		return group, nil
	}
	if _, _, err := t.lockCampaign(campaign); err != nil {
		return nil, err
	}
	seqs, err := t.numbers(stillUnpaid, seqArgs(nil, group)...)
	if err != nil {
		return nil, err
	}
	due := map[int64]bool{}
	for _, seq := range seqs {
		due[seq] = true
	}
	return slices.DeleteFunc(group, func(r dueRow) bool { return !due[r.seq] }), nil
}

var (
	stillUnpaid  = `SELECT seq FROM orders WHERE state = 'unpaid' AND seq IN (` + questionMarks(maxDue) + `)`
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
	if t.w == nil { // or it may walk all that are unpaid
		query = strings.Replace(query, ` SET `, ` FORCE INDEX (PRIMARY) SET `, 1)
	}
	n, err := t.exec(query, seqArgs([]any{now}, group)...)
	if err == nil && n != int64(len(group)) {
		return errMoved
	}
	return err
}

// seqArgs appends the seqs of a group, the last one again and again up to maxDue.
func seqArgs(args []any, group []dueRow) []any {
	for i := range maxDue {
		args = append(args, group[min(i, len(group)-1)].seq)
	}
	return args
}

// What is due of coupons, and when more is. MySQL has no index of a part of the rows: its index begins with the state,
// and serves one state at a time.
var (
	dueCoupons = perDialect{
		sqlite: `SELECT ` + dueCoupon + ` FROM coupons WHERE state IN ('issued', 'locked') AND valid_until_ms <= ?1
			AND (state = 'issued' OR locked_until_ms <= ?1) ORDER BY valid_until_ms LIMIT ?2`,
		mysql: `SELECT * FROM (
			SELECT * FROM (SELECT ` + dueCoupon + ` FROM coupons WHERE state = 'issued' AND valid_until_ms <= ?1
			ORDER BY valid_until_ms LIMIT ?2) a UNION ALL
			SELECT * FROM (SELECT ` + dueCoupon + ` FROM coupons WHERE state = 'locked' AND valid_until_ms <= ?1
			AND locked_until_ms <= ?1 ORDER BY valid_until_ms LIMIT ?2) b) c ORDER BY valid_until_ms LIMIT ?2`,
	}
	nextCoupon = perDialect{
		sqlite: `SELECT MIN(valid_until_ms) FROM coupons WHERE state IN ('issued', 'locked') AND valid_until_ms > ?1`,
		mysql: `SELECT MIN(m) FROM (
			SELECT MIN(valid_until_ms) AS m FROM coupons WHERE state = 'issued' AND valid_until_ms > ?1 UNION ALL
			SELECT MIN(valid_until_ms) FROM coupons WHERE state = 'locked' AND valid_until_ms > ?1) a`,
	}
)

const dueCoupon = `seq, claim_id, valid_until_ms, campaign_no, 0 AS live, 0 AS keeps, quantity`

// ExpireCoupons marks up to most (at most 256, 0 means that) coupons past their validity as expired, the oldest
// first, in one transaction behind payments and claims. A coupon that is locked for a purchase waits until the
// lock is over. It is idempotent; call it again while Sweep.Next is not in the future.
func (db *DB) ExpireCoupons(ctx context.Context, now sluice.Millis, most int) (s sluice.Sweep, err error) {
	err = db.writeAgain(ctx, laneBackground, func(t *tx) error {
		s = sluice.Sweep{}
		due, err := t.dueRows(t.pick(dueCoupons), now, atMost(most))
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
		s.Next, err = t.firstMoment(t.pick(nextCoupon), now)
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

// byCampaign splits rows by campaign, in the order of the campaigns' numbers, in which their locks are taken.
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
	slices.SortFunc(groups, func(a, b []dueRow) int { return cmp.Compare(a[0].campaignNo, b[0].campaignNo) })
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
