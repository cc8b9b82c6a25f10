package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/memory"
)

func TestOnce(t *testing.T) {
	conformance.Once(t, func(t *testing.T) conformance.OnceBench {
		clock := &hand{}
		o := memory.NewOnceAt(memory.OnceConfig{}, clock.now)
		return conformance.OnceBench{Nodes: []sluice.Once{o}, Pass: clock.pass}
	})
}

// hand is a clock that is moved by hand.
type hand struct{ t time.Duration }

func (h *hand) now() time.Duration                 { return h.t }
func (h *hand) pass(_ *testing.T, d time.Duration) { h.t += d }

// TestOnceFailsClosed: a full store refuses new keys, and forgets none of those it has before its time.
func TestOnceFailsClosed(t *testing.T) {
	clock := &hand{}
	o := memory.NewOnceAt(memory.OnceConfig{Entries: 640}, clock.now)
	kept := map[string]bool{}
	refused := 0
	for i := range 5000 {
		key := fmt.Sprint(i)
		first, err := o.First(t.Context(), key, time.Minute)
		switch {
		case err != nil && !errors.Is(err, sluice.ErrUnavailable), err == nil && !first:
			t.Fatalf("%s: %v, %v", key, first, err)
		case err != nil:
			refused++
		default:
			kept[key] = true
		}
	}
	if len(kept) > 640 || len(kept) < 600 || o.Len() != len(kept) || refused == 0 {
		t.Errorf("%d kept, %d in the store, %d refused; want 640", len(kept), o.Len(), refused)
	}
	for key := range kept {
		if first, err := o.First(t.Context(), key, time.Minute); first || err != nil {
			t.Fatalf("%s was there: first %v, %v", key, first, err)
		}
	}
	clock.pass(t, 63*time.Second)
	if n := o.Len(); n != 0 {
		t.Errorf("%d left after their time", n)
	}
	if first, err := o.First(t.Context(), "7", time.Minute); !first || err != nil {
		t.Errorf("after its time: first %v, %v", first, err)
	}
}

// TestOnceByTheClock: without a clock of its own a store uses the process's.
func TestOnceByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := memory.NewOnce(memory.OnceConfig{})
		for i, want := range []bool{true, false, true} {
			if i == 2 {
				<-time.After(5 * time.Second)
			}
			if first, err := o.First(t.Context(), "k", time.Second); first != want || err != nil {
				t.Errorf("%d: first %v, %v; want %v", i, first, err, want)
			}
		}
	})
}

func BenchmarkOnce(b *testing.B) {
	o := memory.NewOnce(memory.OnceConfig{Entries: 64 << 20})
	keys := make([]string, b.N)
	for i := range keys {
		keys[i] = fmt.Sprintf("n:spring:%024d", i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, key := range keys {
		if first, err := o.First(b.Context(), key, 2*time.Minute); !first || err != nil {
			b.Fatal(first, err)
		}
	}
}
