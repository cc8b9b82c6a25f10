package e2e_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/internal/pass"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// passOf is the answer to a call for a pass.
type passOf struct {
	Pass         string `json:"pass"`
	ValidUntilMS int64  `json:"valid_until_ms"`
	StartsInMS   int64  `json:"starts_in_ms"`
	ServerTimeMS int64  `json:"server_time_ms"`
	SigningKey   string `json:"signing_key"`
	Challenge    *client.Challenge
	Code         string `json:"code"`
}

func askPass(t *testing.T, s *e2e.Server, campaign, user, device string, body any, want int) (p passOf) {
	t.Helper()
	a := s.Ask(t, "POST", s.URL+"/v1/campaigns/"+campaign+"/passes", e2e.Token(user), body, "X-Device-Id", device)
	if a.Status != want {
		t.Fatalf("a pass of %s for %s: %d %s", campaign, user, a.Status, a.Body)
	}
	a.Into(t, &p)
	return p
}

// claimWith makes a claim with a pass, and gives the code.
func claimWith(t *testing.T, s *e2e.Server, campaign, user, device, pass string, headers ...string) string {
	t.Helper()
	body := map[string]any{}
	if pass != "" {
		body["pass"] = pass
	}
	a := s.Ask(t, "POST", s.URL+"/v1/campaigns/"+campaign+"/claims", e2e.Token(user), body,
		append([]string{"X-Device-Id", device}, headers...)...)
	var c struct{ Code string }
	a.Into(t, &c)
	return c.Code
}

// TestPasses walks a buyer through challenge, pass and claim, and takes the pass to whom it does not serve.
func TestPasses(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	for _, id := range []string{"spring", "summer"} {
		s.Create(t, e2e.Goods(id, 50, 9, map[string]any{"protection": map[string]any{
			"pass": "always", "challenge": "pow", "per_user_rate": 500,
		}}))
	}
	if code := claimWith(t, s, "spring", "alice", "phone", ""); code != "PASS_REQUIRED" {
		t.Fatalf("without a pass: %s", code)
	}
	got := askPass(t, s, "spring", "alice", "phone", nil, 200)
	if got.Pass != "" || got.Challenge == nil || got.Challenge.Type != sluice.ChallengePoW {
		t.Fatalf("%+v, want a challenge", got)
	}
	solution, err := client.Work(t.Context(), got.Challenge.Data)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{"challenge_id": got.Challenge.ID, "solution": solution}
	if p := askPass(t, s, "spring", "bob", "phone", answer, 422); !strings.HasPrefix(p.Code, "CHALLENGE_") {
		t.Errorf("another's solution: %+v", p)
	}
	got = askPass(t, s, "spring", "alice", "phone", answer, 200)
	if got.Pass == "" || !strings.HasPrefix(got.Pass, "p1.") || got.ValidUntilMS == 0 {
		t.Fatalf("%+v, want a pass", got)
	}
	if p := askPass(t, s, "spring", "alice", "phone", answer, 422); p.Code != "CHALLENGE_GONE" {
		t.Errorf("the solution twice: %+v", p)
	}
	for _, tt := range []struct{ what, campaign, user, device, want string }{
		{"another user", "spring", "bob", "phone", "PASS_INVALID"},
		{"another device", "spring", "alice", "laptop", "PASS_INVALID"},
		{"another campaign", "summer", "alice", "phone", "PASS_INVALID"},
		{"the buyer", "spring", "alice", "phone", "CONFIRMED"},
		{"the buyer again", "spring", "alice", "phone", "CONFIRMED"},
	} {
		if code := claimWith(t, s, tt.campaign, tt.user, tt.device, got.Pass); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, code, tt.want)
		}
	}
	last := got.Pass[:len(got.Pass)-1]
	for _, end := range []string{"A", "B"} {
		if !strings.HasSuffix(got.Pass, end) {
			if code := claimWith(t, s, "spring", "alice", "phone", last+end); code != "PASS_INVALID" {
				t.Errorf("a changed pass: %s", code)
			}
		}
	}
	rotate(t, s, got.Pass)
}

