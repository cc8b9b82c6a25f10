package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

func keys() fakeKeys {
	all := fakeKeys{"gone": {Role: sluice.RoleAdmin, RevokedAt: 1}}
	for _, r := range []sluice.Role{
		sluice.RoleViewer, sluice.RoleSupport, sluice.RoleOperator, sluice.RoleAdmin, sluice.RoleMerchant,
	} {
		all[string(r)] = sluice.APIKey{Role: r, Name: "the " + string(r)}
	}
	return all
}

func operators(t testing.TB, cfg api.AdminConfig, deps api.AdminDeps) *api.Admin {
	t.Helper()
	if deps.Keys == nil {
		deps.Keys = keys()
	}
	if cfg.Level == nil {
		cfg.Level = new(slog.LevelVar)
	}
	a, err := api.NewAdmin(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask sends one request to the operators' handler. Headers are "Name: value".
func ask(a *api.Admin, method, uri, body string, headers ...string) answer {
	r := httptest.NewRequest(method, uri, strings.NewReader(body))
	r.RemoteAddr = peer
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return answer{status: w.Code, body: w.Body.String(), header: w.Header().Get}
}

func as(role string) string { return "Authorization: Bearer " + role }

const level = "/v1/admin/log-level"

func TestOperatorsRolesAndProblems(t *testing.T) {
	a := operators(t, api.AdminConfig{}, api.AdminDeps{})
	for _, tt := range []struct {
		name, method, uri, body string
		headers                 []string
		status                  int
		code                    string
	}{
		{"admin", "GET", level, "", []string{as("admin")}, 200, ""},
		{"operator", "GET", level, "", []string{as("operator")}, 403, "FORBIDDEN"},
		{"merchant", "GET", level, "", []string{as("merchant")}, 403, "FORBIDDEN"},
		{"revoked", "GET", level, "", []string{as("gone")}, 401, "UNAUTHENTICATED"},
		{"unknown", "GET", level, "", []string{as("x")}, 401, "UNAUTHENTICATED"},
		{"absent", "GET", level, "", nil, 401, "UNAUTHENTICATED"},
		{"other scheme", "GET", level, "", []string{"Authorization: Basic admin"}, 401, "UNAUTHENTICATED"},
		{"no path", "GET", "/v1/admin/nothing", "", []string{as("admin")}, 404, "NOT_FOUND"},
		{"public path", "GET", "/v1/time", "", []string{as("admin")}, 404, "NOT_FOUND"},
		{"no method", "DELETE", level, "", []string{as("admin")}, 405, "METHOD_NOT_ALLOWED"},
		{"long URI", "GET", level + "?" + strings.Repeat("x", 5000), "", []string{as("admin")}, 414, "URI_TOO_LONG"},
		{"unknown query", "GET", level + "?x=1", "", []string{as("admin")}, 422, "VALIDATION"},

		{"change", "PUT", level, `{"level":"debug"}`, []string{as("admin"), isJSON}, 200, ""},
		{"no body", "PUT", level, ``, []string{as("admin"), isJSON}, 400, "MALFORMED_JSON"},
		{"not JSON", "PUT", level, `{"level"`, []string{as("admin"), isJSON}, 400, "MALFORMED_JSON"},
		{"two values", "PUT", level, `{"level":"debug"}{}`, []string{as("admin"), isJSON}, 400, "MALFORMED_JSON"},
		{"twice", "PUT", level, `{"level":"debug","level":"info"}`, []string{as("admin"), isJSON}, 400, "MALFORMED_JSON"},
		{"twice in other case", "PUT", level, `{"level":"debug","LEVEL":"info"}`, []string{as("admin"), isJSON}, 400,
			"MALFORMED_JSON"},
		{"null field", "PUT", level, `{"level":null}`, []string{as("admin"), isJSON}, 400, "MALFORMED_JSON"},
		{"unknown field", "PUT", level, `{"level":"debug","x":1}`, []string{as("admin"), isJSON}, 422, "VALIDATION"},
		{"wrong value", "PUT", level, `{"level":"loud"}`, []string{as("admin"), isJSON}, 422, "VALIDATION"},
		{"wrong type", "PUT", level, `{"level":7}`, []string{as("admin"), isJSON}, 422, "VALIDATION"},
		{"null", "PUT", level, `null`, []string{as("admin"), isJSON}, 422, "VALIDATION"},
		{"array", "PUT", level, `[]`, []string{as("admin"), isJSON}, 422, "VALIDATION"},
		{"deep", "PUT", level, strings.Repeat("[", 40) + strings.Repeat("]", 40), []string{as("admin"), isJSON}, 400,
			"MALFORMED_JSON"},
		{"large", "PUT", level, strings.Repeat("x", 2<<20), []string{as("admin"), isJSON}, 413, "BODY_TOO_LARGE"},
		{"form", "PUT", level, `level=debug`, []string{as("admin"), "Content-Type: text/plain"}, 415,
			"UNSUPPORTED_MEDIA_TYPE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(a, tt.method, tt.uri, tt.body, append(tt.headers, "X-Request-Id: r-1")...)
			if got.status != tt.status {
				t.Fatalf("status %d, want %d: %s", got.status, tt.status, got.body)
			}
			if got.header("X-Request-Id") != "r-1" || got.header("X-Content-Type-Options") != "nosniff" {
				t.Error("a header that every answer has is missing")
			}
			if tt.status < 400 {
				return
			}
			if got.header("Content-Type") != "application/problem+json" || got.field(t, "code") != tt.code ||
				got.field(t, "request_id") != "r-1" || got.field(t, "title") == "" ||
				got.field(t, "type") != "urn:sluice:problem:"+tt.code {
				t.Errorf("%s %s", got.header("Content-Type"), got.body)
			}
		})
	}
	got := ask(a, "PUT", level, `{"level":"loud"}`, as("admin"), isJSON, "Accept-Language: zh")
	if !strings.HasPrefix(faults(t, got), "level ") || got.field(t, "title") != "部分字段无效" {
		t.Errorf("%s", got.body)
	}
}

// notes keeps what is put down in the audit log, or fails.
type notes struct {
	err  error
	rows []string
}

func (n *notes) Note(
	_ context.Context, a sluice.Actor, action, object string, before, after any, _ sluice.Millis,
) error {
	n.rows = append(n.rows, fmt.Sprint(a.KeyID, " ", action, " ", object, " ", before, " ", after))
	return n.err
}

// TestLogLevelChanges: a change is told at whatever level, and put down; one that cannot be put down is none.
func TestLogLevelChanges(t *testing.T) {
	for _, to := range []string{"debug", "warn", "error"} {
		var out bytes.Buffer
		v, audit := new(slog.LevelVar), &notes{}
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: v}))
		a := operators(t, api.AdminConfig{Level: v, Logger: logger}, api.AdminDeps{Noter: audit})
		ask(a, "PUT", level, `{"level":"`+to+`"}`, as("admin"), isJSON)
		if got := ask(a, "GET", level, "", as("admin")); got.field(t, "level") != to {
			t.Error(got.body)
		}
		if !strings.Contains(out.String(), "log level changed") {
			t.Errorf("to %s: nothing is told:\n%s", to, out.String())
		}
		want := "admin log_level.set server/log_level map[level:info] map[level:" + to + "]"
		if len(audit.rows) != 1 || audit.rows[0] != want {
			t.Errorf("audit log %q, want %q", audit.rows, want)
		}
	}
	v := new(slog.LevelVar)
	a := operators(t, api.AdminConfig{Level: v}, api.AdminDeps{Noter: &notes{err: sluice.ErrUnavailable}})
	got := ask(a, "PUT", level, `{"level":"error"}`, as("admin"), isJSON)
	if got.status != 503 || v.Level() != slog.LevelInfo {
		t.Errorf("without an audit log: %d, level %v", got.status, v.Level())
	}
}

