package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice/internal/lab"
)

// stamp says where and of what a figure was measured.
type stamp struct {
	At     string `json:"at"`
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty,omitempty"` // the tree differed from the commit
	Go     string `json:"go"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Quick  bool   `json:"quick,omitempty"`
}

// line is one figure in the history.
type line struct {
	stamp
	Figure   string  `json:"figure"`
	Value    float64 `json:"value"` // the median
	Unit     string  `json:"unit"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Runs     int     `json:"runs"`
	Baseline string  `json:"baseline"`       // what the value is held against
	Base     float64 `json:"baseline_value"` // its median, in the same run and unit
	Ratio    float64 `json:"ratio"`          // value over baseline
	Target   string  `json:"target"`
	Met      bool    `json:"met"`
	Note     string  `json:"note,omitempty"`
	costs
}

// costs are what stays comparable on a machine that is not quiet. Those of several runs are medians.
type costs struct {
	CPU     float64 `json:"cpu_us_per_claim,omitempty"`          // of the server
	BaseCPU float64 `json:"baseline_cpu_us_per_claim,omitempty"` // of the baseline's server
	Client  float64 `json:"client_cpu_us_per_claim,omitempty"`
	Others  float64 `json:"others_cores,omitempty"` // used by other programs meanwhile: above 0.2 the figure is in doubt
}

// meter gathers the costs of a figure's runs.
type meter struct{ cpu, base, client, others samples }

func (m *meter) add(r lab.Result) {
	m.cpu = append(m.cpu, r.Server.CPUPerClaim)
	m.client = append(m.client, r.Client.CPU*1e6/float64(max(r.Setup.Claims, 1)))
	m.others = append(m.others, r.Client.Others)
}

func (m *meter) addBase(r lab.Result) {
	m.base = append(m.base, r.Server.CPUPerClaim)
	m.others = append(m.others, r.Client.Others)
}

func (m *meter) costs() costs {
	return costs{round3(m.cpu.median()), round3(m.base.median()), round3(m.client.median()), round3(m.others.median())}
}

func newStamp(ctx context.Context) stamp {
	s := stamp{At: time.Now().UTC().Format(time.RFC3339), Go: runtime.Version(), CPU: runtime.GOARCH}
	s.CPUs = runtime.NumCPU()
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		s.Commit = strings.TrimSpace(string(out))
	}
	changed := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":!bench/history.jsonl")
	if out, err := changed.Output(); err == nil {
		s.Dirty = len(out) > 0
	}
	raw, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the architecture has to do
	for text := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(text, ":"); ok && strings.TrimSpace(name) == "model name" {
			s.CPU = strings.TrimSpace(value)
			break
		}
	}
	return s
}

// samples are the values of one figure's runs.
type samples []float64

func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	m := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[m]
	}
	return (sorted[m-1] + sorted[m]) / 2
}

// goal says whether a figure is good enough.
type goal struct {
	words string
	met   func(value, ratio float64) bool
}

func atMost(v float64, words string) goal {
	return goal{words, func(value, _ float64) bool { return value <= v }}
}

func ratioAtLeast(v float64, words string) goal {
	return goal{words, func(_, ratio float64) bool { return ratio >= v }}
}

// record prints the figure and appends it to the history.
func (b *bench) record(figure, unit string, values samples, baseline string, base samples, g goal, c costs,
	note string,
) error {
	l := line{stamp: b.stamp, Figure: figure, Value: round3(values.median()), Unit: unit, Min: round3(slices.Min(values)),
		Max: round3(slices.Max(values)), Runs: len(values), Baseline: baseline, Base: round3(base.median()),
		Target: g.words, Note: note, costs: c}
	l.Quick = b.quick
	if l.Base != 0 {
		l.Ratio = round3(l.Value / l.Base)
	}
	l.Met = g.met(l.Value, l.Ratio)
	verdict := "met"
	if !l.Met {
		verdict = "MISSED"
		b.missed = append(b.missed, figure)
	}
	fmt.Fprintf(b.out, "  %-24s %12g %-10s (%g to %g)", figure, l.Value, unit, l.Min, l.Max)
	if l.Base != 0 {
		fmt.Fprintf(b.out, "  ratio %g to %s: %g", l.Ratio, baseline, l.Base)
	}
	fmt.Fprintf(b.out, "  %s: %s  %s\n", g.words, verdict, note)
	if c.CPU > 0 {
		fmt.Fprintf(b.out, "  %-24s CPU a claim: server %g µs, client %g µs, baseline's server %g µs;"+
			" other programs %g cores\n", "", c.CPU, c.Client, c.BaseCPU, c.Others)
	}
	if b.history == "" {
		return nil
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.history, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the history: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Close())
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }
