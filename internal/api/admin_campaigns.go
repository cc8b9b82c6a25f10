package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// CampaignDesk changes campaigns. What it answers is committed and in force. Faults name every field at once.
type CampaignDesk interface {
	Create(ctx context.Context, s sluice.CampaignSpec, a sluice.Actor) (sluice.CampaignView, error)
	Edit(ctx context.Context, id string, p sluice.CampaignPatch, a sluice.Actor) (sluice.CampaignView, error)
	Command(ctx context.Context, id string, cmd sluice.ControlCommand, a sluice.Actor) (sluice.CampaignView, error)
	Clone(ctx context.Context, id string, s sluice.CloneSpec, a sluice.Actor) (sluice.CampaignView, error)
	Preheat(ctx context.Context, id string, a sluice.Actor) (sluice.Preheat, error)
}

// CampaignShelf reads campaigns as operators see them. List's cursor is 0 where no page follows.
type CampaignShelf interface {
	Get(ctx context.Context, id string) (sluice.CampaignView, error)
	List(ctx context.Context, q sluice.CampaignQuery) (page []sluice.CampaignView, next int64, err error)
	Verify(ctx context.Context, id string) (sluice.Verification, error)
}

// StockDesk changes the total of a campaign, once a change id.
type StockDesk interface {
	Adjust(ctx context.Context, a sluice.Adjustment, actor sluice.Actor) (sluice.Adjustment, error)
}

// adminCampaign is a campaign as operators see it.
type adminCampaign struct {
	ID           string               `json:"id"`
	Kind         sluice.Kind          `json:"kind" enum:"goods,coupon"`
	Title        string               `json:"title"`
	ImageURL     string               `json:"image_url,omitempty"`
	Total        int64                `json:"total"`
	PerUserLimit int                  `json:"per_user_limit"`
	StartsAt     time.Time            `json:"starts_at"`
	EndsAt       time.Time            `json:"ends_at"`
	Goods        *adminGoods          `json:"goods,omitempty"`
	Coupon       *adminCoupon         `json:"coupon,omitempty"`
	Protection   adminProtection      `json:"protection"`
	LimitGroup   string               `json:"limit_group,omitempty"`
	Eligibility  *adminEligibility    `json:"eligibility,omitempty"`
	Shards       int                  `json:"shards" doc:"Of its gate; more than one only where gates are in Redis"`
	LoadTest     bool                 `json:"load_test,omitempty" doc:"Kept out of public lists and of the summary"`
	State        sluice.CampaignState `json:"state" enum:"draft,scheduled,live,paused,frozen,sold_out,ended"`
	StateNote    string               `json:"state_note,omitempty" doc:"Why it is paused or frozen"`
	Available    int64                `json:"available" doc:"The permit's own figure"`
	Queued       int64                `json:"queued" doc:"Units that are decided and not committed yet"`
	Held         int64                `json:"held" doc:"Units of unpaid orders"`
	Sold         int64                `json:"sold"`
	CreatedTotal int64                `json:"created_total" doc:"The total is this plus all adjustments"`
	Revision     int64                `json:"revision" doc:"Grows with each change of the total"`
	SoldOutAt    *time.Time           `json:"sold_out_at,omitempty"`
	CreatedAt    time.Time            `json:"created_at"`
	UpdatedAt    time.Time            `json:"updated_at"`
}

type adminGoods struct {
	SKU              string `json:"sku"`
	PriceMinor       int64  `json:"price_minor"`
	Currency         string `json:"currency"`
	UnpaidWindowSec  int64  `json:"unpaid_window_s"`
	LimitBackOnClose bool   `json:"limit_back_on_close"`
}

type adminCoupon struct {
	CampaignCoupon
	MerchantIDs []string `json:"merchant_ids,omitempty" doc:"Empty: every merchant"`
}

type adminProtection struct {
	Pass        sluice.PassMode `json:"pass" enum:"off,adaptive,always"`
	PerUserRate float64         `json:"per_user_rate" doc:"0: the server's default"`
	MaxRate     float64         `json:"max_rate" doc:"0: no bound of its own"`

	Challenge sluice.ChallengeType `json:"challenge,omitempty" enum:"pow,slider,image,siteverify"`
	Signature bool                 `json:"signature,omitempty" doc:"Claims are signed with the pass's key"`
	SpreadSec int                  `json:"spread_s,omitempty" doc:"Seconds over which the opening is spread"`
	SeedHash  string               `json:"spread_seed_hash,omitempty" doc:"SHA-256 of the seed of the slots, in hex"`
}

type adminEligibility struct {
	Claims   map[string][]string `json:"claims,omitempty" doc:"Each named token claim must have one of the values"`
	Audience bool                `json:"audience,omitempty" doc:"Only users that were uploaded for the campaign"`
}

