package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// fleet is three nodes and what they share.
type fleet struct {
	redis *servers.RedisServer
	maria *servers.MariaDatabase
	nodes []*e2e.Server
}

func newFleet(t *testing.T, redis *servers.RedisServer, args ...string) *fleet {
	f := &fleet{redis: redis, maria: servers.MariaDB(t)}
	f.nodes = startNodes(t, 3, append([]string{"--admission", redis.URL(), "--queue", "redis", "--ledger", f.maria.URL},
		args...)...)
	return f
}

// sale creates a campaign and waits until every node sells it.
func (f *fleet) sale(t *testing.T, id string, stock, limit int) {
	t.Helper()
	f.nodes[0].Create(t, e2e.Goods(id, stock, limit, fast))
	selling(t, f.nodes, id)
}

// buy asks, at one node after another, until the answer is not to come back later.
func (f *fleet) buy(campaign, user, request string, quantity int) (c e2e.Claim, err error) {
	for try := range 200 {
		c, err = f.nodes[try%len(f.nodes)].TryClaim(campaign, user, request, quantity)
		if err == nil && c.Code != "BUSY" && c.Code != "UNAVAILABLE" && c.Code != "TOO_FREQUENT" {
			return c, nil
		}
		<-time.After(25 * time.Millisecond)
	}
	return c, err
}

// exact waits until so many units are taken and every sum comes out.
func (f *fleet) exact(t *testing.T, campaign string, units int) {
	t.Helper()
	n := f.nodes[1]
	var v e2e.Verification
	if !n.Eventually(15*time.Second, func() bool {
		v = e2e.Verification{}
		return n.Look(t, e2e.VerifyPath(campaign), &v) && v.OK &&
			v.Queued == 0 && int(v.Held+v.Sold) == units && v.Available+v.Held+v.Sold == v.Total
	}) {
		t.Errorf("%s: want %d units: %+v", campaign, units, v)
	}
}

// TestPitfallsOnAFleet goes through kinds of failures that other systems had, on three nodes with Redis and MariaDB.
func TestPitfallsOnAFleet(t *testing.T) {
	f := newFleet(t, servers.Redis(t))
	t.Run("3 a quantity below one mints nothing", f.quantities)
	t.Run("15 a new campaign is not sold out", f.newIsLive)
	t.Run("15 the marker ages", f.markerAges)
	t.Run("16 fifty clicks of one user", f.clicks)
	t.Run("21 the stock changes after the preheat", f.adjusted)
	t.Run("25 refusals give back what they took", f.leaks)
	t.Run("28 overload has a name and a hint", f.overload)
	t.Run("4 and 24 nothing of a sale expires", f.nothingExpires) // last: it looks at what the others left
}

func (f *fleet) quantities(t *testing.T) {
	f.sale(t, "quantities", 3, 5)
	for i, q := range []string{"-5", "0", "-1", "6", "2147483648", "-9223372036854775808", "1e99", "0.5"} {
		a := f.nodes[i%3].Ask(t, "POST", f.nodes[i%3].URL+"/v1/campaigns/quantities/claims", e2e.Token("u"),
			`{"request_id":"r`+strconv.Itoa(i)+`","quantity":`+q+`}`)
		if a.Status == http.StatusOK && !strings.Contains(string(a.Body), "LIMIT_REACHED") || a.Status >= 500 {
			t.Errorf("quantity %s: %d %s", q, a.Status, a.Body)
		}
	}
	f.exact(t, "quantities", 0)
	if c, err := f.buy("quantities", "v", "r", 3); c.Code != "QUEUED" && c.Code != "CONFIRMED" {
		t.Errorf("all three: %+v %v", c, err)
	}
	f.exact(t, "quantities", 3)
}

