package memory_test

import (
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

// TestWhatEndedLongAgoIsAnsweredFromTheLedger: it is neither read at the start nor kept, and every answer stays.
func TestWhatEndedLongAgoIsAnsweredFromTheLedger(t *testing.T) {
	clock := time.Now()
	cfg := memory.Config{Now: func() time.Time { return clock }}
	a, b := goods("a", 5), goods("b", 5)
	b.LimitGroup = "group"
	n := open(t, cfg, a, b)
	n.want(t, "a", "u", sluice.ReasonConfirmed)
	n.want(t, "b", "u", sluice.ReasonConfirmed)
	if n.Retire() != 0 {
		t.Fatal("a live campaign was retired")
	}
	clock = clock.Add(5 * 24 * time.Hour)
	if got := n.Retire(); got != 1 {
		t.Fatalf("%d campaigns retired; b's claims count for its group", got)
	}
	check := func(n *bench) {
		t.Helper()
		id := claimOf("a", "u", "r").ID
		d, ok := n.Replay(t.Context(), "a", id, 1)
		if !ok || d.Reason != sluice.ReasonConfirmed || !d.Replayed || d.ID != id {
			t.Fatalf("a winner's replay: %+v, %v", d, ok)
		}
		if d, _ := n.Replay(t.Context(), "a", id, 2); d.Reason != sluice.ReasonRequestIDReused {
			t.Fatalf("with another quantity: %v", d.Reason)
		}
		if _, ok := n.Replay(t.Context(), "a", claimOf("a", "v", "r").ID, 1); ok {
			t.Fatal("a claim that never was is known")
		}
		n.want(t, "a", "u", sluice.ReasonConfirmed)
		n.want(t, "a", "v", sluice.ReasonEnded)
		n.want(t, "nobody", "v", sluice.ReasonUnknownCampaign)
		if _, _, ok := n.Permit("a"); ok {
			t.Fatal("it is still armed")
		}
	}
	check(n)

	n.fake.campaigns["a"] = a
	again := memory.New(cfg, n.fake)
	t.Cleanup(again.Close)
	loads := n.fake.loads
	if err := again.Arm(t.Context(), []sluice.Campaign{a, b}, nil); err != nil {
		t.Fatal(err)
	}
	if n.fake.loads != loads+1 {
		t.Errorf("%d campaigns were read at the start, want b alone", n.fake.loads-loads)
	}
	check(&bench{Admission: again, fake: n.fake})

	a.EndsAt, a.Stock.Held = sluice.MillisOf(clock.Add(time.Hour)), 1 // it goes on after all
	n.fake.campaigns["a"] = a
	if err := again.Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if p, _, ok := again.Permit("a"); !ok || p.Available != 4 {
		t.Errorf("recalled: %+v, %v", p, ok)
	}
}
