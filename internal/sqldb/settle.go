package sqldb

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// MaxSettle bounds one batch of claims.
const MaxSettle = 1024

// Settle writes a batch of claims, of any campaigns, in one transaction, and says what each came to, in the same
// order.
//
// A claim whose id is in the ledger is answered from its row; where that row has another user or quantity the answer
// is ReasonRequestIDReused. Otherwise the user's limit is checked, then the stock, and a row is written: live, or
// rejected with the reason. A claim that can never be written fails alone and leaves no row: ReasonUnknownCampaign, or
// ReasonUnavailable where the ledger refuses the row itself. Calling again with the same claims is harmless.
//
// After the commit and before Settle returns the permit is told, for each campaign, that the units of its claims left
// "queued", except those of replays and reused ids, of which the caller learns by the outcome; a claim that was
// rejected or failed alone gives its units back by a PermitRelease as well. ErrUnavailable: nothing was written.
// ErrUncertain: the commit failed, and only the ledger knows.
func (db *DB) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	if len(claims) > MaxSettle {
		return nil, sluice.NewFault(sluice.ErrInvalid, "BATCH_TOO_LARGE", fmt.Sprintf("%d claims in one batch", len(claims)))
	}
	if len(claims) == 0 {
		return nil, nil
	}
	return db.settle(ctx, claims, false)
}

// Admit decides on claims that no permit has admitted, as Settle does but for this: a claim that does not fit is
// refused without a row, ReasonLimitReached or ReasonSoldOut with ClaimNone, and the permit hears nothing of it.
// Where permits are in other processes, they are told to take what was confirmed.
func (db *DB) Admit(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	if len(claims) > MaxSettle {
		return nil, sluice.NewFault(sluice.ErrInvalid, "BATCH_TOO_LARGE", fmt.Sprintf("%d claims in one batch", len(claims)))
	}
	if len(claims) == 0 {
		return nil, nil
	}
	return db.settle(ctx, claims, true)
}

func (db *DB) settle(ctx context.Context, claims []sluice.Claim, refuse bool) ([]sluice.Outcome, error) {
	out := make([]sluice.Outcome, len(claims))
	var err error
	if db.dialect == dialectMySQL {
		err = db.settleMany(ctx, claims, out, refuse)
	} else {
		err = db.write(ctx, laneClaims, func(t *tx) error { return t.settle(claims, out, refuse) })
	}
	if err != nil {
		return nil, fmt.Errorf("sqldb: settle %d claims of %s: %w", len(claims), claims[0].Campaign, err)
	}
	return out, nil
}

// settlement is a batch's claims of one campaign on their way to the ledger.
type settlement struct {
	t      *tx
	refuse bool // what does not fit leaves no row
	hot    *hotConn
	clock  sluice.PaymentClock

	id      string
	no      int64
	kind    sluice.Kind
	limit   int64 // per user
	limitNo int64
	group   bool // the limit counts in both tables
	terms   terms
	stock   sluice.Stock // as it will be after this batch
	rows    int64        // rows ever written
	epoch   int64

	held, sold, wrote int64  // changes
	settled           int64  // units that leave "queued"
	ids               []byte // of the confirmed claims
	at                sluice.Millis
}

