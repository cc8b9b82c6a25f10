package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// goBench runs one benchmark of a package as its own tests have it, and gives its metrics by unit, a sample a run.
// name is of the one line, or lines, to read.
func goBench(ctx context.Context, b *bench, pkg, pattern, times string, name string) (map[string]samples, error) {
	cmd := exec.CommandContext(ctx, "go", "test", pkg, "-run", "^$", "-bench", pattern, "-benchtime", times,
		"-count", strconv.Itoa(b.runs), "-timeout", "60m")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench %s: %w\n%s", pattern, err, out)
	}
	all := readBench(string(out), name)
	if len(all) == 0 {
		return nil, fmt.Errorf("go test -bench %s measured nothing:\n%s", pattern, out)
	}
	return all, nil
}

// readBench takes the lines of one benchmark apart: its name, how often it ran, then pairs of value and unit.
func readBench(out, name string) map[string]samples {
	all := map[string]samples{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], name) {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				all[f[i+1]] = append(all[f[i+1]], v)
			}
		}
	}
	return all
}

const redisPackage = "./internal/redis"

// admission: claims through the whole adapter, 512 at once; beside one script call a claim, pipelined, 512 at once.
func admission(ctx context.Context, b *bench) error {
	const name = "BenchmarkAdmitCrowd/flights_2"
	all, err := goBench(ctx, b, redisPackage, "^BenchmarkAdmitCrowd$/^flights_2$", b.times(5, 1), name)
	if err != nil {
		return err
	}
	ours, theirs := all["claims/s"], all["baseline/s"]
	var baseCPU samples
	for i, ratio := range all["CPU-ratio"] {
		baseCPU = append(baseCPU, ratio*all["CPU-µs/claim"][i])
	}
	c := costs{CPU: round3(all["CPU-µs/claim"].median()), BaseCPU: round3(baseCPU.median())}
	return b.record("admission", "claims/s", ours, "one script call a claim", theirs,
		ratioAtLeast(3, "at least 3 times the baseline"), c,
		"one Redis, append-only, no rewrite of the file meanwhile; 512 at once; CPU: of Redis and client together")
}

// admissionSize: calls of 512 claims in a campaign that has 5 million; beside one that has 10,000.
func admissionSize(ctx context.Context, b *bench) error {
	full, quick := "5000000", "1000000"
	size := full
	if b.quick {
		size = quick
	}
	const pattern = "^BenchmarkAdmitSize$/^"
	times := strconv.Itoa(b.of(500_000, 100_000)) + "x"
	var both [2]samples
	var errs [2]error
	for i, n := range []string{size, "10000"} {
		var all map[string]samples
		all, errs[i] = goBench(ctx, b, redisPackage, pattern+n+"_claims$", times, "BenchmarkAdmitSize/"+n+"_claims")
		both[i] = all["claims/s"]
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return b.record("admission_size", "claims/s", both[0], "10,000 claims in the campaign", both[1],
		ratioAtLeast(0.75, "at least 0.75 of the small campaign"), costs{},
		size+" claims in the campaign; no rewrite of the append-only file meanwhile")
}

// times gives how often a benchmark runs, as -benchtime has it.
func (b *bench) times(full, quick int) string { return strconv.Itoa(b.of(full, quick)) + "x" }
