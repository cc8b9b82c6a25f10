package admin_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// letters is the desk of dead letters on a real ledger, spoken to by HTTP, with a settler that only notes what it is
// given.
type letters struct {
	t      *testing.T
	db     *sqldb.DB
	clock  *clock
	driven []sluice.Claim
	err    error // of the settler
	waited []time.Duration
	server *api.Admin
}

// Drive is of admin.Driver.
func (l *letters) Drive(_ context.Context, claims []sluice.Claim) error {
	l.driven = append(l.driven, claims...)
	return l.err
}

func newLetters(t *testing.T, settles bool) *letters {
	t.Helper()
	l := &letters{t: t, clock: &clock{at: time.Now()}}
	var err error
	l.db, err = sqldb.Open(t.Context(), sqldb.Config{
		Path: filepath.Join(t.TempDir(), "ledger.db"), CacheMB: 8, Now: l.clock.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.db.Close() })
	cfg := admin.DeadLettersConfig{
		Ledger: l.db, Now: l.clock.now, Rate: 100,
		After: func(d time.Duration) <-chan time.Time {
			l.waited = append(l.waited, d)
			c := make(chan time.Time, 1)
			c <- time.Time{}
			return c
		},
		Decode: func(raw []byte) (sluice.Claim, error) {
			user, ok := strings.CutPrefix(string(raw), "of a later version: ")
			if !ok {
				return sluice.Claim{}, errors.New("no message")
			}
			return l.claim(user), nil
		},
	}
	if settles {
		cfg.Driver = l
	}
	keys := admin.NewKeys(admin.KeysConfig{Ledger: l.db, Bootstrap: []string{bootstrapKey}})
	l.server, err = api.NewAdmin(api.AdminConfig{}, api.AdminDeps{
		Keys: keys, KeyDesk: keys, Audit: l.db, DeadLetters: admin.NewDeadLetters(cfg),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *letters) claim(user string) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID("spring", user, sluice.SourceClaim, "r"), Campaign: "spring", User: user, RequestID: "r",
		Quantity: 2, At: 1_700_000_000_000, Epoch: 4,
	}
}

// die makes a dead letter of each user's claim.
func (l *letters) die(users ...string) {
	l.t.Helper()
	var claims []sluice.Claim
	for _, u := range users {
		claims = append(claims, l.claim(u))
	}
	for range 3 {
		if _, err := l.db.FailTries(l.t.Context(), claims, "the row is refused"); err != nil {
			l.t.Fatal(err)
		}
	}
}

