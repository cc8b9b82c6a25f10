package admin_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

const now = sluice.Millis(1_800_000_000_000)

func goodsSpec() *sluice.CampaignSpec {
	return &sluice.CampaignSpec{
		ID: "spring", Kind: sluice.KindGoods, Title: "Spring sale", Total: 100, PerUserLimit: 2,
		StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour),
		Goods: &sluice.Goods{SKU: "s1", PriceMinor: 9900, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
	}
}

func couponSpec() *sluice.CampaignSpec {
	s := goodsSpec()
	s.Kind, s.Goods = sluice.KindCoupon, nil
	s.Coupon = &sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1000, Currency: "CNY", ValidDays: 7}
	return s
}

// wantFaults checks that err names exactly the fields, each with a part of its detail: "field: part".
func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	var fault *sluice.Fault
	if len(want) == 0 {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if !errors.As(err, &fault) || !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("the error is %v, want faults of %q", err, want)
		return
	}
	if len(fault.Fields) != len(want) {
		t.Errorf("faults %v, want %q", fault.Fields, want)
		return
	}
	for i, w := range want {
		field, part, _ := strings.Cut(w, ": ")
		if got := fault.Fields[i]; got.Field != field || !strings.Contains(got.Detail, part) {
			t.Errorf("fault %d is %q: %q, want %q", i, got.Field, got.Detail, w)
		}
	}
}

