//go:build !race

package gate_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
)

// TestNoAllocation: with the token cached, no decision allocates inside the gate, whatever it is. The race detector
// makes pools forget on purpose, so that this file is not built with it.
func TestNoAllocation(t *testing.T) {
	none := fault{name: "none", want: sluice.ReasonConfirmed, edit: func(*stage) {}}
	unhurried := fault{edit: func(s *stage) { s.config.PerUserRate = 1e9 }}
	for _, f := range append(faults, none) {
		for _, requestID := range []string{"", "a request id"} {
			these := []fault{f}
			if f.want != sluice.ReasonTooFrequent {
				these = append(these, unhurried)
			}
			g, req := prepare(t, these...)
			req.RequestID = requestID
			ctx := t.Context()
			claim := func() {
				if d := g.Claim(ctx, req); d.Reason != f.want {
					t.Fatalf("%s: %s", f.name, d.Reason)
				}
			}
			claim()
			if n := testing.AllocsPerRun(200, claim); n != 0 {
				t.Errorf("%s, request id %q: %v allocations", f.name, requestID, n)
			}
		}
	}
}
