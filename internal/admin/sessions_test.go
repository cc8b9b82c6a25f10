package admin_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// browser is a signed-in browser: its cookie and its CSRF token.
type browser struct {
	*stack
	id, cookie, csrf string
}

func (s *stack) signIn(key string) browser {
	s.t.Helper()
	a := s.call("", "POST", "/v1/admin/sessions", object{"key": key}, "Authorization", "")
	if a.status != http.StatusCreated {
		s.t.Fatalf("sign in: %d %s", a.status, a.body)
	}
	line := a.header.Get("Set-Cookie")
	value, flags, _ := strings.Cut(line, ";")
	for _, flag := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} {
		if !strings.Contains(flags, flag) {
			s.t.Errorf("the cookie has no %s: %s", flag, line)
		}
	}
	if strings.Contains(flags, "Secure") {
		s.t.Errorf("a cookie of plain HTTP is Secure: %s", line)
	}
	return browser{s, a.get(s.t, "id").(string), value, a.get(s.t, "csrf_token").(string)}
}

// ask makes a call as the browser does; headers may replace its own.
func (b browser) ask(method, path string, body any, headers ...string) answer {
	return b.call("", method, path, body, append([]string{
		"Authorization", "", "Cookie", b.cookie, "X-CSRF-Token", b.csrf}, headers...)...)
}

func TestSessionStandsForItsKey(t *testing.T) {
	s := newStack(t)
	made := s.want(201, "POST", "/v1/admin/api-keys", object{"role": "operator", "name": "Olga"})
	b := s.signIn(made.get(t, "key").(string))
	if a := b.ask("GET", "/v1/admin/sessions/current", nil); a.status != 200 || a.get(t, "role") != "operator" ||
		a.get(t, "name") != "Olga" || a.get(t, "csrf_token") != b.csrf {
		t.Errorf("current: %d %s", a.status, a.body)
	}
	for _, tt := range []struct {
		what, method, path string
		body               any
		headers            []string
		status             int
		code               string
	}{
		{"reads", "GET", "/v1/admin/campaigns", nil, []string{"X-CSRF-Token", ""}, 200, ""},
		{"changes", "POST", "/v1/admin/campaigns", goodsBody("spring", 5), nil, 201, ""},
		{"no more than its role", "GET", "/v1/admin/api-keys", nil, nil, 403, "FORBIDDEN"},
		{"no CSRF token", "POST", "/v1/admin/campaigns/spring/pause", nil, []string{"X-CSRF-Token", ""}, 403, "CSRF_TOKEN"},
		{"another's token", "POST", "/v1/admin/campaigns/spring/pause", nil,
			[]string{"X-CSRF-Token", strings.Repeat("0", 64)}, 403, "CSRF_TOKEN"},
		{"another site", "POST", "/v1/admin/campaigns/spring/pause", nil,
			[]string{"Origin", "https://evil.example"}, 403, "FOREIGN_SITE"},
		{"another site, as the browser says", "POST", "/v1/admin/campaigns/spring/pause", nil,
			[]string{"Sec-Fetch-Site", "same-site"}, 403, "FOREIGN_SITE"},
		{"no cookie", "GET", "/v1/admin/campaigns", nil, []string{"Cookie", ""}, 401, "UNAUTHENTICATED"},
		{"a wrong cookie", "GET", "/v1/admin/campaigns", nil, []string{"Cookie", "sluice_session=x"}, 401,
			"UNAUTHENTICATED"},
		{"a long cookie", "GET", "/v1/admin/campaigns", nil,
			[]string{"Cookie", "sluice_session=" + strings.Repeat("x", 3000)}, 401, "UNAUTHENTICATED"},
	} {
		a := b.ask(tt.method, tt.path, tt.body, tt.headers...)
		if a.status != tt.status || (tt.code != "" && a.get(t, "code") != tt.code) {
			t.Errorf("%s: %d %s, want %d %s", tt.what, a.status, a.body, tt.status, tt.code)
		}
	}
	s.want(200, "DELETE", "/v1/admin/api-keys/"+made.get(t, "id").(string), nil)
	if a := b.ask("GET", "/v1/admin/campaigns", nil); a.status != 401 {
		t.Errorf("the session outlives its key: %d", a.status)
	}
}

