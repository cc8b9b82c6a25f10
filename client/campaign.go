package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// Campaign is one campaign as buyers see it. Times are the server's; a nil pointer is a moment that has not come.
type Campaign struct {
	ID            string               `json:"id"`
	Kind          sluice.Kind          `json:"kind"`
	Title         string               `json:"title"`
	ImageURL      string               `json:"image_url"`
	State         sluice.CampaignState `json:"state"`
	Total         int64                `json:"total"`
	Available     int64                `json:"available"`
	PerUserLimit  int                  `json:"per_user_limit"`
	StartsAt      time.Time            `json:"starts_at"`
	EndsAt        time.Time            `json:"ends_at"`
	SoldOutAt     *time.Time           `json:"sold_out_at"`     // when the last unit went
	MayReturn     int64                `json:"may_return"`      // units held by orders that are not paid
	NextReleaseAt *time.Time           `json:"next_release_at"` // when the first of them falls due
	Goods         *Goods               `json:"goods"`
	Coupon        *CouponTerms         `json:"coupon"`
	Protection    Protection           `json:"protection"`
	LoginURL      string               `json:"login_url"` // of the shop: where buyers sign in
	PayURL        string               `json:"pay_url"`   // of the shop: where buyers pay
}

// Protection says what a claim needs besides a token.
type Protection struct {
	Pass      sluice.PassMode      `json:"pass"`
	Challenge sluice.ChallengeType `json:"challenge"`
	Signature bool                 `json:"signature"`        // claims are signed with the key that comes with the pass
	SpreadSec int                  `json:"spread_s"`         // the opening is spread over so many seconds
	SeedHash  string               `json:"spread_seed_hash"` // SHA-256 of the seed of the slots, in hex
	Seed      string               `json:"spread_seed"`      // the seed in hex, once the spread is over
}

// Goods are the terms of a goods campaign. Prices are in minor units of Currency.
type Goods struct {
	SKU             string `json:"sku"`
	PriceMinor      int64  `json:"price_minor"`
	Currency        string `json:"currency"`
	UnpaidWindowSec int64  `json:"unpaid_window_s"`
}

// CouponTerms are the terms of a coupon campaign: either ValidDays from the claim, or a fixed window.
type CouponTerms struct {
	Type             sluice.CouponType `json:"type"`
	Value            int64             `json:"value"`
	MinSpendMinor    int64             `json:"min_spend_minor"`
	MaxDiscountMinor int64             `json:"max_discount_minor"`
	Currency         string            `json:"currency"`
	ValidDays        int64             `json:"valid_days"`
	ValidFrom        *time.Time        `json:"valid_from"`
	ValidUntil       *time.Time        `json:"valid_until"`
}

// Campaign gives one campaign. The answer may be a second old. sluice.ErrNotFound: there is none.
func (c *Client) Campaign(ctx context.Context, id string) (*Campaign, error) {
	var found Campaign
	err := c.repeat(ctx, call{method: http.MethodGet, path: "/v1/campaigns/" + url.PathEscape(id)}, &found)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// Campaigns iterates over the public campaigns. An error ends the iteration.
func (c *Client) Campaigns(ctx context.Context) iter.Seq2[Campaign, error] {
	return pages[Campaign](ctx, c, "/v1/campaigns")
}

// pages iterates over a list of the API, page by page; the next page is fetched when it is needed.
func pages[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		for {
			var page struct {
				Items      []T    `json:"items"`
				NextCursor string `json:"next_cursor"`
			}
			if err := c.repeat(ctx, call{method: http.MethodGet, path: path, query: query}, &page); err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == "" || page.NextCursor == query.Get("cursor") {
				return
			}
			query.Set("cursor", page.NextCursor)
		}
	}
}
