package challenge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// service stands in for Turnstile, hCaptcha and reCAPTCHA: a token that it knows is right, once.
type service struct {
	*httptest.Server
	t      *testing.T
	secret string

	mu     sync.Mutex
	tokens map[string]map[string]any // what is answered beside success
	used   map[string]bool
	calls  int
	addrs  []string
	// answer, if set, answers in its place.
	answer http.HandlerFunc
}

func newService(t *testing.T) *service {
	s := &service{t: t, secret: "shh", tokens: map[string]map[string]any{}, used: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		s.t.Errorf("%s %s", r.Method, r.Header.Get("Content-Type"))
	}
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	s.addrs = append(s.addrs, r.FormValue("remoteip"))
	token := r.FormValue("response")
	extra, known := s.tokens[token]
	answer := map[string]any{"success": false}
	switch {
	case r.FormValue("secret") != s.secret:
		answer["error-codes"] = []string{"invalid-input-secret"}
	case !known:
		answer["error-codes"] = []string{"invalid-input-response"}
	case s.used[token]:
		answer["error-codes"] = []string{"timeout-or-duplicate"}
	default:
		s.used[token] = true
		answer["success"] = true
		for k, v := range extra {
			answer[k] = v
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// desk is a desk that asks the service.
func (s *service) desk(b *bench, change func(*challenge.SiteConfig)) *challenge.Desk {
	return b.desk(func(cfg *challenge.Config) {
		cfg.Site = challenge.SiteConfig{
			Provider: challenge.Turnstile, SiteKey: "0xsite", Secret: s.secret, URL: s.URL, Timeout: 500 * time.Millisecond,
			Transport: s.Client().Transport,
		}
		if change != nil {
			change(&cfg.Site)
		}
	})
}

func token(s string) json.RawMessage { return toJSON(map[string]string{"token": s}) }

func TestSiteverify(t *testing.T) {
	for _, provider := range challenge.Providers() {
		t.Run(provider, func(t *testing.T) {
			s, b := newService(t), newBench(t)
			s.tokens["good"] = map[string]any{"challenge_ts": "2027-01-15T08:00:01.000Z", "hostname": "shop.example",
				"cdata": "x", "metadata": map[string]any{"interactive": false}, "score_reason": []string{}}
			d := s.desk(b, func(c *challenge.SiteConfig) { c.Provider = provider })
			c := ask(t, d, sluice.ChallengeSiteverify)
			if want := fmt.Sprintf(`{"provider":%q,"site_key":"0xsite"}`, provider); string(c.Data) != want {
				t.Errorf("sent: %s, want %s", c.Data, want)
			}
			wantCode(t, "a token that is none", solve(t, d, c, token("bad")), "CHALLENGE_FAILED")
			err := d.Solve(t.Context(), sluice.ChallengeAnswer{
				ID: c.ID, Campaign: campaign, User: user, Device: device, Solution: token("good"),
				Addr: netip.MustParseAddr("203.0.113.7"),
			})
			wantCode(t, "a token", err, "")
			if got := s.addrs[len(s.addrs)-1]; got != "203.0.113.7" {
				t.Errorf("the service heard the address %q", got)
			}
			wantCode(t, "again, the last try", solve(t, d, c, token("good")), "CHALLENGE_FAILED")
			wantCode(t, "and again", solve(t, d, c, token("good")), "CHALLENGE_GONE")
			other := ask(t, d, sluice.ChallengeSiteverify)
			wantCode(t, "the token for another challenge", solve(t, d, other, token("good")), "CHALLENGE_FAILED")
			s.used["good"] = false
			wantCode(t, "though the service lets it pass twice", solve(t, d, other, token("good")), "CHALLENGE_FAILED")
		})
	}
}

// TestSiteverifyLooksAtMore: a success that was had elsewhere, for something else, long before, or with a poor score
// is none.
func TestSiteverifyLooksAtMore(t *testing.T) {
	now := "2027-01-15T08:00:00Z" // the clock of a bench
	for _, tt := range []struct {
		name   string
		extra  map[string]any
		change func(*challenge.SiteConfig)
		want   string
	}{
		{"host", map[string]any{"hostname": "shop.example"}, hosts, ""},
		{"other host", map[string]any{"hostname": "evil.example"}, hosts, "CHALLENGE_FAILED"},
		{"no host", nil, hosts, "CHALLENGE_FAILED"},
		{"action", map[string]any{"action": "claim"}, action, ""},
		{"other action", map[string]any{"action": "login"}, action, "CHALLENGE_FAILED"},
		{"no action", nil, action, "CHALLENGE_FAILED"},
		{"score", map[string]any{"score": 0.7}, score, ""},
		{"poor score", map[string]any{"score": 0.3}, score, "CHALLENGE_FAILED"},
		{"no score", nil, score, "CHALLENGE_FAILED"},
		{"now", map[string]any{"challenge_ts": now}, nil, ""},
		{"an hour ago", map[string]any{"challenge_ts": "2027-01-15T07:00:00Z"}, nil, "CHALLENGE_FAILED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, b := newService(t), newBench(t)
			s.tokens["good"] = tt.extra
			d := s.desk(b, tt.change)
			wantCode(t, tt.name, solve(t, d, ask(t, d, sluice.ChallengeSiteverify), token("good")), tt.want)
		})
	}
}

func hosts(c *challenge.SiteConfig)  { c.Hostnames = []string{"shop.example", "m.shop.example"} }
func action(c *challenge.SiteConfig) { c.Action = "claim" }
func score(c *challenge.SiteConfig)  { c.MinScore = 0.5 }

// TestSiteverifyInTrouble: whatever the trouble is, policy says what comes of it, in bounded time, and the secret stays
// out of the log.
func TestSiteverifyInTrouble(t *testing.T) {
	ended := make(chan struct{})
	for name, answer := range map[string]http.HandlerFunc{
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-ended },
		"500":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"429":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"bad JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"success":`)) },
		"HTML":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no word":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) },
		"a string": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"success":"true"}`)) },
		"endless":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20)) },
		"our fault": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"success":false,"error-codes":["invalid-input-secret"]}`))
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "slow" {
				defer close(ended)
			}
			for _, policy := range []string{"closed", "open"} {
				s, b := newService(t), newBench(t)
				s.answer = answer
				var log bytes.Buffer
				d := b.desk(func(cfg *challenge.Config) {
					cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
					cfg.Site = challenge.SiteConfig{
						Provider: challenge.HCaptcha, SiteKey: "k", Secret: s.secret, URL: s.URL, OnTrouble: policy,
						Timeout: 200 * time.Millisecond, Transport: s.Client().Transport,
					}
				})
				want := map[string]string{"closed": "UNAVAILABLE", "open": ""}[policy]
				start := time.Now()
				c := ask(t, d, sluice.ChallengeSiteverify)
				wantCode(t, policy, solve(t, d, c, token("tok-3141592653")), want)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if policy == "open" {
					if b.seen[challenge.Waived] != 1 {
						t.Errorf("counted: %v", b.seen)
					}
					wantCode(t, "the same token for another challenge", solve(t, d, ask(t, d, sluice.ChallengeSiteverify),
						token("tok-3141592653")), "CHALLENGE_FAILED")
				}
				if s := log.String(); !strings.Contains(s, "gave no answer") || strings.Contains(s, "shh") ||
					strings.Contains(s, "3141592653") {
					t.Errorf("log: %s", s)
				}
			}
		})
	}
}

