package upkeep_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// TestFlushIsWaitedFor: a node that lives keeps the campaign closed until it has settled what it promised; a dead one
// does not.
func TestFlushIsWaitedFor(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	if err := w.db.Beat(t.Context(), sluice.Node{ID: "slow", Flushed: map[string]int64{w.id: 2}}); err != nil {
		t.Fatal(err)
	}
	rearmer := upkeep.NewRearmer(
		upkeep.RearmConfig{Flush: 50 * time.Millisecond, Poll: time.Millisecond}, upkeep.RearmDeps{
			Campaigns: w.db, Epochs: w.db, Rows: w.db, Armory: w.gate, Gates: w.gate, Repairs: w.gate,
		})
	_, err := rearmer.Rearm(t.Context(), w.id, 2, sluice.EpochLost)
	if !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("armed over a promise: %v", err)
	}
	if r := w.gate.admit(w.campaign(), w.claim("x", 1)); r != sluice.ReasonUnavailable {
		t.Errorf("a gate that is not armed answers %s", r)
	}
	first := sluice.Campaign{
		ID: "new", Title: "New", Kind: sluice.KindGoods, Control: sluice.ControlOpen, PerUserLimit: 1,
		StartsAt: w.campaign().StartsAt, EndsAt: w.campaign().EndsAt, Goods: w.campaign().Goods,
	}
	if _, err := w.db.CreateCampaign(t.Context(), first, operator, sluice.MillisOf(time.Now())); err != nil {
		t.Fatal(err)
	}
	_, err = rearmer.Rearm(t.Context(), "new", 1, sluice.EpochPlanned)
	if err != nil && !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("a campaign without a past waits for promises: %v", err)
	}
	w.sql(`UPDATE nodes SET seen_ms = seen_ms - 6000`) // it died
	if _, err := rearmer.Rearm(t.Context(), w.id, 2, sluice.EpochLost); err != nil {
		t.Error(err)
	}
	w.exact()
	if c := w.campaign(); c.Epoch != 4 { // the first try had opened 3
		t.Errorf("the epoch is %d", c.Epoch)
	}
}

// TestDoubtsAreFollowedUp: whoever doubts, and however often, the campaign is armed once; a doubt about an epoch that
// is over is nothing.
func TestDoubtsAreFollowedUp(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b")
		other, _ := w.agents(upkeep.Config{Leader: w.db, Node: "n2"})
		mine, _ := w.agents(upkeep.Config{Leader: w.db, Node: "n1"})
		w.gate.flushAll()
		for range 3 {
			mine.Doubt(w.id, 2)
			other.Doubt(w.id, 2)
		}
		mine.Start()
		other.Start()
		w.until(func() error {
			if armed, err := mine.Armed(t.Context(), w.campaign()); err != nil || !armed {
				return errors.Join(errors.New("not armed"), err)
			}
			return nil
		})
		w.until(func() error { // both have nothing left to do
			for _, r := range []*upkeep.Rearmer{mine, other} {
				if _, err := r.RunOnce(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		mine.Stop()
		other.Stop()
		if c := w.campaign(); c.Epoch != 3 {
			t.Errorf("armed more than once: epoch %d", c.Epoch)
		}
		w.exact()
		mine.Doubt(w.id, 2)
		if _, err := mine.RunOnce(t.Context()); err != nil || w.campaign().Epoch != 3 {
			t.Errorf("a doubt of old: epoch %d, %v", w.campaign().Epoch, err)
		}
	})
}

// TestAnUnreachableShard: what is free is sold by the others, and the one that comes back is part of the next epoch.
func TestAnUnreachableShard(t *testing.T) {
	w := newWorld(t, sluice.Campaign{Shards: 3}, memoryGates)
	g := w.gate.(*gates)
	w.buy(names("a", 6)...)
	g.set(func(g *gates) { g.away[1] = true })
	if _, err := w.reconciler.Verify(t.Context(), w.id, nil); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("compared without a shard: %v", err)
	}
	w.rearm(sluice.EpochPlanned)
	w.causeIs(sluice.EpochLost)
	var free int64
	for i, s := range g.shards {
		if i != 1 {
			free += s.available
		} else if s.epoch != 2 {
			t.Errorf("a shard that does not answer was armed for epoch %d", s.epoch)
		}
	}
	if free != total-6 {
		t.Errorf("the others sell %d", free)
	}
	g.set(func(g *gates) { g.away[1] = false })
	if run := w.reconcile(); run.Error == "" {
		t.Errorf("compared with a shard of an old epoch: %+v", run)
	}
	if _, err := w.rearmer.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.exact()
	clean(t, w.reconcile())
}

// TestAllGatesAreAway: nothing is opened in the ledger for gates that nobody can arm.
func TestAllGatesAreAway(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	w.gate.(*gates).set(func(g *gates) { g.failed = sluice.ErrUnavailable })
	if _, err := w.rearmer.Rearm(t.Context(), w.id, 2, sluice.EpochLost); !errors.Is(err, sluice.ErrUnavailable) {
		t.Error(err)
	}
	if c := w.campaign(); c.Epoch != 2 {
		t.Errorf("the epoch is %d", c.Epoch)
	}
}

// TestReleaserAfterTheEnd: operations for a gate that was deleted after the end of its campaign are given up, others
// wait for their gate.
func TestReleaserAfterTheEnd(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	orders := w.buy("a")
	w.gate.flushAll()
	w.cancel(orders[0])
	left := func(cfg upkeep.Config) int {
		r := upkeep.NewReleaser(upkeep.ReleaserConfig{Config: cfg}, upkeep.ReleaserDeps{
			Ops: w.db, Campaigns: w.db, Gates: w.gate, Repairs: w.gate,
		})
		if _, err := r.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		ops, err := w.db.PermitOps(t.Context(), "", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(ops)
	}
	if n := left(upkeep.Config{}); n != 1 {
		t.Errorf("%d operations wait for the gate", n)
	}
	if n := left(upkeep.Config{Now: later(time.Hour + 4*time.Minute)}); n != 1 {
		t.Errorf("%d operations wait for a gate that may come back", n)
	}
	if n := left(upkeep.Config{Now: later(time.Hour + 6*time.Minute)}); n != 0 {
		t.Errorf("%d operations wait for a gate that is deleted", n)
	}
}

// TestGateCleaner deletes the gate 300 s after the end, the claims of users after 3 days, and nothing that is not
// settled.
func TestGateCleaner(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if r, ok := w.gate.(*inRedis); ok {
			defer func() {
				if left := r.keys(); left != 0 {
					t.Errorf("%d keys are left", left)
				}
			}()
		}
		w.buy("a", "b")
		queued := w.queue("c")
		run := func(after time.Duration) (armed bool) {
			t.Helper()
			c := upkeep.NewGateCleaner(
				upkeep.GateCleanerConfig{Config: upkeep.Config{Now: later(time.Hour + after)}}, w.db, w.gate, w.gate)
			if _, err := c.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			states, err := w.gate.State(t.Context(), w.campaign())
			if err != nil {
				t.Fatal(err)
			}
			return states[0].Armed
		}
		for _, after := range []time.Duration{-time.Minute, 4 * time.Minute, 6 * time.Minute} {
			if !run(after) {
				t.Errorf("%s after the end, with a claim that is not settled, the gate is gone", after)
			}
		}
		w.settle(queued)
		if run(6 * time.Minute) {
			t.Error("the gate is still there")
		}
		found, err := w.gate.Lookup(t.Context(), w.campaign(), idsOf(queued))
		if err != nil || len(found) != 1 {
			t.Errorf("the users' claims: %v %v", found, err)
		}
		clean(t, w.reconcile2(later(time.Hour+7*time.Minute))) // of the ledger alone
		run(3*24*time.Hour + time.Minute)
		if found, err = w.gate.Lookup(t.Context(), w.campaign(), idsOf(queued)); err != nil || len(found) != 0 {
			t.Errorf("the users' claims after three days: %v %v", found, err)
		}
	})
}

