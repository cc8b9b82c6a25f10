package e2e_test

import (
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

// passCheck makes the checks before a sale and gives that of passes.
func passCheck(t *testing.T, s *e2e.Server, campaign string) (state, detail string) {
	t.Helper()
	var run struct {
		Checks []struct{ Name, State, Detail string }
	}
	s.Admin(t, "POST", "/v1/admin/campaigns/"+campaign+"/preflight", nil, 200).Into(t, &run)
	for _, c := range run.Checks {
		if c.Name == "passes" {
			return c.State, c.Detail
		}
	}
	t.Fatalf("no check of passes: %+v", run)
	return "", ""
}

// TestPreflightTriesChallenges: before the sale an operator is told whether buyers can get the challenge that the
// campaign asks for.
func TestPreflightTriesChallenges(t *testing.T) {
	service := standIn(t)
	site := []string{
		"--challenge-siteverify-provider", "turnstile", "--challenge-siteverify-site-key", "0xsite",
		"--challenge-siteverify-url", service.URL,
	}
	s := e2e.Start(t, e2e.Options{Args: site, Env: []string{"SLUICE_CHALLENGE_SITEVERIFY_SECRET=e2e-site-secret"}})
	for _, kind := range []string{"pow", "slider", "image", "siteverify"} {
		guarded(t, s, kind)
		if state, detail := passCheck(t, s, kind); state != "go" || !strings.Contains(detail, kind) {
			t.Errorf("%s: %s: %s", kind, state, detail)
		}
	}
	service.Close()
	if state, detail := passCheck(t, s, "siteverify"); state != "no_go" || strings.Contains(detail, "e2e-site-secret") {
		t.Errorf("the service is away: %s: %s", state, detail)
	}
	bare := e2e.Start(t, e2e.Options{})
	guarded(t, bare, "siteverify")
	if state, detail := passCheck(t, bare, "siteverify"); state != "no_go" || !strings.Contains(detail, "not set up") {
		t.Errorf("no service: %s: %s", state, detail)
	}
	bare.Create(t, e2e.Goods("open", 1, 1, nil))
	if state, detail := passCheck(t, bare, "open"); state != "absent" {
		t.Errorf("no pass: %s: %s", state, detail)
	}
}