// TestSiteverifyBounds: garbage reaches no service, tries bound the calls, and so does a number at once.
func TestSiteverifyBounds(t *testing.T) {
	s, b := newService(t), newBench(t)
	d := s.desk(b, nil)
	c := ask(t, d, sluice.ChallengeSiteverify)
	for _, raw := range []json.RawMessage{nil, []byte(`{}`), []byte(`{"token":1}`), token(strings.Repeat("t", 4097))} {
		wantCode(t, string(raw[:min(len(raw), 20)]), solve(t, d, c, raw), "VALIDATION")
	}
	if s.calls != 0 {
		t.Errorf("%d calls for garbage", s.calls)
	}
	for range 10 {
		_ = solve(t, d, c, token("bad"))
	}
	if s.calls != 3 {
		t.Errorf("%d calls for one challenge", s.calls)
	}
	block, in := make(chan struct{}), make(chan struct{}, 200)
	s.answer = func(http.ResponseWriter, *http.Request) {}
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in <- struct{}{}; <-block }))
	defer slow.Close()
	d = s.desk(b, func(c *challenge.SiteConfig) {
		c.URL, c.OnTrouble, c.Timeout, c.Transport = slow.URL, "open", 10*time.Second, slow.Client().Transport
	})
	var all sync.WaitGroup
	for range 64 {
		c := ask(t, d, sluice.ChallengeSiteverify)
		all.Go(func() { _ = solve(t, d, c, token("x")) })
	}
	for range 64 {
		<-in
	}
	one := ask(t, d, sluice.ChallengeSiteverify)
	wantCode(t, "one more, though trouble is waived", solve(t, d, one, token("y")), "BUSY")
	close(block)
	all.Wait()
}

// TestSiteverifyIsNotTalkedIntoTrouble: what a buyer can make a service say by the token that is sent (400, 413,
// "bad-request") is no trouble of the service, and opens no door where trouble does.
func TestSiteverifyIsNotTalkedIntoTrouble(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"400": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"413": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(413) },
		"code": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"success":false,"error-codes":["bad-request"]}`))
		},
	} {
		s, b := newService(t), newBench(t)
		s.answer = answer
		d := s.desk(b, func(c *challenge.SiteConfig) { c.OnTrouble = challenge.OnTroubleOpen })
		wantCode(t, name, solve(t, d, ask(t, d, sluice.ChallengeSiteverify), token("x")), "UNAVAILABLE")
		if b.seen[challenge.Waived] != 0 {
			t.Errorf("%s: waived", name)
		}
	}
}
