package sqldb

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// couponRow is a coupon with what its row says beside it.
type couponRow struct {
	sluice.Coupon
	seq        int64
	campaignNo int64
	terms      sluice.CouponTerms
}

const couponColumns = `o.seq, o.claim_id, o.n, o.campaign_no, c.id, c.terms, o.user_id, COALESCE(o.request_id, ''),
	o.source, COALESCE(o.code, ''), o.state, COALESCE(o.rejected, ''), o.live_units, o.limit_units, o.created_ms,
	o.valid_from_ms, o.valid_until_ms, COALESCE(o.lock_ref, ''), COALESCE(o.lock_by, ''),
	COALESCE(o.locked_until_ms, 0), COALESCE(o.redeem_ref, ''), COALESCE(o.redeem_by, ''), COALESCE(o.redeemed_ms, 0),
	COALESCE(o.spend_minor, 0), COALESCE(o.discount_minor, 0), COALESCE(o.ended_ms, 0)`

const (
	couponFrom   = `SELECT ` + couponColumns + ` FROM coupons o JOIN campaigns c ON c.no = o.campaign_no `
	couponByCode = couponFrom + `WHERE o.code = ?`
	couponBySeq  = couponFrom + `WHERE o.seq = ?`
)

// scanCoupon reads one row of couponColumns.
func scanCoupon(scan func(...any) error, tc termsCache) (r couponRow, err error) {
	var id []byte
	var text, state, rejected string
	err = scan(&r.seq, &id, &r.N, &r.campaignNo, &r.Campaign, &text, &r.User, &r.RequestID,
		&r.Source, &r.Code, &state, &rejected, &r.LiveUnits, &r.LimitUnits, &r.CreatedAt,
		&r.ValidFrom, &r.ValidUntil, &r.LockRef, &r.LockBy,
		&r.LockedUntil, &r.RedeemRef, &r.RedeemBy, &r.RedeemedAt,
		&r.Spend, &r.Discount, &r.EndedAt)
	if err != nil {
		return r, err
	}
	t, err := tc.of(r.campaignNo, text)
	if err != nil {
		return r, err
	}
	copy(r.ID[:], id)
	r.State, r.terms = sluice.CouponState(state), t.Coupon
	r.Rejected, _ = sluice.ParseReason(rejected)
	return r, nil
}

// coupon reads a coupon by its code inside the transaction, and locks its row, so that what is read of its
// redemptions afterwards is of the same moment; ErrNotFound where there is none. The row is locked before the
// campaign's: nobody who holds the campaign's lock asks for that of a coupon.
func (t *tx) coupon(code string) (couponRow, error) {
	if t.w == nil {
		var seq int64
		if err := t.row(t.locking(`SELECT seq FROM coupons WHERE code = ?`), []any{code}, &seq); err != nil {
			return couponRow{}, err
		}
	}
	return scanCoupon(func(into ...any) error { return t.row(couponByCode, []any{code}, into...) }, termsCache{})
}

// stepCoupon writes what a transition made of the coupon, with its effects on the counters and the permit. The row
// must still be what was read: the holder of a lock or of a redemption is compared as well as the state.
func (t *tx) stepCoupon(was couponRow, is sluice.Coupon, e sluice.Effects) error {
	if is == was.Coupon {
		return nil
	}
	if err := t.before(was.Campaign, e); err != nil {
		return err
	}
	n, err := t.exec(`UPDATE coupons SET state = ?, live_units = ?, limit_units = ?, lock_ref = ?, lock_by = ?,
		locked_until_ms = ?, redeem_ref = ?, redeem_by = ?, redeemed_ms = ?, spend_minor = ?, discount_minor = ?,
		ended_ms = ?
		WHERE seq = ? AND state = ? AND COALESCE(lock_ref, '') = ? AND COALESCE(lock_by, '') = ?
		AND COALESCE(locked_until_ms, 0) = ? AND COALESCE(redeem_ref, '') = ? AND COALESCE(redeem_by, '') = ?
		AND live_units = ? AND limit_units = ?`,
		string(is.State), is.LiveUnits, is.LimitUnits, textOrNull(is.LockRef), textOrNull(is.LockBy),
		orNull(is.LockedUntil), textOrNull(is.RedeemRef), textOrNull(is.RedeemBy), orNull(is.RedeemedAt),
		is.Spend, is.Discount, orNull(is.EndedAt),
		was.seq, string(was.State), was.LockRef, was.LockBy, was.LockedUntil, was.RedeemRef, was.RedeemBy,
		was.LiveUnits, was.LimitUnits)
	if err != nil {
		return err
	}
	if n == 0 {
		return errMoved
	}
	return t.effects(was.campaignNo, was.Campaign, is.ID, e)
}

// couponNote is what events and the audit log say of a coupon. The code is not in it: it is money to whoever reads it.
type couponNote struct {
	ClaimID       string             `json:"claim_id"`
	UserID        string             `json:"user_id"`
	N             int                `json:"n"`
	State         sluice.CouponState `json:"state"`
	MerchantID    string             `json:"merchant_id,omitempty"`
	Reference     string             `json:"reference,omitempty"`
	SpendMinor    int64              `json:"spend_minor,omitempty"`
	DiscountMinor int64              `json:"discount_minor,omitempty"`
	LockedUntil   sluice.Millis      `json:"locked_until_ms,omitempty"`
	LiveUnits     int64              `json:"live_units"`
	LimitUnits    int64              `json:"limit_units"`
}

