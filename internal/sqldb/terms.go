package sqldb

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// termsVersion is the version of the encoding of campaigns.terms. A reader refuses a version it does not know rather
// than selling under terms it misreads; fields may be added to a version, since unknown ones are ignored by older
// readers.
const termsVersion = 1

// storedTerms is the JSON of campaigns.terms. The names are those of the API, so that a person reading the ledger
// knows them.
type storedTerms struct {
	V           int               `json:"v"`
	Goods       *goodsTerms       `json:"goods,omitempty"`
	Coupon      *couponTerms      `json:"coupon,omitempty"`
	Protection  *protectionTerms  `json:"protection,omitempty"`
	Eligibility *eligibilityTerms `json:"eligibility,omitempty"`
	Shards      int               `json:"shards,omitempty"`
}

type goodsTerms struct {
	SKU              string `json:"sku,omitempty"`
	PriceMinor       int64  `json:"price_minor"`
	Currency         string `json:"currency,omitempty"`
	UnpaidWindowSec  int64  `json:"unpaid_window_s"`
	LimitBackOnClose bool   `json:"limit_back_on_close"`
}

type couponTerms struct {
	Type             sluice.CouponType `json:"type"`
	Value            int64             `json:"value"`
	MinSpendMinor    int64             `json:"min_spend_minor,omitempty"`
	Currency         string            `json:"currency,omitempty"`
	MaxDiscountMinor int64             `json:"max_discount_minor,omitempty"`
	ValidDays        int64             `json:"valid_days,omitempty"`
	ValidFrom        sluice.Millis     `json:"valid_from_ms,omitempty"`
	ValidUntil       sluice.Millis     `json:"valid_until_ms,omitempty"`
	MerchantIDs      []string          `json:"merchant_ids,omitempty"`
}

type protectionTerms struct {
	Pass        sluice.PassMode      `json:"pass,omitempty"`
	PerUserRate float64              `json:"per_user_rate,omitempty"`
	MaxRate     float64              `json:"max_rate,omitempty"`
	Challenge   sluice.ChallengeType `json:"challenge,omitempty"`
	Signature   bool                 `json:"signature,omitempty"`
	SpreadSec   int                  `json:"spread_s,omitempty"`
	SpreadSeed  string               `json:"spread_seed,omitempty"`
}

type eligibilityTerms struct {
	Claims   map[string][]string `json:"claims,omitempty"`
	Audience bool                `json:"audience,omitempty"`
}

// terms is what a campaign says that no statement needs to look into.
type terms struct {
	Goods       sluice.Goods
	Coupon      sluice.CouponTerms
	Protection  sluice.Protection
	Eligibility sluice.Eligibility
	Shards      int
}

// marshalTerms is stable: equal terms give equal bytes.
func marshalTerms(c *sluice.Campaign) (string, error) {
	t := storedTerms{V: termsVersion, Shards: c.Shards}
	if c.Kind == sluice.KindGoods {
		g := goodsTerms(c.Goods)
		t.Goods = &g
	} else {
		k := couponTerms(c.Coupon)
		t.Coupon = &k
	}
	if p := protectionTerms(c.Protection); p != (protectionTerms{}) {
		t.Protection = &p
	}
	if len(c.Eligibility.Claims) > 0 || c.Eligibility.Audience {
		e := eligibilityTerms(c.Eligibility)
		t.Eligibility = &e
	}
	b, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("sqldb: terms of %s: %w", c.ID, err)
	}
	return string(b), nil
}

func parseTerms(text string) (t terms, err error) {
	var s storedTerms
	if err = json.Unmarshal([]byte(text), &s); err != nil {
		return t, fmt.Errorf("sqldb: campaigns.terms: %w", err)
	}
	if s.V != termsVersion {
		return t, fmt.Errorf("sqldb: campaigns.terms: version %d is not known to this server", s.V)
	}
	t.Shards = s.Shards
	if s.Goods != nil {
		t.Goods = sluice.Goods(*s.Goods)
	}
	if s.Coupon != nil {
		t.Coupon = sluice.CouponTerms(*s.Coupon)
	}
	if s.Protection != nil {
		t.Protection = sluice.Protection(*s.Protection)
	}
	if s.Eligibility != nil {
		t.Eligibility = sluice.Eligibility(*s.Eligibility)
	}
	return t, nil
}

// paymentClock reads the clock of the unpaid windows inside the transaction.
func (t *tx) paymentClock() (c sluice.PaymentClock, err error) {
	err = t.row(`SELECT stopped_ms, since_ms FROM payment_clock WHERE one = 1`, nil, &c.Stopped, &c.Since)
	return c, err
}

// termsOf parses campaigns.terms where several batches do so at once; they ask for the same few.
func (db *DB) termsOf(text string) (terms, error) {
	if t, ok := db.parsed.Load(text); ok {
		return t.(terms), nil
	}
	t, err := parseTerms(text)
	if err != nil {
		return t, err
	}
	if db.parsedCount.Add(1) > maxTerms {
		db.parsed.Clear()
		db.parsedCount.Store(0)
	}
	db.parsed.Store(text, t)
	return t, nil
}