func TestEveryFieldOfACampaignHasItsBounds(t *testing.T) {
	long := strings.Repeat("x", 201)
	type spec = sluice.CampaignSpec
	for _, c := range []struct {
		name   string
		change func(*spec)
		want   []string
	}{
		{"right", func(*spec) {}, nil},
		{"no id", func(s *spec) { s.ID = "" }, nil},
		{"longest id", func(s *spec) { s.ID = strings.Repeat("a", 64) }, nil},
		{"id too long", func(s *spec) { s.ID = strings.Repeat("a", 65) }, []string{"id: 1 to 64"}},
		{"id begins with a dot", func(s *spec) { s.ID = ".a" }, []string{"id: begin with a letter or digit"}},
		{"id with a slash", func(s *spec) { s.ID = "a/b" }, []string{"id: A-Z a-z 0-9"}},
		{"id in Chinese", func(s *spec) { s.ID = "春" }, []string{"id: A-Z"}},
		{"no title", func(s *spec) { s.Title = "" }, []string{"title: required"}},
		{"title too long", func(s *spec) { s.Title = long }, []string{"title: at most 200 bytes, and has 201"}},
		{"title with a line end", func(s *spec) { s.Title = "a\nb" }, []string{"title: control"}},
		{"title not UTF-8", func(s *spec) { s.Title = "a\xff" }, []string{"title: UTF-8"}},
		{"image by script", func(s *spec) { s.ImageURL = "javascript:alert(1)" }, []string{"image_url: http"}},
		{"image by data", func(s *spec) { s.ImageURL = "data:image/png;base64,AA" }, []string{"image_url: http"}},
		{"image without scheme", func(s *spec) { s.ImageURL = "//example.com/a.png" }, []string{"image_url: http"}},
		{"image without host", func(s *spec) { s.ImageURL = "https:///a.png" }, []string{"image_url: host"}},
		{"image breaking out", func(s *spec) { s.ImageURL = `/a".png` }, []string{"image_url: URL"}},
		{"image too long", func(s *spec) { s.ImageURL = "/" + strings.Repeat("a", 2048) }, []string{"image_url: 2048"}},
		{"relative image", func(s *spec) { s.ImageURL = "/img/a.png" }, nil},
		{"https image", func(s *spec) { s.ImageURL = "https://cdn.example/a.png?w=1" }, nil},
		{"no units", func(s *spec) { s.Total = 0 }, []string{"total: from 1 to 100000000, and is 0"}},
		{"negative units", func(s *spec) { s.Total = -5 }, []string{"total: is -5"}},
		{"too many units", func(s *spec) { s.Total = sluice.MaxTotal + 1 }, []string{"total: 100000000"}},
		{"no limit", func(s *spec) { s.PerUserLimit = 0 }, []string{"per_user_limit: from 1 to 10000"}},
		{"no shards", func(s *spec) { s.Shards = -1 }, []string{"shards: from 1 to 64"}},
		{"too many shards", func(s *spec) { s.Shards = 65 }, []string{"shards: from 1 to 64"}},
		{"negative limit", func(s *spec) { s.PerUserLimit = -1 }, []string{"per_user_limit: is -1"}},
		{"limit too high", func(s *spec) { s.PerUserLimit = 10_001 }, []string{"per_user_limit: 10000"}},
		{"no window", func(s *spec) { s.StartsAt, s.EndsAt = 0, 0 }, []string{"starts_at: required", "ends_at: required"}},
		{"window backwards", func(s *spec) { s.EndsAt = s.StartsAt }, []string{"ends_at: after starts_at"}},
		{"window running", func(s *spec) { s.StartsAt = now - 2 }, nil},
		{"window too long", func(s *spec) { s.EndsAt = s.StartsAt.Add(101 * 366 * 24 * time.Hour) },
			[]string{"ends_at: at most"}},
		{"year 10000", func(s *spec) { s.EndsAt = math.MaxInt64 }, []string{"ends_at: before 10000"}},
		{"no kind", func(s *spec) { s.Kind = "" }, []string{"kind: goods or coupon"}},
		{"no goods", func(s *spec) { s.Goods = nil }, []string{"goods: required"}},
		{"both terms", func(s *spec) { s.Coupon = couponSpec().Coupon }, []string{"coupon: absent"}},
		{"sku too long", func(s *spec) { s.Goods.SKU = long }, []string{"goods.sku: 128"}},
		{"negative price", func(s *spec) { s.Goods.PriceMinor = -1 }, []string{"goods.price_minor: from 0"}},
		{"price times limit", func(s *spec) { s.Goods.PriceMinor, s.PerUserLimit = sluice.MaxPriceMinor, 10_000 },
			[]string{"goods.price_minor: times per_user_limit"}},
		{"free without currency", func(s *spec) { s.Goods.PriceMinor, s.Goods.Currency = 0, "" }, nil},
		{"price without currency", func(s *spec) { s.Goods.Currency = "" }, []string{"goods.currency: ISO 4217"}},
		{"currency in small letters", func(s *spec) { s.Goods.Currency = "cny" }, []string{"goods.currency: capital"}},
		{"no unpaid window", func(s *spec) { s.Goods.UnpaidWindowSec = 0 }, []string{"goods.unpaid_window_s: from 1"}},
		{"limit group", func(s *spec) { s.LimitGroup = "a b" }, []string{"limit_group: A-Z"}},
		{"pass always", func(s *spec) { s.Protection.Pass = sluice.PassAlways }, nil},
		{"pass adaptive", func(s *spec) { s.Protection.Pass = sluice.PassAdaptive }, nil},
		{"challenge", func(s *spec) { s.Protection.Challenge = "quiz" }, []string{"protection.challenge: slider"}},
		{"spread too long", func(s *spec) { s.Protection.SpreadSec = 61 }, []string{"protection.spread_s: from 0 to 60"}},
		{"spread below zero", func(s *spec) { s.Protection.SpreadSec = -1 }, []string{"protection.spread_s: is -1"}},
		{"pass of another kind", func(s *spec) { s.Protection.Pass = "maybe" }, []string{"protection.pass: off"}},
		{"user rate", func(s *spec) { s.Protection.PerUserRate = 1001 }, []string{"protection.per_user_rate: 1000"}},
		{"max rate", func(s *spec) { s.Protection.MaxRate = -1 }, []string{"protection.max_rate: is -1"}},
		{"rate not a number", func(s *spec) { s.Protection.MaxRate = math.NaN() }, []string{"protection.max_rate: NaN"}},
		{"eligibility without values", func(s *spec) { s.Eligibility.Claims = map[string][]string{"tier": nil} },
			[]string{"eligibility.claims.tier: 1 to 100 values"}},
		{"everything at once", func(s *spec) {
			*s = spec{ID: "-", PerUserLimit: 99_999, Protection: sluice.Protection{Pass: "x"}}
		}, []string{"id: 1 to 64", "title: required", "total: 1", "per_user_limit: 10000", "starts_at: required",
			"ends_at: required", "kind: goods or coupon", "protection.pass: off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodsSpec()
			c.change(s)
			wantFaults(t, admin.Validate(s), c.want...)
		})
	}
}

