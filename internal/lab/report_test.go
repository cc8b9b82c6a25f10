package lab_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a run as it might have been.
func sample() lab.Result {
	q := lab.Quantiles{Count: 125_000, P50: 412.5, P90: 801, P99: 960.25, P999: 1010, Max: 1043.7, Mean: 420.125}
	few := lab.Quantiles{Count: 10_000, P50: 31.2, P90: 70, P99: 99.9, P999: 120, Max: 130.4, Mean: 35}
	return lab.Result{
		Started: time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC),
		Setup: lab.Setup{
			URL: "http://127.0.0.1:8080", Campaign: "spring", Kind: sluice.KindGoods, Buyers: 100_000, Claims: 125_000,
			Stock: 10_000, Limit: 2, Quantity: 2, Seconds: 1.5, Shape: lab.ShapeBurst, Retry: 0.25, Page: true,
			Connections: 1024, Seed: 42, CPUs: 2, Go: "go1.26",
		},
		Verdict: lab.Verdict{OK: true, VerifyOK: true, Sold: 10_000, Stock: 10_000, Rows: 5000, NoAnswer: 3, Unheard: 1,
			Examples: []string{}},
		Funnel: []lab.Share{
			{Reason: "SOLD_OUT", Count: 114_997, Share: 0.92}, {Reason: "CONFIRMED", Count: 10_000, Share: 0.08},
			{Reason: "REPLAYED", Count: 2, Share: 0},
			{Reason: "TIMEOUT", Count: 3, Share: 0},
		},
		Speed: &lab.Speed{
			AnsweredIn: 1.71, ClaimsPerS: 73_099, PeakPerS: 91_000, Confirmed: 5000, ConfirmedIn: 0.21, ConfirmedPerS: 23_809,
			OfferedPerS: 83_333, OpenedAfter: 0.002, SoldOutAfter: 0.2,
		},
		Latency: &lab.Latency{All: q, Confirmed: few, Refused: q, Trip: few, Page: &few,
			Curve: [][2]float64{{0, 0.5}, {50, 412.5}, {90, 801}, {99, 960.25}, {99.9, 1010}, {100, 1043.7}}},
		Series: &lab.Series{StepMS: 500, Confirmed: []int64{10_000, 0, 0, 0}, SoldOut: []int64{20_000, 50_000, 40_000, 4997},
			Other: []int64{0, 0, 0, 0}, Trouble: []int64{0, 0, 0, 3}, Due: []int64{70_000, 40_000, 15_000, 0}},
		Server: lab.Server{Own: true, CPU: 2.1, CPUPerClaim: 16.8, Cores: 1.23, Batches: 14,
			ClaimsABatch: 357.1, CommitMS: 4.2},
		Client: lab.Client{CPU: 1.2, Cores: 0.7, Share: 0.36, Loops: 1, Busiest: 0.69, LagP99: 1.2, LagMax: 4, WaitP99: 900,
			MachineFull: true, Says: "the machine was full: the client took 36% of the CPU that both used"},
		Samples: []string{},
	}
}

// broken is a run that broke its word.
func broken() lab.Result {
	r := sample()
	r.Speed, r.Latency, r.Series = nil, nil, nil
	r.Verdict.OK, r.Verdict.Oversold, r.Verdict.Lost, r.Verdict.Changed = false, 5, 1, 2
	r.Verdict.Examples = []string{"lab-16-0000007 was told CONFIRMED with clm_x; there is no such row"}
	r.Samples = []string{"HTTP 418 <html>\nteapot</html>"}
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]lab.Result{"pass": sample(), "fail": broken()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text, js, page bytes.Buffer
			if err := r.WriteText(&text, nil); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteJSON(&js); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteHTML(&page); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			golden(t, name+".json", js.Bytes())
			golden(t, name+".html", page.Bytes())
			for line := range strings.Lines(text.String()) {
				if n := len([]rune(line)); n > 101 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			for _, s := range []string{"NaN", "Inf", "ZgotmplZ", "http-equiv", "src=", "<link"} {
				if bytes.Contains(page.Bytes(), []byte(s)) {
					t.Errorf("the page has %q in it", s)
				}
			}
		})
	}
}

// The charts are well formed.
func TestCharts(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := sample().WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(page.String(), "<svg")
	if len(parts) != 3 {
		t.Fatalf("%d charts", len(parts)-1)
	}
	for _, p := range parts[1:] {
		body, _, _ := strings.Cut(p, "</svg>")
		var any struct{}
		if err := xml.Unmarshal([]byte("<svg"+body+"</svg>"), &any); err != nil {
			t.Error(err)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	p := lab.Progress{Elapsed: 1200 * time.Millisecond, Sent: 70_000, Answered: 61_204, Of: 100_000, Trouble: 4}
	p.Replayed = 7
	p.Reasons[sluice.ReasonConfirmed], p.Reasons[sluice.ReasonSoldOut] = 10_000, 51_190
	var plain, tty, tall bytes.Buffer
	screens := []*lab.Screen{
		lab.NewScreen(&plain, false, true), lab.NewScreen(&tty, true, false), lab.NewScreen(&tall, true, true),
	}
	for _, s := range screens {
		s.Stage("opening 1024 connections")
		for _, at := range []time.Duration{200, 400, 1300, 1500} {
			p.Elapsed, p.Done = at*time.Millisecond, at == 1500
			s.Progress(p)
		}
	}
	golden(t, "screen-plain.txt", plain.Bytes())
	golden(t, "screen-tty.txt", tty.Bytes())
	golden(t, "screen-tall.txt", tall.Bytes())
}
