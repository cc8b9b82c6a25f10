package admin_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// token is a buyer's, signed with the stack's secret.
func token(user string) []byte {
	enc := base64.RawURLEncoding
	body := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		enc.EncodeToString(fmt.Appendf(nil, `{"sub":%q,"exp":9999999999}`, user))
	mac := hmac.New(sha256.New, []byte(strings.Repeat("s", 32)))
	mac.Write([]byte(body))
	return []byte(body + "." + enc.EncodeToString(mac.Sum(nil)))
}

func (s *stack) claim(campaign, user, request string) sluice.Decision {
	return s.gate.Claim(context.Background(), &sluice.ClaimRequest{Campaign: campaign, Token: token(user),
		RequestID: request, Quantity: 1, At: sluice.MillisOf(s.clock.now())})
}

// sell makes 10 claims on 5 units, a replay and a claim on nothing, pays two orders and cancels one.
func (s *stack) sell(campaign string) {
	s.t.Helper()
	ctx, at := context.Background(), sluice.MillisOf(s.clock.now())
	var won []sluice.ClaimID
	for i := range 10 {
		if d := s.claim(campaign, fmt.Sprint("buyer", i), "r"); d.Reason == sluice.ReasonConfirmed {
			won = append(won, d.ID)
		}
	}
	if d := s.claim(campaign, "buyer0", "r"); !d.Replayed {
		s.t.Fatalf("not a replay: %+v", d)
	}
	if len(won) != 5 {
		s.t.Fatalf("%d claims of 5 units", len(won))
	}
	for i, id := range won[:2] {
		_, err := s.db.Pay(ctx, sluice.Payment{Reference: fmt.Sprint("pay", i), Order: id, AmountMinor: 9900, Currency: "CNY",
			Status: "succeeded", Received: at})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.db.CloseOrder(ctx, won[2], sluice.CloseCancelled, sluice.Actor{}, at); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheReportAgreesWithVerify(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	s.sell("spring")
	s.clock.add(2 * time.Second)
	for _, when := range []string{"from memory", "from both", "from the ledger"} {
		verify := s.want(200, "GET", "/v1/admin/campaigns/spring/verify", nil)
		report := s.want(200, "GET", "/v1/admin/campaigns/spring/report", nil)
		for _, field := range []string{"held", "sold", "total", "available"} {
			if a, b := verify.get(t, field), report.get(t, "verification."+field); a != b {
				t.Errorf("%s: %s is %v to verify and %v to the report", when, field, a, b)
			}
		}
		for path, want := range map[string]any{
			"rows.held": verify.get(t, "held"), "rows.sold": verify.get(t, "sold"), "verification.ok": true,
			"rows.claims": 5.0, "rows.units": 5.0, "rows.closes.cancelled": 1.0, "rows.orders.paid": 2.0,
			"money.paid": 2.0, "money.paid_minor": 19800.0, "money.paid_share": 0.4, "money.currency": "CNY",
			"decisions.CONFIRMED": 5.0, "decisions.SOLD_OUT": 5.0, "replayed": 1.0, "campaign.held": 2.0,
			"buckets.0.width_ms": 100.0, "rows.first_unit_at": "2027-01-15T08:00:00Z",
		} {
			if got := report.get(t, path); got != want {
				t.Errorf("%s: %s is %v, want %v", when, path, got, want)
			}
		}
		switch when {
		case "from memory":
			err := s.gate.Tally().Flush(func(c string, b []sluice.Bucket) error {
				return s.db.KeepBuckets(context.Background(), c, b)
			})
			if err != nil {
				t.Fatal(err)
			}
		case "from both":
			s.restart()
		}
	}
}

func TestACouponsReport(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", couponBody("gift", 5))
	s.want(200, "POST", "/v1/admin/campaigns/gift/grants", object{"grant_id": "g1", "user_id": "u1", "quantity": 3})
	s.claim("gift", "u2", "")
	report := s.want(200, "GET", "/v1/admin/campaigns/gift/report", nil)
	for path, want := range map[string]any{"rows.claims": 2.0, "rows.grants": 1.0, "rows.units": 4.0, "rows.sold": 4.0,
		"rows.coupons.issued": 4.0, "verification.sold": 4.0, "verification.ok": true, "money.currency": "CNY"} {
		if got := report.get(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestLoadTestsAreLeftOutOfTheSummary(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	load := goodsBody("load", 1000)
	load["load_test"] = true
	s.want(201, "POST", "/v1/admin/campaigns", load)
	sum := s.want(200, "GET", "/v1/admin/summary", nil)
	if sum.get(t, "campaigns") != 1.0 || sum.get(t, "total") != 5.0 || sum.get(t, "load_tests") != 1.0 {
		t.Errorf("the summary: %s", sum.body)
	}
	if r := s.want(200, "GET", "/v1/admin/campaigns/load/report", nil); r.get(t, "load_test") != true {
		t.Errorf("the report of a load test: %.100s", r.body)
	}
	if l := s.want(200, "GET", "/v1/admin/campaigns?load_test=false", nil); strings.Contains(string(l.body), `"load"`) {
		t.Errorf("listed: %s", l.body)
	}
}

func TestTheLiveViewGoesOnWhereItStopped(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	s.sell("spring")
	first := s.want(200, "GET", "/v1/admin/campaigns/spring/live", nil)
	if first.get(t, "buckets.0.counts.CONFIRMED") != 5.0 || first.get(t, "sold") != 2.0 ||
		first.get(t, "available") != 1.0 {
		t.Fatalf("the first look: %s", first.body)
	}
	s.clock.add(20 * time.Second)
	s.claim("spring", "late", "r")
	next := fmt.Sprintf("%.0f", first.get(t, "next_since_ms"))
	second := s.want(200, "GET", "/v1/admin/campaigns/spring/live?since="+next, nil)
	var page struct {
		Buckets []struct {
			Width int64 `json:"width_ms"`
		}
	}
	if second.into(t, &page); len(page.Buckets) != 2 || page.Buckets[1].Width != 1000 {
		t.Errorf("the second look repeats what was unfinished and adds a second: %s", second.body)
	}
}

// others is a ledger that has what another node has counted, beside what this one has.
type others struct {
	*sqldb.DB
	buckets []sluice.Bucket
}

func (o *others) EachBucket(ctx context.Context, campaign string, from, until sluice.Millis,
	each func(b *sluice.Bucket, own bool) error) error {
	all := o.buckets
	err := o.DB.EachBucket(ctx, campaign, from, until, func(b *sluice.Bucket, own bool) error {
		for ; len(all) > 0 && all[0].Start <= b.Start; all = all[1:] {
			if err := each(&all[0], false); err != nil {
				return err
			}
		}
		return each(b, own)
	})
	for i := range all {
		if err == nil && all[i].Start >= from {
			err = each(&all[i], false)
		}
	}
	return err
}

// TestTheLiveViewAddsUpNodes: whichever node is asked, the view has what all of them decided, each decision once, and
// asks again from before what another node may not have written yet. The report adds up the same way.
func TestTheLiveViewAddsUpNodes(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	s.sell("spring")
	ledger := &others{DB: s.db}
	desk := admin.NewReports(admin.ReportsConfig{Ledger: ledger, Tally: s.gate.Tally(), Permits: s.admission,
		Verifier: s.db, Now: s.clock.now, Late: 3 * time.Second})
	live := s.watch(desk, ledger)
	at := sluice.MillisOf(s.clock.now())
	theirs := func(start sluice.Millis, soldOut int64) sluice.Bucket {
		b := sluice.Bucket{Start: start, Width: sluice.FineBucket}
		b.Counts[sluice.ReasonSoldOut], b.Latency[5] = soldOut, uint32(soldOut)
		return b
	}
	sum := func(all []sluice.Bucket) (n int64) {
		seen := map[sluice.Millis]bool{}
		for i := range all {
			if seen[all[i].Start] || i > 0 && all[i].Start < all[i-1].Start {
				t.Errorf("bucket %d comes twice, or out of its order", all[i].Start)
			}
			seen[all[i].Start] = true
			n += all[i].Counts[sluice.ReasonSoldOut]
		}
		return n
	}
	look := func(since sluice.Millis) sluice.LiveLook {
		t.Helper()
		v, err := live.Live(t.Context(), "spring", since, 60)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := look(at - 1000); sum(v.Buckets) != 5 {
		t.Errorf("before the other has written: %v", v.Buckets)
	}
	ledger.buckets = []sluice.Bucket{theirs(at, 7), theirs(at+100, 11)}
	s.clock.add(2 * time.Second)
	first := look(at - 1000)
	if sum(first.Buckets) != 5+7+11 || first.Next > at-1000 {
		t.Errorf("%d sold out, next %d ms after the sale", sum(first.Buckets), first.Next-at)
	}
	if err := s.gate.Tally().Flush(func(c string, b []sluice.Bucket) error {
		return s.db.KeepBuckets(t.Context(), c, b)
	}); err != nil {
		t.Fatal(err)
	}
	if v := look(first.Next); sum(v.Buckets) != 5+7+11 {
		t.Errorf("once this node has written too: %d sold out", sum(v.Buckets))
	}
	s.clock.add(10 * time.Second)
	if v := look(at + 150); sum(v.Buckets) != 11 || v.Next != at+200 {
		t.Errorf("later: %d sold out, next %d ms after the sale", sum(v.Buckets), v.Next-at)
	}
	r, err := desk.Report(t.Context(), "spring")
	if err != nil || r.Decisions[sluice.ReasonSoldOut] != 5+7+11 || sum(r.Buckets) != 5+7+11 {
		t.Errorf("the report: %v sold out, %v", r.Decisions[sluice.ReasonSoldOut], err)
	}
}

func TestClaimsAreListedAndFound(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 50))
	s.want(201, "POST", "/v1/admin/campaigns", couponBody("gift", 50))
	for i := range 7 {
		s.want(200, "POST", "/v1/admin/campaigns/gift/grants",
			object{"grant_id": fmt.Sprint("g", i), "user_id": fmt.Sprint("u", i), "quantity": i%3 + 1})
		s.claim("spring", fmt.Sprint("u", i), fmt.Sprint("r", i))
	}
	for _, c := range []struct {
		query string
		want  int
	}{
		{"campaign_id=gift", 7}, {"campaign_id=spring", 7}, {"user_id=u3", 2}, {"user_id=u3&campaign_id=gift", 1},
		{"campaign_id=spring&request_id=r4", 1}, {"user_id=u3&request_id=r4", 0}, {"user_id=nobody", 0},
		{"claim_id=" + sluice.NewClaimID("spring", "u2", sluice.SourceClaim, "r2").String(), 1},
		{"claim_id=" + sluice.NewClaimID("spring", "u2", sluice.SourceClaim, "r9").String(), 0},
	} {
		got, cursor := 0, ""
		for more := true; more; more = cursor != "" {
			a := s.want(200, "GET", "/v1/admin/claims?limit=2&"+c.query+cursor, nil)
			var page struct {
				Items []struct {
					Quantity    int
					State       string
					CouponCode  string   `json:"coupon_code"`
					CouponCodes []string `json:"coupon_codes"`
				}
				Next string `json:"next_cursor"`
			}
			a.into(t, &page)
			got += len(page.Items)
			for _, x := range page.Items {
				if x.State != "confirmed" || x.Quantity > 1 && len(x.CouponCodes) != x.Quantity {
					t.Errorf("%s: %s", c.query, a.body)
				}
			}
			if cursor = ""; page.Next != "" {
				cursor = "&cursor=" + page.Next
			}
		}
		if got != c.want {
			t.Errorf("%s: %d claims, want %d", c.query, got, c.want)
		}
	}
	for _, query := range []string{
		"", "request_id=r1", "claim_id=x", "campaign_id=gift&limit=5001", "campaign_id=gift&cursor=x",
	} {
		s.want(422, "GET", "/v1/admin/claims?"+query, nil)
	}
	s.want(404, "GET", "/v1/admin/claims?campaign_id=nope", nil)
}

func TestTheFeedWaitsForWhatComes(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 50))
	first := s.want(200, "GET", "/v1/admin/events", nil)
	if first.get(t, "items.0.type") != "campaign.created" || first.get(t, "items.0.campaign_id") != "spring" {
		t.Fatalf("the feed: %s", first.body)
	}
	next := first.get(t, "next").(string)
	if empty := s.want(200, "GET", "/v1/admin/events?after="+next, nil); empty.get(t, "next") != next {
		t.Errorf("an empty page: %s", empty.body)
	}
	waiting := make(chan answer)
	go func() { waiting <- s.call(bootstrapKey, "GET", "/v1/admin/events?wait_ms=30000&after="+next, nil) }()
	s.want(200, "POST", "/v1/admin/campaigns/spring/pause", nil)
	if a := <-waiting; a.get(t, "items.0.type") != "campaign.paused" {
		t.Errorf("after waiting: %s", a.body)
	}
	s.want(422, "GET", "/v1/admin/events?after=x", nil)
	s.want(422, "GET", "/v1/admin/events?wait_ms=30001", nil)
}

func TestALookupTellsEverythingInOrder(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 50))
	s.want(201, "POST", "/v1/admin/campaigns", couponBody("gift", 50))
	d := s.claim("spring", "ann", "req-1")
	s.clock.add(time.Second)
	_, err := s.db.Pay(context.Background(), sluice.Payment{Reference: "pay-1", Order: d.ID, AmountMinor: 9900,
		Currency: "CNY", Status: "succeeded", Received: sluice.MillisOf(s.clock.now())})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.add(time.Second)
	g := s.want(200, "POST", "/v1/admin/campaigns/gift/grants", object{"grant_id": "grant-1", "user_id": "ann"})
	s.clock.add(time.Second)
	b := s.want(201, "POST", "/v1/admin/blocklist", object{"scope": "user", "value": "ann", "reason": "bot"})
	s.clock.add(time.Second)
	at := sluice.MillisOf(s.clock.now())
	if err := s.db.RecordFired(context.Background(), []sluice.RiskFired{{ID: "rsk_1", Rule: "farm", Mode: sluice.RiskOn,
		Action: "block 15m", Scope: sluice.RiskAccount, Value: "ann", Campaign: "spring", At: at, Until: at + 900_000,
		Saw: "devices per account 9 > 4 in 1h", Count: 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    string
		want string
	}{
		{"ann", "order.created order.paid payment coupon.issued block rule.fired"},
		{"rsk_1", "rule.fired"},
		{"rsk_2", ""},
		{d.ID.String(), "order.created order.paid payment"},
		{d.ID.OrderID(), "order.created order.paid payment"},
		{"pay-1", "order.created order.paid payment"},
		{"req-1", "order.created order.paid payment"},
		{"grant-1", "coupon.issued"},
		{g.get(t, "coupon_code").(string), "coupon.issued"},
		{b.get(t, "id").(string), "audit"},
		{"nobody", ""},
	} {
		a := s.want(200, "GET", "/v1/admin/lookup?q="+c.q, nil)
		var page struct{ Items []struct{ Type string } }
		a.into(t, &page)
		var got []string
		for _, e := range page.Items {
			got = append(got, e.Type)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.q, got, c.want)
		}
	}
}