func TestEveryFieldOfACouponHasItsBounds(t *testing.T) {
	type terms = sluice.CouponTerms
	for _, c := range []struct {
		name   string
		change func(*terms)
		want   []string
	}{
		{"right", func(*terms) {}, nil},
		{"no type", func(x *terms) { x.Type = "" }, []string{"coupon.type: amount_off"}},
		{"nothing off", func(x *terms) { x.Value = 0 }, []string{"coupon.value: from 1"}},
		{"cap on an amount", func(x *terms) { x.MaxDiscountMinor = 5 }, []string{"coupon.max_discount_minor: absent"}},
		{"no currency", func(x *terms) { x.Currency = "" }, []string{"coupon.currency: ISO 4217"}},
		{"0 percent", func(x *terms) { x.Type, x.Value = sluice.CouponPercentOff, 0 }, []string{"coupon.value: 1 to 100"}},
		{"101 percent", func(x *terms) { x.Type, x.Value = sluice.CouponPercentOff, 101 }, []string{"coupon.value: is 101"}},
		{"100 percent without money", func(x *terms) { x.Type, x.Value, x.Currency = sluice.CouponPercentOff, 100, "" }, nil},
		{"exchange with a value", func(x *terms) { x.Type = sluice.CouponExchange }, []string{"coupon.value: from 0 to 0"}},
		{"negative spend", func(x *terms) { x.MinSpendMinor = -1 }, []string{"coupon.min_spend_minor: from 0"}},
		{"neither days nor window", func(x *terms) { x.ValidDays = 0 }, []string{"coupon.valid_days: required"}},
		{"both", func(x *terms) { x.ValidFrom, x.ValidUntil = now, now+1<<40 }, []string{"coupon.valid_days: absent"}},
		{"too many days", func(x *terms) { x.ValidDays = 3661 }, []string{"coupon.valid_days: 3660"}},
		{"negative days", func(x *terms) { x.ValidDays = -1 }, []string{"coupon.valid_days: from 1"}},
		{"until alone", func(x *terms) { x.ValidDays, x.ValidUntil = 0, now+1<<40 }, []string{"coupon.valid_from: required"}},
		{"window backwards", func(x *terms) { x.ValidDays, x.ValidFrom, x.ValidUntil = 0, now+1<<40, now+1<<39 },
			[]string{"coupon.valid_until: after valid_from"}},
		{"over before the sale", func(x *terms) { x.ValidDays, x.ValidFrom, x.ValidUntil = 0, now, now+1 },
			[]string{"coupon.valid_until: after starts_at"}},
		{"merchants", func(x *terms) { x.MerchantIDs = []string{"m1", "m 2", "m1"} },
			[]string{"coupon.merchant_ids[1]: A-Z", "coupon.merchant_ids[2]: twice"}},
		{"too many merchants", func(x *terms) { x.MerchantIDs = make([]string, 1001) },
			[]string{"coupon.merchant_ids: at most 1000, and are 1001"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := couponSpec()
			c.change(s.Coupon)
			wantFaults(t, admin.Validate(s), c.want...)
		})
	}
}

