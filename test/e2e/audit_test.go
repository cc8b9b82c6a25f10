package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// act is one changing call of the operators' API, in order: what makes it possible, then the call itself.
type act struct {
	call  string // as the description has it
	on    string // takes the place of the path's parameter; of several, word by word
	query string
	body  any // a string goes as CSV; a function makes it after ready; nil: none
	// ready comes first, where the call needs it; what it returns takes the place of {} in on and body.
	ready func() string
	want  int // default 200
	// cookie has the call made by somebody who has signed in, not by key.
	cookie bool
}

// evening is one server with every part, on which an operator does everything that can be done.
type evening struct {
	*e2e.Server
	t     *testing.T
	redis *servers.RedisServer
}

// TestEveryActIsOnRecord makes each call of the operators' description that changes something once, on the real parts:
// each leaves a row in the audit log that says who, and why where a reason was given. A call that this list does not
// have fails the test, so that no new one comes without its record.
func TestEveryActIsOnRecord(t *testing.T) {
	store, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 1, "--admission", store.URL(), "--queue", "redis", "--ledger", maria.URL)
	e := &evening{t: t, redis: store, Server: nodes[0]}
	e.Create(t, e2e.Goods("spring", 50, 1, nil))
	e.Create(t, e2e.Coupons("tickets", 50, 1, nil))
	selling(t, nodes, "spring")
	selling(t, nodes, "tickets")
	seen := map[string]bool{}
	for _, a := range slices.Concat(e.ofCampaigns(), e.ofTrade(), e.ofLists(), e.ofTheServer()) {
		e.try(a)
		seen[a.call] = true
	}
	for call := range changingCalls(t) {
		if !seen[call] {
			t.Errorf("%s is not tried: nobody knows whether it leaves a record", call)
		}
	}
}

