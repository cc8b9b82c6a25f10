package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// door is the answer of POST …/passes, or the problem in its place.
type door struct {
	Pass      string
	Challenge struct {
		ID   string
		Type string
		Data json.RawMessage
	}
	Code, Detail string
	Status       int `json:"-"`
}

func knock(t *testing.T, s *e2e.Server, campaign, user string, body any) (d door) {
	t.Helper()
	a := s.Ask(t, "POST", s.URL+"/v1/campaigns/"+campaign+"/passes", e2e.Token(user, "did", "d-"+user), body)
	a.Into(t, &d)
	d.Status = a.Status
	return d
}

// solution brings an answer.
func solution(d door, s any) any {
	return map[string]any{"challenge_id": d.Challenge.ID, "solution": s}
}

// guarded creates a campaign for whose claims everybody solves a challenge.
func guarded(t *testing.T, s *e2e.Server, kind string) {
	t.Helper()
	s.Create(t, e2e.Goods(kind, 50, 1, map[string]any{"protection": map[string]any{
		"pass": "always", "challenge": kind, "per_user_rate": 1000,
	}}))
}

// buys claims with a pass and says what the buyer heard.
func buys(t *testing.T, s *e2e.Server, campaign, user, pass string) string {
	t.Helper()
	var c e2e.Claim
	body := map[string]any{}
	if pass != "" {
		body["pass"] = pass
	}
	a := s.Ask(t, "POST", s.URL+"/v1/campaigns/"+campaign+"/claims", e2e.Token(user, "did", "d-"+user), body)
	a.Into(t, &c)
	return c.Code
}

func wantDoor(t *testing.T, what string, d door, status int, code string) {
	t.Helper()
	if d.Status != status || d.Code != code || (d.Pass != "") != (status == 200 && d.Challenge.ID == "") {
		t.Errorf("%s: %d %q (%s), pass %q; want %d %q", what, d.Status, d.Code, d.Detail, d.Pass, status, code)
	}
}

// TestChallenges earns a pass by each kind, on the built binary, and buys with it.
func TestChallenges(t *testing.T) {
	service := standIn(t)
	s := e2e.Start(t, e2e.Options{
		Args: []string{
			"--challenge-siteverify-provider", "turnstile", "--challenge-siteverify-site-key", "0xsite",
			"--challenge-siteverify-url", service.URL, "--challenge-siteverify-hostnames", "shop.example",
		},
		Env: []string{"SLUICE_CHALLENGE_SITEVERIFY_SECRET=e2e-site-secret"},
	})
	for _, kind := range []string{"pow", "slider", "image", "siteverify"} {
		guarded(t, s, kind)
		d := knock(t, s, kind, "other", nil)
		if d.Challenge.Type != kind {
			t.Fatalf("%s: the challenge is a %s", kind, d.Challenge.Type)
		}
		// The way that is always open.
		d = knock(t, s, kind, "open", map[string]string{"challenge": "pow"})
		d = knock(t, s, kind, "open", solution(d, work(t, d.Challenge.Data)))
		wantDoor(t, kind+": pow in its place", d, 200, "")
		if code := buys(t, s, kind, "open", d.Pass); code != "CONFIRMED" {
			t.Errorf("%s: with a pass by pow: %s", kind, code)
		}
	}
	t.Run("pow", func(t *testing.T) { byWork(t, s) })
	t.Run("slider", func(t *testing.T) { bySlider(t, s) })
	t.Run("image", func(t *testing.T) { byImage(t, s) })
	t.Run("siteverify", func(t *testing.T) { bySiteverify(t, s) })
	metrics := string(s.Ask(t, "GET", s.AdminURL+"/metrics", e2e.AdminKey, nil).Body)
	for _, line := range []string{
		`sluice_challenges_total{event="solved",kind="pow"} 5`, `sluice_challenges_total{event="solved",kind="siteverify"} 1`,
		`sluice_challenges_total{event="failed",kind="image"} 3`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no %s", line)
		}
	}
}

