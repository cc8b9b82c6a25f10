package front_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// sale starts a real node behind nginx, with one campaign on it.
func sale(t *testing.T, id string, total, limit int) *e2e.Server {
	t.Helper()
	s := e2e.Start(t, e2e.Options{Args: []string{"--trusted-proxies", "127.0.0.1"}})
	s.Create(t, e2e.Goods(id, total, limit, nil))
	return s
}

func addrOf(s *e2e.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func TestTLS(t *testing.T) {
	f := node(t, "a", nil)
	n := start(t, upstreams{current: []string{f.addr}})
	if a := ask(t, browser(), "GET", n.Plain+"/c/spring?x=1", "", ""); a.status != http.StatusMovedPermanently ||
		a.head.Get("Location") != n.URL+"/c/spring?x=1" {
		t.Errorf("without TLS: %d, %s", a.status, a.head.Get("Location"))
	}
	a := ask(t, browser(), "GET", n.URL+"/v1/time", "", "")
	if a.status != http.StatusOK || a.head.Get("Strict-Transport-Security") == "" {
		t.Errorf("with TLS: %d, %v", a.status, a.head)
	}
}

// TestFiveHundredBuyersBehindOneAddress: an office buys. Everybody is answered by a node, by the rules of the sale.
func TestFiveHundredBuyersBehindOneAddress(t *testing.T) {
	s := sale(t, "spring", 100, 1)
	n := start(t, upstreams{current: []string{addrOf(s)}})
	c := browser()
	var codes sync.Map
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			user := fmt.Sprintf("buyer-%d", i)
			for _, path := range []string{"/v1/time", "/v1/campaigns", "/v1/campaigns/spring"} {
				if a := ask(t, c, "GET", n.URL+path, "", ""); a.status != http.StatusOK {
					t.Errorf("%s: %d", path, a.status)
				}
			}
			a := n.claim(t, c, "spring", user)
			count, _ := codes.LoadOrStore(a.code(), new(atomic.Int64))
			count.(*atomic.Int64).Add(1) //nolint:forcetypeassert // nothing else is stored
			if a = ask(t, c, "GET", n.URL+"/v1/campaigns/spring/claims?request_id=r", user, ""); a.status != http.StatusOK {
				t.Errorf("own claims: %d %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	got := map[string]int64{}
	codes.Range(func(k, v any) bool {
		got[k.(string)] = v.(*atomic.Int64).Load() //nolint:forcetypeassert // see above
		return true
	})
	if got["CONFIRMED"] != 100 || got["SOLD_OUT"] != 400 {
		t.Errorf("answers: %v", got)
	}
	if v := s.Verify(t, "spring"); !v.OK {
		t.Errorf("the audit: %+v", v)
	}
}

// TestOneMachineThatFloods is slowed down, with a reason and a time to wait; who pays is not. The test itself cannot
// send as much as an address may, so that the bound is lower here.
func TestOneMachineThatFloods(t *testing.T) {
	f := node(t, "a", nil)
	n := start(t, upstreams{current: []string{f.addr}, rate: "100r/s"})
	c := browser()
	var refused atomic.Int64
	var one sync.Map
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 100 {
				if a := n.claim(t, c, "spring", fmt.Sprintf("bot-%d", i)); a.code() == "TOO_FREQUENT" {
					refused.Add(1)
					one.Store("", a)
				}
			}
		})
	}
	wg.Wait()
	v, ok := one.Load("")
	if !ok {
		t.Fatalf("6,400 claims from one address: none refused, %d seen", f.seen())
	}
	a, _ := v.(answer)
	if a.status != http.StatusOK || a.fields["retry_after_ms"] != 1000.0 || a.fields["campaign_id"] != "spring" {
		t.Errorf("a refusal is %d %s", a.status, a.body)
	}
	if a = ask(t, c, "POST", n.URL+"/v1/payments/notifications", "", "{}"); a.status != http.StatusOK {
		t.Errorf("a payment meanwhile: %d", a.status)
	}
	t.Logf("%d of 6400 refused", refused.Load())
}

// TestAUserStaysOnOneNode, whatever he calls; and when a node goes, only its own users move.
func TestAUserStaysOnOneNode(t *testing.T) {
	all := []*fake{node(t, "a", nil), node(t, "b", nil), node(t, "c", nil)}
	n := start(t, upstreams{current: []string{all[0].addr, all[1].addr, all[2].addr}})
	c := browser()
	home := map[string]string{}
	share := map[string]int{}
	for i := range 300 {
		user := fmt.Sprintf("user-%d", i)
		home[user] = n.claim(t, c, "spring", user).node()
		share[home[user]]++
		for _, path := range []string{"/v1/me/orders", "/v1/claims/clm_x", "/v1/campaigns/spring/claims"} {
			if got := ask(t, c, "GET", n.URL+path, user, "").node(); got != home[user] {
				t.Errorf("%s of %s went to %q, his claim to %q", path, user, got, home[user])
			}
		}
	}
	for _, f := range all {
		if share[f.name] < 50 {
			t.Errorf("the shares are %v", share)
		}
	}
	all[1].gone()
	for user, was := range home {
		now := n.claim(t, c, "spring", user)
		if now.status != http.StatusOK || now.code() != "CONFIRMED" || was != "b" && now.node() != was || now.node() == "b" {
			t.Errorf("%s moved from %s to %q: %d %s", user, was, now.node(), now.status, now.body)
		}
	}
	again(t, all[1])
	eventually(t, "the node has its users again", func() bool {
		for user, was := range home {
			if was == "b" {
				return n.claim(t, c, "spring", user).node() == "b"
			}
		}
		return false
	})
}

