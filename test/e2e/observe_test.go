package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

// TestWhatIsToldAndWhatIsNot runs a coupon through its life and then reads the log, the decision log and the
// metrics: they tell what happened, and no token, no key and no code.
func TestWhatIsToldAndWhatIsNot(t *testing.T) {
	s := e2e.Start(t, e2e.Options{Args: []string{"--decision-log-on", "--log-level", "debug"}})
	s.Create(t, e2e.Coupons("gift", 1, 1, nil))
	won := s.Claim(t, "gift", "alice", "r1", 1)
	s.Claim(t, "gift", "alice", "r1", 1)
	s.Claim(t, "gift", "bob", "r1", 1)
	s.Claim(t, "made-up-by-a-client", "bob", "r1", 1)
	if won.Code != "CONFIRMED" || won.CouponCode == "" {
		t.Fatalf("%+v", won)
	}
	var key struct{ Key string }
	body := map[string]any{"role": "merchant", "name": "shop", "merchant_id": "m1"}
	s.Admin(t, "POST", "/v1/admin/api-keys", body, 201).Into(t, &key)
	redeem := map[string]any{"reference": "r", "merchant_id": "m1", "amount_minor": 8800}
	path := s.URL + "/v1/coupons/" + won.CouponCode + "/redeem"
	if a := s.Ask(t, "POST", path, key.Key, redeem); a.Status != 200 {
		t.Fatalf("redeem: %d %s", a.Status, a.Body)
	}
	s.Admin(t, "GET", "/v1/admin/coupons/"+won.CouponCode, nil, 200)
	s.Admin(t, "PUT", "/v1/admin/log-level", map[string]any{"level": "info"}, 200)
	metrics := string(s.Ask(t, "GET", s.AdminURL+"/metrics", "", nil).Body)
	s.Stop(t)

	decisions, err := os.ReadFile(filepath.Join(s.Data, "decisions.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(decisions), "\n"); n != 4 {
		t.Errorf("%d lines in the decision log, want 4:\n%s", n, decisions)
	}
	for where, parts := range map[string][]string{
		string(decisions): {`"reason":"CONFIRMED"`, `"replayed":true`, `"reason":"SOLD_OUT"`, `"check":"campaign"`},
		s.Log():           {`"route":"/v1/admin/coupons/{code}"`, `"key":"key_bootstrap"`, `"route":"/v1/admin/api-keys"`},
		metrics: {
			`sluice_claims_total{campaign="gift",reason="CONFIRMED"} 1`,
			`sluice_claims_total{campaign="gift",reason="REPLAYED"} 1`,
			`sluice_claims_total{campaign="",reason="UNKNOWN_CAMPAIGN"} 1`,
			`sluice_campaign_state{campaign="gift",state="sold_out"} 1`,
			`sluice_coupon_steps_total{op="redeem"} 1`, `sluice_queue_length{lane="urgent"} 0`, `sluice_ready 1`,
			`sluice_requests_in_flight{kind="claims"} 0`, `sluice_http_answers_total{status="404"} 1`,
		},
	} {
		for _, part := range parts {
			if !strings.Contains(where, part) {
				t.Errorf("%s is not in:\n%s", part, where)
			}
		}
	}
	plain := strings.ReplaceAll(won.CouponCode, "-", "")
	secret := []string{won.CouponCode, plain, key.Key, e2e.AdminKey, e2e.JWTSecret, e2e.PaymentSecret, e2e.Token("x")[:20]}
	for _, x := range secret {
		if strings.Contains(s.Log()+string(decisions)+metrics, x) {
			t.Errorf("%s is told", x)
		}
	}
	if strings.Contains(metrics, "made-up-by-a-client") {
		t.Error("a made-up campaign has a series of its own")
	}
}