// rotate changes the key twice: once so that passes of before hold, once so that they do not.
func rotate(t *testing.T, s *e2e.Server, old string) {
	t.Helper()
	s.Admin(t, "POST", "/v1/admin/pass-keys", map[string]any{"reason": "a drill"}, 201)
	if code := claimWith(t, s, "spring", "alice", "phone", old); code != "CONFIRMED" {
		t.Errorf("after a rotation: %s", code)
	}
	s.Admin(t, "POST", "/v1/admin/pass-keys", map[string]any{"revoke": true}, 201)
	if code := claimWith(t, s, "spring", "alice", "phone", old); code != "PASS_INVALID" {
		t.Errorf("after a revoke: %s", code)
	}
	list := string(s.Admin(t, "GET", "/v1/admin/pass-keys", nil, 200).Body)
	if strings.Count(list, `"seq"`) != 1 || strings.Contains(list, "secret") {
		t.Errorf("the keys: %s", list)
	}
	a, err := sdk(s, "alice").Pass(t.Context(), "spring")
	if err != nil || !strings.HasPrefix(a.Text, "p1.3.") {
		t.Errorf("%+v %v, want a pass of key 3", a, err)
	}
}

// TestSDKEarnsPasses: the SDK gets passes, solves, signs and waits for its own slot by itself.
func TestSDKEarnsPasses(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	for id, p := range map[string]map[string]any{
		"solved": {"pass": "always", "challenge": "slider"}, // no person is there: proof of work in its place
		"signed": {"signature": true},
	} {
		s.Create(t, e2e.Goods(id, 50, 2, map[string]any{"protection": p}))
	}
	alice := sdk(s, "alice")
	for _, id := range []string{"solved", "signed"} {
		c, err := alice.Claim(t.Context(), id, client.ClaimOptions{})
		if err != nil || !c.Won() {
			t.Errorf("%s: %+v %v", id, c, err)
		}
	}
	s.Create(t, e2e.Goods("all", 50, 2, map[string]any{
		"protection": map[string]any{"pass": "always", "challenge": "pow", "signature": true, "spread_s": 2},
		"starts_at":  time.Now().Add(2 * time.Second).Format(time.RFC3339Nano), // soon, and later than the pass
	}))
	p, err := alice.Pass(t.Context(), "all")
	if err != nil || p.SigningKey == "" || p.StartsIn <= 0 {
		t.Fatalf("a pass before the opening: %+v %v", p, err)
	}
	began := time.Now()
	c, err := alice.Claim(t.Context(), "all", client.ClaimOptions{Pass: p.Text, SigningKey: p.SigningKey})
	if err != nil || !c.Won() {
		t.Fatalf("all: %+v %v", c, err)
	}
	if took := time.Since(began); took < p.StartsIn-100*time.Millisecond || took > p.StartsIn+10*time.Second {
		t.Errorf("won after %s, and the slot came after %s", took, p.StartsIn)
	}
	if !s.Eventually(15*time.Second, func() bool { return seedTold(t, s, "all", p.Text) }) {
		t.Error("the seed is not told after the spread")
	}
}

