//go:build !race

package gate_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/risk"
)

// riskFile is a ledger without rules: those of the benchmark stand in the file.
type riskFile struct{}

func (riskFile) RiskRules(context.Context) ([]sluice.RiskRule, error) { return nil, nil }

func (riskFile) RecordFired(context.Context, []sluice.RiskFired) error { return nil }

func (riskFile) ActiveFired(context.Context, sluice.Millis, int64) ([]sluice.RiskFired, int64, error) {
	return nil, 0, nil
}

// rulesInForce are the worked example of docs/risk.md.
func rulesInForce(tb testing.TB) *risk.Engine {
	tb.Helper()
	var file []sluice.RiskRule
	for i, text := range []string{
		"accounts per device > 5 in 10m -> block 15m", "devices per account > 4 in 1h -> challenge",
		"accounts per address > 60 in 10m -> challenge", "early claims per account > 30 in 5m -> slow 4",
		"failed challenges per device > 6 in 10m -> block 10m", "refused share per account > 0.8 in 5m -> slow 5",
	} {
		r, err := risk.FileRule(fmt.Sprintf("r%d (on): %s", i, text))
		if err != nil {
			tb.Fatal(err)
		}
		file = append(file, r)
	}
	e := risk.New(risk.Config{Ledger: riskFile{}, File: file})
	if err := e.Load(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return e
}

// BenchmarkRefuseSoldOutRules is BenchmarkRefuseSoldOut without rules and with six, in one run.
func BenchmarkRefuseSoldOutRules(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("rules=%v", on), func(b *testing.B) {
			r := newRig(b, func(c *gate.Config) {
				if on {
					c.Suspicion = rulesInForce(b)
				}
			})
			r.admitter.soldOut.Store(true)
			req := r.request(b, "alice")
			req.Device = "a telephone"
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if d := r.Claim(ctx, req); d.Reason != sluice.ReasonSoldOut {
					b.Fatal(d.Reason)
				}
			}
		})
	}
}

// TestRulesDoNotAllocate: a refusal with risk rules in force allocates no more than one without.
func TestRulesDoNotAllocate(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.Suspicion = rulesInForce(t) })
	r.admitter.soldOut.Store(true)
	req := r.request(t, "alice")
	req.Device = "a telephone"
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		if d := r.Claim(ctx, req); d.Reason != sluice.ReasonSoldOut {
			t.Error(d.Reason)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
