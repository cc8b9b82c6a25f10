package upkeep_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// promised is a node that settles what it had promised once an epoch is over, and reports it.
func (w *world) promised(claims []sluice.Claim) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	node := sluice.Node{ID: "n1", Flushed: map[string]int64{w.id: w.campaign().Epoch}}
	if err := w.db.Beat(ctx, node); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(done)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			c, err := w.db.Campaign(ctx, w.id)
			if err != nil || c.Epoch <= node.Flushed[w.id] {
				continue
			}
			if _, err := w.db.Settle(ctx, claims); err != nil {
				continue
			}
			node.Flushed = map[string]int64{w.id: c.Epoch}
			_ = w.db.Beat(ctx, node)
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
}

// TestFlushAllInTheMiddleOfASale: the gate forgets everything. Who was settled keeps it, who was told `queued` gets it
// before any newcomer, and the sum is exact.
func TestFlushAllInTheMiddleOfASale(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b", "c", "d")
		queued := w.queue("e", "f")
		w.promised(queued)
		w.gate.flushAll()
		if r := w.gate.admit(w.campaign(), w.claim("g", 1)); r != sluice.ReasonUnavailable {
			t.Errorf("a gate that is not there answers %s", r)
		}
		w.rearm(sluice.EpochLost)
		w.exact()
		if n := w.available(); n != total-6 {
			t.Errorf("%d units are on sale, want %d", n, total-6)
		}
		w.causeIs(sluice.EpochLost)
		if w.settle(queued)[0].Reason != sluice.ReasonConfirmed {
			t.Error("a claim that was told queued is lost")
		}
		w.exact()
		clean(t, w.reconcile())
	})
}

func (w *world) causeIs(want sluice.EpochCause) {
	w.t.Helper()
	epochs, err := w.db.Epochs(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	if last := epochs[len(epochs)-1]; last.Cause != want || last.ArmedAt == 0 {
		w.t.Errorf("the epoch is %+v, want one that is armed because %s", last, want)
	}
}

// TestAnOldSnapshot: the gate comes back as it was before the last claims and the last release.
func TestAnOldSnapshot(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first := w.buy("a", "b", "c")
		restore := w.gate.snapshot()
		w.buy("d", "e")
		w.cancel(first[0])
		w.release()
		lost := w.queue("f")
		w.promised(lost)
		restore()
		w.rearm(sluice.EpochLost)
		w.exact()
		if n := w.available(); n != total-5 {
			t.Errorf("%d units are on sale, want %d", n, total-5)
		}
		clean(t, w.reconcile())
	})
}

// TestPlannedRearmKeepsClaimsThatOnlyTheGateHas is PROTOCOL "What was wrong before".
func TestPlannedRearmKeepsClaimsThatOnlyTheGateHas(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		queued := w.queue("b", "c")
		w.rearm(sluice.EpochPlanned)
		w.causeIs(sluice.EpochPlanned)
		w.exact()
		if n := w.available(); n != total-3 {
			t.Errorf("%d units are on sale, want %d", n, total-3)
		}
		for _, out := range w.settle(queued) {
			if out.Reason != sluice.ReasonConfirmed {
				t.Errorf("a claim that only the gate had came to %s", out.Reason)
			}
		}
		w.release() // a claim of the epoch before is told to the gate, which knows it
		w.exact()
		clean(t, w.reconcile())
	})
}

// TestRowsAreReadAfterTheEpochsCommit is PROTOCOL "What was wrong before": whatever is committed until the epoch is
// open is in the rows that are loaded, whatever is committed later has its operation in the new epoch.
func TestRowsAreReadAfterTheEpochsCommit(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	g := w.gate.(*gates)
	orders := w.buy("a", "b", "c")
	queued := w.queue("d")
	var steps sync.Map
	g.set(func(g *gates) {
		g.before = func(step string) {
			if _, again := steps.LoadOrStore(step, true); again {
				return
			}
			switch step {
			case "seal": // before the epoch: the operation is of the old one, and dropped
				w.cancel(orders[0])
			case "join": // rows are being read
				w.cancel(orders[1])
				w.settle(queued)
			case "arm":
				w.cancel(orders[2])
			}
		}
	})
	w.rearm(sluice.EpochPlanned)
	g.set(func(g *gates) { g.before = nil })
	w.release()
	w.exact()
	if n := w.available(); n != total-1 {
		t.Errorf("%d units are on sale, want %d", n, total-1)
	}
	if ops, err := w.db.PermitOps(t.Context(), "", 0, 10); err != nil || len(ops) > 0 {
		t.Errorf("left for the gates: %+v %v", ops, err)
	}
}

