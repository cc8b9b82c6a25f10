package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sluice-sale/sluice"
)

// Coupons serves users and merchants. Every call may be repeated.
type Coupons interface {
	// Wallet gives a page of the user's coupons, newest first.
	Wallet(ctx context.Context, user, cursor string, limit int) (sluice.Page[sluice.Coupon], error)
	// Use carries out a merchant's step on the code that a person typed. ErrNotFound for an unknown or forged one;
	// ErrConflict where state, terms or reference forbid it.
	Use(ctx context.Context, u sluice.CouponUse, lockSec int64) (sluice.Redemption, error)
}

// CouponBody is a coupon as its owner sees it.
type CouponBody struct {
	Code       string    `json:"code" doc:"Grouped by four for people; dashes, spaces and case do not matter"`
	ClaimID    string    `json:"claim_id"`
	CampaignID string    `json:"campaign_id"`
	State      string    `json:"state" enum:"issued,locked,redeemed,expired,revoked"`
	ValidFrom  time.Time `json:"valid_from"`
	ValidUntil time.Time `json:"valid_until"`
	CreatedAt  time.Time `json:"created_at"`
}

func couponBodyOf(x *sluice.Coupon) CouponBody {
	return CouponBody{
		Code: sluice.FormatCouponCode(x.Code), ClaimID: x.ID.String(), CampaignID: x.Campaign, State: string(x.State),
		ValidFrom: x.ValidFrom.Time(), ValidUntil: x.ValidUntil.Time(), CreatedAt: x.CreatedAt.Time(),
	}
}