// TestRefusedOperatorsAreLogged: whoever tries keys leaves lines, also by reading, and never the key.
func TestRefusedOperatorsAreLogged(t *testing.T) {
	var out bytes.Buffer
	a := operators(t, api.AdminConfig{Logger: slog.New(slog.NewTextHandler(&out, nil))}, api.AdminDeps{})
	for key, want := range map[string]string{"a-guess": "status=401", "operator": "status=403", "admin": ""} {
		out.Reset()
		ask(a, "GET", level, "", as(key))
		if got := out.String(); strings.Contains(got, "a-guess") || (want == "") != (got == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// TestFailedAuthentications: an address that guesses has to wait; a key that was good lately still works from
// there, and other addresses are not touched.
func TestFailedAuthentications(t *testing.T) {
	now := newClock()
	a := operators(t, api.AdminConfig{Now: now.now}, api.AdminDeps{})
	if got := ask(a, "GET", level, "", as("admin")); got.status != 200 {
		t.Fatal(got.body)
	}
	for i := range 10 {
		if got := ask(a, "GET", level, "", as(fmt.Sprintf("guess-%d", i))); got.status != 401 {
			t.Fatalf("guess %d: %d", i, got.status)
		}
	}
	got := ask(a, "GET", level, "", as("one more"))
	if got.status != 429 || got.header("Retry-After") != "6" {
		t.Errorf("%d, Retry-After %q", got.status, got.header("Retry-After"))
	}
	if got = ask(a, "GET", level, "", as("operator")); got.status != 429 {
		t.Errorf("a right key that was never seen tells itself apart: %d", got.status)
	}
	if got = ask(a, "GET", level, "", as("admin")); got.status != 200 {
		t.Errorf("the operator is locked out: %d", got.status)
	}
	now.add(7 * time.Second)
	if got = ask(a, "GET", level, "", as("one more")); got.status != 401 {
		t.Errorf("after the wait: %d", got.status)
	}
}

// TestFailedAuthenticationsAddUpWhileTimePasses: guesses that take a millisecond each are as many guesses.
func TestFailedAuthenticationsAddUpWhileTimePasses(t *testing.T) {
	now := newClock()
	a := operators(t, api.AdminConfig{Now: now.now}, api.AdminDeps{})
	looked := 0
	for i := range 1000 {
		now.add(time.Millisecond)
		if got := ask(a, "GET", level, "", as(fmt.Sprintf("guess-%d", i))); got.status == 401 {
			looked++
		}
	}
	if looked != 10 {
		t.Errorf("%d of 1000 guesses within a second were looked at, want 10", looked)
	}
	if got := ask(a, "GET", level, ""); got.status != 401 {
		t.Errorf("no key is no guess: %d", got.status)
	}
	now.add(6 * time.Second)
	for range 20 {
		ask(a, "GET", level, "")
	}
	for i, want := range []int{401, 429} {
		if got := ask(a, "GET", level, "", as("later")); got.status != want {
			t.Errorf("guess %d after 6 s: %d, want %d", i, got.status, want)
		}
	}
}

type brokenKeys struct{}

func (brokenKeys) KeyByHash(context.Context, [32]byte) (sluice.APIKey, error) {
	return sluice.APIKey{}, errors.New("the disk says no")
}

func TestKeysThatCannotBeReadAreNoRefusal(t *testing.T) {
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Keys: brokenKeys{}})
	got := ask(a, "GET", level, "", as("admin"))
	if got.status != 500 || strings.Contains(got.body, "disk") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestPagesOfTheOperatorsListener(t *testing.T) {
	waiting := []string{"spring: 40%"}
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Ready: func() []string { return waiting }, Metrics: metrics})
	for _, tt := range []struct {
		uri    string
		status int
		has    string
	}{
		{"/healthz", 200, `"ok"`},
		{"/readyz", 503, "spring: 40%"},
		{"/metrics", 200, "up 1"},
		{"/openapi.json", 200, `"openapi": "3.1.0"`},
		{"/openapi-public.json", 200, `"/v1/campaigns/{id}/claims"`},
		{"/docs", 200, "<!doctype html>"},
		{"/docs/docs.js", 200, "use strict"},
		{"/docs/docs.css", 200, "color-scheme"},
		{"/docs/docs.go", 404, ""},
		{"/debug/pprof/", 401, ""},
	} {
		got := ask(a, "GET", tt.uri, "")
		if got.status != tt.status || !strings.Contains(got.body, tt.has) {
			t.Errorf("%s: %d %.100s", tt.uri, got.status, got.body)
		}
		csp := got.header("Content-Security-Policy")
		if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: policy %q", tt.uri, csp)
		}
	}
	if page := ask(a, "GET", "/docs", ""); strings.Contains(page.body, "://") || strings.Contains(page.body, "onclick") ||
		strings.Count(page.body, "<script") != strings.Count(page.body, "<script src=") {
		t.Error("the docs page loads something from elsewhere, or has a script inside")
	}
	waiting = nil
	if got := ask(a, "GET", "/readyz", ""); got.status != 200 {
		t.Errorf("/readyz: %d", got.status)
	}
	if got := ask(a, "GET", "/debug/pprof/", "", as("operator")); got.status != 403 {
		t.Errorf("pprof for an operator: %d", got.status)
	}
	for _, uri := range []string{"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline"} {
		if got := ask(a, "GET", uri, "", as("admin")); got.status != 200 {
			t.Errorf("%s: %d", uri, got.status)
		}
	}
}