// TestEpochIsReadUnderTheRowLock is PROTOCOL "What was wrong before": orders are closed while epochs are opened, again
// and again, and none of the units that come back is lost or given twice.
func TestEpochIsReadUnderTheRowLock(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for round := range 3 {
			orders := w.buy(names(string(rune('a'+round)), 6)...)
			var all sync.WaitGroup
			all.Go(func() {
				for _, o := range orders {
					w.cancel(o)
				}
			})
			for range 4 {
				w.rearm(sluice.EpochPlanned)
				w.release()
			}
			all.Wait()
			w.release()
			w.exact()
			if n := w.available(); n != total {
				t.Fatalf("round %d: %d units are on sale, want %d", round, n, total)
			}
		}
	})
}

// TestRearmWithClaimsFlowing arms anew again and again while buyers claim and settlers settle.
func TestRearmWithClaimsFlowing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var buyers sync.WaitGroup
		stop := make(chan struct{})
		var mu sync.Mutex
		var promised []sluice.Claim
		for b := range 3 {
			buyers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					c, err := w.db.Campaign(t.Context(), w.id)
					if err != nil {
						continue
					}
					claim := w.claim(names("u", 100)[(b*31+i)%100], 1)
					claim.Epoch = c.Epoch
					if w.gate.admit(c, claim) != sluice.ReasonQueued {
						continue
					}
					mu.Lock()
					promised = append(promised, claim)
					mu.Unlock()
					if i%2 == 0 {
						_, _ = w.db.Settle(t.Context(), []sluice.Claim{claim})
					}
				}
			})
		}
		enough := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(promised) >= total
		}
		for i := 0; i < 6 || i < 500 && !enough(); i++ {
			w.rearm(sluice.EpochPlanned)
		}
		close(stop)
		buyers.Wait()
		for _, claim := range promised {
			if out := w.settle([]sluice.Claim{claim}); out[0].Reason != sluice.ReasonConfirmed {
				t.Errorf("%s was told queued and came to %s", claim.User, out[0].Reason)
			}
		}
		w.release()
		w.exact()
		if len(promised) < total {
			t.Errorf("only %d claims came through", len(promised))
		}
		clean(t, w.reconcile())
	})
}

// TestTwoRearmersAtOnce: both seal, one opens the epoch, and whoever goes on, the gates come out right.
func TestTwoRearmersAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b")
		w.queue("c")
		var all sync.WaitGroup
		for range 4 {
			rearmer, _ := w.agents(upkeep.Config{})
			all.Go(func() {
				for {
					_, err := rearmer.Rearm(t.Context(), w.id, 2, sluice.EpochLost)
					if err == nil {
						return
					}
					if !errors.Is(err, sluice.ErrConflict) && !errors.Is(err, sluice.ErrUnavailable) {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		w.exact()
		if n := w.available(); n != total-3 {
			t.Errorf("%d units are on sale, want %d", n, total-3)
		}
	})
}

// TestTheLedgerGaveAwayWhatTheGateHadPromised: there are more live claims than units, and the gate is in debt until the
// settler has rejected what does not fit.
func TestTheLedgerGaveAwayWhatTheGateHadPromised(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		queued := w.queue(names("q", 3)...)
		var direct []sluice.Claim
		for _, user := range names("d", 8) {
			claim := w.claim(user, 1)
			claim.Epoch = 0
			direct = append(direct, claim)
		}
		if _, err := w.db.Admit(t.Context(), direct); err != nil {
			t.Fatal(err)
		}
		w.rearm(sluice.EpochPlanned)
		w.exact()
		if n := w.available(); n != -1 {
			t.Errorf("%d units are on sale, want a debt of 1", n)
		}
		w.settle(queued)
		w.release()
		w.exact()
		if n := w.available(); n != 0 {
			t.Errorf("%d units are on sale, want none", n)
		}
	})
}

