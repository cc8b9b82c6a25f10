package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-sale/sluice"
)

// Coupon is one of the caller's coupons.
type Coupon struct {
	Code       string             `json:"code"`
	ClaimID    string             `json:"claim_id"`
	CampaignID string             `json:"campaign_id"`
	State      sluice.CouponState `json:"state"`
	ValidFrom  time.Time          `json:"valid_from"`
	ValidUntil time.Time          `json:"valid_until"`
	CreatedAt  time.Time          `json:"created_at"`
}

// MyCoupons iterates over the caller's coupons. An error ends the iteration.
func (c *Client) MyCoupons(ctx context.Context) iter.Seq2[Coupon, error] {
	return pages[Coupon](ctx, c, "/v1/me/coupons")
}

// Redeemed is a coupon after a merchant's call.
type Redeemed struct {
	Code          string             `json:"code"`
	CampaignID    string             `json:"campaign_id"`
	Reference     string             `json:"reference"`
	MerchantID    string             `json:"merchant_id"`
	State         sluice.CouponState `json:"state"`
	AmountMinor   int64              `json:"amount_minor"`
	DiscountMinor int64              `json:"discount_minor"`
	Currency      string             `json:"currency"`
	LockedUntil   *time.Time         `json:"locked_until"`
	At            time.Time          `json:"at"`
	Replayed      bool               `json:"replayed"` // the recorded answer, given again
}

// LockCoupon keeps a coupon for one purchase of the merchant whose API key the client has; hold is rounded down to the
// second, but not to nothing; 0 means 15 minutes, a day is the most.
//
// reference names the purchase, 1 to 128 bytes. The same call under the same reference is answered the same, so
// that all calls on coupons are repeated by themselves where an answer is lost. A refusal is a [Problem] that is
// an sluice.ErrConflict, with code COUPON_REDEEMED, COUPON_EXPIRED, COUPON_LOCKED, COUPON_NOT_VALID_HERE and so
// on; an unknown or mistyped code is an sluice.ErrNotFound.
func (c *Client) LockCoupon(ctx context.Context, code, reference string, hold time.Duration) (*Redeemed, error) {
	if hold > 0 {
		hold = max(hold, time.Second)
	}
	return c.coupon(ctx, code, "lock", struct {
		Reference string `json:"reference"`
		LockSec   int64  `json:"lock_s,omitempty"`
	}{reference, int64(hold / time.Second)})
}

// UnlockCoupon ends the lock that reference holds.
func (c *Client) UnlockCoupon(ctx context.Context, code, reference string) (*Redeemed, error) {
	return c.coupon(ctx, code, "unlock", map[string]string{"reference": reference})
}

// RedeemCoupon uses a coupon for the purchase reference of amountMinor, in minor units, and gives the discount.
func (c *Client) RedeemCoupon(ctx context.Context, code, reference string, amountMinor int64) (*Redeemed, error) {
	return c.coupon(ctx, code, "redeem", struct {
		Reference   string `json:"reference"`
		AmountMinor int64  `json:"amount_minor"`
	}{reference, amountMinor})
}

// ReverseCoupon undoes the redemption that reference made: the coupon can be used again while it is valid.
func (c *Client) ReverseCoupon(ctx context.Context, code, reference string) (*Redeemed, error) {
	return c.coupon(ctx, code, "reverse", map[string]string{"reference": reference})
}

func (c *Client) coupon(ctx context.Context, code, verb string, body any) (*Redeemed, error) {
	var out Redeemed
	k := call{method: http.MethodPost, path: "/v1/coupons/" + url.PathEscape(code) + "/" + verb, body: body}
	if err := c.repeat(ctx, k, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