// seedTold says whether the seed of a spread opening is told, and is the one whose hash was.
func seedTold(t *testing.T, s *e2e.Server, id, text string) bool {
	t.Helper()
	sale, err := sdk(s, "alice").Campaign(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(sale.Protection.SeedHash) != 64 {
		t.Fatalf("%+v has no hash of its seed", sale.Protection)
	}
	seed, ok := sluice.ParseSeed(sale.Protection.Seed)
	if !ok {
		if time.Now().After(sale.StartsAt.Add(15 * time.Second)) {
			t.Fatalf("%+v has no seed", sale.Protection)
		}
		return false
	}
	if seed.Hash() != sale.Protection.SeedHash {
		t.Errorf("the seed %s is not the one of the hash %s", sale.Protection.Seed, sale.Protection.SeedHash)
	}
	return true
}

// TestSeedIsSecret: nobody is told the seed before the spread is over: neither buyers nor operators, nor in the audit
// log or the feed of events; a restart does not change it.
func TestSeedIsSecret(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 5, 1, map[string]any{
		"starts_at":  time.Now().Add(time.Hour).Format(time.RFC3339),
		"ends_at":    time.Now().Add(2 * time.Hour).Format(time.RFC3339),
		"protection": map[string]any{"spread_s": 30},
	}))
	hash := func() string {
		sale, err := sdk(s, "alice").Campaign(t.Context(), "spring")
		if err != nil || sale.Protection.Seed != "" {
			t.Fatalf("%+v %v", sale.Protection, err)
		}
		return sale.Protection.SeedHash
	}
	before := hash()
	for _, path := range []string{"/v1/admin/campaigns/spring", "/v1/admin/campaigns", "/v1/admin/audit-log",
		"/v1/admin/events", "/v1/admin/campaigns/spring/report"} {
		if body := string(s.Admin(t, "GET", path, nil, 200).Body); strings.Contains(body, `"spread_seed"`) {
			t.Errorf("%s tells the seed: %s", path, body)
		}
	}
	s.Admin(t, "PATCH", "/v1/admin/campaigns/spring", map[string]any{"protection": map[string]any{"spread_s": 10}}, 200)
	s.Stop(t)
	s.Restart(t)
	if after := hash(); after != before || len(after) != 64 {
		t.Errorf("hash %s, then %s", before, after)
	}
	p := askPass(t, s, "spring", "alice", "phone", nil, 409)
	if p.Code != "PASS_TOO_EARLY" {
		t.Errorf("an hour before: %+v", p)
	}
}

// TestAdaptiveAtTheDoor: one address far above normal is challenged, others are not, whatever they write into
// X-Forwarded-For; the switch challenges everybody.
func TestAdaptiveAtTheDoor(t *testing.T) {
	s := e2e.Start(t, e2e.Options{Args: []string{"--trusted-proxies", "127.0.0.1"}})
	s.Create(t, e2e.Goods("spring", 1000, 1, map[string]any{"protection": map[string]any{"pass": "adaptive"}}))
	from := func(user, device, addr string) string {
		return claimWith(t, s, "spring", user, device, "", "X-Forwarded-For", addr)
	}
	for i := range 40 {
		code := from(fmt.Sprintf("buyer-%d", i), fmt.Sprintf("device-%d", i), fmt.Sprintf("10.0.%d.1", i))
		if code != "CONFIRMED" {
			t.Fatalf("buyer %d: %s", i, code)
		}
	}
	codes := map[string]int{}
	for i := range 100 {
		spoofed := fmt.Sprintf("10.9.%d.1, 192.0.2.1", i) // what the proxy saw stands last
		codes[from(fmt.Sprintf("bot-%d", i), fmt.Sprintf("bot-device-%d", i), spoofed)]++
	}
	if codes["PASS_REQUIRED"] < 60 || codes["CONFIRMED"] > 40 {
		t.Errorf("a farm behind one address heard %v", codes)
	}
	if code := from("late", "lates", "10.1.1.1"); code != "CONFIRMED" {
		t.Errorf("a buyer beside it: %s", code)
	}
	s.Admin(t, "PUT", "/v1/admin/switches/challenge_all", map[string]any{"value": 1}, 200)
	if code := from("later", "laters", "10.1.2.1"); code != "PASS_REQUIRED" {
		t.Errorf("while all are challenged: %s", code)
	}
	c, err := sdk(s, "sdk").Claim(t.Context(), "spring", client.ClaimOptions{})
	if err != nil || !c.Won() {
		t.Errorf("the SDK while all are challenged: %+v %v", c, err)
	}
}

