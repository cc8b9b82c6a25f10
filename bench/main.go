// Command bench measures the figures that Sluice promises, each beside a baseline of the same run, and appends one
// JSON line a figure to bench/history.jsonl. Run it from the top of the repository, on a quiet machine:
//
//	go run ./bench [--quick] [--only name[,name]] [--runs 5]
//
// A figure is the median of its runs. A run whose audit fails has no speed: the program stops there.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-sale/sluice/internal/lab"
)

// bench is one invocation.
type bench struct {
	quick   bool
	runs    int
	out     io.Writer
	binary  string // the server's
	self    string // this program, for the constant server
	temp    string
	history string
	profile string // folder for profiles of a fleet; empty for none
	stamp   stamp
	missed  []string
}

// figure is one measurement; it records one line or more.
type figure struct {
	name  string
	means string
	run   func(context.Context, *bench) error
}

func figures() []figure {
	return []figure{
		{"canonical", "100,000 buyers, 10,000 units, all at once: until everyone was answered", canonical},
		{"refusals", "refusals a second after sold-out, beside a constant answer of the same server", refusals},
		{"protected", "refusals by the checks against bots, beside those of a campaign without them", protected},
		{"confirmed", "durable confirmed claims a second, beside one transaction per claim", confirmed},
		{"settled", "orders settled to MariaDB a second, beside one message, one transaction", settled},
		{"admission", "claims through Redis a second, beside one script call a claim", admission},
		{"admission_size", "the same with 5 million claims in the campaign", admissionSize},
		{"fleet", "the canonical sale on three nodes behind nginx: until everyone was answered and confirmed", fleetSale},
		{"fleet_refusals", "refusals a second of a node on Redis, beside the embedded default", fleetRefusals},
		{"loaded", "the same with 5 million claims in the campaign; memory a claim; restart", loaded},
		{"bots", "units that people get where bots send 80% of the requests, beside no protection", bots},
		{"latency", "p99 at half of the peak rate", latency},
	}
}

func main() {
	quick := flag.Bool("quick", false, "small and once: does it run at all")
	only := flag.String("only", "", "figures to measure, by name; default all")
	runs := flag.Int("runs", 5, "runs of each figure, of which the median counts")
	history := flag.String("history", filepath.Join("bench", "history.jsonl"), "file to append to; empty for none")
	constant := flag.String("constant", "", "serve a constant answer on this address, and nothing else")
	size := flag.Int("size", 200, "with --constant: bytes of its body")
	profile := flag.String("profile", "", "folder for profiles of the fleet's nodes, and what Redis was asked")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "bench measures what Sluice promises:")
		for _, f := range figures() {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-14s %s\n", f.name, f.means)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := func() error {
		if *constant != "" {
			return serveConstant(*constant, *size)
		}
		b := &bench{quick: *quick, runs: *runs, out: os.Stdout, history: *history, profile: *profile}
		if b.quick {
			b.runs = 1
		}
		return b.measure(ctx, *only)
	}()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure builds the server and measures the chosen figures.
func (b *bench) measure(ctx context.Context, only string) (err error) {
	var chosen []figure
	for _, f := range figures() {
		if only == "" || slices.Contains(strings.Split(only, ","), f.name) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("there is no figure %q", only)
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.temp, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.temp) }()
	b.stamp = newStamp(ctx)
	b.binary = filepath.Join(b.temp, "sluice")
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/sluice")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the server: %w", err)
	}
	for _, f := range chosen {
		fmt.Fprintf(b.out, "%s: %s\n", f.name, f.means)
		began := time.Now()
		if err := f.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(b.out, "  took %.0f s\n", time.Since(began).Seconds())
	}
	if len(b.missed) > 0 {
		fmt.Fprintf(b.out, "missed: %s\n", strings.Join(b.missed, ", "))
	}
	return nil
}

// of gives the full size of something, or the quick one.
func (b *bench) of(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

// serve starts a server of the lab's own; data may be empty.
func (b *bench) serve(ctx context.Context, data string, wait time.Duration) (*lab.Process, error) {
	return lab.StartServer(ctx, lab.ServerConfig{Binary: b.binary, Data: data, Wait: wait})
}

// run puts a crowd in front of p. A verdict that is not OK ends the measurement.
func (b *bench) run(ctx context.Context, p *lab.Process, cfg lab.Config) (lab.Result, error) {
	r, err := b.check(lab.Run(ctx, p.Use(cfg)))
	if err == nil && p.MemoryStore() {
		err = fmt.Errorf("%s is in memory: set TMPDIR to a folder on a disk", p.Data)
	}
	return r, err
}

// check passes a run on unless it has no speed.
func (b *bench) check(r lab.Result, err error) (lab.Result, error) {
	if err != nil {
		return r, err
	}
	if !r.Verdict.OK {
		_ = r.WriteText(os.Stderr, nil)
		return r, fmt.Errorf("a run without a speed: %s", r.Verdict.Sentence())
	}
	if r.Verdict.NoAnswer > 0 {
		return r, fmt.Errorf("%d attempts ended without an answer: %v", r.Verdict.NoAnswer, r.Samples)
	}
	return r, nil
}