func TestSignInIsRefused(t *testing.T) {
	s := newStack(t)
	merchant := s.want(201, "POST", "/v1/admin/api-keys", object{"role": "merchant", "name": "m", "merchant_id": "m1"})
	for _, tt := range []struct {
		what    string
		body    any
		headers []string
		status  int
	}{
		{"a merchant", object{"key": merchant.get(t, "key")}, nil, 403},
		{"no key", object{}, nil, 401},
		{"a wrong key", object{"key": "guess"}, nil, 401},
		{"a long key", object{"key": strings.Repeat("x", 513)}, nil, 422},
		{"another site's form", object{"key": bootstrapKey}, []string{"Origin", "https://evil.example"}, 403},
		{"an opaque origin", object{"key": bootstrapKey}, []string{"Origin", "null"}, 403},
		{"another site's script", object{"key": bootstrapKey}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		a := s.call("", "POST", "/v1/admin/sessions", tt.body, append([]string{"Authorization", ""}, tt.headers...)...)
		if a.status != tt.status || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s %q", tt.what, a.status, a.body, a.header.Get("Set-Cookie"))
		}
	}
	last := 0
	for range 12 {
		last = s.call("", "POST", "/v1/admin/sessions", object{"key": "guess"}, "Authorization", "").status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("guessing goes on: %d", last)
	}
}

// TestExpiredSessionLeavesTheDoorOpen: a page that goes on asking with a session that is over cannot keep its operator
// from signing in.
func TestExpiredSessionLeavesTheDoorOpen(t *testing.T) {
	s := newStack(t)
	b := s.signIn(bootstrapKey)
	s.clock.add(12 * time.Hour)
	for range 50 {
		if a := b.ask("GET", "/v1/admin/campaigns", nil); a.status != 401 {
			t.Fatalf("after 12 h: %d", a.status)
		}
	}
	s.signIn(bootstrapKey)
}

func TestSessionsAreListedAndClosed(t *testing.T) {
	s := newStack(t)
	one, two := s.signIn(bootstrapKey), s.signIn(bootstrapKey)
	a := one.ask("GET", "/v1/admin/sessions", nil)
	if got := a.get(t, "items").([]any); len(got) != 2 {
		t.Fatalf("%s", a.body)
	}
	if strings.Contains(string(a.body), strings.TrimPrefix(one.cookie, "sluice_session=")) ||
		strings.Contains(string(a.body), one.csrf) {
		t.Errorf("the list tells secrets: %s", a.body)
	}
	if a := one.ask("DELETE", "/v1/admin/sessions/"+two.id, nil); a.status != 200 {
		t.Errorf("close another: %d %s", a.status, a.body)
	}
	if a := two.ask("GET", "/v1/admin/campaigns", nil); a.status != 401 {
		t.Errorf("a closed session: %d", a.status)
	}
	a = one.ask("DELETE", "/v1/admin/sessions/current", nil)
	if a.status != 200 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign out: %d %q", a.status, a.header.Get("Set-Cookie"))
	}
	if a := one.ask("GET", "/v1/admin/campaigns", nil); a.status != 401 {
		t.Errorf("after the sign-out: %d", a.status)
	}
	if a := s.want(404, "GET", "/v1/admin/sessions/current", nil); a.get(t, "code") != "NO_SESSION" {
		t.Errorf("%s", a.body)
	}
}

// awayLedger is a ledger of sessions that can be away.
type awayLedger struct {
	admin.SessionLedger
	away  bool
	looks int
}

