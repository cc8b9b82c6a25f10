package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Campaigns gives every campaign with what admission says of it, for people to see. It may take a few
// milliseconds: the listener asks it once per CampaignTTL at most.
type Campaigns interface {
	Views(ctx context.Context) ([]sluice.CampaignView, error)
}

// campaignAnswer is a campaign as buyers see it; closed means by a switch.
type campaignAnswer struct {
	ID            string             `json:"id"`
	Kind          sluice.Kind        `json:"kind" enum:"goods,coupon"`
	Title         string             `json:"title"`
	ImageURL      string             `json:"image_url,omitempty"`
	State         string             `json:"state" enum:"scheduled,live,paused,closed,sold_out,ended"`
	Total         int64              `json:"total"`
	Available     int64              `json:"available" doc:"Units left now"`
	PerUserLimit  int                `json:"per_user_limit"`
	StartsAt      time.Time          `json:"starts_at"`
	EndsAt        time.Time          `json:"ends_at"`
	Goods         *campaignGoods     `json:"goods,omitempty"`
	Coupon        *CampaignCoupon    `json:"coupon,omitempty"`
	Protection    campaignProtection `json:"protection"`
	SoldOutAt     *time.Time         `json:"sold_out_at,omitempty" doc:"When the last unit went"`
	MayReturn     int64              `json:"may_return" doc:"Units held by unpaid orders"`
	NextReleaseAt *time.Time         `json:"next_release_at,omitempty" doc:"When the first of them falls due"`
	CampaignShop
}

// CampaignShop is what pages are told of the shop. It is exported because huma leaves out what is embedded and is not.
type CampaignShop struct {
	LoginURL  string `json:"login_url,omitempty" doc:"Where buyers sign in"`
	PayURL    string `json:"pay_url,omitempty" doc:"Where buyers pay"`
	Sandbox   bool   `json:"sandbox,omitempty" doc:"Orders are paid by asking: no money moves"`
	DevSignIn bool   `json:"dev_sign_in,omitempty" doc:"Development: any name signs in, by POST /v1/dev/token"`
}

type campaignGoods struct {
	SKU             string `json:"sku"`
	PriceMinor      int64  `json:"price_minor" doc:"Per unit, in minor units of the currency"`
	Currency        string `json:"currency"`
	UnpaidWindowSec int64  `json:"unpaid_window_s"`
}

// CampaignCoupon is exported because huma leaves out what is embedded and is not.
type CampaignCoupon struct {
	Type             sluice.CouponType `json:"type" enum:"amount_off,percent_off,exchange"`
	Value            int64             `json:"value"`
	MinSpendMinor    int64             `json:"min_spend_minor"`
	Currency         string            `json:"currency,omitempty"`
	MaxDiscountMinor int64             `json:"max_discount_minor,omitempty"`
	ValidDays        int64             `json:"valid_days,omitempty"`
	ValidFrom        *time.Time        `json:"valid_from,omitempty"`
	ValidUntil       *time.Time        `json:"valid_until,omitempty"`
}

type campaignProtection struct {
	Pass      sluice.PassMode      `json:"pass" enum:"off,adaptive,always"`
	Challenge sluice.ChallengeType `json:"challenge,omitempty" enum:"pow,slider,image,siteverify"`
	Signature bool                 `json:"signature,omitempty" doc:"Claims are signed with the pass's key"`
	SpreadSec int                  `json:"spread_s,omitempty" doc:"The opening is spread: each buyer has a slot"`
	SeedHash  string               `json:"spread_seed_hash,omitempty" doc:"SHA-256 of the seed of the slots, in hex"`
	Seed      string               `json:"spread_seed,omitempty" doc:"The seed, in hex, once the spread is over"`
}

// protectionOf is a campaign's protection as it stands at now: the seed of its slots is told once nobody waits for one.
func protectionOf(v *sluice.Campaign, now sluice.Millis) campaignProtection {
	p := campaignProtection{Pass: cmp.Or(v.Protection.Pass, sluice.PassOff), Challenge: v.Protection.Challenge,
		Signature: v.Protection.Signature, SpreadSec: v.Protection.SpreadSec}
	if seed, ok := sluice.ParseSeed(v.Protection.SpreadSeed); ok && p.SpreadSec > 0 {
		p.SeedHash = seed.Hash()
		if now >= v.SpreadEnds() {
			p.Seed = v.Protection.SpreadSeed
		}
	}
	return p
}

type campaignList struct {
	Items      []campaignAnswer `json:"items" nullable:"false"`
	NextCursor string           `json:"next_cursor,omitempty"`
	CampaignShop
}

