package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
)

// RiskExchange is what nodes tell each other for risk rules.
type RiskExchange interface {
	Key(ctx context.Context, mine []byte) ([]byte, error)
	Tell(ctx context.Context, node string, batch []byte) error
	Hear(ctx context.Context, after string, each func(node string, batch []byte)) (next string, err error)
}

// HeldPlaces is where it is kept who holds unpaid orders.
type HeldPlaces interface {
	Hold(ctx context.Context, holder string, c sluice.Held, limit int) (others []sluice.Held, ok bool, err error)
	Free(ctx context.Context, holder string, ids []sluice.ClaimID) error
}

// Risk runs the suite of what nodes count together. nodes are at least two on one store, which is empty.
func Risk(t *testing.T, nodes []RiskExchange) {
	ctx := t.Context()
	key, err := nodes[0].Key(ctx, []byte("0123456789abcdef"))
	if err != nil || string(key) != "0123456789abcdef" {
		t.Fatalf("the first key: %q, %v", key, err)
	}
	for _, n := range nodes {
		if got, err := n.Key(ctx, []byte("another one.....")); err != nil || !bytes.Equal(got, key) {
			t.Fatalf("a later key: %q, %v, want the first", got, err)
		}
	}
	var want []string
	odd := []byte{0, 1, 0xff, '\n', 0}
	for i := range 600 { // more than one look brings
		if err := nodes[i%len(nodes)].Tell(ctx, fmt.Sprint("n", i), append(odd, byte(i))); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("n%d %q", i, append(odd, byte(i))))
	}
	for _, n := range nodes {
		var got []string
		hear := func(node string, b []byte) { got = append(got, fmt.Sprintf("%s %q", node, b)) }
		mark, err := n.Hear(ctx, "", hear)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("heard %d batches of %d, in order %v: %v", len(got), len(want), slices.Equal(got, want), err)
		}
		got = nil
		if mark, err = n.Hear(ctx, mark, hear); err != nil || len(got) != 0 {
			t.Fatalf("heard again: %v, %v", got, err)
		}
		if err := nodes[0].Tell(ctx, "late", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err = n.Hear(ctx, mark, hear); err != nil || !slices.Equal(got, []string{`late "x"`}) {
			t.Fatalf("heard after the mark: %v, %v", got, err)
		}
		want = append(want, `late "x"`)
	}
}

// Holders runs the suite of held places. nodes are at least two on one store, which is empty.
func Holders(t *testing.T, nodes []HeldPlaces) {
	ctx := t.Context()
	id := func(i int) sluice.ClaimID {
		return sluice.NewClaimID("spring", "u1", sluice.SourceClaim, fmt.Sprint("r", i))
	}
	place := func(i int) sluice.Held { return sluice.Held{ID: id(i), Until: sluice.Millis(4_000_000_000_000 + i)} }
	hold := func(n HeldPlaces, holder string, i, limit int) ([]sluice.Held, bool) {
		t.Helper()
		others, ok, err := n.Hold(ctx, holder, place(i), limit)
		if err != nil {
			t.Fatal(err)
		}
		return others, ok
	}
	a, b := nodes[0], nodes[1]
	const odd = "u:} {\x00é"
	for i := range 3 {
		if _, ok := hold(nodes[i%2], odd, i, 3); !ok {
			t.Fatalf("no place %d of 3", i)
		}
	}
	others, ok := hold(b, odd, 3, 3)
	slices.SortFunc(others, func(x, y sluice.Held) int { return int(x.Until - y.Until) })
	if ok || !slices.Equal(others, []sluice.Held{place(0), place(1), place(2)}) {
		t.Fatalf("a fourth: %v, %v", others, ok)
	}
	if _, ok := hold(b, odd, 1, 3); !ok {
		t.Fatal("a claim that has a place was refused")
	}
	if _, ok := hold(b, "u:somebody else", 3, 3); !ok {
		t.Fatal("another holder has no place")
	}
	for range 2 { // again is harmless
		if err := a.Free(ctx, odd, []sluice.ClaimID{id(0), id(1), id(9)}); err != nil {
			t.Fatal(err)
		}
	}
	var won sync.Map
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, ok, err := nodes[i%len(nodes)].Hold(ctx, odd, place(10+i), 3); err == nil && ok {
				won.Store(i, true)
			}
		})
	}
	wg.Wait()
	n := 0
	won.Range(func(any, any) bool { n++; return true })
	if n != 2 {
		t.Fatalf("%d of 40 at once found a place where 2 were free", n)
	}
}