// newIsLive looks at campaigns in the moment of their creation, before there are gates.
func (f *fleet) newIsLive(t *testing.T) {
	for i := range 5 {
		id := fmt.Sprint("new", i)
		a := f.nodes[i%3].Admin(t, "POST", "/v1/admin/campaigns", e2e.Goods(id, 7, 1, nil), 201)
		for _, body := range [][]byte{a.Body, f.nodes[i%3].Admin(t, "GET", "/v1/admin/campaigns/"+id, nil, 200).Body} {
			var c struct {
				State     string
				Available int
			}
			e2e.Answer{Body: body}.Into(t, &c)
			if c.State != "live" || c.Available != 7 {
				t.Errorf("%s", body)
			}
		}
	}
}

func (f *fleet) markerAges(t *testing.T) {
	f.sale(t, "ages", 1, 1)
	won, err := f.buy("ages", "winner", "r", 1)
	if err != nil || won.ClaimID == "" {
		t.Fatalf("%+v %v", won, err)
	}
	for i, n := range f.nodes { // every node has its marker
		if !n.Eventually(15*time.Second, func() bool {
			c, err := n.TryClaim("ages", fmt.Sprint("loser", i), "r", 1)
			return err == nil && c.Code == "SOLD_OUT"
		}) {
			t.Fatalf("node %d does not say SOLD_OUT", i)
		}
	}
	f.exact(t, "ages", 1)
	order := "ord_" + strings.TrimPrefix(won.ClaimID, "clm_")
	a := f.nodes[0].Ask(t, "POST", f.nodes[0].URL+"/v1/orders/"+order+"/cancel", e2e.Token("winner"), nil)
	if a.Status != 200 {
		t.Fatalf("cancel: %d %s", a.Status, a.Body)
	}
	began := time.Now()
	for _, n := range f.nodes[1:] { // the losers of before may come again, at nodes that had nothing to do with it
		n.Eventually(5*time.Second, func() bool {
			c, err := n.TryClaim("ages", "next", "r", 1)
			return err == nil && (c.Code == "QUEUED" || c.Code == "CONFIRMED")
		})
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("the unit could be had again after %s", took)
		}
	}
	f.exact(t, "ages", 1)
}

func (f *fleet) clicks(t *testing.T) {
	f.sale(t, "clicks", 50, 1)
	for i, n := range f.nodes { // until its gate is armed, a node is BUSY for everybody
		var c e2e.Claim
		if !n.Eventually(20*time.Second, func() bool {
			c, _ = n.TryClaim("clicks", fmt.Sprint("scout", i), "r", 1)
			return c.Code == "QUEUED" || c.Code == "CONFIRMED"
		}) {
			t.Fatalf("node %d: %+v", i, c)
		}
	}
	got := atOnce(50, func(i int) string {
		c, err := f.nodes[i%3].TryClaim("clicks", "one", fmt.Sprint("click", i), 1)
		if err != nil {
			return err.Error()
		}
		return c.Code
	})
	if got["QUEUED"]+got["CONFIRMED"] != 1 || got["LIMIT_REACHED"]+got["BUSY"]+got["TOO_FREQUENT"] != 49 {
		t.Errorf("%v", got)
	}
	f.exact(t, "clicks", 1+len(f.nodes))
}

func (f *fleet) adjusted(t *testing.T) {
	f.sale(t, "late", 10, 1)
	f.nodes[0].Admin(t, "POST", "/v1/admin/campaigns/late/preheat", nil, 200)
	f.nodes[1].Admin(t, "POST", "/v1/admin/campaigns/late/adjustments", map[string]any{"change_id": "l", "delta": -7}, 200)
	got := atOnce(30, func(i int) string {
		c, err := f.buy("late", fmt.Sprint("u", i), "r", 1)
		if err != nil {
			return err.Error()
		}
		return c.Code
	})
	if got["QUEUED"]+got["CONFIRMED"] != 3 || got["SOLD_OUT"] != 27 {
		t.Errorf("%v", got)
	}
	f.exact(t, "late", 3)
}

// connections counts what the nodes hold at MariaDB and at Redis.
func (f *fleet) connections(t *testing.T) (maria, redis int) {
	t.Helper()
	maria, err := strconv.Atoi(strings.TrimSpace(f.maria.Do(
		"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND USER = 'sluice'")))
	if err != nil {
		t.Fatal(err)
	}
	redis, err = strconv.Atoi(f.redis.Info("connected_clients"))
	if err != nil {
		t.Fatal(err)
	}
	return maria, redis
}

