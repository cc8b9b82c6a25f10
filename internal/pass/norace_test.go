//go:build !race

// The race detector makes pools forget on purpose.

package pass_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
)

// TestNothingIsAllocated: what a claim costs in this package.
func TestNothingIsAllocated(t *testing.T) {
	k := node(t, &ledger{}, &clock{opening})
	text := issue(t, k, opening, valid())
	s := signed(k, text)
	for what, f := range map[string]func(){
		"check":        func() { k.Check(opening, "spring", "alice", "phone", text) },
		"refusal":      func() { k.Check(opening, "spring", "bob", "phone", text) },
		"no pass":      func() { k.Check(opening, "spring", "bob", "phone", "nonsense") },
		"signed claim": func() { k.Signed(text, s) },
		"draw":         func() { sluice.Seed{1}.Draw("alice") },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}
