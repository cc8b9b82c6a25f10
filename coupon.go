package sluice

import (
	"crypto/rand"
	"slices"
	"strings"
)

// CouponType says how a coupon's discount is computed.
type CouponType string

// The coupon types.
const (
	CouponAmountOff  CouponType = "amount_off"  // Value is an amount in minor units
	CouponPercentOff CouponType = "percent_off" // Value is a percentage, 1 to 100
	CouponExchange   CouponType = "exchange"    // the whole purchase is free
)

// CouponTerms is the template of a coupon campaign. Either ValidDays or the fixed window is set.
type CouponTerms struct {
	Type             CouponType
	Value            int64
	MinSpendMinor    int64
	Currency         string
	MaxDiscountMinor int64 // percent_off and exchange; 0 means no cap
	ValidDays        int64 // from the claim; 1 to 3660
	ValidFrom        Millis
	ValidUntil       Millis
	MerchantIDs      []string // empty means every merchant
}

// Window gives the moments between which a coupon claimed at `at` can be redeemed: [from, until).
func (t CouponTerms) Window(at Millis) (from, until Millis) {
	if t.ValidDays > 0 {
		return at, at + Millis(t.ValidDays*24*3600*1000)
	}
	return t.ValidFrom, t.ValidUntil
}

// Discount computes what the coupon takes off a purchase of spend minor units: never negative, never above spend.
func (t CouponTerms) Discount(spend int64) int64 {
	var d int64
	switch t.Type {
	case CouponAmountOff:
		return max(0, min(t.Value, spend))
	case CouponPercentOff:
		d = spend/100*t.Value + spend%100*t.Value/100
	case CouponExchange:
		d = spend
	}
	if t.MaxDiscountMinor > 0 {
		d = min(d, t.MaxDiscountMinor)
	}
	return max(0, min(d, spend))
}

// CouponState is where a coupon stands.
type CouponState string

// The states of a coupon.
const (
	CouponIssued   CouponState = "issued"
	CouponLocked   CouponState = "locked"
	CouponRedeemed CouponState = "redeemed"
	CouponExpired  CouponState = "expired"
	CouponRevoked  CouponState = "revoked"
	CouponRejected CouponState = "rejected"
)

// Bounds of a coupon's lock, in seconds.
const (
	DefaultLockSec = 900
	MaxLockSec     = 24 * 3600
)

// MaxCouponQuantity bounds the quantity of one claim on coupons: each unit is a row of its own.
const MaxCouponQuantity = 100

// Coupon is one issued coupon: one row. A claim of quantity q brings q of them, numbered from 0.
type Coupon struct {
	ID          ClaimID
	N           int
	Code        string // canonical: 16 symbols, upper case, no dashes
	Campaign    string
	User        string
	RequestID   string
	Source      Source
	State       CouponState
	Rejected    Reason
	LiveUnits   int64
	LimitUnits  int64
	CreatedAt   Millis
	ValidFrom   Millis
	ValidUntil  Millis
	LockRef     string // who holds the lock; meaningful in state locked
	LockBy      string // merchant
	LockedUntil Millis
	RedeemRef   string // of the redemption in force
	RedeemBy    string // merchant
	RedeemedAt  Millis
	Discount    int64 // of the redemption in force
	Spend       int64
	EndedAt     Millis // expired or revoked
}

// Settled gives the coupon as it is at now: a lock that ran out is no lock, an issued coupon past its window is
// expired.
func (c Coupon) Settled(now Millis) Coupon {
	if c.State == CouponLocked && now >= c.LockedUntil {
		c.State, c.LockRef, c.LockBy, c.LockedUntil = CouponIssued, "", "", 0
	}
	if c.State == CouponIssued && now >= c.ValidUntil {
		c.State, c.EndedAt = CouponExpired, c.ValidUntil
	}
	return c
}

func (c Coupon) refuse(t CouponTerms, merchant string, now Millis) error {
	switch {
	case c.State == CouponRedeemed:
		return NewFault(ErrConflict, "COUPON_REDEEMED", "the coupon has been redeemed")
	case c.State == CouponRevoked || c.State == CouponRejected:
		return NewFault(ErrConflict, "COUPON_REVOKED", "the coupon was revoked")
	case c.State == CouponExpired:
		return NewFault(ErrConflict, "COUPON_EXPIRED", "the coupon is past its validity")
	case now < c.ValidFrom:
		return NewFault(ErrConflict, "COUPON_NOT_VALID_YET", "the coupon's validity has not begun")
	case len(t.MerchantIDs) > 0 && !slices.Contains(t.MerchantIDs, merchant):
		return NewFault(ErrConflict, "COUPON_NOT_VALID_HERE", "the coupon is for other merchants")
	}
	return nil
}

