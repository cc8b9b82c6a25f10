package gate_test

import (
	"net/netip"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// rules is a Suspicion that says one thing of everybody.
type rules struct {
	verdict sluice.Verdict
	asked   int
	seen    []sluice.Reason
}

func (r *rules) Look(*sluice.Subject) sluice.Verdict {
	r.asked++
	return r.verdict
}

func (r *rules) Saw(_ *sluice.Subject, reason sluice.Reason) { r.seen = append(r.seen, reason) }

// TestAllowlistBeatsBlocklistBeatsRules goes through who beats whom, for each scope.
func TestAllowlistBeatsBlocklistBeatsRules(t *testing.T) {
	s := &rules{verdict: sluice.Verdict{Block: true, Reference: "by rule"}}
	r := newRig(t, func(c *gate.Config) { c.Suspicion, c.PerUserRate = s, 1e6 })
	req := r.request(t, "u1")
	req.Device = "d1"
	if d := r.claim(t, req, sluice.ReasonBlocked); d.Reference != "by rule" {
		t.Fatalf("the rule's block has the reference %q", d.Reference)
	}
	asked := s.asked
	for _, b := range []sluice.Block{
		{ID: "by user", Scope: sluice.BlockUser, Value: "u1"}, {ID: "by device", Scope: sluice.BlockDevice, Value: "d1"},
		{ID: "by address", Scope: sluice.BlockAddress, Value: "192.0.2.0/24"},
	} {
		r.SetBlocks([]sluice.Block{b})
		if d := r.claim(t, req, sluice.ReasonBlocked); d.Reference != b.ID || s.asked != asked {
			t.Errorf("the blocklist does not beat the rules: %q, asked %d times", d.Reference, s.asked-asked)
		}
		for i, a := range []sluice.Block{
			{Scope: sluice.BlockUser, Value: "u1"}, {Scope: sluice.BlockAddress, Value: "192.0.2.7"},
		} {
			r.SetAllowed([]sluice.Block{a})
			r.claim(t, req, sluice.ReasonConfirmed)
			if s.asked != asked {
				t.Errorf("%s, allowed by %s: the rules were asked", b.ID, a.Scope)
			}
			other := r.request(t, "u2")
			other.Addr = netip.MustParseAddr("198.51.100.1")
			if d := r.claim(t, other, sluice.ReasonBlocked); d.Reference != "by rule" {
				t.Errorf("allowed %d: somebody else: %+v", i, d)
			}
			asked = s.asked
		}
		// A device that the client merely says allows nobody: anybody can say it.
		r.SetAllowed([]sluice.Block{{Scope: sluice.BlockDevice, Value: "d1"}})
		r.claim(t, req, sluice.ReasonBlocked)
		r.SetAllowed([]sluice.Block{{Scope: sluice.BlockUser, Value: "u1", ExpiresAt: r.clock.millis() - 1}})
		r.claim(t, req, sluice.ReasonBlocked)
		r.SetAllowed(nil)
		asked = s.asked
	}
}

// TestAllowedDeviceMayAskForAPass: a device that the token names is allowed where passes are given, as it is where
// claims are made; one that a header names is not.
func TestAllowedDeviceMayAskForAPass(t *testing.T) {
	r := newRig(t, nil)
	r.SetBlocks([]sluice.Block{{ID: "b", Scope: sluice.BlockUser, Value: "u1"}})
	r.SetAllowed([]sluice.Block{{Scope: sluice.BlockDevice, Value: "d1"}})
	for _, vouched := range []bool{true, false} {
		s := sluice.Subject{Campaign: "spring", User: "u1", Device: "d1", Vouched: vouched, Now: r.clock.millis()}
		if st, ok := r.Stand(&s); !ok || st.Blocked == vouched {
			t.Errorf("vouched %v: %+v, %v", vouched, st, ok)
		}
	}
}