// TestADecreaseOverAnEpoch: the gates gave their units in an epoch that is over, and are asked again.
func TestADecreaseOverAnEpoch(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		a, err := w.db.BeginAdjustment(t.Context(), sluice.Adjustment{
			ChangeID: "less", Campaign: w.id, Asked: -4, At: sluice.MillisOf(time.Now()),
		}, operator)
		if err != nil {
			t.Fatal(err)
		}
		op := sluice.PermitOp{Kind: sluice.PermitAdjust, Campaign: w.id, Units: -4, Epoch: a.Epoch, Revision: a.Revision}
		got, err := w.gate.Apply(t.Context(), []sluice.PermitOp{op})
		if err != nil || got[0].Taken != 4 {
			t.Fatalf("the gates gave %+v %v", got, err)
		}
		w.rearm(sluice.EpochPlanned)
		a.Applied, a.Epoch = -got[0].Taken, got[0].Epoch
		if is, err := w.db.FinishAdjustment(t.Context(), a); err != nil || !is.Pending {
			t.Errorf("finished with the answer of an old epoch: %+v %v", is, err)
		}
		w.exact()
		adjuster := upkeep.NewAdjuster(upkeep.AdjusterConfig{}, w.db, w.gate)
		for range 2 {
			if _, err := adjuster.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if c := w.campaign(); c.Stock.Total != total-4 {
			t.Errorf("the total is %d", c.Stock.Total)
		}
		w.exact()
		clean(t, w.reconcile())
	})
}

// TestAdjustmentsOutOfOrder is PROTOCOL "What was wrong before": the second of two comes first, and none is lost.
func TestAdjustmentsOutOfOrder(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, id := range []string{"one", "two"} {
			a := sluice.Adjustment{ChangeID: id, Campaign: w.id, Asked: 5, At: sluice.MillisOf(time.Now())}
			if _, err := w.db.RecordAdjustment(t.Context(), a, operator); err != nil {
				t.Fatal(err)
			}
		}
		ops, err := w.db.PermitOps(t.Context(), w.id, 0, 10)
		if err != nil || len(ops) != 2 {
			t.Fatalf("%+v %v", ops, err)
		}
		got, err := w.gate.Apply(t.Context(), []sluice.PermitOp{ops[1], ops[0], ops[0]})
		if err != nil || got[0].Verdict != sluice.PermitKept || got[1].Verdict != sluice.PermitDone {
			t.Errorf("the second first: %+v %v", got, err)
		}
		w.release()
		w.exact()
		if n := w.available(); n != total+10 {
			t.Errorf("%d units are on sale", n)
		}
		clean(t, w.reconcile())
	})
}

// TestReshard gives a campaign with claims of all kinds three shards, and one again.
func TestReshard(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		orders := w.buy(names("a", 4)...)
		w.cancel(orders[0])
		w.queue("q")
		for _, n := range []int{3, 1} {
			if _, err := w.rearmer.Reshard(t.Context(), w.id, n); err != nil {
				t.Fatal(err)
			}
			w.release()
			w.exact()
			if c := w.campaign(); c.Shards != n || w.available() != total-4 {
				t.Errorf("%d shards, %d on sale", c.Shards, w.available())
			}
			clean(t, w.reconcile())
		}
	})
}

// TestTheFirstArmingLostNothing: a campaign that was never armed has no gate, which is no loss.
func TestTheFirstArmingLostNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		c := w.campaign()
		c.ID, c.Title = "autumn", "Autumn"
		if _, err := w.db.CreateCampaign(t.Context(), c, operator, sluice.MillisOf(time.Now())); err != nil {
			t.Fatal(err)
		}
		w.rearmer.Doubt(c.ID, sluice.FirstEpoch)
		if _, err := w.rearmer.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := w.db.Epochs(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if last := all[len(all)-1]; last.Epoch != sluice.FirstEpoch+1 || last.Cause != sluice.EpochPlanned {
			t.Errorf("the first arming opened %+v", last)
		}
	})
}