// leaks has every kind of early return taken far more often than any pool has connections.
func (f *fleet) leaks(t *testing.T) {
	f.sale(t, "leaks", 1, 1)
	won, _ := f.buy("leaks", "winner", "r", 1)
	f.exact(t, "leaks", 1)
	ask := func(n *e2e.Server, method, path, token string, body any) {
		_, _ = n.TryAsk(method, n.URL+path, token, body)
	}
	admin := func(n *e2e.Server, method, path, key string, body any) {
		_, _ = n.TryAsk(method, n.AdminURL+path, key, body)
	}
	refused := func(i int) string {
		n, user := f.nodes[i%3], e2e.Token(fmt.Sprint("u", i))
		ask(n, "POST", "/v1/campaigns/leaks/claims", user, `{`)
		ask(n, "POST", "/v1/campaigns/leaks/claims", "no token", nil)
		ask(n, "POST", "/v1/campaigns/none/claims", user, nil)
		ask(n, "POST", "/v1/campaigns/leaks/claims", user, nil)                                              // sold out
		ask(n, "POST", "/v1/campaigns/leaks/claims", e2e.Token("winner"), `{"request_id":"x"}`)              // limit
		ask(n, "POST", "/v1/campaigns/leaks/claims", e2e.Token("winner"), `{"request_id":"r","quantity":2}`) // reused
		ask(n, "GET", "/v1/claims/"+won.ClaimID, user, nil)                                                  // another's
		ask(n, "GET", "/v1/claims/clm_00000000000000000000000000000000", user, nil)
		ask(n, "POST", "/v1/orders/ord_00000000000000000000000000000000/cancel", user, nil)
		admin(n, "POST", "/v1/admin/campaigns/leaks/adjustments", e2e.AdminKey, map[string]any{"change_id": "x", "delta": -9})
		admin(n, "POST", "/v1/admin/campaigns", e2e.AdminKey, e2e.Goods("leaks", 1, 1, nil)) // there is one
		admin(n, "GET", "/v1/admin/campaigns/none/verify", e2e.AdminKey, nil)
		admin(n, "GET", "/v1/admin/campaigns", "wrong key", nil)
		return ""
	}
	atOnce(30, refused)
	maria, redis := f.connections(t)
	for range 3 {
		atOnce(30, refused)
	}
	if m, r := f.connections(t); m > maria+15 || r > redis+15 {
		t.Errorf("connections at MariaDB went from %d to %d, at Redis from %d to %d", maria, m, redis, r)
	}
	f.sale(t, "after", 30, 1)
	got := atOnce(30, func(i int) string { c, _ := f.buy("after", fmt.Sprint("u", i), "r", 1); return c.Code })
	if got["QUEUED"]+got["CONFIRMED"] != 30 {
		t.Errorf("after the refusals: %v", got)
	}
	f.exact(t, "after", 30)
}

func (f *fleet) overload(t *testing.T) {
	f.sale(t, "crowd", 1000, 1)
	f.nodes[0].Admin(t, "PUT", "/v1/admin/switches/max_rate", map[string]any{"value": 20}, 200)
	got := atOnce(300, func(i int) string {
		n := f.nodes[i%3]
		a, err := n.TryAsk("POST", n.URL+"/v1/campaigns/crowd/claims", e2e.Token(fmt.Sprint("u", i)), nil)
		if err != nil {
			return err.Error()
		}
		var c struct {
			Code         string
			RetryAfterMS int `json:"retry_after_ms"`
		}
		a.Into(t, &c)
		if c.Code == "BUSY" && c.RetryAfterMS <= 0 {
			return "BUSY without a hint"
		}
		return fmt.Sprint(a.Status, " ", c.Code)
	})
	won := got["200 QUEUED"] + got["200 CONFIRMED"]
	if got["200 BUSY"] == 0 || won+got["200 BUSY"] != 300 {
		t.Errorf("%v", got)
	}
	f.nodes[0].Admin(t, "DELETE", "/v1/admin/switches/max_rate", nil, 200)
	f.exact(t, "crowd", won)
}