func idsOf(claims []sluice.Claim) (ids []sluice.ClaimID) {
	for _, c := range claims {
		ids = append(ids, c.ID)
	}
	return ids
}

// reconcile2 runs a reconciler with another clock.
func (w *world) reconcile2(now func() time.Time) sluice.ReconcileRun {
	w.t.Helper()
	_, r := w.agents(upkeep.Config{Now: now})
	run, err := r.Reconcile(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// TestWhenCampaignsAreCompared: from 10 minutes before the start to 10 minutes after the end or the last open order.
func TestWhenCampaignsAreCompared(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	orders := w.buy("a")
	runs := 0
	var now time.Time
	rec := upkeep.NewReconciler(upkeep.ReconcilerConfig{
		Config: upkeep.Config{Now: func() time.Time { return now }}, Between: time.Millisecond,
		OnRun: func(sluice.ReconcileRun) { runs++ },
	}, upkeep.ReconcilerDeps{
		Campaigns: w.db, Rows: w.db, Runs: w.db, Freezer: &w.frozen, Gates: w.gate, Repairs: w.gate, Settler: w.db,
	})
	c := w.campaign()
	for i, step := range []struct {
		at   sluice.Millis
		runs int
		then func()
	}{
		{c.StartsAt.Add(-11 * time.Minute), 0, nil},
		{c.StartsAt.Add(-9 * time.Minute), 1, nil},
		{c.EndsAt.Add(9 * time.Minute), 2, nil},
		{c.EndsAt.Add(15 * time.Minute), 3, func() { w.cancel(orders[0]); w.release() }}, // an order is open
		{c.EndsAt.Add(24 * time.Minute), 4, nil},
		{c.EndsAt.Add(26 * time.Minute), 4, nil},
	} {
		now = step.at.Time()
		if _, err := rec.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if runs != step.runs {
			t.Errorf("step %d: %d runs, want %d", i, runs, step.runs)
		}
		if step.then != nil {
			step.then()
		}
	}
}

// TestShares: what is free is shared out evenly, and a debt is one shard's.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		free int64
		n    int
		want []int64
	}{{10, 3, []int64{4, 3, 3}}, {0, 2, []int64{0, 0}}, {2, 4, []int64{1, 1, 0, 0}}, {-3, 2, []int64{-3, 0}}} {
		got := upkeep.Shares(tt.free, tt.n)
		var sum int64
		for i, n := range got {
			sum += n
			if n != tt.want[i] {
				t.Errorf("%d over %d: %v, want %v", tt.free, tt.n, got, tt.want)
			}
		}
		if sum != tt.free {
			t.Errorf("%d over %d: %v", tt.free, tt.n, got)
		}
	}
}
