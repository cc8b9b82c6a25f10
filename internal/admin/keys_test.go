package admin_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

const keysPath = "/v1/admin/api-keys"

// made makes a key and gives its id and its secret.
func (s *stack) made(body object) (id, secret string) {
	s.t.Helper()
	a := s.want(201, "POST", keysPath, body)
	return a.get(s.t, "id").(string), a.get(s.t, "key").(string)
}

// rotated gives a key a new secret and gives the answer with it.
func (s *stack) rotated(id string, body any) (answer, string) {
	s.t.Helper()
	a := s.want(200, "POST", keysPath+"/"+id+"/rotate", body)
	return a, a.get(s.t, "key").(string)
}

// good holds which secrets are good on this node, and on another one that has read the ledger.
func (s *stack) good(when string, secrets map[string]bool) {
	s.t.Helper()
	other := admin.NewKeys(admin.KeysConfig{Ledger: s.db, Now: s.clock.now})
	if err := other.Load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for secret, want := range secrets {
		hash := sha256.Sum256([]byte(secret))
		for n, node := range []*admin.Keys{s.keys, other} {
			k, err := node.KeyByHash(s.t.Context(), hash)
			if (err == nil) != want || want && k.Hash != hash {
				s.t.Errorf("%s, node %d: the secret %.8s… is good: %v, want %v", when, n, secret, err == nil, want)
			}
		}
	}
}