// nothingExpires looks at every key that sales have left, and at every term that the ledger has written down.
func (f *fleet) nothingExpires(t *testing.T) {
	keys := strings.Fields(f.redis.Do("--scan"))
	for _, part := range []string{"gate", "claims", "holders", "outbox"} {
		if !slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(k, ":"+part) }) {
			t.Errorf("no key of %s is there: %q", part, keys)
		}
	}
	for _, k := range keys {
		if ttl := f.redis.Do("PTTL", k); ttl != "-1" {
			t.Errorf("%s expires in %s ms", k, ttl)
		}
	}
	// A moment where a length was meant, or the reverse, would be decades off.
	for _, column := range []string{"until_ms FROM leaders WHERE until_ms > 0", "seen_ms FROM nodes"} {
		for _, ms := range strings.Fields(f.maria.Do("SELECT " + column)) {
			at, err := strconv.ParseInt(ms, 10, 64)
			if off := time.Until(time.UnixMilli(at)); err != nil || off > time.Minute || off < -time.Hour {
				t.Errorf("%s: %s, which is %s from now (%v)", column, ms, off, err)
			}
		}
	}
}

// TestRedisBusyDuringAClaim is pitfall 26: the server answers nothing for 300 ms, and longer than a call waits, while
// claims are under way. Whoever asks again with his request id gets his own claim, and no unit is gone.
func TestRedisBusyDuringAClaim(t *testing.T) {
	f := newFleet(t, servers.Redis(t))
	for _, pause := range []time.Duration{300 * time.Millisecond, 3 * time.Second} {
		t.Run(pause.String(), func(t *testing.T) {
			id := "busy" + strconv.Itoa(int(pause.Milliseconds()))
			f.sale(t, id, 60, 1)
			frozen := make(chan struct{})
			go func() {
				defer close(frozen)
				<-time.After(5 * time.Millisecond)
				f.redis.Freeze()
				<-time.After(pause)
				f.redis.Thaw()
			}()
			got := atOnce(60, func(i int) string {
				c, err := f.buy(id, fmt.Sprint("u", i), "r", 1)
				if err != nil {
					return err.Error()
				}
				again, err := f.buy(id, fmt.Sprint("u", i), "r", 1)
				if err != nil || again.ClaimID != c.ClaimID {
					return fmt.Sprintf("%s, then %+v %v", c.ClaimID, again, err)
				}
				return "a unit, after " + map[bool]string{true: "all", false: c.Code}[c.Code == "QUEUED" || c.Code == "CONFIRMED"]
			})
			<-frozen
			if got["a unit, after all"] != 60 {
				t.Errorf("%v", got)
			}
			f.exact(t, id, 60)
		})
	}
}

// TestResultsWithoutNews is pitfall 27: nodes that may not use pub/sub hear nothing of outcomes. The ledger answers.
func TestResultsWithoutNews(t *testing.T) {
	f := newFleet(t, servers.Redis(t, servers.User("sluice", "deaf", "~sluice:*", "resetchannels", "+@all", "-@pubsub")))
	f.sale(t, "deaf", 10, 1)
	for i := range 10 {
		user := fmt.Sprint("u", i)
		c, err := f.buy("deaf", user, "r", 1)
		if err != nil || c.ClaimID == "" {
			t.Fatalf("%+v %v", c, err)
		}
		n, began := f.nodes[(i+1)%3], time.Now()
		var r e2e.Claim
		n.Ask(t, "GET", n.URL+"/v1/claims/"+c.ClaimID+"?wait_ms=8000", e2e.Token(user), nil).Into(t, &r)
		if took := time.Since(began); r.State != "confirmed" || took > 4*time.Second {
			t.Errorf("%s: %+v after %s", user, r, took)
		}
	}
	f.exact(t, "deaf", 10)
}