// signedClaim makes the headers and the body of a signed claim.
func signedClaim(p passOf, campaign, nonce string, at time.Time) (body json.RawMessage, headers []string) {
	body, _ = json.Marshal(map[string]any{"pass": p.Pass})
	var key [43]byte
	copy(key[:], p.SigningKey)
	r := &sluice.RequestSignature{Timestamp: fmt.Appendf(nil, "%d", at.UnixMilli()), Nonce: []byte(nonce),
		Method: []byte("POST"), Path: []byte("/v1/campaigns/" + campaign + "/claims"), Body: body}
	mac := pass.Sign(key, r)
	return body, []string{"X-Device-Id", "phone", "Sluice-Timestamp", string(r.Timestamp), "Sluice-Nonce", nonce,
		"Sluice-Request-Signature", string(mac[:])}
}

// TestPassesOnTwoNodes: a pass and a signing key of one node serve on the other; a nonce and a solution that one node
// has seen are refused by the other; a key that one node makes is believed by the other; the switch is in force on
// both.
func TestPassesOnTwoNodes(t *testing.T) {
	t.Run("Redis", func(t *testing.T) { passesOnTwoNodes(t, servers.Redis(t).URL(), "redis") })
	t.Run("the ledger alone", func(t *testing.T) { passesOnTwoNodes(t, "ledger", "none") })
}

// pagesOnTwoNodes: pages that wait speak to any node, and the live view of each tells of all of them.
func pagesOnTwoNodes(t *testing.T, nodes []*e2e.Server) {
	t.Helper()
	nodes[0].Create(t, e2e.Goods("later", 50, 9, map[string]any{
		"starts_at": time.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)}))
	for i, n := range nodes {
		if !n.Eventually(15*time.Second, func() bool { return onSale(t, n, "later") }) {
			t.Fatalf("node %d does not know the sale to come", i)
		}
		for range 2 + i {
			n.Ask(t, "GET", n.URL+"/v1/time?campaign=later", "", nil)
		}
	}
	var look struct {
		Waiting struct {
			Pages int64 `json:"pages"`
		} `json:"waiting"`
	}
	for i, n := range nodes {
		if !n.Eventually(20*time.Second, func() bool {
			n.Admin(t, "GET", "/v1/admin/campaigns/later/live", nil, 200).Into(t, &look)
			return look.Waiting.Pages == 5
		}) {
			t.Errorf("node %d tells of %d pages, want 5", i, look.Waiting.Pages)
		}
	}
}