func campaignRoutes() []route {
	return []route{
		{
			method: "GET", path: "/v1/campaigns", lane: laneFree, handle: (*Public).campaigns,
			doc: opDoc{
				summary: "The campaigns", tag: "Campaigns", response: campaignList{}, query: pageDocs(),
				detail: "Those to come and running ones first, by their opening. Cacheable for a second. " +
					"Drafts and load tests are left out.",
			},
		},
		{
			method: "GET", path: "/v1/campaigns/{id}", lane: laneFree, handle: (*Public).campaign,
			doc: opDoc{
				summary: "One campaign", tag: "Campaigns", response: campaignAnswer{},
				detail: "Cacheable for a second, so that its age is unknown: take the time from /v1/time.",
			},
		},
	}
}

// viewEntry is a campaign in the form in which it goes out.
type viewEntry struct {
	id     string
	body   []byte
	tag    []byte
	listed bool
}

// viewSet is what was computed at one moment; nobody writes to it afterwards.
type viewSet struct {
	at    time.Time
	byID  map[string]*viewEntry
	order []*viewEntry // those that are listed
	shop  []byte       // what stands behind the items of a page
	first []byte       // the list's first page, of the default length
	tag   []byte
}

// campaignViews holds the present viewSet. mu is held by whoever computes the next one.
type campaignViews struct {
	p       *Public
	mu      sync.Mutex
	current atomic.Pointer[viewSet]
	trouble error     // of the last try to find a new campaign; guarded by mu, as failed is
	failed  time.Time // when that was
}

func newCampaignViews(p *Public) *campaignViews { return &campaignViews{p: p} }

// get gives a set that is at most CampaignTTL old, or the last one while another caller computes the next or the
// ledger cannot be read: settings stay readable.
func (v *campaignViews) get(c *call) (*viewSet, error) {
	last := v.current.Load()
	if v.fresh(last) {
		return last, nil
	}
	if last == nil {
		v.mu.Lock()
	} else if !v.mu.TryLock() {
		return last, nil
	}
	defer v.mu.Unlock()
	if last = v.current.Load(); v.fresh(last) {
		return last, nil
	}
	next, err := v.compute(c.context())
	switch {
	case err == nil:
		v.current.Store(next)
		return next, nil
	case last != nil:
		v.p.cfg.Logger.Warn("the campaign list is not renewed", "err", err, "age", v.p.cfg.Now().Sub(last.at))
		return last, nil
	}
	return nil, err
}

// entry gives one campaign; nil where there is none. One that the gate has learned of since the set was computed is
// there as well: its link may be out already, and a page that hears UNKNOWN_CAMPAIGN does not ask again.
func (v *campaignViews) entry(c *call, id string) (*viewEntry, error) {
	s, err := v.get(c)
	if err != nil {
		return nil, err
	}
	if e := s.byID[id]; e != nil || v.p.deps.Gate == nil {
		return e, nil
	}
	if known, ok := v.p.deps.Gate.Campaign(id); !ok || known.Control == sluice.ControlDraft {
		return nil, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if next := v.current.Load(); next != s && next.byID[id] != nil {
		return next.byID[id], nil
	}
	if v.trouble != nil && v.p.cfg.Now().Sub(v.failed) < v.p.cfg.CampaignTTL { // whoever waited does not wait once more
		return nil, v.trouble
	}
	next, err := v.compute(c.context())
	if v.trouble, v.failed = err, v.p.cfg.Now(); err != nil {
		return nil, err
	}
	v.current.Store(next)
	return next.byID[id], nil
}

func (v *campaignViews) fresh(s *viewSet) bool {
	return s != nil && v.p.cfg.Now().Sub(s.at) < v.p.cfg.CampaignTTL
}

func (v *campaignViews) compute(ctx context.Context) (*viewSet, error) {
	if v.p.deps.Campaigns == nil {
		return nil, newProblem(http.StatusServiceUnavailable, codeUnavailable, "there are no campaigns here")
	}
	views, err := v.p.deps.Campaigns.Views(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(views, byInterest)
	s := &viewSet{at: v.p.cfg.Now(), byID: make(map[string]*viewEntry, len(views))}
	for i := range views {
		if views[i].State == sluice.StateDraft {
			continue
		}
		body, err := json.Marshal(v.p.campaignAnswer(&views[i]))
		if err != nil {
			return nil, err
		}
		e := &viewEntry{id: views[i].ID, body: body, tag: entityTag(body), listed: !views[i].LoadTest}
		s.byID[e.id] = e
		if e.listed {
			s.order = append(s.order, e)
		}
	}
	shop, err := json.Marshal(v.p.shop())
	if err != nil {
		return nil, err
	}
	if s.shop = bytes.Trim(shop, "{}"); len(s.shop) > 0 {
		s.shop = append([]byte{','}, s.shop...)
	}
	s.first = s.page(0, defaultPage)
	s.tag = entityTag(s.first)
	return s, nil
}

// byInterest puts what is still to be had first, by its opening, then what is over, the latest first.
func byInterest(a, b sluice.CampaignView) int {
	overA, overB := a.State == sluice.StateEnded, b.State == sluice.StateEnded
	switch {
	case overA != overB && overA:
		return 1
	case overA != overB:
		return -1
	case overA:
		return cmp.Or(cmp.Compare(b.EndsAt, a.EndsAt), cmp.Compare(a.ID, b.ID))
	}
	return cmp.Or(cmp.Compare(a.StartsAt, b.StartsAt), cmp.Compare(a.ID, b.ID))
}

func entityTag(body []byte) []byte {
	sum := sha256.Sum256(body)
	return []byte(`"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`)
}

// page builds the answer of the limit items from index on.
func (s *viewSet) page(index, limit int) []byte {
	items := s.order[index:min(index+limit, len(s.order))]
	out := []byte(`{"items":[`)
	for i, e := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e.body...)
	}
	out = append(out, ']')
	if end := index + len(items); end < len(s.order) {
		out = appendQuoted(append(out, `,"next_cursor":`...), items[len(items)-1].id)
	}
	return append(append(out, s.shop...), '}')
}