type couponPage struct {
	Items      []CouponBody `json:"items" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// The bodies of the merchants' steps.
type (
	lockBody struct {
		Reference  string `json:"reference" minLength:"1" maxLength:"128" doc:"The merchant's purchase"`
		MerchantID string `json:"merchant_id,omitempty" maxLength:"64" doc:"The API key's own; another is refused"`
		LockSec    int64  `json:"lock_s,omitempty" minimum:"1" maximum:"86400" doc:"How long it holds; default 900"`
	}
	redeemBody struct {
		Reference   string `json:"reference" minLength:"1" maxLength:"128" doc:"Names the redemption for good"`
		MerchantID  string `json:"merchant_id,omitempty" maxLength:"64" doc:"The API key's own; another is refused"`
		AmountMinor int64  `json:"amount_minor" minimum:"0" maximum:"1000000000000" doc:"What the purchase costs"`
	}
	// referenceBody takes amount_minor and ignores it, so that a merchant can send one body to each step.
	referenceBody struct {
		Reference   string `json:"reference" minLength:"1" maxLength:"128" doc:"That of the lock or of the redemption"`
		MerchantID  string `json:"merchant_id,omitempty" maxLength:"64" doc:"The API key's own; another is refused"`
		AmountMinor int64  `json:"amount_minor,omitempty" minimum:"0" maximum:"1000000000000" doc:"Ignored"`
	}
)

// redemptionBody is what a merchant is answered.
type redemptionBody struct {
	Code          string     `json:"code"`
	CampaignID    string     `json:"campaign_id"`
	Reference     string     `json:"reference"`
	MerchantID    string     `json:"merchant_id"`
	State         string     `json:"state" enum:"issued,locked,redeemed,expired,revoked" doc:"Of the coupon, now"`
	AmountMinor   int64      `json:"amount_minor"`
	DiscountMinor int64      `json:"discount_minor" doc:"What it takes off; never above amount_minor"`
	Currency      string     `json:"currency"`
	LockedUntil   *time.Time `json:"locked_until,omitempty"`
	At            time.Time  `json:"at"`
	Replayed      bool       `json:"replayed" doc:"The recorded answer, given again"`
}

func couponRoutes() []route {
	conflict := []int{http.StatusConflict, http.StatusServiceUnavailable}
	step := func(name, summary, detail string, body any, handle func(*Public, *call)) route {
		return route{
			method: "POST", path: "/v1/coupons/{code}/" + name, auth: authMerchant, handle: handle,
			doc: opDoc{
				summary: summary, detail: detail, tag: "Coupons", request: body, response: redemptionBody{}, problems: conflict,
			},
		}
	}
	return []route{
		{
			method: "GET", path: "/v1/me/coupons", auth: authBuyer, lane: laneList, handle: (*Public).ownCoupons,
			doc: opDoc{
				summary: "The caller's coupons, newest first", tag: "Coupons", response: couponPage{}, query: pageDocs(),
			},
		},
		step("lock", "Keep a coupon for a purchase", "The same reference may lock again, which moves the limit "+
			"while the coupon is valid.",
			lockBody{}, (*Public).lockCoupon),
		step("unlock", "End a lock", "A coupon that is not locked stays as it is.", referenceBody{},
			(*Public).unlockCoupon),
		step("redeem", "Redeem a coupon", "Idempotent by reference: the recorded answer is given again. A reference "+
			"whose redemption was reversed is refused: a new purchase needs a new one.", redeemBody{}, (*Public).redeemCoupon),
		step("reverse", "Undo a redemption",
			"By the reference of the redemption; idempotent. Past its validity the coupon "+
				"is expired then.", referenceBody{}, (*Public).reverseCoupon),
	}
}

func (p *Public) ownCoupons(c *call) {
	if c.noDesk(p.deps.Coupons == nil, "coupons") {
		return
	}
	limit, cursor, err := c.page()
	if err != nil {
		c.problem(err)
		return
	}
	page, err := p.deps.Coupons.Wallet(c.context(), c.identity.User, cursor, limit)
	if err != nil {
		c.problem(err)
		return
	}
	out := couponPage{Items: answers(page.Items, couponBodyOf), NextCursor: page.Next}
	c.json(http.StatusOK, out)
}

func (p *Public) lockCoupon(c *call) {
	var b lockBody
	if err := c.decode(&b); err != nil {
		c.problem(err)
		return
	}
	p.useCoupon(c, sluice.CouponUse{Op: sluice.CouponLock, Reference: b.Reference, Merchant: b.MerchantID}, b.LockSec)
}

func (p *Public) unlockCoupon(c *call) { p.referToCoupon(c, sluice.CouponUnlock) }

func (p *Public) reverseCoupon(c *call) { p.referToCoupon(c, sluice.CouponReverse) }

func (p *Public) referToCoupon(c *call, op sluice.CouponOp) {
	var b referenceBody
	if err := c.decode(&b); err != nil {
		c.problem(err)
		return
	}
	p.useCoupon(c, sluice.CouponUse{Op: op, Reference: b.Reference, Merchant: b.MerchantID}, 0)
}

func (p *Public) redeemCoupon(c *call) {
	var b redeemBody
	if err := c.decode(&b); err != nil {
		c.problem(err)
		return
	}
	p.useCoupon(c, sluice.CouponUse{
		Op: sluice.CouponRedeem, Reference: b.Reference, Merchant: b.MerchantID, SpendMinor: b.AmountMinor,
	}, 0)
}

// useCoupon carries out a step for the key's own merchant.
func (p *Public) useCoupon(c *call, u sluice.CouponUse, lockSec int64) {
	if c.noDesk(p.deps.Coupons == nil, "coupons") {
		return
	}
	if u.Merchant != "" && u.Merchant != c.key.MerchantID {
		c.problem(newProblem(http.StatusForbidden, codeForbidden, "the API key is another merchant's"))
		return
	}
	u.Merchant, u.Code = c.key.MerchantID, c.param("code")
	r, err := p.deps.Coupons.Use(c.context(), u, lockSec)
	if err != nil {
		c.problem(err)
		return
	}
	c.json(http.StatusOK, redemptionBodyOf(r))
}

func redemptionBodyOf(r sluice.Redemption) redemptionBody {
	return redemptionBody{
		Code: sluice.FormatCouponCode(r.Code), CampaignID: r.Campaign, Reference: r.Reference, MerchantID: r.Merchant,
		State: string(r.State), AmountMinor: r.SpendMinor, DiscountMinor: r.DiscountMinor, Currency: r.Currency,
		LockedUntil: timeOrNil(r.LockedUntil), At: r.At.Time(), Replayed: r.Replayed,
	}
}