// changingCalls gives the calls of the operators' description that change something.
func changingCalls(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi-admin.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths map[string]map[string]any
	}
	if err = json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for path, item := range d.Paths {
		for method := range item {
			if slices.Contains([]string{"post", "put", "patch", "delete"}, method) {
				all[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	return all
}

// try makes one call and looks for its row.
func (e *evening) try(a act) {
	e.t.Helper()
	method, path, _ := strings.Cut(a.call, " ")
	is := ""
	if a.ready != nil {
		is = a.ready()
	}
	words := strings.Fields(strings.Replace(a.on, "{}", url.PathEscape(is), 1))
	path = parameter.ReplaceAllStringFunc(path, func(string) (word string) {
		word, words = words[0], words[1:]
		return word
	}) + a.query
	kind, body := "application/json", a.body
	if text, csv := body.(string); csv {
		kind, body = "text/csv", strings.ReplaceAll(text, "{}", is)
	}
	if make, has := body.(func() map[string]any); has {
		body = make()
	}
	if m, has := body.(map[string]any); has {
		raw, _ := json.Marshal(m)
		body = []byte(strings.ReplaceAll(string(raw), `"{}"`, is))
	}
	key, headers := e2e.AdminKey, []string{"Content-Type", kind}
	if a.cookie {
		key, headers = "", append(headers, e.signIn()...)
	}
	got := e.Ask(e.t, method, e.AdminURL+path, key, body, headers...)
	if got.Status != max(a.want, 200) {
		e.t.Fatalf("%s (%s): status %d, want %d: %s", a.call, path, got.Status, a.want, got.Body)
	}
	said := why
	if raw, _ := body.([]byte); !strings.Contains(string(raw), why) && a.query == "" {
		said = ""
	}
	id := got.Header.Get("X-Request-Id")
	rows := e.recorded()
	at := slices.IndexFunc(rows, func(r auditRow) bool { return id != "" && r.RequestID == id && r.Reason == said })
	if at < 0 || rows[at].Action == "" || rows[at].Object == "" || rows[at].Actor.KeyID == "" || rows[at].Reason != said {
		e.t.Errorf("%s, call %q for %q, left no such row: %+v", a.call, id, said, rows[:min(3, len(rows))])
	}
}

// signIn gives the headers of a new session.
func (e *evening) signIn() []string {
	e.t.Helper()
	got := e.Ask(e.t, "POST", e.AdminURL+"/v1/admin/sessions", "", map[string]any{"key": e2e.AdminKey})
	var s struct {
		Token string `json:"csrf_token"`
	}
	got.Into(e.t, &s)
	cookie, _, _ := strings.Cut(got.Header.Get("Set-Cookie"), ";")
	return []string{"Cookie", cookie, "X-CSRF-Token", s.Token}
}

// auditRow is a row of the audit log.
type auditRow struct {
	Actor struct {
		KeyID string `json:"key_id"`
	}
	Action    string
	Object    string
	Reason    string
	RequestID string `json:"request_id"`
}

// recorded gives the newest rows.
func (e *evening) recorded() []auditRow {
	e.t.Helper()
	var page struct{ Items []auditRow }
	e.Admin(e.t, "GET", "/v1/admin/audit-log?limit=10", nil, 200).Into(e.t, &page)
	return page.Items
}

// parameter is a path's parameter.
var parameter = regexp.MustCompile(`\{\w+\}`)

const why = "because of the test"

var reason = "?reason=" + url.QueryEscape(why)

// because gives a body that has a reason, with names and values in turn beside it.
func because(more ...any) map[string]any {
	m := map[string]any{"reason": why}
	for i := 0; i+1 < len(more); i += 2 {
		m[fmt.Sprint(more[i])] = more[i+1]
	}
	return m
}

func (e *evening) ofCampaigns() []act {
	soon := e2e.Goods("later", 50, 1, map[string]any{"draft": true,
		"starts_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		"ends_at":   time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)})
	signed := func() string {
		var p struct{ Run int64 }
		e.Admin(e.t, "GET", "/v1/admin/campaigns/spring/preflight", nil, 200).Into(e.t, &p)
		return fmt.Sprint(p.Run)
	}
	return []act{
		{call: "POST /v1/admin/campaigns", body: soon, want: 201},
		{call: "PATCH /v1/admin/campaigns/{id}", on: "later", body: map[string]any{"title": "Later"}},
		{call: "POST /v1/admin/campaigns/{id}/publish", on: "later", body: because()},
		{call: "POST /v1/admin/campaigns/{id}/clone", on: "later", want: 201, body: map[string]any{"id": "again",
			"starts_at": soon["starts_at"], "ends_at": soon["ends_at"]}},
		{call: "POST /v1/admin/campaigns/{id}/adjustments", on: "spring",
			body: because("change_id", "c1", "delta", 5)},
		{call: "POST /v1/admin/campaigns/{id}/audience", on: "later", body: "user_id\nu1\n"},
		{call: "PUT /v1/admin/campaigns/{id}/audience", on: "later", body: "user_id\nu2\n"},
		{call: "POST /v1/admin/campaigns/{id}/audience/remove", on: "later", body: "user_id\nu2\n"},
		{call: "POST /v1/admin/campaigns/{id}/grants", on: "spring",
			body: because("grant_id", "g1", "user_id", "friend", "quantity", 1)},
		{call: "POST /v1/admin/campaigns/{id}/grants/bulk", on: "spring",
			body: "grant_id,user_id,quantity\ng2,other,1\n"},
		{call: "POST /v1/admin/campaigns/{id}/pause", on: "tickets", body: because()},
		{call: "POST /v1/admin/campaigns/{id}/resume", on: "tickets", body: because()},
		{call: "POST /v1/admin/campaigns/{id}/preflight", on: "spring"},
		{call: "POST /v1/admin/campaigns/{id}/preflight/sign-off", on: "spring",
			ready: signed, body: because("run", "{}")},
		{call: "POST /v1/admin/campaigns/{id}/preheat", on: "later", body: because()},
		{call: "POST /v1/admin/campaigns/{id}/rearm", on: "spring", body: because()},
		{call: "POST /v1/admin/campaigns/{id}/rehearsals", on: "later", want: 202,
			body: because("id", "try", "buyers", 10, "seconds", 1)},
		{call: "POST /v1/admin/reconcile", body: because("campaign_id", "spring")},
		e.repair(),
		{call: "POST /v1/admin/campaigns/{id}/report/links", on: "spring", want: 201,
			body: because("note", "the board")},
		{call: "DELETE /v1/admin/campaigns/{id}/report/links/{link}", on: "spring {}", query: reason,
			ready: e.shared},
		{call: "POST /v1/admin/campaigns/{id}/end", on: "again", body: because()},
	}
}

// shared makes a link to a report and gives its id.
func (e *evening) shared() string {
	e.t.Helper()
	var l struct{ ID string }
	e.Admin(e.t, "POST", "/v1/admin/campaigns/spring/report/links", map[string]any{}, 201).Into(e.t, &l)
	return l.ID
}

// repair has the gate of a campaign that nobody compares yet forget a claim, finds that dry, and repairs it.
func (e *evening) repair() act {
	var run struct {
		ID    int64
		Found []struct {
			ClaimID string `json:"claim_id"`
			Alone   bool
			Seen    string
		}
	}
	lost := func() string {
		grant := because("grant_id", "g9", "user_id", "lost", "quantity", 1)
		if !e.Eventually(20*time.Second, func() bool {
			e.Admin(e.t, "POST", "/v1/admin/campaigns/later/grants", grant, 200) // BUSY until the gate is armed
			claims := strings.TrimSpace(e.redis.Do("KEYS", "*later*:claims"))
			return claims != "" && strings.TrimSpace(e.redis.Do("DEL", claims)) == "1"
		}) {
			e.t.Fatalf("the gate never knew the grant: %s", e.redis.Do("KEYS", "*later*"))
		}
		e.Admin(e.t, "POST", "/v1/admin/reconcile", because("campaign_id", "later", "dry_run", true), 200).Into(e.t, &run)
		if len(run.Found) == 0 || !run.Found[0].Alone {
			e.t.Fatalf("a dry run finds %+v", run)
		}
		return fmt.Sprint(run.ID)
	}
	return act{call: "POST /v1/admin/reconcile/{id}/repair", on: "{}", ready: lost, body: func() map[string]any {
		return because("claim_id", run.Found[0].ClaimID, "seen", run.Found[0].Seen)
	}}
}

// bought gives what a new buyer has got, once it is settled.
func (e *evening) bought(campaign, user string) (c e2e.Claim) {
	e.t.Helper()
	if !e.Eventually(20*time.Second, func() bool {
		c = e.Claim(e.t, campaign, user, "r-"+user, 1)
		return c.Code == "CONFIRMED"
	}) {
		e.t.Fatalf("%s has not got a unit of %s: %+v", user, campaign, c)
	}
	return c
}

func (e *evening) ofTrade() []act {
	order := func(user string, paid bool) func() string {
		return func() string {
			c := e.bought("spring", user)
			if paid {
				e.Pay(e.t, "p-"+user, c.OrderID, 9900)
			}
			return c.OrderID
		}
	}
	coupon := func(user string) func() string { return func() string { return e.bought("tickets", user).CouponCode } }
	used := because("merchant_id", "m1", "reference", "order 1")
	used["amount_minor"] = 9000
	return []act{
		{call: "POST /v1/admin/api-keys", want: 201, body: merchant("m2")},
		{call: "POST /v1/admin/orders/{id}/cancel", on: "{}", ready: order("a", false), body: because()},
		{call: "POST /v1/admin/orders/{id}/refund", on: "{}", ready: order("b", true), body: because()},
		{call: "POST /v1/admin/coupons/{code}/redeem", on: "{}", ready: coupon("c"), body: used},
		{call: "POST /v1/admin/coupons/{code}/reverse", on: "{}", ready: coupon("c"),
			body: because("merchant_id", "m1", "reference", "order 1")},
		{call: "POST /v1/admin/coupons/{code}/unlock", on: "{}", ready: e.locked, body: because()},
		{call: "POST /v1/admin/coupons/{code}/revoke", on: "{}", ready: coupon("d"), body: because()},
	}
}

// merchant asks for a merchant's key.
func merchant(id string) map[string]any {
	return map[string]any{"name": "till of " + id, "role": "merchant", "merchant_id": id}
}

// locked gives a coupon that a merchant has locked.
func (e *evening) locked() string {
	e.t.Helper()
	var key struct{ Key string }
	e.Admin(e.t, "POST", "/v1/admin/api-keys", merchant("m1"), 201).Into(e.t, &key)
	code := e.bought("tickets", "e").CouponCode
	lock := map[string]any{"reference": "o2", "lock_s": 600}
	var got e2e.Answer
	if !e.Eventually(10*time.Second, func() bool {
		got = e.Ask(e.t, "POST", e.URL+"/v1/coupons/"+code+"/lock", key.Key, lock)
		return got.Status == 200
	}) {
		e.t.Fatalf("lock: %d %s", got.Status, got.Body)
	}
	return code
}

func (e *evening) ofLists() (acts []act) {
	for _, list := range []string{"blocklist", "allowlist"} {
		at := "/v1/admin/" + list
		entry := func() string {
			var b struct{ ID string }
			e.Admin(e.t, "POST", at, because("scope", "user", "value", "someone"), 201).Into(e.t, &b)
			return b.ID
		}
		csv := "scope,value,reason,expires_at\nuser,row,x,\n"
		acts = append(acts,
			act{call: "POST " + at, body: because("scope", "user", "value", "somebody"), want: 201},
			act{call: "POST " + at + "/import", body: csv},
			act{call: "POST " + at + "/import-jobs", query: reason + "&id=j-" + list,
				body: csv, want: 202},
			act{call: "DELETE " + at + "/{id}", on: "{}", query: reason, ready: entry})
	}
	return append(acts,
		act{call: "PUT /v1/admin/rules/{id}", on: "farm",
			body: map[string]any{"rule": "accounts per device > 2 in 10m -> block 15m", "mode": "on"}},
		act{call: "POST /v1/admin/rules/fired/{id}/lift", on: "{}", query: reason,
			ready: e.fired},
		act{call: "DELETE /v1/admin/rules/{id}", on: "farm", query: reason})
}

// fired gives what the rule has done to a device with many accounts.
func (e *evening) fired() string {
	e.t.Helper()
	try, d := 0, riskAnswer{}
	if !e.Eventually(15*time.Second, func() bool {
		try++
		d = claimOn(e.t, e.Server, "spring", fmt.Sprint("farm", try), "farm-device")
		return d.Code == "BLOCKED"
	}) {
		e.t.Fatalf("the rule does not fire: %+v", d)
	}
	return d.Reference
}

// letter has the queue bring a message that nobody can read, and gives the id of the dead letter that it becomes.
func (e *evening) letter(text string) string {
	e.t.Helper()
	var last int64
	for _, l := range lettersOf(e.t, e.Server, "").Items {
		last = max(last, l.ID)
	}
	outbox := strings.TrimSpace(e.redis.Do("KEYS", "*spring:outbox"))
	e.redis.Do("XADD", outbox, "*", redis.OutboxField, text)
	id := ""
	if !e.Eventually(30*time.Second, func() bool {
		for _, l := range lettersOf(e.t, e.Server, "state=kept").Items {
			if l.ID > last {
				id = fmt.Sprint(l.ID)
			}
		}
		return id != ""
	}) {
		e.t.Fatalf("%q in %s does not become a dead letter", text, outbox)
	}
	return id
}

// running starts a job that takes a while, and gives its id.
func (e *evening) running() string {
	e.t.Helper()
	ask := because("id", "long", "buyers", 10_000, "seconds", 60)
	e.Admin(e.t, "POST", "/v1/admin/campaigns/later/rehearsals", ask, 202)
	return "long"
}

func (e *evening) ofTheServer() []act {
	in := func(path string) func() string {
		return func() string {
			var made struct {
				ID     string
				APIKey struct{ ID string } `json:"api_key"`
			}
			got := e.Admin(e.t, "POST", path, map[string]any{"name": "short", "role": "viewer"}, 201)
			got.Into(e.t, &made)
			return made.ID
		}
	}
	letter := func(text string) func() string { return func() string { return e.letter(text) } }
	session := func() string {
		e.signIn()
		var page struct{ Items []struct{ ID string } }
		e.Admin(e.t, "GET", "/v1/admin/sessions", nil, 200).Into(e.t, &page)
		return page.Items[0].ID
	}
	return []act{
		{call: "POST /v1/admin/api-keys/{id}/rotate", on: "{}", body: because(), ready: in("/v1/admin/api-keys")},
		{call: "DELETE /v1/admin/api-keys/{id}", on: "{}", query: reason,
			ready: in("/v1/admin/api-keys")},
		{call: "POST /v1/admin/dead-letters/replay", ready: letter("one"), body: because("ids", []string{"{}"})},
		{call: "POST /v1/admin/dead-letters/discard", ready: letter("two"), body: because("ids", []string{"{}"})},
		{call: "POST /v1/admin/jobs", body: because("id", "all", "kind", "dead_letters.discard",
			"as_of", time.Now().UTC().Format(time.RFC3339)), want: 202},
		{call: "POST /v1/admin/jobs/{id}/cancel", on: "{}", ready: e.running, body: because()},
		{call: "PUT /v1/admin/log-level", body: map[string]any{"level": "info"}},
		{call: "POST /v1/admin/pass-keys", body: because(), want: 201},
		{call: "PUT /v1/admin/switches/{name}", on: "max_rate", body: because("value", 1000)},
		{call: "DELETE /v1/admin/switches/{name}", on: "max_rate", query: reason},
		{call: "POST /v1/admin/sessions", body: map[string]any{"key": e2e.AdminKey}, want: 201},
		{call: "DELETE /v1/admin/sessions/{id}", on: "{}", query: reason, ready: session},
		{call: "DELETE /v1/admin/sessions/current", cookie: true},
	}
}