func (p *Public) campaignAnswer(v *sluice.CampaignView) *campaignAnswer {
	a := &campaignAnswer{
		ID: v.ID, Kind: v.Kind, Title: v.Title, ImageURL: v.ImageURL, State: string(v.State), Total: v.Stock.Total,
		Available: v.Available, PerUserLimit: v.PerUserLimit, StartsAt: v.StartsAt.Time(), EndsAt: v.EndsAt.Time(),
		Protection: protectionOf(&v.Campaign, sluice.MillisOf(p.cfg.Now())),
		SoldOutAt:  moment(v.SoldOutAt), MayReturn: v.MayReturn, NextReleaseAt: moment(v.NextReleaseAt),
		CampaignShop: p.shop(),
	}
	if v.State == sluice.StateFrozen {
		a.State = string(sluice.StatePaused) // what buyers are told when they claim, too
	}
	if v.Kind == sluice.KindGoods {
		g := v.Goods
		a.Goods = &campaignGoods{g.SKU, g.PriceMinor, g.Currency, g.UnpaidWindowSec}
		return a
	}
	t := v.Coupon
	a.Coupon = &CampaignCoupon{
		Type: t.Type, Value: t.Value, MinSpendMinor: t.MinSpendMinor, Currency: t.Currency,
		MaxDiscountMinor: t.MaxDiscountMinor, ValidDays: t.ValidDays, ValidFrom: moment(t.ValidFrom),
		ValidUntil: moment(t.ValidUntil),
	}
	return a
}

// shop is what every page is told, the list as well as each campaign's own.
func (p *Public) shop() CampaignShop {
	return CampaignShop{
		LoginURL: p.cfg.LoginURL, PayURL: p.cfg.PayURL, Sandbox: p.cfg.Sandbox, DevSignIn: p.deps.SignIn != nil,
	}
}

// moment gives m for an answer that leaves "never" out.
func moment(m sluice.Millis) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}

// campaigns answers the list.
func (p *Public) campaigns(c *call) {
	limit, cursor, err := c.page()
	if err != nil {
		c.problem(err)
		return
	}
	s, err := p.views.get(c)
	if err != nil {
		c.problem(err)
		return
	}
	if limit == defaultPage && cursor == "" {
		c.cacheable(s.first, s.tag)
		return
	}
	index := 0
	if cursor != "" {
		at := slices.IndexFunc(s.order, func(e *viewEntry) bool { return e.id == cursor })
		if at < 0 {
			c.problem(invalidField("cursor", "must be one that was given with a page"))
			return
		}
		index = at + 1
	}
	body := s.page(index, limit)
	c.cacheable(body, entityTag(body))
}

// campaign answers one campaign.
func (p *Public) campaign(c *call) {
	e, err := p.views.entry(c, unsafeString(c.paramBytes("id")))
	if err != nil {
		c.problem(err)
		return
	}
	if e == nil {
		c.answerProblem(newProblem(http.StatusNotFound, sluice.ReasonUnknownCampaign.String(), ""))
		return
	}
	c.cacheable(e.body, e.tag)
}

// cacheable answers body, or 304 where the client has it.
func (c *call) cacheable(body, tag []byte) {
	h := &c.ctx.Response.Header
	h.SetBytesV("ETag", tag)
	h.Set("Cache-Control", "public, max-age=0, s-maxage=1, stale-while-revalidate=1")
	if has(c.ctx.Request.Header.Peek("If-None-Match"), tag) {
		c.ctx.Response.SetStatusCode(http.StatusNotModified)
		return
	}
	c.raw(http.StatusOK, typeJSON, body)
}

// has says whether an If-None-Match names the tag, weak or strong.
func has(header, tag []byte) bool {
	for part := range bytes.SplitSeq(header, []byte(",")) {
		part = bytes.TrimPrefix(bytes.TrimSpace(part), []byte("W/"))
		if bytes.Equal(part, tag) || string(part) == "*" {
			return true
		}
	}
	return false
}
