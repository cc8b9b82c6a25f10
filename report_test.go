package sluice_test

import (
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

func TestHistogramStepsCoverEveryDurationOnce(t *testing.T) {
	for i := range sluice.NumSteps - 1 {
		end := sluice.StepEnd(i)
		if got := sluice.StepOf(end - time.Nanosecond); got != i {
			t.Fatalf("the last duration below %v is in step %d, want %d", end, got, i)
		}
		if got := sluice.StepOf(end); got != i+1 {
			t.Fatalf("%v is in step %d, want %d", end, got, i+1)
		}
	}
	if got := sluice.StepOf(24 * time.Hour); got != sluice.NumSteps-1 {
		t.Fatalf("a day is in step %d, want the last", got)
	}
	if got := sluice.StepOf(-time.Second); got != 0 {
		t.Fatalf("a negative duration is in step %d, want 0", got)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	var h sluice.Histogram
	if h.Quantile(0.5) != 0 {
		t.Fatal("an empty histogram has a median")
	}
	for ms := 1; ms <= 1000; ms++ {
		h.Add(time.Duration(ms) * time.Millisecond)
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0.001, time.Millisecond}, {0.5, 500 * time.Millisecond}, {0.99, 990 * time.Millisecond}, {1, time.Second}} {
		got := h.Quantile(c.q)
		if got < c.want || got > c.want*5/4+time.Microsecond {
			t.Errorf("quantile %v is %v, want %v to 25%% above", c.q, got, c.want)
		}
	}
	var sum sluice.Histogram
	sum.Merge(&h)
	sum.Merge(&h)
	if sum.Count() != 2000 {
		t.Fatalf("merged twice: %d durations, want 2000", sum.Count())
	}
}

func TestBucketsNeverOverlap(t *testing.T) {
	const starts = sluice.Millis(1_000_000_000_350)
	end := sluice.Millis(0)
	for at := starts - 3000; at < starts+15_000; at++ {
		start, width := sluice.BucketAt(at, starts)
		if at < start || at >= start+width {
			t.Fatalf("%d is in the bucket [%d, %d)", at, start, start+width)
		}
		if end != 0 && start != end && start+width != end {
			t.Fatalf("the bucket [%d, %d) does not follow the one that ends at %d", start, start+width, end)
		}
		end = start + width
	}
	if _, width := sluice.BucketAt(starts, starts); width != sluice.FineBucket {
		t.Fatalf("the opening falls in a bucket of %d ms", width)
	}
	if _, width := sluice.BucketAt(starts+9_999, starts); width != sluice.FineBucket {
		t.Fatalf("just below 10 s after the opening the bucket has %d ms", width)
	}
	if _, width := sluice.BucketAt(starts+11_000, starts); width != sluice.CoarseBucket {
		t.Fatalf("11 s after the opening the bucket has %d ms", width)
	}
}
