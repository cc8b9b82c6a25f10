// Package coupon is what users, merchants and operators may do with coupons: look, lock, redeem, reverse, revoke.
// It checks what came in and decides who may ask; what a step means is decided by the root's transitions, inside
// the ledger's transactions. A code that cannot be one is refused without a look at the ledger. Codes are written
// to no log.
package coupon

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Ledger keeps the coupons. Errors are the root's sentinels: after ErrUnavailable nothing was done, after
// ErrUncertain the call may be repeated, since every step is idempotent. Codes are canonical.
type Ledger interface {
	// UseCoupon carries out a merchant's step. ErrNotFound: no such coupon. ErrConflict: not now, not here, not
	// like that.
	UseCoupon(ctx context.Context, u sluice.CouponUse) (sluice.Redemption, error)
	// Coupon reads one coupon as it is at now; ErrNotFound where there is none.
	Coupon(ctx context.Context, code string, now sluice.Millis) (sluice.Coupon, error)
	// Coupons reads a page, newest first.
	Coupons(ctx context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error)
	// RevokeCoupon takes a coupon away. ErrConflict where it is redeemed.
	RevokeCoupon(ctx context.Context, code string, c sluice.RevokeChoice, by sluice.Actor, now sluice.Millis,
	) (sluice.Coupon, error)
	// FreeCoupon ends whatever lock is on it.
	FreeCoupon(ctx context.Context, code string, by sluice.Actor, now sluice.Millis) (sluice.Coupon, error)
}

// Config sets a Desk up. Zero values mean the defaults given.
type Config struct {
	Now      func() time.Time         // default time.Now
	ReadOnly func() bool              // merchants' steps are refused meanwhile; default never
	OnUse    func(op sluice.CouponOp) // a step that was carried out, no replay; may be nil; must not block
}

// Desk serves coupons. It is safe for concurrent use and has no state of its own.
type Desk struct {
	cfg    Config
	ledger Ledger
}

// New makes a Desk on ledger.
func New(cfg Config, ledger Ledger) *Desk {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.ReadOnly == nil {
		cfg.ReadOnly = func() bool { return false }
	}
	return &Desk{cfg: cfg, ledger: ledger}
}

// Wallet gives a page of the user's coupons, newest first, each as it is now.
func (d *Desk) Wallet(ctx context.Context, user, cursor string, limit int) (sluice.Page[sluice.Coupon], error) {
	return d.ledger.Coupons(ctx, sluice.CouponQuery{User: user, At: d.now(), Cursor: cursor, Limit: limit})
}

// Use carries out a merchant's step. Of u it takes the code as a person typed it, the reference (1 to
// sluice.MaxReference bytes), the merchant that the key speaks for and, to redeem, what the purchase costs (0 to
// sluice.MaxPriceMinor). lockSec is how long a lock holds: 1 to sluice.MaxLockSec, 0 means sluice.DefaultLockSec.
// Redeem and reverse are idempotent by merchant and reference, lock and unlock for the same reference.
// ErrNotFound: an unknown or forged code. ErrConflict: a Fault that says why not.
func (d *Desk) Use(ctx context.Context, u sluice.CouponUse, lockSec int64) (sluice.Redemption, error) {
	if d.cfg.ReadOnly() {
		return sluice.Redemption{}, sluice.NewFault(sluice.ErrUnavailable, "READ_ONLY",
			"coupons cannot be changed at present")
	}
	if err := check(u, lockSec); err != nil {
		return sluice.Redemption{}, err
	}
	code, err := canonical(u.Code)
	if err != nil {
		return sluice.Redemption{}, err
	}
	if lockSec == 0 {
		lockSec = sluice.DefaultLockSec
	}
	u.Code, u.At = code, d.now()
	u.LockedUntil = u.At + sluice.Millis(lockSec*1000)
	r, err := d.ledger.UseCoupon(ctx, u)
	if err == nil && !r.Replayed && d.cfg.OnUse != nil {
		d.cfg.OnUse(u.Op)
	}
	return r, err
}

// check finds what cannot be right in a step.
func check(u sluice.CouponUse, lockSec int64) error {
	var bad []sluice.FieldFault
	within := func(field string, v, low, high int64) {
		if v < low || v > high {
			bad = append(bad, sluice.FieldFault{Field: field, Detail: fmt.Sprintf("must be %d to %d", low, high)})
		}
	}
	if len(u.Reference) < 1 || len(u.Reference) > sluice.MaxReference {
		bad = append(bad, sluice.FieldFault{
			Field: "reference", Detail: fmt.Sprintf("must be 1 to %d bytes", sluice.MaxReference),
		})
	}
	within("amount_minor", u.SpendMinor, 0, sluice.MaxPriceMinor)
	within("lock_s", lockSec, 0, sluice.MaxLockSec)
	return sluice.Invalid(bad...)
}

// Get gives one coupon for operators, by the code that a person typed; ErrNotFound for an unknown or forged one.
func (d *Desk) Get(ctx context.Context, code string) (sluice.Coupon, error) {
	code, err := canonical(code)
	if err != nil {
		return sluice.Coupon{}, err
	}
	return d.ledger.Coupon(ctx, code, d.now())
}

// Search gives a page of coupons for operators. A code that cannot be one finds nothing.
func (d *Desk) Search(ctx context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error) {
	if q.Code != "" {
		code, ok := sluice.ParseCouponCode(q.Code)
		if !ok {
			return sluice.Page[sluice.Coupon]{}, nil
		}
		q.Code = code
	}
	q.At = d.now()
	return d.ledger.Coupons(ctx, q)
}

// Revoke takes a coupon away, unless it is redeemed. Unit and limit come back only where the choice says so.
func (d *Desk) Revoke(ctx context.Context, code string, c sluice.RevokeChoice, by sluice.Actor) (sluice.Coupon, error) {
	code, err := canonical(code)
	if err != nil {
		return sluice.Coupon{}, err
	}
	return d.ledger.RevokeCoupon(ctx, code, c, by, d.now())
}

// Unlock ends whatever lock is on a coupon, on an operator's word.
func (d *Desk) Unlock(ctx context.Context, code string, by sluice.Actor) (sluice.Coupon, error) {
	code, err := canonical(code)
	if err != nil {
		return sluice.Coupon{}, err
	}
	return d.ledger.FreeCoupon(ctx, code, by, d.now())
}

// canonical brings a typed code into the form the ledger keeps.
func canonical(code string) (string, error) {
	c, ok := sluice.ParseCouponCode(code)
	if !ok {
		return "", sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_COUPON", "there is no such coupon")
	}
	return c, nil
}

func (d *Desk) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }
