package admin

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-sale/sluice"
)

// latest is the last moment that RFC 3339 can write with a four-digit year.
const latest sluice.Millis = 253_402_300_799_999

// Validate checks what an operator says of a new campaign, and reports every fault at once. A window that is over is
// allowed: the answer shows the state.
func Validate(s *sluice.CampaignSpec) error {
	var f faults
	if s.ID != "" {
		f.id("id", s.ID, sluice.MaxCampaignID)
	}
	f.text("title", s.Title, 1, sluice.MaxTitle)
	f.image("image_url", s.ImageURL)
	within(&f, "total", s.Total, 1, sluice.MaxTotal)
	within(&f, "per_user_limit", s.PerUserLimit, 1, sluice.MaxPerUserLimit)
	f.window(s.StartsAt, s.EndsAt)
	if s.LimitGroup != "" {
		f.id("limit_group", s.LimitGroup, sluice.MaxLimitGroup)
	}
	f.terms(s)
	f.protection(s.Protection)
	f.eligibility(s.Eligibility)
	if s.Shards != 0 {
		within(&f, "shards", s.Shards, 1, sluice.MaxShards)
	}
	return f.err()
}

func (f *faults) window(starts, ends sluice.Millis) {
	before := len(*f)
	if starts <= 0 || starts > latest {
		f.add("starts_at", "is required, as RFC 3339, after 1970 and before 10000")
	}
	if ends <= 0 || ends > latest {
		f.add("ends_at", "is required, as RFC 3339, after 1970 and before 10000")
	}
	switch {
	case len(*f) > before:
	case ends <= starts:
		f.add("ends_at", "must be after starts_at")
	case ends-starts > sluice.MaxCampaignSec*1000:
		f.add("ends_at", "must be at most %d seconds after starts_at", int64(sluice.MaxCampaignSec))
	}
}

// terms checks that there are terms of the kind and none of the other.
func (f *faults) terms(s *sluice.CampaignSpec) {
	switch s.Kind {
	case sluice.KindGoods:
		if s.Goods == nil {
			f.add("goods", "is required for a campaign of kind goods")
		} else {
			f.goods(s.Goods)
			f.amount(s.Goods.PriceMinor, s.PerUserLimit)
		}
		if s.Coupon != nil {
			f.add("coupon", "must be absent from a campaign of kind goods")
		}
	case sluice.KindCoupon:
		if s.Coupon == nil {
			f.add("coupon", "is required for a campaign of kind coupon")
		} else {
			f.coupon(s.Coupon)
			if s.Coupon.ValidUntil != 0 && s.Coupon.ValidUntil <= s.StartsAt {
				f.add("coupon.valid_until", "must be after starts_at")
			}
		}
		if s.Goods != nil {
			f.add("goods", "must be absent from a campaign of kind coupon")
		}
	default:
		f.add("kind", "must be goods or coupon")
	}
}

func (f *faults) goods(g *sluice.Goods) {
	f.text("goods.sku", g.SKU, 0, sluice.MaxSKU)
	within(f, "goods.price_minor", g.PriceMinor, 0, sluice.MaxPriceMinor)
	if g.PriceMinor != 0 || g.Currency != "" {
		f.currency("goods.currency", g.Currency)
	}
	within(f, "goods.unpaid_window_s", g.UnpaidWindowSec, 1, sluice.MaxWindowSec)
}

// amount checks that the largest order's amount is a number that every client reads exactly (2⁵³).
func (f *faults) amount(price, limit int64) {
	if price > 0 && limit > 0 && limit <= sluice.MaxPerUserLimit && price > (1<<53)/limit {
		f.add("goods.price_minor", "times per_user_limit must be at most %d", int64(1)<<53)
	}
}