func TestWhatMayStillChange(t *testing.T) {
	before := sluice.Campaign{
		ID: "spring", Kind: sluice.KindGoods, Title: "Spring", Stock: sluice.Stock{Total: 100}, PerUserLimit: 2,
		StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour), Control: sluice.ControlOpen, Revision: 3, UpdatedAt: 77,
		Goods: sluice.Goods{PriceMinor: 9900, Currency: "CNY", UnpaidWindowSec: 900},
	}
	live, over, draft := now.Add(90*time.Minute), now.Add(3*time.Hour), before
	draft.Control = sluice.ControlDraft
	type patch = sluice.CampaignPatch
	for _, c := range []struct {
		name string
		of   sluice.Campaign
		at   sluice.Millis
		p    patch
		want []string
	}{
		{"nothing", before, live, patch{}, nil},
		{"title while live", before, live, patch{Title: ptr("New")}, nil},
		{"title after the end", before, over, patch{Title: ptr("New")}, nil},
		{"empty title", before, now, patch{Title: ptr("")}, []string{"title: required"}},
		{"total", before, now, patch{Total: ptr(int64(5))}, []string{"total: adjustments"}},
		{"total as it is", before, live, patch{Total: ptr(int64(100))}, nil},
		{"start before the start", before, now, patch{StartsAt: ptr(now.Add(time.Minute))}, nil},
		{"start while live", before, live, patch{StartsAt: ptr(live.Add(time.Minute))}, []string{"starts_at: has started"}},
		{"start of an old draft", draft, over, patch{StartsAt: ptr(over + 1), EndsAt: ptr(over + 2)}, nil},
		{"end later while live", before, live, patch{EndsAt: ptr(over)}, nil},
		{"end earlier while live", before, live, patch{EndsAt: ptr(live + 1)}, nil},
		{"end after the end", before, over, patch{EndsAt: ptr(over.Add(time.Hour))}, []string{"ends_at: has ended: clone"}},
		{"limit down before", before, now, patch{PerUserLimit: ptr(int64(1))}, nil},
		{"limit down while live", before, live, patch{PerUserLimit: ptr(int64(1))}, []string{"per_user_limit: raised"}},
		{"limit up while live", before, live, patch{PerUserLimit: ptr(int64(3))}, nil},
		{"limit of nothing", before, now, patch{PerUserLimit: ptr(int64(0))}, []string{"per_user_limit: from 1"}},
		{"price before", before, now, patch{Goods: &sluice.GoodsPatch{PriceMinor: ptr(int64(1))}}, nil},
		{"price while live", before, live, patch{Goods: &sluice.GoodsPatch{PriceMinor: ptr(int64(1))}},
			[]string{"goods.price_minor: has started"}},
		{"unpaid window while live", before, live, patch{Goods: &sluice.GoodsPatch{UnpaidWindowSec: ptr(int64(60))}}, nil},
		{"coupon terms on goods", before, now, patch{Coupon: &sluice.CouponTerms{}}, []string{"coupon: absent"}},
		{"rate while live", before, live, patch{MaxRate: ptr(500.0)}, nil},
		{"pass while live", before, live, patch{Pass: ptr(sluice.PassAlways), Signature: ptr(true)}, nil},
		{"pass of another kind", before, live, patch{Pass: ptr(sluice.PassMode("maybe"))}, []string{"protection.pass: off"}},
		{"spread", before, now, patch{SpreadSec: ptr(int64(60))}, nil},
		{"spread too long", before, now, patch{SpreadSec: ptr(int64(1 << 40))},
			[]string{"protection.spread_s: from 0 to 60"}},
		{"spread while live", before, live, patch{SpreadSec: ptr(int64(5))}, []string{"protection.spread_s: has started"}},
		{"many at once", before, live, patch{Total: ptr(int64(1)), StartsAt: ptr(now), PerUserLimit: ptr(int64(1)),
			LoadTest: ptr(true)}, []string{"load_test: has started", "starts_at: has started",
			"per_user_limit: raised", "total: adjustments"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := admin.Edit(c.of, &c.p, c.at)
			wantFaults(t, err, c.want...)
		})
	}
	for name, p := range map[string]patch{"revision": {IfRevision: 2}, "moment": {IfUpdatedAt: 76, IfRevision: 3}} {
		if _, err := admin.Edit(before, &p, now); !errors.Is(err, sluice.ErrConflict) {
			t.Errorf("a patch of another %s: %v, want a conflict", name, err)
		}
	}
}

func ptr[T any](v T) *T { return &v }
