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

// Redemption is what a merchant does with a coupon. Reference names the purchase, 1 to 128 bytes: the same call
// under the same reference is answered the same, so that it may be repeated.
type Redemption struct {
	Reference   string `json:"reference"`
	MerchantID  string `json:"merchant_id,omitempty"`  // empty: the API key's own
	AmountMinor int64  `json:"amount_minor,omitempty"` // Redeem: what the purchase costs, in minor units
	LockSec     int64  `json:"lock_s,omitempty"`       // Lock: for how long; 0: 15 minutes
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
	Replayed      bool               `json:"replayed"`
}

// LockCoupon keeps a coupon for the purchase r.Reference for a while. A refusal is a [Problem] that is an
// sluice.ErrConflict, with code COUPON_REDEEMED, COUPON_EXPIRED, COUPON_LOCKED, COUPON_NOT_VALID_HERE and so on; an
// unknown or mistyped code is an sluice.ErrNotFound. Both hold for the other calls on coupons, too.
func (c *Client) LockCoupon(ctx context.Context, code string, r Redemption) (*Redeemed, error) {
	return c.coupon(ctx, code, "lock", r)
}

// UnlockCoupon ends the lock that r.Reference holds.
func (c *Client) UnlockCoupon(ctx context.Context, code string, r Redemption) (*Redeemed, error) {
	return c.coupon(ctx, code, "unlock", r)
}

// RedeemCoupon uses a coupon for the purchase r.Reference of r.AmountMinor and gives the discount.
func (c *Client) RedeemCoupon(ctx context.Context, code string, r Redemption) (*Redeemed, error) {
	return c.coupon(ctx, code, "redeem", r)
}

// ReverseCoupon undoes the redemption r.Reference: the coupon can be used again while it is valid.
func (c *Client) ReverseCoupon(ctx context.Context, code string, r Redemption) (*Redeemed, error) {
	return c.coupon(ctx, code, "reverse", r)
}

func (c *Client) coupon(ctx context.Context, code, verb string, r Redemption) (*Redeemed, error) {
	var out Redeemed
	k := call{method: http.MethodPost, path: "/v1/coupons/" + url.PathEscape(code) + "/" + verb, body: r}
	if err := c.repeat(ctx, k, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