func (f *faults) coupon(t *sluice.CouponTerms) {
	switch t.Type {
	case sluice.CouponAmountOff:
		within(f, "coupon.value", t.Value, 1, sluice.MaxPriceMinor)
		if t.MaxDiscountMinor != 0 {
			f.add("coupon.max_discount_minor", "must be absent from amount_off")
		}
	case sluice.CouponPercentOff:
		within(f, "coupon.value", t.Value, 1, 100)
	case sluice.CouponExchange:
		within(f, "coupon.value", t.Value, 0, 0)
	default:
		f.add("coupon.type", "must be amount_off, percent_off or exchange")
	}
	within(f, "coupon.min_spend_minor", t.MinSpendMinor, 0, sluice.MaxPriceMinor)
	within(f, "coupon.max_discount_minor", t.MaxDiscountMinor, 0, sluice.MaxPriceMinor)
	money := t.Type == sluice.CouponAmountOff || t.MinSpendMinor != 0 || t.MaxDiscountMinor != 0
	if money || t.Currency != "" {
		f.currency("coupon.currency", t.Currency)
	}
	f.validity(t)
	f.merchants(t.MerchantIDs)
}

func (f *faults) validity(t *sluice.CouponTerms) {
	fixed := t.ValidFrom != 0 || t.ValidUntil != 0
	switch {
	case fixed && t.ValidDays != 0:
		f.add("coupon.valid_days", "must be absent where valid_from and valid_until are given")
	case !fixed && t.ValidDays == 0:
		f.add("coupon.valid_days", "is required, 1 to %d, or valid_from and valid_until", sluice.MaxValidDays)
	case !fixed:
		within(f, "coupon.valid_days", t.ValidDays, 1, sluice.MaxValidDays)
	case t.ValidFrom <= 0 || t.ValidFrom > latest:
		f.add("coupon.valid_from", "is required with valid_until")
	case t.ValidUntil <= t.ValidFrom || t.ValidUntil > latest:
		f.add("coupon.valid_until", "must be after valid_from and before the year 10000")
	}
}

func (f *faults) merchants(ids []string) {
	if len(ids) > sluice.MaxMerchants {
		f.add("coupon.merchant_ids", "must be at most %d, and are %d", sluice.MaxMerchants, len(ids))
		return
	}
	seen := map[string]bool{}
	for i, m := range ids {
		field := fmt.Sprintf("coupon.merchant_ids[%d]", i)
		f.id(field, m, sluice.MaxCampaignID)
		if seen[m] {
			f.add(field, "is there twice")
		}
		seen[m] = true
	}
}

func (f *faults) protection(p sluice.Protection) {
	switch p.Pass {
	case "", sluice.PassOff, sluice.PassAdaptive, sluice.PassAlways:
	default:
		f.add("protection.pass", "must be off, adaptive or always")
	}
	if p.Challenge != "" && !slices.Contains(sluice.ChallengeTypes(), p.Challenge) {
		f.add("protection.challenge", "must be pow, slider, image or siteverify, or absent")
	}
	within(f, "protection.spread_s", p.SpreadSec, 0, sluice.MaxSpreadSec)
	f.rate("protection.per_user_rate", p.PerUserRate, sluice.MaxPerUserRate)
	f.rate("protection.max_rate", p.MaxRate, sluice.MaxRate)
}

// rate checks a rate a second; 0 means the default. Less than one in 1,000 s would be a refusal in disguise.
func (f *faults) rate(field string, v float64, high float64) {
	if v != 0 && !(v >= 0.001 && v <= high) || math.IsNaN(v) {
		f.add(field, "must be 0, or from 0.001 to %v a second, and is %v", high, v)
	}
}

func (f *faults) eligibility(e sluice.Eligibility) {
	if len(e.Claims) > sluice.MaxEligibilityKeys {
		f.add("eligibility.claims", "must name at most %d claims, and names %d", sluice.MaxEligibilityKeys, len(e.Claims))
		return
	}
	for _, name := range sortedKeys(e.Claims) {
		values, field := e.Claims[name], "eligibility.claims."+name
		if name == "" || len(name) > sluice.MaxWord || !plain(name) {
			f.add("eligibility.claims", "a claim's name must be 1 to %d bytes without control characters", sluice.MaxWord)
			continue
		}
		if len(values) == 0 || len(values) > sluice.MaxEligibilityWords {
			f.add(field, "must have 1 to %d values, and has %d", sluice.MaxEligibilityWords, len(values))
			continue
		}
		for i, v := range values {
			f.text(fmt.Sprintf("%s[%d]", field, i), v, 1, sluice.MaxWord)
		}
	}
}