func couponEvent(c sluice.Coupon) couponNote {
	n := couponNote{ClaimID: c.ID.String(), UserID: c.User, N: c.N, State: c.State,
		LiveUnits: c.LiveUnits, LimitUnits: c.LimitUnits}
	switch c.State {
	case sluice.CouponLocked:
		n.MerchantID, n.Reference, n.LockedUntil = c.LockBy, c.LockRef, c.LockedUntil
	case sluice.CouponRedeemed:
		n.MerchantID, n.Reference, n.SpendMinor, n.DiscountMinor = c.RedeemBy, c.RedeemRef, c.Spend, c.Discount
	}
	return n
}

// couponEvents tells of a step that made is of was, and of the validity that the step found to be over. An unlock that
// finds so has ended no lock.
func (t *tx) couponEvents(at sluice.Millis, typ string, was couponRow, is sluice.Coupon, note couponNote) error {
	expired := is.State == sluice.CouponExpired && was.State != sluice.CouponExpired
	if !expired || typ != eventUnlocked {
		if err := t.event(at, typ, was.campaignNo, is.ID.String(), note); err != nil {
			return err
		}
	}
	if !expired {
		return nil
	}
	return t.event(at, "coupon.expired", was.campaignNo, is.ID.String(), couponEvent(is))
}

const eventUnlocked = "coupon.unlocked"

// Coupon reads one coupon by its canonical code, as it stands at now; ErrNotFound where there is none.
func (db *DB) Coupon(ctx context.Context, code string, now sluice.Millis) (sluice.Coupon, error) {
	r, err := scanCoupon(db.rdb.QueryRowContext(ctx, couponByCode, code).Scan, termsCache{})
	if err != nil {
		return sluice.Coupon{}, readFault(err, "a coupon") // the code belongs in no log
	}
	return r.Settled(now), nil
}

// Coupons searches. A user, an id or a code are looked up in an index; the rest is a walk from the newest coupon
// backwards over a bounded number of rows.
func (db *DB) Coupons(ctx context.Context, q sluice.CouponQuery) (page sluice.Page[sluice.Coupon], err error) {
	s := search{table: "coupons", columns: couponColumns, limit: q.Limit, cursor: q.Cursor}
	s.claim(q.ID, q.User)
	if q.Code != "" {
		s.when(true, `o.code = ?`, q.Code)
		s.indexed = true
	}
	if found, err := s.campaign(ctx, db, q.Campaign); err != nil || !found {
		return page, err
	}
	s.when(q.RequestID != "", `o.request_id = ?`, q.RequestID)
	s.when(q.State != "", `o.state = ?`, string(q.State))
	s.when(q.State == "" && q.ID == sluice.ClaimID{}, `o.state <> ?`, string(sluice.CouponRejected))
	tc := termsCache{}
	return runSearch(ctx, db, s, func(scan func(...any) error) (sluice.Coupon, int64, error) {
		r, err := scanCoupon(scan, tc)
		return r.Settled(q.At), r.seq, err
	})
}

// RevokeCoupon takes a coupon away and puts it down in the audit log. Revoking twice changes nothing. ErrNotFound:
// no such coupon. ErrConflict: it is redeemed.
func (db *DB) RevokeCoupon(
	ctx context.Context, code string, c sluice.RevokeChoice, by sluice.Actor, now sluice.Millis,
) (sluice.Coupon, error) {
	return db.operateCoupon(ctx, code, "coupon.revoke", "coupon.revoked", by, now,
		func(was couponRow) (sluice.Coupon, sluice.Effects, error) {
			return was.Revoke(c.UnitBack, c.LimitBack, now)
		})
}

// FreeCoupon ends whatever lock is on a coupon and puts it down in the audit log. ErrNotFound: no such coupon.
func (db *DB) FreeCoupon(ctx context.Context, code string, by sluice.Actor, now sluice.Millis) (sluice.Coupon, error) {
	return db.operateCoupon(ctx, code, "coupon.unlock", eventUnlocked, by, now,
		func(was couponRow) (sluice.Coupon, sluice.Effects, error) {
			is, err := was.Unlock(was.LockRef, was.LockBy, now)
			return is, sluice.Effects{}, err
		})
}

// operateCoupon is one step of an operator.
func (db *DB) operateCoupon(
	ctx context.Context, code, action, event string, by sluice.Actor, now sluice.Millis,
	step func(couponRow) (sluice.Coupon, sluice.Effects, error),
) (c sluice.Coupon, err error) {
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		was, err := t.coupon(code)
		if err != nil {
			return err
		}
		is, e, err := step(was)
		if err != nil {
			return err
		}
		c = is
		if is == was.Coupon {
			return nil
		}
		if err := t.stepCoupon(was, is, e); err != nil {
			return err
		}
		if err := t.couponEvents(now, event, was, is, couponEvent(is)); err != nil {
			return err
		}
		return t.audit(now, by, action, "coupon/"+is.ID.String(), couponEvent(was.Coupon), couponEvent(is))
	})
	return c, err
}