func passesOnTwoNodes(t *testing.T, admission, queue string) {
	nodes := startNodes(t, 2, "--admission", admission, "--queue", queue, "--ledger", servers.MariaDB(t).URL)
	one, two := nodes[0], nodes[1]
	one.Create(t, e2e.Goods("spring", 50, 9, map[string]any{"protection": map[string]any{
		"pass": "always", "challenge": "pow", "signature": true, "per_user_rate": 500,
	}}))
	if !two.Eventually(15*time.Second, func() bool { return onSale(t, two, "spring") }) {
		t.Fatal("the other node does not sell")
	}
	send := func(s *e2e.Server, p passOf, nonce string, at time.Time) string {
		body, headers := signedClaim(p, "spring", nonce, at)
		var c struct{ Code string }
		s.Ask(t, "POST", s.URL+"/v1/campaigns/spring/claims", e2e.Token("alice"), body, headers...).Into(t, &c)
		return c.Code
	}
	won := func(code string) bool { return code == "QUEUED" || code == "CONFIRMED" }
	ask := askPass(t, one, "spring", "alice", "phone", nil, 200)
	solution, err := client.Work(t.Context(), ask.Challenge.Data)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{"challenge_id": ask.Challenge.ID, "solution": solution}
	p := askPass(t, two, "spring", "alice", "phone", answer, 200)
	var look struct {
		Passes struct {
			Issued int64 `json:"issued"`
		} `json:"passes"`
	}
	if !one.Eventually(15*time.Second, func() bool { // the other node gave it
		one.Admin(t, "GET", "/v1/admin/campaigns/spring/live", nil, 200).Into(t, &look)
		return look.Passes.Issued == 1
	}) {
		t.Errorf("the live view tells of %d passes", look.Passes.Issued)
	}
	pagesOnTwoNodes(t, nodes)
	if again := askPass(t, one, "spring", "alice", "phone", answer, http.StatusUnprocessableEntity); again.Pass != "" {
		t.Errorf("one solution gave two passes: %+v", again)
	}
	now, code := time.Now(), ""
	nonces := []string{"", hex.EncodeToString([]byte("second-one"))}
	if !one.Eventually(15*time.Second, func() bool { // BUSY until the gate is armed
		nonces[0] = fmt.Sprintf("%032d", time.Now().UnixNano())
		code = send(one, p, nonces[0], now)
		return won(code)
	}) {
		t.Fatalf("a pass of the other node: %s", code)
	}
	for what, code := range map[string]string{
		"the same nonce on the other node": send(two, p, nonces[0], now),
		"the same nonce on the same node":  send(one, p, nonces[0], now),
		"a stale signature":                send(two, p, nonces[1], now.Add(-61*time.Second)),
		"one of the future":                send(two, p, nonces[1], now.Add(62*time.Second)),
	} {
		if code != "SIGNATURE_INVALID" {
			t.Errorf("%s: %s", what, code)
		}
	}
	if code := send(two, p, nonces[1], now); !won(code) {
		t.Errorf("a new nonce: %s", code)
	}
	two.Admin(t, "POST", "/v1/admin/pass-keys", map[string]any{"revoke": true}, 201)
	if !one.Eventually(3*time.Second, func() bool {
		return send(one, p, fmt.Sprintf("%032d", time.Now().UnixNano()), now) == "PASS_INVALID"
	}) {
		t.Error("a revoked key is believed on the other node")
	}
	fresh, err := sdk(two, "bob").Pass(t.Context(), "spring")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(fresh.Text, "p1.2.") {
		t.Errorf("%s is not of the new key", fresh.Text)
	}
	sameSlots(t, one, two)
	everywhere(t, one, two)
}

// sameSlots asks both nodes for the slots of some buyers.
func sameSlots(t *testing.T, one, two *e2e.Server) {
	t.Helper()
	one.Create(t, e2e.Goods("spread", 50, 9, map[string]any{
		"starts_at": time.Now().Add(5 * time.Minute).Format(time.RFC3339Nano), "protection": map[string]any{"spread_s": 60},
	}))
	if !two.Eventually(15*time.Second, func() bool {
		return two.Ask(t, "POST", two.URL+"/v1/campaigns/spread/passes", e2e.Token("first"), nil).Status == 200
	}) {
		t.Fatal("the other node does not know the campaign")
	}
	seen := map[int64]bool{}
	for i := range 20 {
		user := fmt.Sprint("buyer-", i)
		a, b := askPass(t, one, "spread", user, "", nil, 200), askPass(t, two, "spread", user, "", nil, 200)
		if d := a.StartsInMS + a.ServerTimeMS - b.StartsInMS - b.ServerTimeMS; d < -50 || d > 50 {
			t.Errorf("the slots of %s are %d ms apart", user, d)
		}
		seen[(a.StartsInMS+a.ServerTimeMS)/1000] = true
	}
	if len(seen) < 10 {
		t.Errorf("twenty buyers have slots in %d seconds of sixty", len(seen))
	}
}

// everywhere sets the switch challenge_all on one node: the other one challenges within 3 s.
func everywhere(t *testing.T, one, two *e2e.Server) {
	t.Helper()
	one.Create(t, e2e.Goods("open", 50, 9, nil))
	if !two.Eventually(15*time.Second, func() bool { return onSale(t, two, "open") }) {
		t.Fatal("the other node does not sell")
	}
	began := time.Now()
	one.Admin(t, "PUT", "/v1/admin/switches/challenge_all", map[string]any{"value": 1, "campaign_id": "open"}, 200)
	if !two.Eventually(3*time.Second, func() bool {
		return claimWith(t, two, "open", fmt.Sprint("u", time.Now().UnixNano()), "", "") == "PASS_REQUIRED"
	}) {
		t.Errorf("the other node does not challenge after %s", time.Since(began))
	}
}