// TestConsoleBesideTheAPI: what is no path of the API is the console's to answer, and nothing of the API is.
func TestConsoleBesideTheAPI(t *testing.T) {
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "console "+r.URL.Path)
	})
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Console: console, Sessions: struct{ api.SessionDesk }{}})
	for _, tt := range []struct {
		method, uri string
		status      int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/campaigns/spring/live", 200}, {"GET", "/v2", 200},
		{"POST", "/", 404}, {"GET", "/v1/admin/nothing", 404}, {"GET", "/v1/time", 404}, {"GET", "/docs/x", 404},
		{"GET", "/debug/x", 404}, {"GET", level, 401}, {"DELETE", level, 405},
	} {
		got := ask(a, tt.method, tt.uri, "")
		if got.status != tt.status || (tt.status == 200) != strings.HasPrefix(got.body, "console") {
			t.Errorf("%s %s: %d %s", tt.method, tt.uri, got.status, got.body)
		}
	}
}

// everyPort gives AdminDeps in which each port is there, and panics when it is used: for descriptions only.
func everyPort(t *testing.T) api.AdminDeps {
	t.Helper()
	return api.AdminDeps{
		Keys: keys(), Noter: &notes{}, Metrics: http.NotFoundHandler(),
		Shelf: struct{ api.CampaignShelf }{}, Campaigns: struct{ api.CampaignDesk }{}, Stock: struct{ api.StockDesk }{},
		Grants: struct{ api.GrantDesk }{}, Audience: struct{ api.AudienceDesk }{}, Switches: struct{ api.SwitchDesk }{},
		Blocklist: everyList{}, Allowlist: everyList{}, Risk: struct{ api.RiskDesk }{}, KeyDesk: struct{ api.KeyDesk }{},
		PassKeys: struct{ api.PassKeyDesk }{}, Audit: struct{ api.AuditLog }{},
		Events: struct{ api.EventFeed }{}, Reports: struct{ api.ReportDesk }{},
		Analysis: struct{ api.AnalysisDesk }{}, Claims: struct{ api.ClaimIndex }{},
		Lookup: struct{ api.LookupDesk }{}, Orders: struct{ api.OrderDesk }{}, Payments: struct{ api.PaymentBook }{},
		Coupons: struct{ api.CouponDesk }{}, Nodes: struct{ api.NodeList }{}, DeadLetters: struct{ api.DeadLetterDesk }{},
		Reconcile: struct{ api.ReconcileDesk }{}, Sessions: struct{ api.SessionDesk }{}, Live: struct{ api.LiveDesk }{},
		Jobs: struct{ api.JobDesk }{}, Preflight: struct{ api.PreflightDesk }{}, System: struct{ api.SystemDesk }{},
		Links:   struct{ api.LinkDesk }{},
		Console: http.NotFoundHandler(), Shards: struct{ api.ShardDesk }{},
	}
}

