package api_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

func view(id string, mutate func(*sluice.CampaignView)) sluice.CampaignView {
	now := sluice.MillisOf(newClock().now())
	v := sluice.CampaignView{
		Campaign: sluice.Campaign{ID: id, Kind: sluice.KindGoods, Title: "T " + id, Stock: sluice.Stock{Total: 10},
			PerUserLimit: 1, StartsAt: now, EndsAt: now.Add(time.Hour), Goods: sluice.Goods{SKU: "s", PriceMinor: 9900,
				Currency: "CNY", UnpaidWindowSec: 900}},
		State: sluice.StateLive, Available: 10,
	}
	if mutate != nil {
		mutate(&v)
	}
	return v
}

func TestCampaignsAreCached(t *testing.T) {
	now := newClock()
	from := &fakeCampaigns{views: []sluice.CampaignView{
		view("a", nil),
		view("b", func(v *sluice.CampaignView) { v.LoadTest = true }),
		view("c", func(v *sluice.CampaignView) { v.State = sluice.StateDraft }),
		view("d", func(v *sluice.CampaignView) { v.State = sluice.StateEnded }),
		view("e", func(v *sluice.CampaignView) { v.State = sluice.StateFrozen }),
		view("f", func(v *sluice.CampaignView) {
			v.Kind, v.State, v.Available = sluice.KindCoupon, sluice.StateSoldOut, 0
			v.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1000, Currency: "CNY", ValidDays: 7}
			v.SoldOutAt, v.MayReturn, v.NextReleaseAt = v.StartsAt.Add(9*time.Second), 12, v.StartsAt.Add(15*time.Minute)
		}),
	}}
	p := public(t, api.PublicConfig{Now: now.now, LoginURL: "https://shop.example/login"}, api.PublicDeps{Campaigns: from})
	list := do(p, peer, "GET", "/v1/campaigns", "")
	one := do(p, peer, "GET", "/v1/campaigns/f", "")
	golden(t, "testdata/campaigns.txt", []byte(list.body+"\n"+one.body+"\n"))
	if cc := list.header("Cache-Control"); cc != "public, max-age=0, s-maxage=1, stale-while-revalidate=1" {
		t.Errorf("Cache-Control %q", cc)
	}
	for uri, status := range map[string]int{"/v1/campaigns/b": 200, "/v1/campaigns/c": 404, "/v1/campaigns/x": 404} {
		if got := do(p, peer, "GET", uri, ""); got.status != status {
			t.Errorf("%s: %d, want %d", uri, got.status, status)
		}
	}
	tag := one.header("ETag")
	for header, status := range map[string]int{
		tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200,
	} {
		got := do(p, peer, "GET", "/v1/campaigns/f", "", "If-None-Match: "+header)
		if got.status != status || (status == 304) != (got.body == "") || got.header("ETag") != tag {
			t.Errorf("If-None-Match %q: %d %q", header, got.status, got.body)
		}
	}
	if from.calls != 1 {
		t.Errorf("computed %d times in one moment", from.calls)
	}
	now.add(time.Second)
	from.fail = errors.New("disk on fire")
	if got := do(p, peer, "GET", "/v1/campaigns", ""); got.status != 200 || got.body != list.body {
		t.Errorf("the last list is not served in trouble: %d", got.status)
	}
}

// A campaign is there from the moment that the node sells it, not only when the list is computed next.
func TestNewCampaignIsThere(t *testing.T) {
	now := newClock()
	from := &fakeCampaigns{views: []sluice.CampaignView{view("old", nil)}}
	gate := &fakeGate{}
	p := public(t, api.PublicConfig{Now: now.now}, api.PublicDeps{Campaigns: from, Gate: gate})
	status := func(id string, want int) {
		t.Helper()
		if got := do(p, peer, "GET", "/v1/campaigns/"+id, ""); got.status != want {
			t.Errorf("%s: %d, want %d", id, got.status, want)
		}
	}
	status("old", 200)
	status("new", 404)
	fresh := view("new", nil)
	from.views = append(from.views, fresh)
	gate.campaign = &fresh.Campaign
	status("new", 200)
	status("new", 200)
	if from.calls != 2 {
		t.Errorf("computed %d times, want twice: an answer that is there is served", from.calls)
	}
	draft := view("draft", func(v *sluice.CampaignView) { v.State, v.Control = sluice.StateDraft, sluice.ControlDraft })
	from.views = append(from.views, draft)
	gate.campaign = &draft.Campaign
	status("draft", 404)
	status("nobody", 404)
	if from.calls != 2 {
		t.Errorf("computed %d times for what buyers do not see", from.calls)
	}
	gate.campaign, from.fail = &sluice.Campaign{ID: "unseen"}, sluice.ErrUnavailable
	status("unseen", 503)
	status("unseen", 503)
	if from.calls != 3 {
		t.Errorf("computed %d times: a ledger in trouble is asked again by everybody who waited", from.calls)
	}
}

func TestCampaignPages(t *testing.T) {
	from := &fakeCampaigns{}
	for i := range 7 {
		from.views = append(from.views, view(fmt.Sprintf("c%d", i), nil))
	}
	p := public(t, api.PublicConfig{}, api.PublicDeps{Campaigns: from})
	var seen []string
	for cursor := ""; ; {
		got := do(p, peer, "GET", "/v1/campaigns?limit=3&cursor="+cursor, "").json(t)
		for _, item := range got["items"].([]any) {
			seen = append(seen, item.(map[string]any)["id"].(string))
		}
		next, ok := got["next_cursor"].(string)
		if !ok {
			break
		}
		cursor = next
	}
	if want := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}; !slices.Equal(seen, want) {
		t.Errorf("pages gave %v", seen)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "limit=-1", "limit=1e2", "cursor=zz",
		"cursor=" + strings.Repeat("x", 300)} {
		if got := do(p, peer, "GET", "/v1/campaigns?"+q, ""); got.status != 422 {
			t.Errorf("%s: %d", q, got.status)
		}
	}
}
