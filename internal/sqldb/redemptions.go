package sqldb

import (
	"context"
	"errors"

	"github.com/sluice-sale/sluice"
)

// UseCoupon carries out a merchant's step on a coupon. Redeem and reverse are idempotent by merchant and reference: the
// recorded answer is given again with Replayed set, the coupon's state as it is now. ErrNotFound: no such coupon.
// ErrConflict: its state or its terms forbid the step, or the reference is in use for another coupon or amount
// (REFERENCE_REUSED), or the redemption it names was reversed since (REDEMPTION_REVERSED). ErrUncertain: repeat it.
func (db *DB) UseCoupon(ctx context.Context, u sluice.CouponUse) (r sluice.Redemption, err error) {
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		was, err := t.coupon(u.Code)
		if err != nil {
			return err
		}
		var replayed bool
		if r, replayed, err = t.redeemedBefore(was, u); err != nil || replayed {
			return err
		}
		is, err := was.Use(was.terms, u)
		if err != nil {
			return err
		}
		if err := t.useCoupon(was, is, u); err != nil {
			return err
		}
		r = redemptionOf(was, is, u)
		return nil
	})
	return r, err
}

// useCoupon writes a step that the transitions allow, its record and its events.
func (t *tx) useCoupon(was couponRow, is sluice.Coupon, u sluice.CouponUse) error {
	if is == was.Coupon {
		return nil
	}
	if err := t.stepCoupon(was, is, sluice.Effects{}); err != nil {
		return err
	}
	if u.Op == sluice.CouponRedeem || u.Op == sluice.CouponReverse {
		if err := t.recordRedemption(was, is, u); err != nil {
			return err
		}
	}
	note := couponEvent(is)
	note.MerchantID, note.Reference = u.Merchant, u.Reference
	if u.Op == sluice.CouponUnlock { // whose lock it was: one that ran out is ended by whoever asks
		note.MerchantID, note.Reference = was.LockBy, was.LockRef
	}
	if err := t.couponEvents(u.At, usedEvent(u.Op), was, is, note); err != nil || u.By == (sluice.Actor{}) {
		return err
	}
	return t.audit(u.At, u.By, "coupon."+string(u.Op), "coupon/"+is.ID.String(), couponEvent(was.Coupon), note)
}

// usedEvent names the event of a step.
func usedEvent(op sluice.CouponOp) string {
	switch op {
	case sluice.CouponLock:
		return "coupon.locked"
	case sluice.CouponUnlock:
		return eventUnlocked
	case sluice.CouponRedeem:
		return "coupon.redeemed"
	}
	return "coupon.reversed"
}

// recordRedemption writes the step's row. A reference that another writer has just recorded begins again. A
// reversal keeps the figures of what it reversed.
func (t *tx) recordRedemption(was couponRow, is sluice.Coupon, u sluice.CouponUse) error {
	of := is
	if u.Op == sluice.CouponReverse {
		of = was.Coupon
	}
	_, err := t.exec(`INSERT INTO redemptions (merchant_id, reference, op, code, spend_minor, discount_minor, at_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, u.Merchant, u.Reference, string(u.Op), u.Code, of.Spend, of.Discount, u.At)
	if isUnique(err) {
		return errMoved
	}
	return err
}

// redeemedBefore looks whether the step was recorded already, and gives its answer.
func (t *tx) redeemedBefore(was couponRow, u sluice.CouponUse) (r sluice.Redemption, replayed bool, err error) {
	if u.Op != sluice.CouponRedeem && u.Op != sluice.CouponReverse {
		return r, false, nil
	}
	var code string
	r = redemptionOf(was, was.Settled(u.At), u)
	err = t.row(`SELECT code, spend_minor, discount_minor, at_ms FROM redemptions
		WHERE merchant_id = ? AND reference = ? AND op = ?`, []any{u.Merchant, u.Reference, string(u.Op)},
		&code, &r.SpendMinor, &r.DiscountMinor, &r.At)
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return r, false, nil
	case err != nil:
		return r, false, err
	case code != u.Code || u.Op == sluice.CouponRedeem && r.SpendMinor != u.SpendMinor:
		return r, false, sluice.NewFault(sluice.ErrConflict, "REFERENCE_REUSED",
			"the reference names a redemption of another coupon or amount")
	case u.Op == sluice.CouponRedeem && !was.RedeemedUnder(u.Reference, u.Merchant):
		// To answer as before would let the discount be taken twice.
		return r, false, sluice.NewFault(sluice.ErrConflict, "REDEMPTION_REVERSED",
			"the redemption under this reference was reversed; a new purchase needs a new reference")
	}
	r.Replayed = true
	return r, true, nil
}

// redemptionOf is the answer to a step that made is of was.
func redemptionOf(was couponRow, is sluice.Coupon, u sluice.CouponUse) sluice.Redemption {
	of := is
	if u.Op == sluice.CouponReverse {
		of = was.Coupon
	}
	return sluice.Redemption{
		Code: u.Code, Campaign: was.Campaign, Reference: u.Reference, Merchant: u.Merchant, State: is.State,
		SpendMinor: of.Spend, DiscountMinor: of.Discount, Currency: was.terms.Currency, LockedUntil: is.LockedUntil,
		At: u.At,
	}
}