func (l *awayLedger) Session(ctx context.Context, hash [32]byte) (sluice.Session, error) {
	l.looks++
	if l.away {
		return sluice.Session{}, sluice.ErrUnavailable
	}
	return l.SessionLedger.Session(ctx, hash)
}

// TestSessionsWhileTheLedgerIsAway: who was signed in goes on for ten minutes; another key under the same id does not
// fit; and a busy page does not ask the ledger at each call.
func TestSessionsWhileTheLedgerIsAway(t *testing.T) {
	s := newStack(t)
	ctx := t.Context()
	keys := admin.NewKeys(admin.KeysConfig{Ledger: s.db, Bootstrap: []string{"old", "new"}})
	ledger := &awayLedger{SessionLedger: s.db}
	desk := admin.NewSessions(admin.SessionsConfig{Ledger: ledger, Keys: keys, Now: s.clock.now})
	k, err := keys.KeyByHash(ctx, hashOf("old"))
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := desk.Open(ctx, k, strings.Repeat("中", 100), sluice.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got, _, err := desk.Who(ctx, secret); err != nil || got.Role != sluice.RoleAdmin {
			t.Fatalf("%+v %v", got, err)
		}
	}
	if ledger.looks != 1 {
		t.Errorf("%d looks at the ledger for ten calls", ledger.looks)
	}
	ledger.away = true
	s.clock.add(9 * time.Minute)
	if _, _, err := desk.Who(ctx, secret); err != nil {
		t.Errorf("after nine minutes: %v", err)
	}
	s.clock.add(2 * time.Minute)
	if _, _, err := desk.Who(ctx, secret); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("after eleven minutes: %v", err)
	}
	ledger.away = false
	rotated := admin.NewKeys(admin.KeysConfig{Ledger: s.db, Bootstrap: []string{"new"}})
	desk = admin.NewSessions(admin.SessionsConfig{Ledger: ledger, Keys: rotated, Now: s.clock.now})
	if _, _, err := desk.Who(ctx, secret); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("the configuration's key was changed: %v", err)
	}
}

func hashOf(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

// TestAPlantedCookieIsNeverTakenOver: who signs in with a cookie that somebody else has put into the browser, made up
// or of a session of theirs, gets a new one; what was planted stands for nobody else than before.
func TestAPlantedCookieIsNeverTakenOver(t *testing.T) {
	s := newStack(t)
	key := func(name, role string) string {
		return s.want(201, "POST", "/v1/admin/api-keys", object{"role": role, "name": name}).get(t, "key").(string)
	}
	attacker := s.signIn(key("Mallory", "viewer"))
	victim := key("Olga", "operator")
	who := func(cookie string) (name any, status int) {
		a := s.call("", "GET", "/v1/admin/sessions/current", nil, "Authorization", "", "Cookie", cookie)
		if a.status == http.StatusOK {
			name = a.get(t, "name")
		}
		return name, a.status
	}
	madeUp := "sluice_session=" + strings.Repeat("A", 43)
	for _, planted := range []string{madeUp, attacker.cookie, attacker.cookie + "; " + madeUp, "sluice_session="} {
		a := s.call("", "POST", "/v1/admin/sessions", object{"key": victim}, "Authorization", "", "Cookie", planted)
		given, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		if a.status != http.StatusCreated || a.get(t, "name") != "Olga" || len(given) < len(madeUp) ||
			strings.Contains(planted, given) || a.get(t, "csrf_token") == attacker.csrf {
			t.Errorf("%s: %d %s, cookie %q", planted, a.status, a.body, given)
		}
		if name, _ := who(given); name != "Olga" {
			t.Errorf("%s: the new cookie stands for %v", planted, name)
		}
	}
	if name, status := who(madeUp); status != http.StatusUnauthorized {
		t.Errorf("what was made up stands for %v: %d", name, status)
	}
	if name, _ := who(attacker.cookie); name != "Mallory" {
		t.Errorf("the attacker's cookie stands for %v", name)
	}
}
