package risk_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/risk"
)

func TestRulesThatMustBeRefused(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	for _, tt := range []struct{ rule, says string }{
		{"", "->"},
		{"accounts per device > 5 in 10m", "->"},
		{"-> block 15m", "signal"},
		{"smiles per device > 5 in 10m -> log", "signal"},
		{"accounts per account > 5 in 10m -> log", "nothing that is counted"},
		{"devices per device > 5 in 10m -> log", "nothing that is counted"},
		{"accounts per device > 0 in 10m -> log", "threshold of accounts must be a number from 1 to 300"},
		{"accounts per device > 301 in 10m -> log", "from 1 to 300"},
		{"claims per device > 50001 in 10m -> log", "from 1 to 50000"},
		{"claims per device > 1.5 in 10m -> log", "whole number"},
		{"claims per device > NaN in 10m -> log", "must be a number"},
		{"claims per device > 5 in 9s -> log", "from 10s to 1d"},
		{"claims per device > 5 in 25h -> log", "from 10s to 1d"},
		{"refused share per device > 1 in 10m -> log", "from 0.01 to 0.99"},
		{"account age < 0s -> log", "account age"},
		{"claims per device > 5 in 10m -> slow 1", "from 1.1 to 1000"},
		{"claims per device > 5 in 10m -> block 31d", "from 1s to 30d"},
		{"claims per device > 5 in 10m -> ban", "log, challenge, slow"},
		{"claims per device > 5 in 10m and -> log", "and"},
		{"claims per address > 5 in 10m -> block 15m", "honest buyers share addresses"},
		{"claims per subnet > 5 in 10m -> slow 2", "honest buyers share addresses"},
		{"accounts per subnet > 5 in 10m and claims per address > 5 in 10m -> block 1m",
			"honest buyers share addresses"},
		{strings.Repeat("claims per device > 5 in 10m and ", 5) + "account age < 1d -> log",
			"at most 4 conditions"},
		{strings.Repeat(" ", 400) + "account age < 1d -> log", "at most 400 bytes"},
	} {
		_, err := n.Put(t.Context(), sluice.RiskRule{ID: "r", Rule: tt.rule}, sluice.Actor{})
		var f *sluice.Fault
		if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Field != "rule" ||
			!strings.Contains(f.Fields[0].Detail, tt.says) {
			t.Errorf("%q: %v, want a fault of rule that says %q", tt.rule, err, tt.says)
		}
	}
	for _, rule := range []string{
		"claims per address > 5 in 10m and accounts per device > 2 in 10m -> block 15m",
		"claims per address > 5 in 10m and account age < 1d -> slow 3",
	} {
		if got, err := risk.Check(rule); err != nil || got != rule {
			t.Errorf("%q: %q, %v", rule, got, err)
		}
	}
}

// FuzzRule: whatever is read is written in one form, which reads the same, and never slows or blocks by address alone.
func FuzzRule(f *testing.F) {
	for _, s := range signals {
		f.Add(s.when + " -> block 15m")
	}
	f.Add("account age < 7d and refused share per subnet > 0.5 in 1h -> slow 2.25")
	f.Fuzz(func(t *testing.T, text string) {
		kept, err := risk.Check(text)
		if err != nil {
			return
		}
		again, err := risk.Check(kept)
		if err != nil || again != kept {
			t.Fatalf("%q is kept as %q, which reads %q, %v", text, kept, again, err)
		}
		hard := strings.Contains(kept, "-> block") || strings.Contains(kept, "-> slow")
		if hard && !strings.Contains(kept, "per account") && !strings.Contains(kept, "per device") &&
			!strings.Contains(kept, "account age") {
			t.Fatalf("by address alone: %q", kept)
		}
		_, _ = risk.FileRule(text)
	})
}
