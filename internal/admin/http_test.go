package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

func TestACampaignFromItsCreationToItsEnd(t *testing.T) {
	s := newStack(t)
	a := s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	for path, want := range map[string]any{"id": "spring", "state": "live", "available": 100.0, "queued": 0.0, "held": 0.0,
		"sold": 0.0, "revision": 1.0, "goods.unpaid_window_s": 900.0, "goods.limit_back_on_close": true,
		"protection.pass": "off"} {
		if got := a.get(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	again := s.want(409, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	if again.get(t, "code") != "CAMPAIGN_EXISTS" {
		t.Errorf("the same id again: %s", again.body)
	}
	tag := a.header.Get("ETag")
	edited := s.want(200, "PATCH", "/v1/admin/campaigns/spring", object{"title": "New"}, "If-Match", tag)
	if edited.get(t, "title") != "New" {
		t.Errorf("edited: %s", edited.body)
	}
	lost := s.want(409, "PATCH", "/v1/admin/campaigns/spring", object{"title": "Newer"}, "If-Match", tag)
	if lost.get(t, "code") != "CAMPAIGN_CHANGED" {
		t.Errorf("a lost update: %s", lost.body)
	}
	for _, c := range []struct{ cmd, state string }{
		{"pause", "paused"}, {"pause", "paused"}, {"resume", "live"}, {"end", "ended"},
	} {
		a = s.want(200, "POST", "/v1/admin/campaigns/spring/"+c.cmd, object{"reason": "test"})
		if a.get(t, "state") != c.state {
			t.Errorf("after %s: %s", c.cmd, a.body)
		}
		if in, _ := s.gate.Campaign("spring"); in.StateAt(now, 1) != sluice.CampaignState(c.state) {
			t.Errorf("after %s the gate has %s", c.cmd, in.Control)
		}
	}
	if a = s.want(409, "POST", "/v1/admin/campaigns/spring/resume", nil); a.get(t, "code") != "CAMPAIGN_STATE" {
		t.Errorf("resumed after its end: %s", a.body)
	}
	clone := s.want(201, "POST", "/v1/admin/campaigns/spring/clone", object{"id": "summer", "total": 7})
	if clone.get(t, "state") != "draft" || clone.get(t, "total") != 7.0 || clone.get(t, "title") != "New" {
		t.Errorf("the clone: %s", clone.body)
	}
	if a = s.want(200, "POST", "/v1/admin/campaigns/summer/publish", nil); a.get(t, "state") != "scheduled" {
		t.Errorf("published: %s", a.body)
	}
	for _, path := range []string{"/nope", "/nope/verify", "/nope/report", "/nope/live"} {
		if a = s.want(404, "GET", "/v1/admin/campaigns"+path, nil); a.get(t, "code") != "UNKNOWN_CAMPAIGN" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

func TestACreateBodyHearsOfEveryFault(t *testing.T) {
	s := newStack(t)
	a := s.want(422, "POST", "/v1/admin/campaigns", object{"kind": "goods", "total": -5, "per_user_limit": 0,
		"goods": object{"price_minor": 100, "unpaid_window_s": 0}})
	var p struct{ Errors []struct{ Field string } }
	a.into(t, &p)
	var fields []string
	for _, e := range p.Errors {
		fields = append(fields, e.Field)
	}
	want := "title total per_user_limit starts_at ends_at goods.currency goods.unpaid_window_s"
	if strings.Join(fields, " ") != want {
		t.Errorf("faults of %v, want %s", fields, want)
	}
	a = s.want(422, "POST", "/v1/admin/campaigns", object{"colour": "red"})
	if !strings.Contains(string(a.body), "colour") {
		t.Errorf("an unknown field: %s", a.body)
	}
}

func TestStockChangesThroughOneDoor(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	if a := s.want(200, "POST", "/v1/admin/campaigns/spring/preheat", nil); a.get(t, "armed") != true ||
		a.get(t, "verification.ok") != true {
		t.Fatalf("preheat: %s", a.body)
	}
	for _, c := range []struct {
		id             string
		delta          int64
		applied, total float64
	}{
		{"up", 5, 5, 15},
		{"down", -4, -4, 11},
		{"down", -4, -4, 11}, // repeated
		{"too far", -100, -11, 0},
		{"back", 3, 3, 3},
	} {
		a := s.want(200, "POST", "/v1/admin/campaigns/spring/adjustments", object{"change_id": c.id, "delta": c.delta})
		if a.get(t, "applied") != c.applied || a.get(t, "total") != c.total {
			t.Errorf("%s: %s", c.id, a.body)
		}
		if p, _, _ := s.admission.Permit("spring"); float64(p.Available) != c.total {
			t.Errorf("after %s the permit has %d, want %v", c.id, p.Available, c.total)
		}
	}
	for name, body := range map[string]object{"zero": {"change_id": "z", "delta": 0}, "none": {"change_id": "z"},
		"no id": {"delta": 1}, "huge": {"change_id": "z", "delta": 1 << 40}} {
		if a := s.call(bootstrapKey, "POST", "/v1/admin/campaigns/spring/adjustments", body); a.status != 422 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	a := s.want(409, "POST", "/v1/admin/campaigns/spring/adjustments", object{"change_id": "up", "delta": 6})
	if a.get(t, "code") != "CHANGE_ID_REUSED" {
		t.Errorf("another delta: %s", a.body)
	}
	s.verified("spring")
}

func TestGrantsAreClaimsOnceAGrantID(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", couponBody("gift", 5))
	path := "/v1/admin/campaigns/gift/grants"
	first := s.want(200, "POST", path, object{"grant_id": "g1", "user_id": "u1", "quantity": 2})
	if first.get(t, "code") != "CONFIRMED" || first.get(t, "coupon_codes.1") == "" {
		t.Fatalf("granted: %s", first.body)
	}
	again := s.want(200, "POST", path, object{"grant_id": "g1", "user_id": "u1", "quantity": 2})
	if again.get(t, "replayed") != true || again.get(t, "coupon_code") != first.get(t, "coupon_code") ||
		again.get(t, "claim_id") != first.get(t, "claim_id") {
		t.Errorf("again: %s, first %s", again.body, first.body)
	}
	a := s.want(409, "POST", path, object{"grant_id": "g1", "user_id": "u1", "quantity": 1})
	if a.get(t, "code") != "REQUEST_ID_REUSED" {
		t.Errorf("another quantity: %s", a.body)
	}
	for quantity, want := range map[int]int{-5: 422, 0: 422, 4: 422, 1: 200} {
		body := object{"grant_id": "g2", "user_id": "u1", "quantity": quantity}
		if a := s.call(bootstrapKey, "POST", path, body); a.status != want {
			t.Errorf("quantity %d: %d %s", quantity, a.status, a.body)
		}
	}
	if a := s.want(200, "POST", path, object{"grant_id": "g3", "user_id": "u1"}); a.get(t, "code") != "LIMIT_REACHED" {
		t.Errorf("above the limit: %s", a.body)
	}
	a = s.want(200, "POST", path, object{"grant_id": "g4", "user_id": "u2", "quantity": 3})
	if a.get(t, "code") != "SOLD_OUT" {
		t.Errorf("above the total: %s", a.body)
	}
	s.verified("gift")
}

func TestABulkOfGrantsGoesOnOverBadLines(t *testing.T) {
	const rows = manyRows
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100_000))
	var csv, lines bytes.Buffer
	csv.WriteString("\ufeffgrant_id,user_id,quantity\r\n")
	bad := map[int]string{7: "g7,,1", 500: "g500,u500,-1", 501: "g501,u501,0", 502: `g502,"u502`,
		503: "g503," + strings.Repeat("u", 5000),
		504: "g504,u504,many", 505: "g505,u505,1.5", 506: "g506,u506,4"}
	for i := range rows {
		if line, ok := bad[i]; ok {
			fmt.Fprintln(&csv, line)
		} else {
			fmt.Fprintf(&csv, "g%d,u%d,1\n", i, i)
		}
		fmt.Fprintf(&lines, "{\"grant_id\":\"g%d\",\"user_id\":\"u%d\"}\n", i, i)
	}
	path := "/v1/admin/campaigns/spring/grants/bulk"
	results, totals := bulkAnswer(t, s.want(200, "POST", path, &csv, "Content-Type", "text/csv"))
	if len(results) != rows {
		t.Fatalf("%d results, want %d", len(results), rows)
	}
	for i, r := range results {
		_, wrong := bad[i]
		code := map[bool]string{true: "VALIDATION", false: "CONFIRMED"}[wrong]
		if r.Line != int64(i+2) || r.Code != code || wrong != (r.Detail != "") {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	faulty := int64(len(bad))
	if !totals.Done || totals.Lines != rows || totals.Faults != faulty || totals.Confirmed != rows-faulty {
		t.Errorf("totals: %+v", totals)
	}
	// The same grants again, as JSON lines: what was done answers the same, what was wrong is made good.
	results, totals = bulkAnswer(t, s.want(200, "POST", path, &lines, "Content-Type", "application/x-ndjson"))
	if len(results) != rows || totals.Replayed != rows-int64(len(bad)) || totals.Confirmed != int64(len(bad)) {
		t.Errorf("again: %d results, totals %+v", len(results), totals)
	}
	s.verified("spring")
	if a := s.want(200, "GET", "/v1/admin/campaigns/spring", nil); a.get(t, "held") != float64(rows) {
		t.Errorf("held: %s", a.body)
	}
	audit := s.want(200, "GET", "/v1/admin/audit-log?action=grants.*&object=campaign/spring", nil)
	if audit.get(t, "items.0.after.replayed") != float64(rows-faulty) ||
		audit.get(t, "items.3.action") != "grants.begin" {
		t.Errorf("the audit log: %s", audit.body)
	}
}

type bulkResult struct {
	Line         int64
	Code, Detail string
}

type bulkTotals struct {
	Done                               bool
	Lines, Confirmed, Replayed, Faults int64
	Error                              object
}

// bulkAnswer reads the lines of a bulk's answer.
func bulkAnswer(t *testing.T, a answer) (results []bulkResult, totals bulkTotals) {
	t.Helper()
	all := bytes.Split(bytes.TrimSpace(a.body), []byte("\n"))
	results = make([]bulkResult, len(all)-1)
	for i, line := range all {
		into := any(&totals)
		if i < len(results) {
			into = &results[i]
		}
		if err := json.Unmarshal(line, into); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return results, totals
}

// TestLinesThatCanBeReadInTwoWays: a grant goes to whom the line names, or to nobody.
func TestLinesThatCanBeReadInTwoWays(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	path := "/v1/admin/campaigns/spring/grants/bulk"
	for kind, body := range map[string]string{
		"text/csv": "user_id,grant_id\nsmith,john,g1\nu,g,2\nu,g,\n",
		"application/x-ndjson": `{"user_id":"a","user_id":"b","grant_id":"g"}` + "\n" +
			`{"user_id":"a","USER_ID":"b","grant_id":"g"}` + "\n" + `{"user_id":"a","grant_id":"g","quantity":null}`,
	} {
		results, totals := bulkAnswer(t, s.want(200, "POST", path, strings.NewReader(body), "Content-Type", kind))
		if totals.Faults != 3 || len(results) != 3 {
			t.Errorf("%s: %+v %+v", kind, totals, results)
		}
	}
	csv := strings.NewReader("user_id,grant_id,quantity\nu,g1\nu,g2,\n") // a quantity may be left out
	if _, totals := bulkAnswer(t, s.want(200, "POST", path, csv, "Content-Type", "text/csv")); totals.Confirmed != 2 {
		t.Errorf("%+v", totals)
	}
}

func TestABulkThatCannotBeReadIsRefusedAsAWhole(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	path := "/v1/admin/campaigns/spring/grants/bulk"
	for _, c := range []struct {
		name, path, kind, body string
		status                 int
		code                   string
	}{
		{"another type", path, "text/html", "x", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"no header", path, "text/csv", "u1,g1\n", 422, "VALIDATION"},
		{"nothing", path, "text/csv", "", 422, "VALIDATION"},
		{"a column twice", path, "text/csv", "user_id,grant_id,user_id\n", 422, "VALIDATION"},
		{"a column too many", path, "text/csv", "user_id,grant_id,colour\n", 422, "VALIDATION"},
		{"no campaign", "/v1/admin/campaigns/nope/grants/bulk", "text/csv", "user_id,grant_id\n", 404, "UNKNOWN_CAMPAIGN"},
	} {
		a := s.want(c.status, "POST", c.path, strings.NewReader(c.body), "Content-Type", c.kind)
		if a.get(t, "code") != c.code {
			t.Errorf("%s: %s", c.name, a.body)
		}
	}
}

func TestSwitchesAreInForceAndSurvive(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	for _, c := range []struct {
		name string
		body object
		want int
	}{
		{"nope", object{"value": 1}, 404},
		{"closed", object{}, 422},
		{"closed", object{"value": 0.5}, 422},
		{"max_rate", object{"value": -1}, 422},
		{"max_rate", object{"value": 10_000_001}, 422},
		{"payments_down", object{"value": 1, "campaign_id": "spring"}, 422},
		{"closed", object{"value": 1, "campaign_id": "nope"}, 404},
		{"closed", object{"value": 1, "campaign_id": "spr ing"}, 422},
		{"closed", object{"value": 1, "campaign_id": "spring", "reason": "a mistake"}, 200},
		{"max_rate", object{"value": 500}, 200},
	} {
		if a := s.call(bootstrapKey, "PUT", "/v1/admin/switches/"+c.name, c.body); a.status != c.want {
			t.Errorf("%s %v: %d %s, want %d", c.name, c.body, a.status, a.body, c.want)
		}
	}
	a := s.want(200, "PUT", "/v1/admin/switches/max_rate", object{"value": 900})
	if a.get(t, "before") != 500.0 || a.get(t, "nodes") != 1.0 || a.get(t, "in_force") != 1.0 {
		t.Errorf("the answer: %s", a.body)
	}
	for range 2 { // the second time after a restart
		req := &sluice.ClaimRequest{Campaign: "spring", At: now}
		if d := s.gate.Claim(context.Background(), req); d.Reason != sluice.ReasonClosed {
			t.Errorf("a claim on a closed campaign: %s", d.Reason)
		}
		if list := s.want(200, "GET", "/v1/admin/switches", nil); list.get(t, "items.0.settings.0.campaign_id") != "spring" {
			t.Errorf("the list: %s", list.body)
		}
		s.restart()
	}
	s.want(200, "DELETE", "/v1/admin/switches/closed?campaign_id=spring", nil)
	d := s.gate.Claim(context.Background(), &sluice.ClaimRequest{Campaign: "spring", At: now})
	if d.Reason != sluice.ReasonUnauthenticated {
		t.Errorf("a claim after it was cleared: %s", d.Reason)
	}
	log := s.want(200, "GET", "/v1/admin/audit-log?object=switch/max_rate", nil)
	if log.get(t, "items.0.before.value") != 500.0 || log.get(t, "items.0.after.value") != 900.0 {
		t.Errorf("the audit log: %s", log.body)
	}
}

func TestRolesAndRevocation(t *testing.T) {
	s := newStack(t)
	key := map[string]string{}
	id := map[string]string{}
	for _, role := range []string{"viewer", "support", "operator", "admin", "merchant"} {
		body := object{"role": role, "name": role + "'s"}
		if role == "merchant" {
			body["merchant_id"] = "m1"
		}
		a := s.want(201, "POST", "/v1/admin/api-keys", body)
		key[role], id[role] = a.get(t, "key").(string), a.get(t, "id").(string)
		if !strings.HasPrefix(key[role], "slk_") || len(key[role]) != 47 {
			t.Errorf("a key of %d characters: %.8s…", len(key[role]), key[role])
		}
	}
	for _, c := range []struct {
		method, path string
		body         any
		who          string // the lowest role that may
	}{
		{"GET", "/v1/admin/campaigns", nil, "viewer"},
		{"GET", "/v1/admin/campaigns/none/report", nil, "viewer"},
		{"GET", "/v1/admin/switches", nil, "viewer"},
		{"GET", "/v1/admin/audit-log", nil, "support"}, // from here on it is about single people
		{"GET", "/v1/admin/blocklist", nil, "support"},
		{"GET", "/v1/admin/blocklist/none", nil, "support"},
		{"GET", "/v1/admin/events", nil, "support"},
		{"GET", "/v1/admin/lookup?q=alice", nil, "support"},
		{"POST", "/v1/admin/campaigns", object{}, "operator"},
		{"PUT", "/v1/admin/switches/closed", object{}, "operator"},
		{"POST", "/v1/admin/blocklist", object{}, "operator"},
		{"GET", "/v1/admin/api-keys", nil, "admin"},
	} {
		may := false
		for _, role := range []string{"viewer", "support", "operator", "admin"} {
			may = may || role == c.who
			if a := s.call(key[role], c.method, c.path, c.body); may == (a.status == 403) || a.status == 401 {
				t.Errorf("%s %s as %s: %d", c.method, c.path, role, a.status)
			}
		}
		if a := s.call(key["merchant"], c.method, c.path, c.body); a.status != 403 {
			t.Errorf("%s %s as a merchant: %d", c.method, c.path, a.status)
		}
	}
	s.want(200, "DELETE", "/v1/admin/api-keys/"+id["operator"], nil)
	for range 2 { // the second time after a restart
		if a := s.call(key["operator"], "GET", "/v1/admin/campaigns", nil); a.status != 401 {
			t.Errorf("a revoked key: %d", a.status)
		}
		if a := s.call(key["viewer"], "GET", "/v1/admin/campaigns", nil); a.status != 200 {
			t.Errorf("another key: %d", a.status)
		}
		s.restart()
	}
	list := s.want(200, "GET", "/v1/admin/api-keys", nil)
	for role, k := range key {
		if strings.Contains(string(list.body), k) {
			t.Errorf("the %s's key is shown again", role)
		}
	}
	if a := s.want(409, "DELETE", "/v1/admin/api-keys/key_bootstrap", nil); a.get(t, "code") != "BOOTSTRAP_KEY" {
		t.Errorf("revoking the first key: %s", a.body)
	}
	for name, body := range map[string]object{"no role": {"name": "x"}, "no name": {"role": "viewer"},
		"no merchant":         {"name": "x", "role": "merchant"},
		"a merchant's viewer": {"name": "x", "role": "viewer", "merchant_id": "m"}} {
		if a := s.call(bootstrapKey, "POST", "/v1/admin/api-keys", body); a.status != 422 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestBlocksAreNormalisedAndInForce(t *testing.T) {
	s := newStack(t)
	for value, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.9": "192.0.2.9", "192.0.2.77/24": "192.0.2.0/24",
		"192.0.2.5/32":   "192.0.2.5",
		"2001:db8::1/32": "2001:db8::/32", "::ffff:198.51.100.0/120": "198.51.100.0/24",
		"0.0.0.0/0": "", "10.0.0.0/7": "", "::/0": "", "fe80::1%eth0": "", "nobody": "", "300.1.1.1": "", "": "",
	} {
		a := s.call(bootstrapKey, "POST", "/v1/admin/blocklist", object{"scope": "address", "value": value})
		if want == "" && a.status != 422 || want != "" && (a.status != 201 || a.get(t, "value") != want) {
			t.Errorf("%s: %d %s, want %q", value, a.status, a.body, want)
		}
	}
	past := object{"scope": "user", "value": "u1", "expires_at": now.Time()}
	s.want(422, "POST", "/v1/admin/blocklist", past)
	b := s.want(201, "POST", "/v1/admin/blocklist", object{"scope": "device", "value": "d1",
		"expires_at": now.Time().Add(time.Minute)})
	path := "/v1/admin/blocklist/" + b.get(t, "id").(string)
	s.want(200, "GET", path, nil)
	s.clock.add(2 * time.Minute)
	if a := s.want(200, "GET", "/v1/admin/blocklist?scope=device", nil); strings.Contains(string(a.body), "d1") {
		t.Errorf("an expired block is listed: %s", a.body)
	}
	page := s.want(200, "GET", "/v1/admin/blocklist?limit=2", nil)
	rest := s.want(200, "GET", "/v1/admin/blocklist?limit=1000&cursor="+page.get(t, "next_cursor").(string), nil)
	var items struct{ Items []object }
	if rest.into(t, &items); len(items.Items) != 4 {
		t.Errorf("the second page has %d blocks, want 4: six that differ, two on the first", len(items.Items))
	}
	s.want(200, "DELETE", path, nil)
	s.want(404, "DELETE", path, nil)
}

func TestAudiencesAreReplacedAndTrimmed(t *testing.T) {
	s := newStack(t)
	body := goodsBody("spring", 10)
	body["eligibility"] = object{"audience": true}
	s.want(201, "POST", "/v1/admin/campaigns", body)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("open", 10))
	path := "/v1/admin/campaigns/spring/audience"
	for _, c := range []struct {
		method, path, body string
		want               object
	}{
		{"POST", path, "user_id,name\nu1,Ann\nu2,Bob\n\nu1,Ann\n", object{"added": 2.0, "total": 2.0, "lines": 3.0}},
		{"PUT", "/v1/admin/campaigns/open/audience", "u1\n", object{"total": 1.0, "asked_for": false}}, // keeps nobody out
		{"POST", path, "u3\n" + strings.Repeat("x", 65) + "\n\x01\n", object{"added": 1.0, "total": 3.0, "faulty": 2.0}},
		{"PUT", path, "u3\nu4\n", object{"added": 1.0, "removed": 2.0, "total": 2.0, "asked_for": true}},
		{"POST", path + "/remove", "u4\nu9\n", object{"removed": 1.0, "total": 1.0}},
	} {
		a := s.want(200, c.method, c.path, strings.NewReader(c.body), "Content-Type", "text/csv")
		for field, want := range c.want {
			if a.get(t, field) != want {
				t.Errorf("%s %q: %s, want %v", c.method, c.body, a.body, c.want)
			}
		}
	}
	users, err := s.db.AudiencePage(context.Background(), "spring", "", 10)
	if err != nil || len(users) != 1 || users[0] != "u3" {
		t.Errorf("what is left: %v %v", users, err)
	}
}