func (t *tx) settle(claims []sluice.Claim, out []sluice.Outcome, refuse bool) error {
	clock, err := t.paymentClock()
	if err != nil {
		return err
	}
	t.claims = len(claims)
	for _, indexes := range groupClaims(claims) {
		s := &settlement{t: t, refuse: refuse, clock: clock, id: claims[indexes[0]].Campaign}
		found, err := s.open()
		if err != nil {
			return err
		}
		if !found {
			for _, i := range indexes {
				out[i] = sluice.Outcome{Reason: sluice.ReasonUnknownCampaign}
			}
			continue
		}
		t.touch(s.id)
		err = t.hot(func(c *hotConn) error {
			s.hot = c
			for _, i := range indexes {
				if out[i], err = s.one(&claims[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.close(); err != nil {
			return err
		}
	}
	return nil
}

// groupClaims gives the indexes of each campaign's claims, campaigns in the order of their first claim.
func groupClaims(claims []sluice.Claim) [][]int {
	var groups [][]int
	at := map[string]int{}
	for i := range claims {
		g, ok := at[claims[i].Campaign]
		if !ok {
			g = len(groups)
			at[claims[i].Campaign] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// open reads the campaign inside the transaction; false where there is none.
func (s *settlement) open() (bool, error) {
	rows, err := s.t.rows(`SELECT no, kind, per_user_limit, limit_no, limit_group <> '', total, held, sold, claims, epoch,
		terms FROM campaigns WHERE id = ?`, s.id)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return false, rows.Err()
	}
	var text string
	err = rows.Scan(&s.no, &s.kind, &s.limit, &s.limitNo, &s.group, &s.stock.Total, &s.stock.Held, &s.stock.Sold, &s.rows,
		&s.epoch, &text)
	if err != nil {
		return false, err
	}
	s.terms, err = s.t.w.termsOf(text)
	return err == nil, err
}

// one settles one claim.
func (s *settlement) one(c *sluice.Claim) (sluice.Outcome, error) {
	if !writable(s.kind, c) {
		return s.failAlone(c), nil
	}
	q := int64(c.Quantity)
	s.at = max(s.at, c.At)
	fits := s.stock.Free() >= q
	if fits {
		wrote, err := s.insert(c)
		switch {
		case poison(err):
			s.t.db.log.Error("a claim cannot be written", "claim", c.ID.String(), "campaign", s.id, "err", err)
			return s.failAlone(c), nil
		case err != nil:
			return sluice.Outcome{}, err
		case wrote:
			s.settled += q
			s.ids = append(s.ids, c.ID[:]...)
			if s.t.db.cfg.Remote && c.Epoch < s.epoch { // its permit has not heard of it, or was armed without it
				s.t.take(s.id, c.ID, q, q)
			}
			return sluice.Outcome{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, CouponCodes: c.CouponCodes}, nil
		}
	}
	was, err := s.recorded(c)
	if err != nil || was.Reason != sluice.ReasonNone {
		return was, err
	}
	why := sluice.ReasonSoldOut
	used, err := s.used(c)
	if err != nil {
		return sluice.Outcome{}, err
	}
	if used+q > s.limit {
		why = sluice.ReasonLimitReached
	} else if fits {
		s.t.db.log.Error("a claim was neither written nor found", "claim", c.ID.String(), "campaign", s.id)
		return s.failAlone(c), nil
	}
	if s.refuse {
		return sluice.Outcome{Reason: why}, nil
	}
	return s.reject(c, why)
}

// writable says whether the claim can be a row at all.
func writable(kind sluice.Kind, c *sluice.Claim) bool {
	if c.Quantity < 1 || c.Quantity > sluice.MaxPerUserLimit || c.User == "" || c.ID.User() != sluice.UserKeyOf(c.User) {
		return false
	}
	return kind == sluice.KindGoods || c.Quantity == len(c.CouponCodes) && c.Quantity <= sluice.MaxCouponQuantity
}

// failAlone gives back what admission took for a claim that leaves no row.
func (s *settlement) failAlone(c *sluice.Claim) sluice.Outcome {
	if q := max(0, int64(c.Quantity)); !s.refuse {
		s.settled += q
		s.t.release(s.id, c.ID, sluice.Effects{ReleaseUnits: q, ReleaseLimit: q})
	}
	return sluice.Outcome{Reason: sluice.ReasonUnavailable}
}

// reject records a claim that was admitted and does not fit.
func (s *settlement) reject(c *sluice.Claim, why sluice.Reason) (sluice.Outcome, error) {
	if err := s.insertRejected(c, why); err != nil {
		if poison(err) {
			return s.failAlone(c), nil
		}
		return sluice.Outcome{}, err
	}
	q := int64(c.Quantity)
	s.settled += q
	s.t.release(s.id, c.ID, sluice.Effects{ReleaseUnits: q, ReleaseLimit: q})
	return sluice.Outcome{Reason: why, State: sluice.ClaimRejected}, nil
}

// close writes what the batch means for the campaign.
func (s *settlement) close() error {
	if s.settled > 0 && !s.refuse {
		s.t.permits = append(s.t.permits, sluice.PermitOp{Kind: sluice.PermitSettled, Campaign: s.id, Units: s.settled})
	}
	return s.t.closeSale(s.no, s.id, s.kind, &s.terms, saleChange{s.held, s.sold, s.wrote, s.ids, s.at})
}

// saleChange is what a batch means for a campaign: units, rows, and the claims that were confirmed.
type saleChange struct {
	held, sold, wrote int64
	ids               []byte
	at                sluice.Millis
}

// updateSale changes the campaign's counters where they fit.
const updateSale = `UPDATE campaigns SET held = held + ?1, sold = sold + ?2, claims = claims + ?3
	WHERE no = ?4 AND held + sold + ?1 + ?2 <= total`

// closeSale writes the campaign's counters, in one conditional update, and its events.
func (t *tx) closeSale(no int64, id string, kind sluice.Kind, terms *terms, c saleChange) error {
	if c.wrote == 0 {
		return nil
	}
	if err := fitted(id, c.held+c.sold)(t.exec(updateSale, c.held, c.sold, c.wrote, no)); err != nil {
		return err
	}
	for _, typ := range eventsOf(kind, terms, c.ids) {
		if err := t.eventBatch(c.at, typ, no, c.ids); err != nil {
			return err
		}
	}
	return nil
}

// fitted judges what updateSale has come to.
func fitted(id string, units int64) func(rows int64, err error) error {
	return func(rows int64, err error) error {
		if err == nil && rows != 1 {
			err = fmt.Errorf("sqldb: %d units do not fit %s any more", units, id)
		}
		return err
	}
}

// eventsOf gives the types of the events that claims which were confirmed are told by.
func eventsOf(kind sluice.Kind, terms *terms, confirmed []byte) []string {
	switch {
	case len(confirmed) == 0:
		return nil
	case kind == sluice.KindCoupon:
		return []string{"coupon.issued"}
	case terms.Goods.PriceMinor > 0:
		return []string{"order.created"}
	}
	return []string{"order.created", "order.paid"}
}

// insert writes the live rows of a claim, unless it is there already or its user has no room; false then.
func (s *settlement) insert(c *sluice.Claim) (bool, error) {
	if s.kind == sluice.KindCoupon {
		return s.insertCoupons(c)
	}
	query := insertOrder
	if s.group {
		query = insertOrderGroup
	}
	st, err := s.hot.stmt(query, 15)
	if err != nil {
		return false, err
	}
	o, e := sluice.NewOrder(*c, s.terms.Goods, s.clock)
	var paid driver.Value
	if o.PaidAt != 0 {
		paid = int64(o.PaidAt)
	}
	lo, hi := claimRange(c.ID)
	n, err := s.hot.exec(st, s.seq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source),
		int64(c.Quantity), o.AmountMinor, string(o.State), int64(c.At), int64(o.DueAt), paid, lo[:], hi[:], s.limit)
	if err != nil || n == 0 {
		return false, err
	}
	s.wrote++
	s.held, s.sold = s.held+e.Held, s.sold+e.Sold
	s.stock.Held, s.stock.Sold = s.stock.Held+e.Held, s.stock.Sold+e.Sold
	return true, nil
}

func (s *settlement) insertRejected(c *sluice.Claim, why sluice.Reason) error {
	query := rejectOrder
	if s.kind == sluice.KindCoupon {
		query = rejectCoupon
	}
	st, err := s.hot.stmt(query, 9)
	if err != nil {
		return err
	}
	_, err = s.hot.exec(st, s.seq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source), int64(c.Quantity),
		int64(c.At), why.String())
	if err == nil {
		s.wrote++
	}
	return err
}

// seq is that of the next row.
func (s *settlement) seq() int64 { return s.no<<32 | (s.rows + s.wrote + 1) }

// claimRange gives the first and the last id that a claim of the same user can have.
func claimRange(id sluice.ClaimID) (lo, hi sluice.ClaimID) {
	lo, hi = id, id
	for i := len(id) / 2; i < len(id); i++ {
		lo[i], hi[i] = 0, 0xff
	}
	return lo, hi
}

// The limit is part of the insert, so that a claim is one statement where all is well: the range of the user's claims
// lies on the page that the insert changes anyway. Where the limit is passed, limit_units comes to NULL, and the row
// is ignored like one that is there already. It is no SELECT ... WHERE, since SQLite copies what a table is given from
// itself to a temporary one first.
const (
	usedInOrders = `(SELECT COALESCE(SUM(limit_units), 0) FROM orders
		WHERE claim_id BETWEEN ?13 AND ?14 AND limit_no = ?3 AND user_id = ?4)`
	usedInCoupons = `(SELECT COALESCE(SUM(limit_units), 0) FROM coupons
		WHERE claim_id BETWEEN ?13 AND ?14 AND limit_no = ?3 AND user_id = ?4)`

	insertOrderInto = `INSERT OR IGNORE INTO orders (seq, claim_id, limit_no, user_id, request_id, source, quantity,
		amount_minor, state, live_units, created_ms, due_ms, paid_ms, limit_units)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?7, ?10, ?11, ?12, CASE WHEN `
	insertOrder      = insertOrderInto + usedInOrders + ` + ?7 <= ?15 THEN ?7 END)`
	insertOrderGroup = insertOrderInto + usedInOrders + ` + ` + usedInCoupons + ` + ?7 <= ?15 THEN ?7 END)`

	rejectOrder = `INSERT INTO orders (seq, claim_id, limit_no, user_id, request_id, source, quantity, amount_minor, state,
		live_units, limit_units, created_ms, due_ms, rejected)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 'rejected', 0, 0, ?8, 0, ?9)`
)