// Lock reserves the coupon for the purchase ref until `until`. The holder may lock again, which moves the limit; once
// the coupon's validity is over, only its lock keeps it, and locking again changes nothing.
func (c Coupon) Lock(t CouponTerms, ref, merchant string, until, now Millis) (Coupon, error) {
	c = c.Settled(now)
	if err := c.refuse(t, merchant, now); err != nil {
		return c, err
	}
	if c.State == CouponLocked && (c.LockRef != ref || c.LockBy != merchant) {
		return c, NewFault(ErrConflict, "COUPON_LOCKED", "the coupon is locked by another purchase")
	}
	if c.State == CouponLocked && now >= c.ValidUntil {
		return c, nil
	}
	c.State, c.LockRef, c.LockBy, c.LockedUntil = CouponLocked, ref, merchant, until
	return c, nil
}

// Unlock ends the lock that ref holds. A coupon that is not locked stays as it is.
func (c Coupon) Unlock(ref, merchant string, now Millis) (Coupon, error) {
	c = c.Settled(now)
	if c.State != CouponLocked {
		return c, nil
	}
	if c.LockRef != ref || c.LockBy != merchant {
		return c, NewFault(ErrConflict, "COUPON_LOCKED", "the coupon is locked by another purchase")
	}
	c.State, c.LockRef, c.LockBy, c.LockedUntil = CouponIssued, "", "", 0
	return c, nil
}

// Redeem uses the coupon for the purchase ref of spend minor units. Discount is computed from the terms.
func (c Coupon) Redeem(t CouponTerms, ref, merchant string, spend int64, now Millis) (Coupon, error) {
	c = c.Settled(now)
	if err := c.refuse(t, merchant, now); err != nil {
		return c, err
	}
	if c.State == CouponLocked && (c.LockRef != ref || c.LockBy != merchant) {
		return c, NewFault(ErrConflict, "COUPON_LOCKED", "the coupon is locked by another purchase")
	}
	if spend < t.MinSpendMinor {
		return c, NewFault(ErrConflict, "MIN_SPEND_NOT_MET", "the purchase is below the coupon's minimum spend")
	}
	c.State, c.LockRef, c.LockBy, c.LockedUntil = CouponRedeemed, "", "", 0
	c.RedeemRef, c.RedeemBy, c.RedeemedAt, c.Spend, c.Discount = ref, merchant, now, spend, t.Discount(spend)
	return c, nil
}

// RedeemedUnder says whether the redemption in force is merchant's under ref.
func (c Coupon) RedeemedUnder(ref, merchant string) bool {
	return c.State == CouponRedeemed && c.RedeemRef == ref && c.RedeemBy == merchant
}

// Reverse undoes the redemption ref. The coupon is issued again; past its window it is expired.
func (c Coupon) Reverse(ref, merchant string, now Millis) (Coupon, error) {
	if !c.RedeemedUnder(ref, merchant) {
		return c, NewFault(ErrConflict, "NOT_REDEEMED_BY", "the coupon is not redeemed under this reference")
	}
	c.State, c.RedeemRef, c.RedeemBy, c.RedeemedAt, c.Spend, c.Discount = CouponIssued, "", "", 0, 0, 0
	return c.Settled(now), nil
}

// Revoke takes the coupon away. A redeemed one cannot be revoked; revoking twice changes nothing. Giving the unit and
// the limit back are two choices.
func (c Coupon) Revoke(unitBack, limitBack bool, now Millis) (Coupon, Effects, error) {
	c = c.Settled(now)
	switch c.State {
	case CouponRevoked:
		return c, Effects{}, nil
	case CouponRedeemed, CouponRejected:
		return c, Effects{}, NewFault(ErrConflict, "COUPON_STATE", "cannot revoke a coupon that is "+string(c.State))
	}
	var e Effects
	c.State, c.EndedAt, c.LockRef, c.LockBy, c.LockedUntil = CouponRevoked, now, "", "", 0
	if unitBack {
		e.Sold, e.ReleaseUnits, c.LiveUnits = -c.LiveUnits, c.LiveUnits, 0
	}
	if limitBack {
		e.ReleaseLimit, c.LimitUnits = c.LimitUnits, 0
	}
	return c, e, nil
}