func byWork(t *testing.T, s *e2e.Server) {
	d := knock(t, s, "pow", "u1", nil)
	right := work(t, d.Challenge.Data)
	wantDoor(t, "garbage", knock(t, s, "pow", "u1", solution(d, "e30=")), 422, "CHALLENGE_FAILED")
	wantDoor(t, "what cannot be read", knock(t, s, "pow", "u1", solution(d, 5)), 422, "VALIDATION")
	wantDoor(t, "somebody else's", knock(t, s, "pow", "u2", solution(d, right)), 422, "CHALLENGE_GONE")
	got := knock(t, s, "pow", "u1", solution(d, right))
	wantDoor(t, "right", got, 200, "")
	wantDoor(t, "again", knock(t, s, "pow", "u1", solution(d, right)), 422, "CHALLENGE_GONE")
	if code := buys(t, s, "pow", "u2", got.Pass); code != "PASS_INVALID" {
		t.Errorf("with somebody else's pass: %s", code)
	}
	if code := buys(t, s, "pow", "u1", got.Pass); code != "CONFIRMED" {
		t.Errorf("with the pass: %s", code)
	}
}

// bySlider looks at the pictures; the piece may be dragged or moved by keys. Looking fails at times, so that a second
// and a third challenge are asked for.
func bySlider(t *testing.T, s *e2e.Server) {
	for user, move := range map[string]func(x int) any{
		"drags": func(x int) any { return dragTo(x, 500*time.Millisecond) }, "keys": keysTo,
	} {
		pass := ""
		for range 6 {
			d := knock(t, s, "slider", user, nil)
			x := lookAt(t, d.Challenge.Data)
			wantDoor(t, "elsewhere", knock(t, s, "slider", user, solution(d, move((x+60)%250))), 422, "CHALLENGE_FAILED")
			straight := map[string]any{"x": x, "track": [][3]int{{0, 0, 0}, {x, 0, 400}}}
			wantDoor(t, "without a track", knock(t, s, "slider", user, solution(d, straight)), 422, "CHALLENGE_FAILED")
			got := knock(t, s, "slider", user, solution(d, move(x)))
			if pass = got.Pass; pass != "" {
				wantDoor(t, "again", knock(t, s, "slider", user, solution(d, move(x))), 422, "CHALLENGE_GONE")
				break
			}
		}
		if code := buys(t, s, "slider", user, pass); code != "CONFIRMED" {
			t.Errorf("%s: with the pass of the slider: %s", user, code)
		}
	}
}

// byImage cannot read: three guesses, and the challenge is gone.
func byImage(t *testing.T, s *e2e.Server) {
	d := knock(t, s, "image", "u1", nil)
	for i := range 3 {
		got := knock(t, s, "image", "u1", solution(d, map[string]string{"text": "AAAAAA"}))
		wantDoor(t, "a guess", got, 422, "CHALLENGE_FAILED")
		if want := []string{"2 tries are left", "1 try is left", "the last try"}[i]; !strings.Contains(got.Detail, want) {
			t.Errorf("guess %d: %q", i+1, got.Detail)
		}
	}
	wantDoor(t, "a fourth", knock(t, s, "image", "u1", solution(d, map[string]string{"text": "A"})), 422, "CHALLENGE_GONE")
	if code := buys(t, s, "image", "u1", ""); code != "PASS_REQUIRED" {
		t.Errorf("without a pass: %s", code)
	}
}

func bySiteverify(t *testing.T, s *e2e.Server) {
	d := knock(t, s, "siteverify", "u1", nil)
	if want := `{"provider":"turnstile","site_key":"0xsite"}`; string(d.Challenge.Data) != want {
		t.Errorf("sent: %s", d.Challenge.Data)
	}
	token := func(s string) any { return map[string]string{"token": s} }
	wantDoor(t, "a bad token", knock(t, s, "siteverify", "u1", solution(d, token("bad"))), 422, "CHALLENGE_FAILED")
	wantDoor(t, "the service is down", knock(t, s, "siteverify", "u1", solution(d, token("down"))), 503, "UNAVAILABLE")
	got := knock(t, s, "siteverify", "u1", solution(d, token("good-1")))
	wantDoor(t, "a good token", got, 200, "")
	if code := buys(t, s, "siteverify", "u1", got.Pass); code != "CONFIRMED" {
		t.Errorf("with the pass: %s", code)
	}
	d = knock(t, s, "siteverify", "u2", nil)
	wantDoor(t, "the token again", knock(t, s, "siteverify", "u2", solution(d, token("good-1"))), 422, "CHALLENGE_FAILED")
}

