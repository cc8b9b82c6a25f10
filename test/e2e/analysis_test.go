package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestAnalysis: after a sale the server tells from its decision log what the same log tells without a server, and
// from its ledger what that knows where there is no log.
func TestAnalysis(t *testing.T) {
	t.Parallel()
	analyse := func(s *e2e.Server, args ...string) (a sluice.Analysis) {
		r := s.CLI(t, "", append([]string{"report", "spring", "--json"}, args...)...)
		if r.Code != 0 {
			t.Fatalf("%v: %d\n%s", args, r.Code, r.Err)
		}
		if err := json.Unmarshal([]byte(r.Out), &a); err != nil {
			t.Fatalf("%v\n%s", err, r.Out)
		}
		return a
	}
	sale := func(args ...string) *e2e.Server {
		s := e2e.Start(t, e2e.Options{Args: args})
		s.Create(t, e2e.Goods("spring", 5, 1, nil))
		for i := range 12 {
			s.Claim(t, "spring", fmt.Sprint("user-", i), "r", 1)
		}
		return s
	}
	s := sale("--decision-log-on")
	log := filepath.Join(s.Data, "decisions.log")
	var own sluice.Analysis
	if !s.Eventually(askFor, func() bool {
		own = analyse(s, "--analysis")
		return own.Lines == 12
	}) {
		t.Fatalf("the server's own: %+v", own)
	}
	if own.Source != sluice.SourceDecisions || own.Units.Normal != 5 || own.Reasons[0].Reason != "SOLD_OUT" ||
		own.Reasons[0].Count != 7 || len(own.Refusals) != 1 || own.StartsMS == 0 {
		t.Errorf("the server's own: %+v", own)
	}
	if a := analyse(s, "--decisions", log); a.Lines != 12 || a.Units != own.Units || len(a.Seconds) != len(own.Seconds) {
		t.Errorf("from the file: %+v, the server said %+v", a, own)
	}
	if r := s.CLI(t, "", "report", "spring", "--decisions", filepath.Join(s.Data, "none.log")); r.Code == 0 {
		t.Error("a log that is not there was analysed")
	}
	a := analyse(sale(), "--analysis")
	if a.Source != sluice.SourceDatabase || a.Units.Total != 5 || a.Lines != 12 || len(a.Missing) == 0 {
		t.Errorf("from the ledger: %+v", a)
	}
}