// TestTheRateOfAUserIsExact over several nodes, each of which counts by itself.
func TestTheRateOfAUserIsExact(t *testing.T) {
	var addrs []string
	for range 3 {
		addrs = append(addrs, addrOf(sale(t, "spring", 1000, 100)))
	}
	n := start(t, upstreams{current: addrs})
	c := browser()
	passed, began := 0, time.Now()
	for i := range 20 {
		a := ask(t, c, "POST", n.URL+"/v1/campaigns/spring/claims", "eager", fmt.Sprintf(`{"request_id":"r%d"}`, i))
		if a.code() != "TOO_FREQUENT" {
			passed++
		}
	}
	took := time.Since(began)
	if most := 3 + 3*int(took/time.Second+1); passed < 3 || passed > most { // three at once, and what each second brings
		t.Errorf("%d of 20 claims of one user passed in %v, of three a second", passed, took)
	}
}

// TestTheFuse: while the file is there, nobody claims and no node hears of it; looking goes on. The answer is the one
// that a node gives.
func TestTheFuse(t *testing.T) {
	s := sale(t, "spring", 10, 1)
	n := start(t, upstreams{current: []string{addrOf(s)}})
	c := browser()
	s.Admin(t, "PUT", "/v1/admin/switches/closed", map[string]any{"value": 1}, http.StatusOK)
	var theirs answer
	eventually(t, "the node's own switch", func() bool {
		theirs = n.claim(t, c, "spring", "u1")
		return theirs.code() == "CLOSED"
	})
	s.Admin(t, "PUT", "/v1/admin/switches/closed", map[string]any{"value": 0}, http.StatusOK)
	n.burn(t, true)
	ours := n.claim(t, c, "spring", "u1")
	if ours.status != theirs.status || ours.code() != "CLOSED" {
		t.Fatalf("the fuse says %d %s", ours.status, ours.body)
	}
	for name, want := range theirs.fields {
		if got, ok := ours.fields[name]; !ok || got != want && name != "server_time_ms" && name != "retry_after_ms" {
			t.Errorf("%s: the fuse says %v, a node %v", name, got, want)
		}
	}
	if at, _ := ours.fields["server_time_ms"].(float64); time.Since(time.UnixMilli(int64(at))).Abs() > time.Minute {
		t.Errorf("its time is %v", ours.fields["server_time_ms"])
	}
	chinese := ask(t, c, "POST", n.URL+"/v1/campaigns/spring/claims", "u1", "", "Accept-Language", "zh-CN")
	if !strings.Contains(string(chinese.body), "主办方") {
		t.Errorf("in Chinese: %s", chinese.body)
	}
	for _, path := range []string{"/v1/campaigns/spring", "/v1/campaigns/spring/claims", "/v1/me/orders", "/v1/time"} {
		if a := ask(t, c, "GET", n.URL+path, "u1", ""); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	n.burn(t, false)
	eventually(t, "the sale goes on", func() bool { return n.claim(t, c, "spring", "u1").code() == "CONFIRMED" })
}

// TestNoNodeAnswers: claims hear CLOSED, since nobody can have taken them; everything else hears that it is
// unavailable.
func TestNoNodeAnswers(t *testing.T) {
	n := start(t, upstreams{current: []string{e2e.FreeAddr(t), e2e.FreeAddr(t)}})
	c := browser()
	for range 5 { // while the nodes are tried, and when they are known to be gone
		if a := n.claim(t, c, "spring", "u1"); a.status != http.StatusOK || a.code() != "CLOSED" ||
			a.fields["campaign_id"] != "spring" {
			t.Errorf("a claim: %d %s", a.status, a.body)
		}
		for _, call := range []string{
			"GET /v1/campaigns/spring/claims", "GET /v1/claims/clm_x", "GET /v1/me/orders", "GET /v1/campaigns",
			"POST /v1/payments/notifications", "POST /v1/coupons/x/redeem",
		} {
			method, path, _ := strings.Cut(call, " ")
			if a := ask(t, c, method, n.URL+path, "u1", ""); a.status != http.StatusServiceUnavailable ||
				a.code() != "UNAVAILABLE" || a.head.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %d %s", call, a.status, a.body)
			}
		}
	}
}