func adminProtectionOf(c *sluice.Campaign) adminProtection {
	p := protectionOf(c, 0)
	return adminProtection{Pass: p.Pass, PerUserRate: c.Protection.PerUserRate, MaxRate: c.Protection.MaxRate,
		Challenge: p.Challenge, Signature: p.Signature, SpreadSec: p.SpreadSec, SeedHash: p.SeedHash}
}

func adminCampaignOf(v *sluice.CampaignView) adminCampaign {
	a := adminCampaign{
		ID: v.ID, Kind: v.Kind, Title: v.Title, ImageURL: v.ImageURL, Total: v.Stock.Total, PerUserLimit: v.PerUserLimit,
		StartsAt: v.StartsAt.Time(), EndsAt: v.EndsAt.Time(), LimitGroup: v.LimitGroup, LoadTest: v.LoadTest,
		Protection: adminProtectionOf(&v.Campaign),
		State:      v.State, StateNote: v.ControlNote, Available: v.Available, Queued: v.Queued, Held: v.Stock.Held,
		Sold: v.Stock.Sold, CreatedTotal: v.Created, Revision: v.Revision, SoldOutAt: moment(v.SoldOutAt),
		CreatedAt: v.CreatedAt.Time(), UpdatedAt: v.UpdatedAt.Time(), Shards: max(1, v.Shards),
	}
	if len(v.Eligibility.Claims) > 0 || v.Eligibility.Audience {
		a.Eligibility = &adminEligibility{v.Eligibility.Claims, v.Eligibility.Audience}
	}
	if g := v.Goods; v.Kind == sluice.KindGoods {
		a.Goods = &adminGoods{g.SKU, g.PriceMinor, g.Currency, g.UnpaidWindowSec, g.LimitBackOnClose}
		return a
	}
	t := v.Coupon
	a.Coupon = &adminCoupon{MerchantIDs: t.MerchantIDs, CampaignCoupon: CampaignCoupon{
		Type: t.Type, Value: t.Value, MinSpendMinor: t.MinSpendMinor, Currency: t.Currency,
		MaxDiscountMinor: t.MaxDiscountMinor, ValidDays: t.ValidDays, ValidFrom: moment(t.ValidFrom),
		ValidUntil: moment(t.ValidUntil),
	}}
	return a
}

