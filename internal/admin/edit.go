package admin

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
)

// Edit gives the campaign after a patch at now, or every fault of it at once. What buyers were promised does not
// change under them: once a campaign has started its price, terms and start stand, and its limit may only grow.
func Edit(c sluice.Campaign, p *sluice.CampaignPatch, now sluice.Millis) (sluice.Campaign, error) {
	if p.IfUpdatedAt != 0 && p.IfUpdatedAt != c.UpdatedAt || p.IfRevision != 0 && p.IfRevision != c.Revision {
		return c, sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_CHANGED",
			"somebody else has changed the campaign since you read it: read it again")
	}
	var f faults
	e := editor{faults: &f, c: c, started: c.Control != sluice.ControlDraft && now >= c.StartsAt,
		ended: c.Control == sluice.ControlEnded || c.Control != sluice.ControlDraft && now >= c.EndsAt}
	e.shown(p)
	e.window(p)
	e.limit(p)
	e.goods(p.Goods)
	e.coupon(p.Coupon)
	e.guards(p)
	if p.Total != nil && *p.Total != c.Stock.Total {
		f.add("total", "cannot be edited: use POST /v1/admin/campaigns/%s/adjustments", c.ID)
	}
	return e.c, f.err()
}

// editor applies a patch field by field. started and ended are those of the campaign before the patch.
type editor struct {
	*faults
	c              sluice.Campaign
	started, ended bool
}

// fixed reports that a field no longer changes.
func (e *editor) fixed(field string) {
	if e.ended {
		e.add(field, "cannot change once the campaign has ended: clone it")
		return
	}
	if !e.started {
		e.add(field, "cannot change once units were granted")
		return
	}
	e.add(field, "cannot change once the campaign has started, which was at %s", e.c.StartsAt.Time().Format(time.RFC3339))
}

// set puts *v where it differs from what is there; open says whether the field may still change.
func set[T comparable](e *editor, field string, into *T, v *T, open bool) bool {
	if v == nil || *v == *into {
		return false
	}
	if !open {
		e.fixed(field)
		return false
	}
	*into = *v
	return true
}

func (e *editor) shown(p *sluice.CampaignPatch) {
	if set(e, "title", &e.c.Title, p.Title, true) {
		e.text("title", e.c.Title, 1, sluice.MaxTitle)
	}
	if set(e, "image_url", &e.c.ImageURL, p.ImageURL, true) {
		e.image("image_url", e.c.ImageURL)
	}
	set(e, "load_test", &e.c.LoadTest, p.LoadTest, !e.started && !e.ended)
}

func (e *editor) window(p *sluice.CampaignPatch) {
	moved := set(e, "starts_at", &e.c.StartsAt, p.StartsAt, !e.started && !e.ended)
	if set(e, "ends_at", &e.c.EndsAt, p.EndsAt, !e.ended) || moved {
		e.faults.window(e.c.StartsAt, e.c.EndsAt)
	}
}

// taken says whether units were given out, which grants do before the start.
func taken(c sluice.Campaign) bool { return c.Stock.Held+c.Stock.Sold > 0 }

func (e *editor) limit(p *sluice.CampaignPatch) {
	if p.PerUserLimit == nil || *p.PerUserLimit == int64(e.c.PerUserLimit) {
		return
	}
	v := *p.PerUserLimit
	switch {
	case e.ended:
		e.fixed("per_user_limit")
	case v < 1 || v > sluice.MaxPerUserLimit:
		within(e.faults, "per_user_limit", v, 1, sluice.MaxPerUserLimit)
	case (e.started || taken(e.c)) && v < int64(e.c.PerUserLimit):
		e.add("per_user_limit", "can only be raised once the campaign has started or units were granted, and is %d",
			e.c.PerUserLimit)
	default:
		e.c.PerUserLimit = int(v)
		if e.c.Kind == sluice.KindGoods {
			e.amount(e.c.Goods.PriceMinor, v)
		}
	}
}

func (e *editor) goods(g *sluice.GoodsPatch) {
	if g == nil {
		return
	}
	if e.c.Kind != sluice.KindGoods {
		e.add("goods", "must be absent from a campaign of kind %s", e.c.Kind)
		return
	}
	open := !e.started && !e.ended
	into := &e.c.Goods
	a := set(e, "goods.sku", &into.SKU, g.SKU, open)
	b := set(e, "goods.price_minor", &into.PriceMinor, g.PriceMinor, open)
	// An order has its amount, and its currency by these terms.
	c := set(e, "goods.currency", &into.Currency, g.Currency, open && !taken(e.c))
	d := set(e, "goods.unpaid_window_s", &into.UnpaidWindowSec, g.UnpaidWindowSec, !e.ended)
	set(e, "goods.limit_back_on_close", &into.LimitBackOnClose, g.LimitBackOnClose, open)
	if a || b || c || d {
		e.faults.goods(into)
		e.amount(into.PriceMinor, int64(e.c.PerUserLimit))
	}
}

func (e *editor) coupon(t *sluice.CouponTerms) {
	switch {
	case t == nil:
	case e.c.Kind != sluice.KindCoupon:
		e.add("coupon", "must be absent from a campaign of kind %s", e.c.Kind)
	case sameTerms(t, &e.c.Coupon):
	case e.started || e.ended || taken(e.c): // a coupon is worth what these terms say
		e.fixed("coupon")
	default:
		e.c.Coupon = *t
		e.faults.coupon(t)
	}
}

func sameTerms(a, b *sluice.CouponTerms) bool {
	return slices.Equal(a.MerchantIDs, b.MerchantIDs) && a.Type == b.Type && a.Value == b.Value &&
		a.MinSpendMinor == b.MinSpendMinor && a.Currency == b.Currency && a.MaxDiscountMinor == b.MaxDiscountMinor &&
		a.ValidDays == b.ValidDays && a.ValidFrom == b.ValidFrom && a.ValidUntil == b.ValidUntil
}

// spread sets over how many seconds the opening is spread: until it has begun, since each buyer was told a slot then.
func (e *editor) spread(v *int64) bool {
	if v == nil {
		return false
	}
	n := int(min(max(*v, -1), sluice.MaxSpreadSec+1))
	if !set(e, "protection.spread_s", &e.c.Protection.SpreadSec, &n, !e.started && !e.ended) {
		return false
	}
	drawSeed(&e.c.Protection)
	return true
}

// drawSeed draws what a spread opening's slots are drawn from, once: what was published of it stands.
func drawSeed(p *sluice.Protection) {
	if p.SpreadSec > 0 && p.SpreadSeed == "" {
		var seed sluice.Seed
		_, _ = rand.Read(seed[:]) // crypto/rand.Read never fails
		p.SpreadSeed = hex.EncodeToString(seed[:])
	}
}

// guards are the settings of the gate: they may change at any time, since they promise nothing.
func (e *editor) guards(p *sluice.CampaignPatch) {
	a := set(e, "protection.pass", &e.c.Protection.Pass, p.Pass, true)
	b := set(e, "protection.per_user_rate", &e.c.Protection.PerUserRate, p.PerUserRate, true)
	c := set(e, "protection.max_rate", &e.c.Protection.MaxRate, p.MaxRate, true)
	d := set(e, "protection.challenge", &e.c.Protection.Challenge, p.Challenge, true)
	set(e, "protection.signature", &e.c.Protection.Signature, p.Signature, true)
	s := e.spread(p.SpreadSec)
	if a || b || c || d || s {
		e.protection(e.c.Protection)
	}
	if p.Eligibility != nil {
		e.c.Eligibility = *p.Eligibility
		e.eligibility(*p.Eligibility)
	}
}