// TestAnAnswerThatIsLost is no CLOSED: a node had the claim. It is not sent to another node either.
func TestAnAnswerThatIsLost(t *testing.T) {
	hangUp := func(w http.ResponseWriter, r *http.Request) bool {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.Close()
		}
		return err == nil && r != nil
	}
	a, b := node(t, "a", hangUp), node(t, "b", hangUp)
	n := start(t, upstreams{current: []string{a.addr, b.addr}})
	for i := range 10 {
		before := a.seen() + b.seen()
		got := n.claim(t, browser(), "spring", fmt.Sprintf("u%d", i))
		if got.status != http.StatusServiceUnavailable && got.code() != "CLOSED" || a.seen()+b.seen() > before+1 {
			t.Errorf("%d %s, seen %d times", got.status, got.body, a.seen()+b.seen()-before)
		}
		if got.code() == "CLOSED" && a.seen()+b.seen() > before {
			t.Errorf("a claim that a node had hears %s", got.body)
		}
	}
}

// TestTheCanary serves its share of buyers, each always on the same version, and when it is gone the others serve them.
func TestTheCanary(t *testing.T) {
	old, fresh := node(t, "old", nil), node(t, "new", nil)
	n := start(t, upstreams{current: []string{old.addr}, canary: []string{fresh.addr}, percent: 20})
	c := browser()
	var lucky []string
	for i := range 1000 {
		user := fmt.Sprintf("user-%d", i)
		if n.claim(t, c, "spring", user).node() == "new" {
			lucky = append(lucky, user)
		}
	}
	if len(lucky) < 140 || len(lucky) > 260 {
		t.Errorf("%d of 1000 are served by the new version", len(lucky))
	}
	for _, user := range lucky[:20] {
		if got := ask(t, c, "GET", n.URL+"/v1/me/orders", user, "").node(); got != "new" {
			t.Errorf("%s is on %q then", user, got)
		}
	}
	fresh.gone()
	for _, user := range lucky[:50] {
		if a := n.claim(t, c, "spring", user); a.status != http.StatusOK || a.node() != "old" {
			t.Errorf("without the canary %s hears %d %s", user, a.status, a.body)
		}
		if a := ask(t, c, "GET", n.URL+"/v1/me/orders", user, ""); a.node() != "old" {
			t.Errorf("without the canary %s hears %d %s", user, a.status, a.body)
		}
	}
}

// TestALongPoll is held for as long as a node may hold it.
func TestALongPoll(t *testing.T) {
	t.Parallel()
	f := node(t, "a", func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/v1/claims/") {
			<-time.After(31 * time.Second)
		}
		return false
	})
	n := start(t, upstreams{current: []string{f.addr}})
	begun := time.Now()
	a := ask(t, browser(), "GET", n.URL+"/v1/claims/clm_x?wait_ms=30000", "u1", "")
	if a.status != http.StatusOK || a.node() != "a" || time.Since(begun) < 31*time.Second {
		t.Errorf("after %s: %d %s", time.Since(begun), a.status, a.body)
	}
}

// TestPagesAreCached: however many ask, a node is asked once a second; nobody's token goes along; and while no node
// answers, the last page is given.
func TestPagesAreCached(t *testing.T) {
	cached := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/time" {
			w.Header().Set("Cache-Control", "no-store")
			return false
		}
		w.Header().Set("Cache-Control", "public, s-maxage=1, stale-while-revalidate=5")
		return false
	}
	f := node(t, "a", cached)
	n := start(t, upstreams{current: []string{f.addr}})
	c := browser()
	begun := time.Now()
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for range 25 {
				if a := ask(t, c, "GET", n.URL+"/v1/campaigns/spring", "u1", ""); a.status != http.StatusOK {
					t.Errorf("%d", a.status)
				}
			}
		})
	}
	wg.Wait()
	if most := 2 + int(time.Since(begun)/time.Second); f.seen() > most {
		t.Errorf("a node was asked %d times for 1000 in %s", f.seen(), time.Since(begun))
	}
	if r := f.last(); r == nil || r.Header.Get("Authorization") != "" {
		t.Error("a page for everybody was asked for with somebody's token")
	}
	before := f.seen()
	for range 10 {
		ask(t, c, "GET", n.URL+"/v1/time", "", "")
	}
	if f.seen() != before+10 {
		t.Error("the clock was cached")
	}
	f.gone()
	<-time.After(1100 * time.Millisecond)
	for range 5 {
		if a := ask(t, c, "GET", n.URL+"/v1/campaigns/spring", "", ""); a.status != http.StatusOK {
			t.Errorf("without a node: %d %s", a.status, a.body)
		}
	}
}

// TestWhoTheNodesBelieveTheBuyerIs: nginx alone says where a call is from.
func TestWhoTheNodesBelieveTheBuyerIs(t *testing.T) {
	f := node(t, "a", nil)
	n := start(t, upstreams{current: []string{f.addr}})
	ask(t, browser(), "GET", n.URL+"/v1/time", "", "", "X-Forwarded-For", "6.6.6.6", "X-Forwarded-Proto", "ftp")
	r := f.last()
	if got := r.Header.Values("X-Forwarded-For"); !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("X-Forwarded-For: %v", got)
	}
	if r.Header.Get("X-Forwarded-Proto") != "https" {
		t.Errorf("X-Forwarded-Proto: %v", r.Header)
	}
}