// CouponOp is what a merchant asks of a coupon.
type CouponOp string

// The merchants' steps.
const (
	CouponLock    CouponOp = "lock"
	CouponUnlock  CouponOp = "unlock"
	CouponRedeem  CouponOp = "redeem"
	CouponReverse CouponOp = "reverse"
)

// CouponUse is one such step. Reference names the merchant's purchase: with Merchant it names a redemption for good.
type CouponUse struct {
	Op          CouponOp
	Code        string // canonical
	Reference   string // 1 to MaxReference bytes
	Merchant    string
	SpendMinor  int64  // redeem
	LockedUntil Millis // lock
	At          Millis
	By          Actor // the operator who does it in the merchant's name; empty where the merchant's own key did
}

// Use carries out the step u.
func (c Coupon) Use(t CouponTerms, u CouponUse) (Coupon, error) {
	switch u.Op {
	case CouponLock:
		return c.Lock(t, u.Reference, u.Merchant, u.LockedUntil, u.At)
	case CouponUnlock:
		return c.Unlock(u.Reference, u.Merchant, u.At)
	case CouponRedeem:
		return c.Redeem(t, u.Reference, u.Merchant, u.SpendMinor, u.At)
	case CouponReverse:
		return c.Reverse(u.Reference, u.Merchant, u.At)
	}
	return c, NewFault(ErrInvalid, "VALIDATION", "no such step of a coupon: "+string(u.Op))
}

// RevokeChoice says what taking a coupon away gives back. The zero value keeps unit and limit.
type RevokeChoice struct {
	UnitBack  bool
	LimitBack bool
}

// Redemption is what a merchant is answered: the same for a repeated reference.
type Redemption struct {
	Code          string
	Campaign      string
	Reference     string
	Merchant      string
	State         CouponState // of the coupon, now
	SpendMinor    int64
	DiscountMinor int64
	Currency      string
	LockedUntil   Millis
	At            Millis
	Replayed      bool
}

const couponAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// couponDigits is the number of symbols of a code; the last one is the check symbol.
const couponDigits = 16

// NewCouponCode draws a code from crypto/rand: 75 random bits and a check symbol, in Crockford's base 32.
func NewCouponCode() string {
	var raw [couponDigits]byte
	_, _ = rand.Read(raw[:]) // never fails
	for i := range raw {
		raw[i] = couponAlphabet[raw[i]&31]
	}
	raw[couponDigits-1] = couponCheck(raw[:couponDigits-1])
	return string(raw[:])
}

// couponCheck is a running check over base 32 in the manner of ISO 7064's hybrid systems (MOD 33,32): it finds
// every single wrong symbol, and all but one in 496 swaps of two different neighbours, counted over all states of
// the check.
func couponCheck(digits []byte) byte {
	p := 32
	for _, d := range digits {
		s := (p + strings.IndexByte(couponAlphabet, d)) % 32
		if s == 0 {
			s = 32
		}
		p = s * 2 % 33
	}
	return couponAlphabet[(33-p)%32]
}

// ParseCouponCode brings what a person typed into canonical form: dashes and spaces are dropped, lower case is
// raised, O is 0, I and L are 1. False where it cannot be a code or the check symbol is wrong.
func ParseCouponCode(s string) (string, bool) {
	if len(s) > 64 {
		return "", false
	}
	var b [couponDigits]byte
	n := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '-' || c == ' ':
			continue
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		switch c {
		case 'O':
			c = '0'
		case 'I', 'L':
			c = '1'
		}
		if n == couponDigits || strings.IndexByte(couponAlphabet, c) < 0 {
			return "", false
		}
		b[n] = c
		n++
	}
	if n != couponDigits || b[n-1] != couponCheck(b[:n-1]) {
		return "", false
	}
	return string(b[:]), true
}

// FormatCouponCode groups a canonical code for people: XXXX-XXXX-XXXX-XXXX.
func FormatCouponCode(code string) string {
	if len(code) != couponDigits {
		return code
	}
	return code[:4] + "-" + code[4:8] + "-" + code[8:12] + "-" + code[12:]
}
