package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Token gives a buyer's token, good for an hour. Further claims come as names and values in turn.
func Token(user string, claims ...string) string {
	set := map[string]any{"sub": user, "exp": time.Now().Add(time.Hour).Unix()}
	for i := 0; i+1 < len(claims); i += 2 {
		set[claims[i]] = claims[i+1]
	}
	payload, err := json.Marshal(set)
	if err != nil {
		panic(err) // strings and numbers only
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(payload)
	mac := hmac.New(sha256.New, []byte(JWTSecret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Claim is a claim's answer, or the problem in its place.
type Claim struct {
	Status     int      `json:"-"`
	Code       string   `json:"code"`
	ClaimID    string   `json:"claim_id"`
	CampaignID string   `json:"campaign_id"`
	State      string   `json:"state"`
	Quantity   int      `json:"quantity"`
	OrderID    string   `json:"order_id"`
	CouponCode string   `json:"coupon_code"`
	Replayed   bool     `json:"replayed"`
	Claims     []string `json:"claims"`
}

// Claim makes one claim. An empty requestID sends none; quantity 0 sends none.
func (s *Server) Claim(tb testing.TB, campaign, user, requestID string, quantity int) Claim {
	tb.Helper()
	c, err := s.TryClaim(campaign, user, requestID, quantity)
	if err != nil {
		tb.Fatalf("claim of %s on %s: %v\n%s", user, campaign, err, s.Log())
	}
	return c
}

// TryClaim is Claim for calls that may find no server; it may be called from any goroutine.
func (s *Server) TryClaim(campaign, user, requestID string, quantity int) (c Claim, err error) {
	body := map[string]any{}
	if requestID != "" {
		body["request_id"] = requestID
	}
	if quantity != 0 {
		body["quantity"] = quantity
	}
	a, err := s.TryAsk("POST", s.URL+"/v1/campaigns/"+campaign+"/claims", Token(user), body)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(a.Body, &c); err != nil {
		return c, fmt.Errorf("status %d, not JSON: %w: %s", a.Status, err, a.Body)
	}
	c.Status = a.Status
	return c, nil
}

// Goods gives the body of a goods campaign that is open now; more overrides members.
func Goods(id string, total, limit int, more map[string]any) map[string]any {
	body := map[string]any{
		"id": id, "kind": "goods", "title": "e2e " + id, "total": total, "per_user_limit": limit,
		"starts_at": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339),
		"ends_at":   time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		"goods":     map[string]any{"sku": "sku-" + id, "price_minor": 9900, "currency": "CNY"},
	}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// Coupons gives the body of a coupon campaign that is open now; more overrides members.
func Coupons(id string, total, limit int, more map[string]any) map[string]any {
	body := Goods(id, total, limit, nil)
	delete(body, "goods")
	body["kind"] = "coupon"
	body["coupon"] = map[string]any{
		"type": "amount_off", "value": 1000, "min_spend_minor": 5000, "currency": "CNY", "valid_days": 7,
	}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// Create makes a campaign.
func (s *Server) Create(tb testing.TB, body map[string]any) {
	tb.Helper()
	s.Admin(tb, "POST", "/v1/admin/campaigns", body, 201)
}

// Verification is what verify says.
type Verification struct {
	OK             bool  `json:"ok"`
	Total          int64 `json:"total"`
	Available      int64 `json:"available"`
	Queued         int64 `json:"queued"`
	Held           int64 `json:"held"`
	Sold           int64 `json:"sold"`
	UsersOverLimit int64 `json:"users_over_limit"`
	UnitsOverTotal int64 `json:"units_over_total"`
	Drift          int64 `json:"drift"`
}

// Look reads path as JSON into v at the operators' listener, and gives false where the server says that it cannot tell
// now, as it may while a gate is armed: a poll asks until it is right, within its own bound. Any other answer but 200
// fails the test.
func (s *Server) Look(tb testing.TB, path string, v any) bool {
	tb.Helper()
	a := s.Ask(tb, "GET", s.AdminURL+path, AdminKey, nil)
	switch a.Status {
	case http.StatusOK:
		a.Into(tb, v)
		return true
	case http.StatusServiceUnavailable:
		return false
	}
	tb.Fatalf("GET %s: status %d: %s", path, a.Status, a.Body)
	return false
}

// VerifyPath is where a campaign's figures are.
func VerifyPath(campaign string) string { return "/v1/admin/campaigns/" + campaign + "/verify" }

// Verify recomputes a campaign from its rows, and fails the test where the figures do not hold.
func (s *Server) Verify(tb testing.TB, campaign string) (v Verification) {
	tb.Helper()
	a := s.Admin(tb, "GET", "/v1/admin/campaigns/"+campaign+"/verify", nil, 200)
	a.Into(tb, &v)
	sums := v.Available+v.Queued+v.Held+v.Sold == v.Total && v.Drift == 0
	if !v.OK || !sums || v.UsersOverLimit != 0 || v.UnitsOverTotal != 0 {
		tb.Fatalf("%s does not verify: %s", campaign, a.Body)
	}
	return v
}

// Pay sends a signed payment notification.
func (s *Server) Pay(tb testing.TB, reference, order string, amount int64) Answer {
	tb.Helper()
	body, err := json.Marshal(map[string]any{
		"reference": reference, "order_id": order, "amount_minor": amount, "currency": "CNY", "status": "succeeded",
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s.Ask(tb, "POST", s.URL+"/v1/payments/notifications", "", body, "Sluice-Signature", Sign(body, time.Now()))
}

// Sign gives the header that a payment notification is signed with.
func Sign(body []byte, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(PaymentSecret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// Run is what a command line came to.
type Run struct {
	Out, Err string
	Code     int
}

// CLI runs the program with args against this server: its folder, its address, its key.
func (s *Server) CLI(tb testing.TB, stdin string, args ...string) Run {
	tb.Helper()
	return Command(tb, append(s.Env, "SLUICE_ADMIN_URL="+s.AdminURL, "SLUICE_DATA="+s.Data), stdin, args...)
}

// Command runs the program; env nil is the harness's own.
func Command(tb testing.TB, env []string, stdin string, args ...string) Run {
	tb.Helper()
	if env == nil {
		env = environment(nil)
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(tb.Context(), Binary(tb), args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatal(err)
	}
	return Run{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}