// The bodies that operators send. Everything is optional to the schema, so that the desk names all that is wrong
// at once.
type (
	campaignBody struct {
		ID           string           `json:"id,omitempty" doc:"1 to 64 of A-Z a-z 0-9 . _ -; absent: one is made"`
		Kind         sluice.Kind      `json:"kind,omitempty" doc:"Required: goods or coupon"`
		Title        string           `json:"title,omitempty" doc:"Required: up to 200 bytes"`
		ImageURL     string           `json:"image_url,omitempty" doc:"http, https or relative, up to 2048 bytes"`
		Total        int64            `json:"total,omitempty" doc:"Required: 1 to 100,000,000 units"`
		PerUserLimit *int64           `json:"per_user_limit,omitempty" nullable:"false" doc:"1 to 10,000; default 1"`
		StartsAt     time.Time        `json:"starts_at,omitempty" doc:"Required"`
		EndsAt       time.Time        `json:"ends_at,omitempty" doc:"Required: after starts_at, at most 366 days"`
		Goods        *goodsBody       `json:"goods,omitempty" doc:"The terms of kind goods"`
		Coupon       *couponBody      `json:"coupon,omitempty" doc:"The terms of kind coupon"`
		Protection   *protectionBody  `json:"protection,omitempty"`
		LimitGroup   string           `json:"limit_group,omitempty" doc:"Campaigns of one group share each user's limit"`
		Eligibility  *eligibilityBody `json:"eligibility,omitempty"`
		Shards       *int64           `json:"shards,omitempty" nullable:"false" doc:"Of its gate, 1 to 64; default 1"`
		LoadTest     bool             `json:"load_test,omitempty" doc:"Keep it out of public lists and of the summary"`
		Draft        bool             `json:"draft,omitempty" doc:"Do not offer it yet: publish it later"`
	}
	goodsBody struct {
		SKU              *string `json:"sku,omitempty" nullable:"false" doc:"Up to 128 bytes"`
		PriceMinor       *int64  `json:"price_minor,omitempty" nullable:"false" doc:"In minor units; 0 is paid at once"`
		Currency         *string `json:"currency,omitempty" nullable:"false" doc:"ISO 4217; required with a price"`
		UnpaidWindowSec  *int64  `json:"unpaid_window_s,omitempty" nullable:"false" doc:"Default 900"`
		LimitBackOnClose *bool   `json:"limit_back_on_close,omitempty" nullable:"false" doc:"On a close; default true"`
	}
	couponBody struct {
		Type             sluice.CouponType `json:"type,omitempty" doc:"amount_off, percent_off or exchange"`
		Value            int64             `json:"value,omitempty" doc:"Minor units, or 1 to 100 percent"`
		MinSpendMinor    int64             `json:"min_spend_minor,omitempty"`
		Currency         string            `json:"currency,omitempty" doc:"ISO 4217; required where an amount is given"`
		MaxDiscountMinor int64             `json:"max_discount_minor,omitempty" doc:"For percent_off and exchange"`
		ValidDays        int64             `json:"valid_days,omitempty" doc:"From the claim, 1 to 3660"`
		ValidFrom        time.Time         `json:"valid_from,omitempty"`
		ValidUntil       time.Time         `json:"valid_until,omitempty"`
		MerchantIDs      []string          `json:"merchant_ids,omitempty" nullable:"false" doc:"Absent: every merchant"`
	}
	protectionBody struct {
		Pass        *sluice.PassMode `json:"pass,omitempty" nullable:"false" doc:"off, adaptive or always"`
		PerUserRate *float64         `json:"per_user_rate,omitempty" nullable:"false" doc:"A second, up to 1,000"`
		MaxRate     *float64         `json:"max_rate,omitempty" nullable:"false" doc:"Claims a second to admission"`

		Challenge *sluice.ChallengeType `json:"challenge,omitempty" nullable:"false" doc:"pow, slider, image or siteverify"`
		Signature *bool                 `json:"signature,omitempty" nullable:"false" doc:"Claims have to be signed"`
		SpreadSec *int64                `json:"spread_s,omitempty" nullable:"false" doc:"Spread the opening, 0 to 60 s"`
	}
	eligibilityBody struct {
		Claims   map[string][]string `json:"claims,omitempty" doc:"Each named token claim must have one of the values"`
		Audience bool                `json:"audience,omitempty" doc:"Only users that are uploaded for the campaign"`
	}
	campaignPatchBody struct {
		Title        *string          `json:"title,omitempty" nullable:"false"`
		ImageURL     *string          `json:"image_url,omitempty" nullable:"false"`
		Total        *int64           `json:"total,omitempty" nullable:"false" doc:"Cannot be edited: use adjustments"`
		PerUserLimit *int64           `json:"per_user_limit,omitempty" nullable:"false" doc:"Once started only up"`
		StartsAt     *time.Time       `json:"starts_at,omitempty" nullable:"false" doc:"Until it has started"`
		EndsAt       *time.Time       `json:"ends_at,omitempty" nullable:"false" doc:"Until it has ended"`
		Goods        *goodsBody       `json:"goods,omitempty" doc:"Until it has started; the unpaid window until its end"`
		Coupon       *couponBody      `json:"coupon,omitempty" doc:"As a whole, until it has started"`
		Protection   *protectionBody  `json:"protection,omitempty"`
		Eligibility  *eligibilityBody `json:"eligibility,omitempty" doc:"As a whole"`
		LoadTest     *bool            `json:"load_test,omitempty" nullable:"false" doc:"Until it has started"`
		Shards       *int64           `json:"shards,omitempty" nullable:"false" doc:"Claims are BUSY while the gates move"`
	}
	cloneBody struct {
		ID       string     `json:"id,omitempty" doc:"One is made where it is absent"`
		Title    *string    `json:"title,omitempty" nullable:"false"`
		Total    *int64     `json:"total,omitempty" nullable:"false"`
		StartsAt *time.Time `json:"starts_at,omitempty" nullable:"false" doc:"Default: in an hour"`
		EndsAt   *time.Time `json:"ends_at,omitempty" nullable:"false" doc:"Default: as long as the original"`
	}
	reasonBody struct {
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	adjustmentBody struct {
		ChangeID string `json:"change_id,omitempty" doc:"Required: names the change for good, 1 to 128 bytes"`
		Delta    int64  `json:"delta,omitempty" doc:"Required: units to add, or to take where negative"`
		Reason   string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
)

func (b *campaignBody) spec() sluice.CampaignSpec {
	s := sluice.CampaignSpec{
		ID: b.ID, Kind: b.Kind, Title: b.Title, ImageURL: b.ImageURL, Total: b.Total,
		PerUserLimit: valueOr(b.PerUserLimit, 1), Shards: valueOr(b.Shards, 1),
		StartsAt: sluice.MillisOf(b.StartsAt), EndsAt: sluice.MillisOf(b.EndsAt), LimitGroup: b.LimitGroup,
		LoadTest: b.LoadTest, Draft: b.Draft, Coupon: b.Coupon.terms(),
	}
	if g := b.Goods; g != nil {
		s.Goods = &sluice.Goods{
			SKU: valueOr(g.SKU, ""), PriceMinor: valueOr(g.PriceMinor, 0), Currency: valueOr(g.Currency, ""),
			UnpaidWindowSec:  valueOr(g.UnpaidWindowSec, sluice.DefaultUnpaidWindowSec),
			LimitBackOnClose: valueOr(g.LimitBackOnClose, true),
		}
	}
	if p := b.Protection; p != nil {
		s.Protection = sluice.Protection{
			Pass: valueOr(p.Pass, sluice.PassOff), PerUserRate: valueOr(p.PerUserRate, 0), MaxRate: valueOr(p.MaxRate, 0),
			Challenge: valueOr(p.Challenge, ""), Signature: valueOr(p.Signature, false),
			SpreadSec: spreadSec(valueOr(p.SpreadSec, 0)),
		}
	}
	if e := b.Eligibility; e != nil {
		s.Eligibility = sluice.Eligibility{Claims: e.Claims, Audience: e.Audience}
	}
	return s
}

// spreadSec keeps what is out of bounds out of bounds on machines whose int has 32 bits.
func spreadSec(n int64) int { return int(min(max(n, -1), sluice.MaxSpreadSec+1)) }

func (b *couponBody) terms() *sluice.CouponTerms {
	if b == nil {
		return nil
	}
	return &sluice.CouponTerms{
		Type: b.Type, Value: b.Value, MinSpendMinor: b.MinSpendMinor, Currency: b.Currency,
		MaxDiscountMinor: b.MaxDiscountMinor, ValidDays: b.ValidDays, ValidFrom: sluice.MillisOf(b.ValidFrom),
		ValidUntil: sluice.MillisOf(b.ValidUntil), MerchantIDs: b.MerchantIDs,
	}
}

func (b *campaignPatchBody) patch() sluice.CampaignPatch {
	p := sluice.CampaignPatch{
		Title: b.Title, ImageURL: b.ImageURL, Total: b.Total, PerUserLimit: b.PerUserLimit, LoadTest: b.LoadTest,
		Shards: b.Shards, StartsAt: millisOrNil(b.StartsAt), EndsAt: millisOrNil(b.EndsAt), Coupon: b.Coupon.terms(),
	}
	if g := b.Goods; g != nil {
		p.Goods = &sluice.GoodsPatch{SKU: g.SKU, PriceMinor: g.PriceMinor, Currency: g.Currency,
			UnpaidWindowSec: g.UnpaidWindowSec, LimitBackOnClose: g.LimitBackOnClose}
	}
	if g := b.Protection; g != nil {
		p.Pass, p.PerUserRate, p.MaxRate = g.Pass, g.PerUserRate, g.MaxRate
		p.Challenge, p.Signature, p.SpreadSec = g.Challenge, g.Signature, g.SpreadSec
	}
	if e := b.Eligibility; e != nil {
		p.Eligibility = &sluice.Eligibility{Claims: e.Claims, Audience: e.Audience}
	}
	return p
}

// answers says each of a list as it goes out; none of them is an empty list.
func answers[T, A any](all []T, of func(*T) A) []A {
	out := make([]A, len(all))
	for i := range all {
		out[i] = of(&all[i])
	}
	return out
}

func valueOr[T any](v *T, d T) T {
	if v == nil {
		return d
	}
	return *v
}

func millisOrNil(t *time.Time) *sluice.Millis {
	if t == nil {
		return nil
	}
	m := sluice.MillisOf(*t)
	return &m
}

// versionTag is the ETag of a campaign: what If-Match compares.
func versionTag(v *sluice.CampaignView) string {
	return fmt.Sprintf(`"%d-%d"`, v.Revision, v.UpdatedAt)
}

// ifMatch reads an If-Match: an ETag of ours, or a revision alone. "*" asks for nothing.
func ifMatch(header string, p *sluice.CampaignPatch) error {
	header = strings.TrimSpace(header)
	if header == "" || header == "*" {
		return nil
	}
	revision, updated, both := strings.Cut(strings.Trim(strings.TrimPrefix(header, "W/"), `"`), "-")
	r, err := strconv.ParseInt(revision, 10, 64)
	var u int64
	if err == nil && both {
		u, err = strconv.ParseInt(updated, 10, 64)
	}
	if err != nil || r < 1 || u < 0 {
		return invalidField("If-Match", "must be the ETag that was given with the campaign")
	}
	p.IfRevision, p.IfUpdatedAt = r, sluice.Millis(u)
	return nil
}