// everyList is a list that can be written as CSV, imported as a job, and knows whom it hits.
type everyList struct {
	api.BlocklistDesk
	api.ListCSV
	api.BlockLooks
	api.ListJobs
}

func TestOperatorsDescription(t *testing.T) {
	deps := everyPort(t)
	for v, i := reflect.ValueOf(deps), 0; i < v.NumField(); i++ {
		if f := v.Field(i); f.Kind() == reflect.Interface && f.IsNil() {
			t.Errorf("AdminDeps.%s is missing here, and its routes in the description", v.Type().Field(i).Name)
		}
	}
	a := operators(t, api.AdminConfig{}, deps)
	body, err := api.EncodeOpenAPI(a.AdminOpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../api/openapi-admin.json", body)
}

// TestEveryOperatorsCallNeedsAKey walks the description: no call may be open, and none may be for merchants.
func TestEveryOperatorsCallNeedsAKey(t *testing.T) {
	a := operators(t, api.AdminConfig{}, everyPort(t))
	n := 0
	for path, item := range a.AdminOpenAPI().Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if operationOf(item, method) == nil {
				continue
			}
			n++
			uri := strings.NewReplacer("{", "", "}", "").Replace(path)
			if got := askFrom(a, n, method, uri); got.status != 401 {
				t.Errorf("%s %s without a key: %d", method, path, got.status)
			}
			if noKey(method, path) {
				continue
			}
			if got := askFrom(a, n, method, uri, as("merchant")); got.status != 403 {
				t.Errorf("%s %s for a merchant: %d", method, path, got.status)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d calls", n)
	}
}

// noKey says whether a call needs no key: it is in the body, or something else lets in.
func noKey(method, path string) bool {
	return path == "/v1/admin/sessions" && method == "POST" || strings.HasPrefix(path, "/v1/admin/shared/")
}

// askFrom is ask from an address of its own, so that failures do not add up.
func askFrom(a *api.Admin, n int, method, uri string, headers ...string) answer {
	r := httptest.NewRequest(method, uri, strings.NewReader("{}"))
	r.RemoteAddr = fmt.Sprintf("192.0.2.%d:%d", n%250, n)
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return answer{status: w.Code, body: w.Body.String(), header: w.Header().Get}
}

// TestBrokenBodiesOnEveryOperatorsCall sends each kind of broken body to each call that takes JSON.
func TestBrokenBodiesOnEveryOperatorsCall(t *testing.T) {
	a := operators(t, api.AdminConfig{}, everyPort(t))
	for path, item := range a.AdminOpenAPI().Paths {
		for _, method := range []string{"POST", "PUT", "PATCH"} {
			o := operationOf(item, method)
			if o == nil || o.RequestBody == nil || o.RequestBody.Content["application/json"] == nil {
				continue
			}
			uri := strings.NewReplacer("{", "", "}", "").Replace(path)
			for _, body := range []string{
				`{`, `{}{}`, `[]`, `null`, `"x"`, `7`, `{"zzz":1}`, `{"zzz":1,"zzz":2}`, "{\"\xff\":1}", strings.Repeat("[", 5000),
				strings.Repeat("x", 2<<20),
			} {
				got := ask(a, method, uri, body, as("admin"), isJSON)
				if got.status < 400 || got.status >= 500 || got.header("Content-Type") != "application/problem+json" {
					t.Errorf("%s %s with %.20q: %d %.200s", method, path, body, got.status, got.body)
				}
			}
		}
	}
}

func TestOperatorsListenerStops(t *testing.T) {
	a := operators(t, api.AdminConfig{}, api.AdminDeps{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Serve(ln) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for range 2 {
		if err := a.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
