package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// OnceBench is one store, empty, as nodes see it.
type OnceBench struct {
	Nodes []sluice.Once // at least one; those of one store
	// Pass lets so much time go by for the store.
	Pass func(t *testing.T, d time.Duration)
	// Lasting counts the keys of the store that have no time to live; nil where none can be without.
	Lasting func(t *testing.T) int
}

// Once runs the suite that every store passes.
func Once(t *testing.T, open func(t *testing.T) OnceBench) {
	tests := []struct {
		name string
		run  func(OnceBench, *testing.T)
	}{
		{"once, whatever node is asked", OnceBench.once},
		{"keys do not meet", OnceBench.apart},
		{"of many at once, one is the first", OnceBench.race},
		{"remembered for its time, and not for ever", OnceBench.ends},
		{"asking again does not prolong it", OnceBench.notProlonged},
		{"a time to live out of bounds is an error", OnceBench.bounds},
		{"a call that was given up is an error or an answer", OnceBench.givenUp},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := open(t)
			tc.run(b, t)
			if b.Lasting == nil {
				return
			}
			if n := b.Lasting(t); n != 0 {
				t.Errorf("%d keys have no time to live", n)
			}
		})
	}
}

// first asks node i, which is taken modulo their number.
func (b OnceBench) first(t *testing.T, i int, key string, ttl time.Duration) bool {
	t.Helper()
	first, err := b.Nodes[i%len(b.Nodes)].First(t.Context(), key, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func (b OnceBench) once(t *testing.T) {
	for i := range 10 {
		if got := b.first(t, i, "a", time.Minute); got != (i == 0) {
			t.Errorf("time %d: first %v", i+1, got)
		}
	}
}

func (b OnceBench) apart(t *testing.T) {
	keys := []string{"a", "A", "a ", " a", "a\x00", "{a}", "a}b", "*", "é", "\xff\xfe", strings.Repeat("k", 4096)}
	for i := range 200 {
		keys = append(keys, fmt.Sprintf("n:%d", i))
	}
	for i, key := range keys {
		if !b.first(t, i, key, time.Minute) {
			t.Errorf("%.20q was taken for another key", key)
		}
	}
	for i, key := range keys {
		if b.first(t, i+1, key, time.Minute) {
			t.Errorf("%.20q was forgotten", key)
		}
	}
}

func (b OnceBench) race(t *testing.T) {
	const keys, askers = 50, 8
	var firsts [keys]atomic.Int32
	var all sync.WaitGroup
	for i := range askers {
		all.Go(func() {
			for k := range keys {
				first, err := b.Nodes[i%len(b.Nodes)].First(t.Context(), fmt.Sprint("race", k), time.Minute)
				if err != nil {
					t.Error(err)
				}
				if first {
					firsts[k].Add(1)
				}
			}
		})
	}
	all.Wait()
	for k := range firsts {
		if n := firsts[k].Load(); n != 1 {
			t.Errorf("key %d: %d heard that they were the first", k, n)
		}
	}
}

func (b OnceBench) ends(t *testing.T) {
	b.first(t, 0, "short", 2*time.Second)
	b.first(t, 0, "long", time.Minute)
	b.Pass(t, 1500*time.Millisecond)
	if b.first(t, 1, "short", 2*time.Second) {
		t.Error("forgotten before its time")
	}
	b.Pass(t, 3*time.Second)
	if !b.first(t, 1, "short", 2*time.Second) {
		t.Error("still remembered long after its time")
	}
	if b.first(t, 0, "long", time.Minute) {
		t.Error("the time of one key ended another")
	}
}

func (b OnceBench) notProlonged(t *testing.T) {
	b.first(t, 0, "k", 2*time.Second)
	b.Pass(t, 1500*time.Millisecond)
	b.first(t, 1, "k", time.Hour)
	b.Pass(t, 3*time.Second)
	if !b.first(t, 0, "k", time.Second) {
		t.Error("asking again prolonged it")
	}
}

func (b OnceBench) bounds(t *testing.T) {
	for _, ttl := range []time.Duration{-time.Second, 0, time.Microsecond, sluice.MaxOnceTTL + 1} {
		if _, err := b.Nodes[0].First(t.Context(), "k", ttl); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", ttl, err)
		}
	}
	if !b.first(t, 0, "k", sluice.MaxOnceTTL) {
		t.Error("what was refused was remembered")
	}
}

func (b OnceBench) givenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := b.Nodes[0].First(ctx, "k", time.Minute)
	if err == nil && !first {
		t.Error("the first heard that it was not")
	}
	if err == nil && b.first(t, 0, "k", time.Minute) {
		t.Error("two were the first")
	}
}