func TestARotatedKeyHasTwoSecretsForAWhile(t *testing.T) {
	s := newStack(t)
	id, a := s.made(object{"role": "operator", "name": "till", "areas": []string{"campaigns", "blocklist", "campaigns"}})
	before := s.want(200, "GET", keysPath, nil)
	first, b := s.rotated(id, object{"grace_s": 100, "reason": "a drill"})
	for path, want := range map[string]any{"id": id, "name": "till", "role": "operator", "areas.0": "blocklist",
		"areas.1": "campaigns", "prefix": b[:12], "old_prefix": a[:12], "created_at": before.get(t, "items.0.created_at")} {
		if got := first.get(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	s.good("in the grace", map[string]bool{a: true, b: true})
	s.clock.add(100*time.Second - time.Millisecond)
	s.good("at its very end", map[string]bool{a: true, b: true})
	s.clock.add(time.Millisecond)
	s.good("after it", map[string]bool{a: false, b: true})
	if got := s.want(200, "GET", keysPath, nil); strings.Contains(string(got.body), "old_") {
		t.Errorf("the list tells of a secret that is no more: %s", got.body)
	}
	_, c := s.rotated(id, nil) // a day
	_, d := s.rotated(id, object{})
	s.good("rotated twice", map[string]bool{b: false, c: true, d: true})
	s.clock.add(24*time.Hour - time.Millisecond)
	s.good("a day is the default", map[string]bool{c: true, d: true})
	_, e := s.rotated(id, object{"grace_s": 0})
	s.good("without grace", map[string]bool{c: false, d: false, e: true})
	_, f := s.rotated(id, object{"grace_s": 604_800})
	s.good("for a week", map[string]bool{e: true, f: true})
	s.want(200, "DELETE", keysPath+"/"+id, nil)
	s.good("revoked", map[string]bool{a: false, b: false, c: false, d: false, e: false, f: false})
	if x := s.want(409, "POST", keysPath+"/"+id+"/rotate", nil); x.get(t, "code") != "KEY_REVOKED" {
		t.Errorf("a revoked key: %s", x.body)
	}
	audit := s.want(200, "GET", "/v1/admin/audit-log?action=api_key.*", nil)
	for _, secret := range []string{a, b, c, d, e, f} {
		if strings.Contains(string(audit.body), secret[12:]) || strings.Contains(string(before.body), secret[12:]) {
			t.Error("a secret is told again")
		}
	}
	if audit.get(t, "items.5.reason") != "a drill" || audit.get(t, "items.5.action") != "api_key.rotate" {
		t.Errorf("the audit log: %s", audit.body)
	}
}

// TestALostAnswerOfARotation: the secret that nobody saw is replaced, and who holds the old one goes on.
func TestALostAnswerOfARotation(t *testing.T) {
	s := newStack(t)
	id, a := s.made(object{"role": "viewer", "name": "till"})
	_, lost := s.rotated(id, object{"rotation_id": "rot-1", "grace_s": 60})
	s.clock.add(10 * time.Second)
	_, b := s.rotated(id, object{"rotation_id": "rot-1", "grace_s": 60})
	s.good("asked again", map[string]bool{a: true, lost: false, b: true})
	s.clock.add(50 * time.Second)
	s.good("the grace is not begun anew", map[string]bool{a: false, lost: false, b: true})
	_, c := s.rotated(id, object{"rotation_id": "rot-2", "grace_s": 60})
	s.good("another rotation", map[string]bool{b: true, c: true})
}

func TestRotationsAreRefused(t *testing.T) {
	s := newStack(t)
	id, _ := s.made(object{"role": "viewer", "name": "till"})
	for what, tt := range map[string]struct {
		id     string
		body   object
		status int
		code   string
	}{
		"the first key":    {"key_bootstrap", object{}, 409, "BOOTSTRAP_KEY"},
		"no key":           {"key_none", object{}, 404, "UNKNOWN_KEY"},
		"a long grace":     {id, object{"grace_s": 604_801}, 422, "VALIDATION"},
		"a negative grace": {id, object{"grace_s": -1}, 422, "VALIDATION"},
		"a huge grace":     {id, object{"grace_s": 1 << 62}, 422, "VALIDATION"},
		"a bad id":         {id, object{"rotation_id": "a b"}, 422, "VALIDATION"},
	} {
		if a := s.call(bootstrapKey, "POST", keysPath+"/"+tt.id+"/rotate", tt.body); a.status != tt.status ||
			a.get(t, "code") != tt.code || strings.Contains(string(a.body), "slk_") {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
}

// TestASessionGoesByTheSecretThatOpenedIt: while that is good, and no longer, whatever else the key has by then.
func TestASessionGoesByTheSecretThatOpenedIt(t *testing.T) {
	s := newStack(t)
	id, a := s.made(object{"role": "operator", "name": "Olga"})
	with := func(b browser, want int, when string) {
		t.Helper()
		if got := b.ask("GET", "/v1/admin/campaigns", nil); got.status != want {
			t.Errorf("%s: %d, want %d", when, got.status, want)
		}
	}
	old := s.signIn(a)
	_, b := s.rotated(id, object{"grace_s": 60})
	late, young := s.signIn(a), s.signIn(b)
	with(old, 200, "signed in before")
	with(late, 200, "signed in with the old secret, in its grace")
	with(young, 200, "signed in with the new one")
	s.clock.add(time.Minute)
	with(old, 401, "the grace is over")
	with(late, 401, "the grace is over")
	with(young, 200, "the grace of another secret is over")
	s.rotated(id, object{"grace_s": 0})
	with(young, 401, "rotated at once")
}

func TestWhenAKeyWasLastUsed(t *testing.T) {
	s := newStack(t)
	id, secret := s.made(object{"role": "support", "name": "till"})
	told := func() any {
		s.t.Helper()
		x, _ := s.want(200, "GET", keysPath, nil).get(t, "items.0").(map[string]any)
		return x["last_used_at"]
	}
	stamp := func() string { return s.clock.now().UTC().Format(time.RFC3339Nano) }
	if got := told(); got != nil {
		t.Errorf("a new key was used %v", got)
	}
	s.call(secret, "GET", "/v1/admin/campaigns", nil)
	if first := stamp(); told() != first {
		t.Errorf("used %v, want %s", told(), first)
	}
	s.restart()
	if got := told(); got != nil {
		t.Errorf("it was in memory only, and is told: %v", got)
	}
	s.clock.add(time.Hour)
	b := s.signIn(secret)
	s.clock.add(time.Hour)
	b.ask("GET", "/v1/admin/campaigns", nil)
	if used := stamp(); told() != used {
		t.Errorf("by a session: %v, want %s", told(), used)
	}
	if err := s.keys.SaveUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	used := stamp()
	s.restart()
	if told() != used {
		t.Errorf("after a restart: %v, want %s", told(), used)
	}
	for _, refused := range []func(){
		func() { s.call("slk_guess", "GET", "/v1/admin/campaigns", nil) },
		func() { s.want(200, "GET", "/v1/admin/campaigns", nil) }, // the first key, which is not listed
	} {
		s.clock.add(time.Hour)
		if refused(); told() != used {
			t.Errorf("somebody else's use is told: %v", told())
		}
	}
	s.clock.add(90*24*time.Hour - 2*time.Hour - time.Millisecond)
	if got := s.want(200, "GET", keysPath, nil); strings.Contains(string(got.body), `"unused"`) {
		t.Errorf("marked before its time: %s", got.body)
	}
	s.clock.add(time.Millisecond)
	if got := s.want(200, "GET", keysPath, nil); got.get(t, "items.0.unused") != true {
		t.Errorf("not marked after 90 days: %s", got.body)
	}
	if got := s.want(200, "DELETE", keysPath+"/"+id, nil); strings.Contains(string(got.body), `"unused"`) {
		t.Errorf("a revoked key is marked: %s", got.body)
	}
}

// useLedger is a ledger of one key whose writes a test fails or holds up.
type useLedger struct {
	admin.KeyLedger
	key sluice.APIKey

	mu    sync.Mutex
	fail  error
	hold  chan struct{}
	began chan struct{}
	told  []sluice.KeyUse
	calls int
}

func (l *useLedger) APIKeys(context.Context) ([]sluice.APIKey, error) {
	return []sluice.APIKey{l.key}, nil
}

func (l *useLedger) UseAPIKeys(_ context.Context, uses []sluice.KeyUse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.hold != nil {
		close(l.began)
		<-l.hold
		l.hold = nil
	}
	if l.fail == nil {
		l.told = append(l.told, uses...)
	}
	return l.fail
}

// TestLastUsesAreSavedLater: one write for any number of requests, tried again when it fails, and no request waits.
func TestLastUsesAreSavedLater(t *testing.T) {
	at := &clock{at: now.Time()}
	l := &useLedger{key: sluice.APIKey{ID: "k", Role: sluice.RoleViewer, Hash: sha256.Sum256([]byte("s"))}}
	d := admin.NewKeys(admin.KeysConfig{Ledger: l, Now: at.now})
	ctx := t.Context()
	use := func() {
		if _, err := d.KeyByHash(ctx, l.key.Hash); err != nil {
			t.Fatal(err)
		}
	}
	saved := func(what string, calls int, want ...sluice.Millis) {
		t.Helper()
		_ = d.SaveUses(ctx)
		var got []sluice.Millis
		for _, u := range l.told {
			got = append(got, u.At)
		}
		if !reflect.DeepEqual(got, want) || l.calls != calls {
			t.Errorf("%s: told of %v in %d calls, want %v in %d", what, got, l.calls, want, calls)
		}
	}
	if err := d.Load(ctx); err != nil {
		t.Fatal(err)
	}
	saved("never used", 0)
	for range 1000 {
		use()
	}
	saved("used", 1, now)
	saved("nothing new", 1, now)
	at.add(4 * time.Second)
	use()
	saved("a key that is used all the time is noted every five seconds", 1, now)
	at.add(-4 * time.Second)
	at.add(time.Minute)
	use()
	l.fail = fmt.Errorf("a test: %w", sluice.ErrUnavailable)
	if err := d.SaveUses(ctx); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	l.fail = nil
	if err := d.Load(ctx); err != nil { // what is not saved yet outlives the keys' being read again
		t.Fatal(err)
	}
	saved("tried again", 3, now, now+60_000)
	at.add(-time.Hour) // a clock that goes back changes nothing
	use()
	saved("the clock goes back", 3, now, now+60_000)
	at.add(2 * time.Hour)
	use()
	l.hold, l.began = make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- d.SaveUses(ctx) }()
	<-l.began
	for range 100 { // each of them would wait for ever
		at.add(time.Minute)
		use()
	}
	if err := d.SaveUses(ctx); err != nil {
		t.Errorf("a second one beside it: %v", err)
	}
	close(l.hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	last := sluice.MillisOf(at.now())
	saved("while one was under way", 5, now, now+60_000, now+3_600_000+60_000, last)
}

func TestAKeyGivesNoMoreThanItMay(t *testing.T) {
	s := newStack(t)
	_, keysOnly := s.made(object{"role": "admin", "name": "narrow", "areas": []string{"api-keys", "campaigns"}})
	wide, _ := s.made(object{"role": "viewer", "name": "wide"})
	inside, _ := s.made(object{"role": "admin", "name": "inside", "areas": []string{"campaigns"}})
	_, reader := s.made(object{"role": "admin", "name": "reader", "read_only": true})
	type areas = []string
	for _, tt := range []struct {
		what, key, path string
		body            object
		status          int
		code            string
	}{
		{"all", keysOnly, keysPath, object{"role": "viewer", "name": "x"}, 403, "OUT_OF_SCOPE"},
		{"another area", keysOnly, keysPath, object{"role": "viewer", "name": "x", "areas": areas{"claims"}}, 403,
			"OUT_OF_SCOPE"},
		{"a merchant", keysOnly, keysPath, object{"role": "merchant", "name": "x", "merchant_id": "m"}, 403,
			"OUT_OF_SCOPE"},
		{"reads of all", keysOnly, keysPath, object{"role": "viewer", "name": "x", "read_only": true}, 403, "OUT_OF_SCOPE"},
		{"a part of its own", keysOnly, keysPath, object{"role": "admin", "name": "x", "areas": areas{"campaigns"}}, 201,
			""},
		{"its own", keysOnly, keysPath, object{"role": "admin", "name": "x", "areas": areas{"campaigns", "api-keys"}}, 201,
			""},
		{"rotate a wider one", keysOnly, keysPath + "/" + wide + "/rotate", object{}, 403, "OUT_OF_SCOPE"},
		{"rotate one within", keysOnly, keysPath + "/" + inside + "/rotate", object{}, 200, ""},
		{"rotate none", keysOnly, keysPath + "/key_none/rotate", object{}, 404, "UNKNOWN_KEY"},
		{"by a reader", reader, keysPath, object{"role": "viewer", "name": "x", "read_only": true}, 403, "OUT_OF_SCOPE"},
		{"no area", bootstrapKey, keysPath, object{"role": "viewer", "name": "x", "areas": areas{"none"}}, 422, "VALIDATION"},
		{"a tag", bootstrapKey, keysPath, object{"role": "viewer", "name": "x", "areas": areas{"Campaigns"}}, 422,
			"VALIDATION"},
		{"a merchant's orders", bootstrapKey, keysPath,
			object{"role": "merchant", "name": "x", "merchant_id": "m", "areas": areas{"orders"}}, 422, "VALIDATION"},
		{"a merchant who reads", bootstrapKey, keysPath,
			object{"role": "merchant", "name": "x", "merchant_id": "m", "read_only": true}, 422, "VALIDATION"},
		{"a merchant's coupons", bootstrapKey, keysPath,
			object{"role": "merchant", "name": "x", "merchant_id": "m", "areas": areas{"coupons"}}, 201, ""},
	} {
		a := s.call(tt.key, "POST", tt.path, tt.body)
		if a.status != tt.status || tt.code != "" && a.get(t, "code") != tt.code {
			t.Errorf("%s: %d %s, want %d %s", tt.what, a.status, a.body, tt.status, tt.code)
		}
	}
}

// TestASessionHasTheScopeOfItsKey, and may sign in and out whatever that is.
func TestASessionHasTheScopeOfItsKey(t *testing.T) {
	s := newStack(t)
	_, secret := s.made(object{"role": "operator", "name": "n", "areas": []string{"campaigns"}, "read_only": true})
	b := s.signIn(secret)
	own := b.ask("GET", "/v1/admin/sessions/current", nil)
	if own.status != 200 || own.get(t, "areas.0") != "campaigns" || own.get(t, "read_only") != true {
		t.Errorf("current: %d %s", own.status, own.body)
	}
	for _, tt := range []struct {
		method, path string
		status       int
		detail       string
	}{
		{"GET", "/v1/admin/campaigns", 200, ""},
		{"GET", "/v1/admin/switches", 403,
			"this call is of the area switches; the scope of the key is: campaigns, read only"},
		{"POST", "/v1/admin/campaigns", 403,
			"this call of the area campaigns changes something; the scope of the key is: campaigns, read only"},
		{"GET", "/v1/admin/sessions", 403, "this call needs an API key of role admin"},
		{"DELETE", "/v1/admin/sessions/current", 200, ""},
		{"GET", "/v1/admin/campaigns", 401, "a valid API key or session is needed"},
	} {
		var body any
		if tt.method == "POST" {
			body = goodsBody("spring", 5)
		}
		a := b.ask(tt.method, tt.path, body)
		if a.status != tt.status || tt.detail != "" && a.get(t, "detail") != tt.detail {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, a.status, a.body)
		}
	}
}
