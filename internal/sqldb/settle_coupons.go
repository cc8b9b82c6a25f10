package sqldb

import (
	"database/sql/driver"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice-sale/sluice"
)

// The parameters of the user's range have the same numbers as in insertOrder, since the sums are shared.
const (
	insertCouponInto = ` INTO coupons (seq, claim_id, limit_no, user_id, request_id, source, quantity, n, code,
		created_ms, valid_from_ms, valid_until_ms, state, live_units, limit_units)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'issued', 1, `
	insertCoupon      = `INSERT OR IGNORE` + insertCouponInto + `CASE WHEN ` + usedInCoupons + ` + ?7 <= ?15 THEN 1 END)`
	insertCouponGroup = `INSERT OR IGNORE` + insertCouponInto + `CASE WHEN ` + usedInOrders + ` + ` + usedInCoupons +
		` + ?7 <= ?15 THEN 1 END)`
	insertCouponMore = `INSERT` + insertCouponInto + `1)`

	rejectCoupon = `INSERT INTO coupons (seq, claim_id, limit_no, user_id, request_id, source, quantity, n, code, state,
		live_units, limit_units, created_ms, valid_from_ms, valid_until_ms, rejected)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, NULL, 'rejected', 0, 0, ?8, 0, 0, ?9)`
)

// insertCoupons writes one row a unit. The first one carries the checks; the others follow it.
func (s *settlement) insertCoupons(c *sluice.Claim) (bool, error) {
	first := insertCoupon
	if s.group {
		first = insertCouponGroup
	}
	from, until := s.terms.Coupon.Window(c.At)
	lo, hi := claimRange(c.ID)
	for n, code := range c.CouponCodes {
		query, args := first, []driver.Value{s.seq() + int64(n), c.ID[:], s.limitNo, c.User, nullText(c.RequestID),
			int64(c.Source), int64(c.Quantity), int64(n), code, int64(c.At), int64(from), int64(until), lo[:], hi[:], s.limit}
		if n > 0 {
			query, args = insertCouponMore, args[:12]
		}
		st, err := s.hot.stmt(query, len(args))
		if err != nil {
			return false, err
		}
		changed, err := s.hot.exec(st, args...)
		if err == nil && changed == 0 {
			return false, nil // only the first can be refused
		}
		if err != nil {
			if n > 0 && poison(err) {
				return false, s.dropCoupons(c.ID, err)
			}
			return false, err
		}
	}
	q := int64(c.Quantity)
	s.wrote += q
	s.sold += q
	s.stock.Sold += q
	return true, nil
}

// dropCoupons takes back the rows of a claim whose later rows cannot be written, and returns why.
func (s *settlement) dropCoupons(id sluice.ClaimID, why error) error {
	st, err := s.hot.stmt(`DELETE FROM coupons WHERE claim_id = ?1`, 1)
	if err != nil {
		return err
	}
	if _, err := s.hot.exec(st, id[:]); err != nil {
		return err
	}
	return why
}

// used sums what the user's claims take of the limit.
func (s *settlement) used(c *sluice.Claim) (sum int64, err error) {
	lo, hi := claimRange(c.ID)
	tables := []string{`orders`}
	switch {
	case s.group:
		tables = []string{`orders`, `coupons`}
	case s.kind == sluice.KindCoupon:
		tables = []string{`coupons`}
	}
	for _, table := range tables {
		st, err := s.hot.stmt(`SELECT COALESCE(SUM(limit_units), 0) FROM `+table+
			` WHERE claim_id BETWEEN ?1 AND ?2 AND limit_no = ?3 AND user_id = ?4`, 4)
		if err != nil {
			return 0, err
		}
		add := func(row []driver.Value) error { sum += intOf(row[0]); return nil }
		err = s.hot.query(st, add, lo[:], hi[:], s.limitNo, c.User)
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// recorded gives the answer of a claim that is in the ledger; ReasonNone where it is not.
func (s *settlement) recorded(c *sluice.Claim) (sluice.Outcome, error) {
	query := `SELECT user_id, quantity, live_units, rejected, campaign_no, NULL FROM orders WHERE claim_id = ?1`
	if s.kind == sluice.KindCoupon {
		query = `SELECT user_id, quantity, live_units, rejected, campaign_no, code FROM coupons
			WHERE claim_id = ?1 ORDER BY n`
	}
	st, err := s.hot.stmt(query, 1)
	if err != nil {
		return sluice.Outcome{}, err
	}
	var o sluice.Outcome
	var live int64
	err = s.hot.query(st, func(row []driver.Value) error {
		live += intOf(row[2])
		o.Replayed = true
		o.Reason = recordedReason(textOf(row[3]))
		if code := textOf(row[5]); code != "" {
			o.CouponCodes = append(o.CouponCodes, code)
		}
		if textOf(row[0]) != c.User || intOf(row[1]) != int64(c.Quantity) || intOf(row[4]) != s.no {
			o.State = sluice.ClaimNone
			live = -1 << 40 // another claim under this id
		}
		return nil
	}, c.ID[:])
	switch {
	case err != nil || !o.Replayed:
		return sluice.Outcome{}, err
	case live < 0:
		return sluice.Outcome{Reason: sluice.ReasonRequestIDReused}, nil
	}
	o.State = recordedState(o.Reason, live)
	return o, nil
}

// recordedReason gives the code of a claim's row from its column rejected.
func recordedReason(rejected string) sluice.Reason {
	if rejected == "" {
		return sluice.ReasonConfirmed
	}
	if r, ok := sluice.ParseReason(rejected); ok {
		return r
	}
	return sluice.ReasonUnavailable
}

// recordedState gives the state of a claim from its code and the units that it still takes.
func recordedState(r sluice.Reason, live int64) sluice.ClaimState {
	switch {
	case r != sluice.ReasonConfirmed:
		return sluice.ClaimRejected
	case live == 0:
		return sluice.ClaimReleased
	}
	return sluice.ClaimConfirmed
}

// poison says whether the ledger refused a row for what it is, so that no retry can help.
func poison(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return false
}