// standIn speaks the siteverify protocol: tokens that begin with "good" are right, once.
func standIn(t *testing.T) *httptest.Server {
	var used sync.Map
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"success": false, "error-codes": []string{"invalid-input-response"}}
		token := r.FormValue("response")
		_, again := used.LoadOrStore(token, true)
		switch {
		case r.FormValue("secret") != "e2e-site-secret",
			r.FormValue("remoteip") != "127.0.0.1" && token != "sluice-probe": // the checks before a sale are no buyer
			t.Errorf("the service was asked with %v", r.Form)
		case token == "down":
			w.WriteHeader(http.StatusBadGateway)
			return
		case again:
			answer["error-codes"] = []string{"timeout-or-duplicate"}
		case strings.HasPrefix(token, "good"):
			answer = map[string]any{"success": true, "hostname": "shop.example",
				"challenge_ts": time.Now().UTC().Format(time.RFC3339)}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(service.Close)
	return service
}

// TestChallengesOnTwoNodes: a challenge of one node is solved at the other, at both at once it counts once, and tries
// are counted together.
func TestChallengesOnTwoNodes(t *testing.T) {
	t.Run("Redis", func(t *testing.T) { challengesOnTwoNodes(t, servers.Redis(t).URL(), "redis") })
	t.Run("the ledger alone", func(t *testing.T) { challengesOnTwoNodes(t, "ledger", "none") })
}

func challengesOnTwoNodes(t *testing.T, admission, queue string) {
	maria := servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", admission, "--queue", queue, "--ledger", maria.URL)
	for _, kind := range []string{"pow", "image"} {
		guarded(t, nodes[0], kind)
		if !nodes[1].Eventually(15*time.Second, func() bool { return knock(t, nodes[1], kind, "early", nil).Status == 200 }) {
			t.Fatalf("the second node does not know %s", kind)
		}
	}
	d := knock(t, nodes[0], "pow", "u1", nil)
	right := work(t, d.Challenge.Data)
	got := knock(t, nodes[1], "pow", "u1", solution(d, right))
	wantDoor(t, "at the other node", got, 200, "")
	wantDoor(t, "back at the first", knock(t, nodes[0], "pow", "u1", solution(d, right)), 422, "CHALLENGE_GONE")
	if code := buys(t, nodes[0], "pow", "u1", got.Pass); code != "QUEUED" && code != "CONFIRMED" {
		t.Errorf("with the pass: %s", code)
	}
	d = knock(t, nodes[1], "pow", "u2", nil)
	right = work(t, d.Challenge.Data)
	var solved atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			a, err := nodes[i%2].TryAsk("POST", nodes[i%2].URL+"/v1/campaigns/pow/passes", e2e.Token("u2", "did", "d-u2"),
				solution(d, right))
			if err == nil && a.Status == 200 {
				solved.Add(1)
			}
		})
	}
	all.Wait()
	if n := solved.Load(); n != 1 {
		t.Errorf("eight answers at once: %d count", n)
	}
	d = knock(t, nodes[0], "image", "u3", nil)
	for i := range 3 {
		wrong := solution(d, map[string]string{"text": "AAAAAA"})
		wantDoor(t, "a guess", knock(t, nodes[i%2], "image", "u3", wrong), 422, "CHALLENGE_FAILED")
	}
	fourth := knock(t, nodes[1], "image", "u3", solution(d, map[string]string{"text": "A"}))
	wantDoor(t, "a fourth", fourth, 422, "CHALLENGE_GONE")
}