// call asks with a key and gives status and body.
func (l *letters) call(key, method, uri, body string) (int, string) {
	l.t.Helper()
	r := httptest.NewRequest(method, uri, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	l.server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (l *letters) want(status int, has string, method, uri, body string) string {
	l.t.Helper()
	got, text := l.call(bootstrapKey, method, uri, body)
	if got != status || !strings.Contains(text, has) {
		l.t.Errorf("%s %s %s: %d %s, want %d with %s", method, uri, body, got, text, status, has)
	}
	return text
}

const lettersURI = "/v1/admin/dead-letters"

func (l *letters) asOf() string { return l.clock.now().UTC().Format(time.RFC3339Nano) }

func TestDeadLettersAreShown(t *testing.T) {
	l := newLetters(t, true)
	l.want(200, `"items":[]`, "GET", lettersURI, "")
	l.die("u1", "u2")
	raw := "\x00\xff bytes"
	if err := l.db.KeepDeadLetter(t.Context(), []byte(raw), "no message"); err != nil {
		t.Fatal(err)
	}
	list := l.want(200, `"as_of":"`, "GET", lettersURI+"?limit=2", "")
	if !strings.Contains(list, `"next_cursor"`) || strings.Contains(list, `"raw"`) {
		t.Errorf("a page of two: %s", list)
	}
	one := l.want(200, `"claim_id":"`+l.claim("u1").ID.String(), "GET", lettersURI+"/1", "")
	for _, has := range []string{`"tries":3`, `"error":"the row is refused"`, `"user_id":"u1"`, `"quantity":2`,
		`"epoch":4`, `"state":"kept"`, `"source":"claim"`, `"request_id":"r"`} {
		if !strings.Contains(one, has) {
			t.Errorf("%s: %s is missing", one, has)
		}
	}
	l.want(200, `"raw":"`+base64.StdEncoding.EncodeToString([]byte(raw)), "GET", lettersURI+"/3", "")
	l.want(200, `"user_id":"u2"`, "GET", lettersURI+"?user_id=u2", "")
	l.want(200, `"items":[]`, "GET", lettersURI+"?campaign_id=autumn", "")
	l.want(200, `"items":[]`, "GET", lettersURI+"?state=discarded", "")
	l.want(404, `UNKNOWN_DEAD_LETTER`, "GET", lettersURI+"/99", "")
	l.want(422, `"state"`, "GET", lettersURI+"?state=none", "")
}

// TestDeadLettersInBulk: as of a moment, in pieces, at a bounded pace, and each with its audit row.
func TestDeadLettersInBulk(t *testing.T) {
	l := newLetters(t, true)
	users := make([]string, 120)
	for i := range users {
		users[i] = fmt.Sprint("u", i)
	}
	l.die(users...)
	seen := l.asOf()
	l.clock.add(time.Second)
	l.die("later")
	l.want(422, `"as_of"`, "POST", lettersURI+"/replay", `{}`)
	l.want(422, `"as_of"`, "POST", lettersURI+"/discard", `{"as_of":"2999-01-01T00:00:00Z"}`)
	l.want(422, `"ids"`, "POST", lettersURI+"/discard", `{"ids":[0]}`)
	l.want(200, `"done":120,"failed":0,"more":false`, "POST", lettersURI+"/replay",
		`{"as_of":"`+seen+`","reason":"mended"}`)
	if len(l.driven) != 120 || l.driven[0].User != "u0" || l.driven[0].Epoch != 4 || l.driven[0].Quantity != 2 {
		t.Errorf("%d were driven, the first is %+v", len(l.driven), l.driven[0])
	}
	if fmt.Sprint(l.waited) != "[500ms 500ms]" {
		t.Errorf("120 at 100 a second in pieces of 50 with pauses of %v", l.waited)
	}
	l.want(200, `"done":0,"failed":0,"more":false`, "POST", lettersURI+"/replay", `{"as_of":"`+seen+`"}`)
	l.want(200, `"user_id":"later"`, "GET", lettersURI, "")
	l.want(200, `"done":1,`, "POST", lettersURI+"/discard", `{"ids":[121],"reason":"gone"}`)
	l.want(200, `"state":"discarded"`, "GET", lettersURI+"/121", "")
	for _, has := range []string{`dead_letter.replay`, `dead_letter.discard`, `"reason":"gone"`} {
		l.want(200, has, "GET", "/v1/admin/audit-log?limit=1000", "")
	}
}

// TestUnreadableLettersAreReplayed: what this version can read is settled, what it cannot is kept again.
func TestUnreadableLettersAreReplayed(t *testing.T) {
	l := newLetters(t, true)
	for _, raw := range []string{"of a later version: v1", "garbage"} {
		if err := l.db.KeepDeadLetter(t.Context(), []byte(raw), "no message"); err != nil {
			t.Fatal(err)
		}
	}
	l.want(200, `"done":2,"failed":1,"more":false`, "POST", lettersURI+"/replay", `{"ids":[1,2]}`)
	if len(l.driven) != 1 || l.driven[0].User != "v1" {
		t.Errorf("%+v", l.driven)
	}
	l.want(200, `"state":"replayed"`, "GET", lettersURI+"/1", "")
	l.want(200, `"state":"kept"`, "GET", lettersURI+"/2", "")
}

// TestDeadLettersOfAServerThatSettlesNothing: a replay changes nothing there, and one that does not reach the settler
// is no success.
func TestDeadLettersOfAServerThatSettlesNothing(t *testing.T) {
	l := newLetters(t, false)
	l.die("u1")
	l.want(409, `NO_SETTLER`, "POST", lettersURI+"/replay", `{"ids":[1]}`)
	l.want(200, `"state":"kept"`, "GET", lettersURI+"/1", "")
	l = newLetters(t, true)
	l.die("u1")
	l.err = sluice.ErrUnavailable
	l.want(503, `UNAVAILABLE`, "POST", lettersURI+"/replay", `{"ids":[1]}`)
}

// TestDeadLettersNeedTheirRole: support may look, an operator may act.
func TestDeadLettersNeedTheirRole(t *testing.T) {
	l := newLetters(t, true)
	l.die("u1")
	for _, tt := range []struct {
		role      string
		look, act int
	}{{"viewer", 403, 403}, {"support", 200, 403}, {"operator", 200, 200}, {"admin", 200, 200}} {
		text := l.want(201, `"key"`, "POST", "/v1/admin/api-keys", `{"role":"`+tt.role+`","name":"x"}`)
		_, key, _ := strings.Cut(text, `"key":"`)
		key, _, _ = strings.Cut(key, `"`)
		for uri, want := range map[string]int{lettersURI: tt.look, lettersURI + "/1": tt.look} {
			if got, text := l.call(key, "GET", uri, ""); got != want {
				t.Errorf("%s, GET %s: %d %s", tt.role, uri, got, text)
			}
		}
		for _, verb := range []string{"/replay", "/discard"} {
			if got, text := l.call(key, "POST", lettersURI+verb, `{"ids":[1]}`); got != tt.act {
				t.Errorf("%s, POST %s: %d %s", tt.role, verb, got, text)
			}
		}
	}
}
