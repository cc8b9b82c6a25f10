package upkeep_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// later is the clock of an agent for which everything lies so far back.
func later(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }

// TestAClaimOnlyInTheGate: the message was lost. The sweeper settles it from the gate's own record.
func TestAClaimOnlyInTheGate(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		queued := w.queue("a", "b")
		clean(t, w.reconcile()) // they are in flight
		swept := 0
		cfg := upkeep.SweeperConfig{OnSwept: func(_ string, n int) { swept += n }}
		deps := upkeep.SweeperDeps{Campaigns: w.db, Gates: w.gate, Repairs: w.gate, Settler: w.db, Letters: w.db}
		if _, err := upkeep.NewSweeper(cfg, deps).RunOnce(t.Context()); err != nil || swept != 0 {
			t.Errorf("swept %d that are in flight: %v", swept, err)
		}
		cfg.Now = later(time.Minute)
		if _, err := upkeep.NewSweeper(cfg, deps).RunOnce(t.Context()); err != nil || swept != 2 {
			t.Errorf("swept %d: %v", swept, err)
		}
		for _, out := range w.settle(queued) {
			if !out.Replayed || out.Reason != sluice.ReasonConfirmed {
				t.Errorf("%+v", out)
			}
		}
		w.exact()
		clean(t, w.reconcile())
	})
}

// TestStuckInFlight: what is in flight for longer than the bound is driven again by the reconciler.
func TestStuckInFlight(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.queue("a")
		_, w.reconciler = w.agents(upkeep.Config{Now: later(2 * time.Minute)})
		finds(t, w.reconcile(), sluice.DriftStuck, 1, true)
		w.exact()
		clean(t, w.reconcile())
		if c := w.campaign(); c.Stock.Held != 1 {
			t.Errorf("%d are held", c.Stock.Held)
		}
	})
}

// TestSettledAndTheGateWasNotTold: the answer to the gate was lost.
func TestSettledAndTheGateWasNotTold(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if _, err := w.db.Settle(t.Context(), w.queue("a")); err != nil {
			t.Fatal(err)
		}
		finds(t, w.reconcile(), sluice.DriftStuck, 0, true)
		states, err := w.gate.State(t.Context(), w.campaign())
		if err != nil || states[0].Queued != 0 {
			t.Errorf("%+v %v", states, err)
		}
		clean(t, w.reconcile())
	})
}

// TestAClaimOnlyInTheLedger: it was admitted there, and the operation that tells the gate was lost.
func TestAClaimOnlyInTheLedger(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		claim := w.claim("direct", 2)
		claim.Epoch = 0
		if _, err := w.db.Admit(t.Context(), []sluice.Claim{claim}); err != nil {
			t.Fatal(err)
		}
		w.loseOps()
		finds(t, w.reconcile(), sluice.DriftMissingClaim, 2, true)
		w.exact()
		clean(t, w.reconcile())
		if len(w.frozen.all()) > 0 {
			t.Errorf("frozen: %v", w.frozen.all())
		}
	})
}

// TestALostRelease: an order was closed, and the operation that gives its unit back was lost.
func TestALostRelease(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		orders := w.buy("a", "b")
		w.cancel(orders[0])
		clean(t, w.reconcile()) // it is on its way
		w.loseOps()
		finds(t, w.reconcile(), sluice.DriftEndedClaim, 1, true)
		w.exact()
		if n := w.available(); n != total-1 {
			t.Errorf("%d on sale", n)
		}
		clean(t, w.reconcile())
	})
}

// TestAnEndedClaimWithoutMark: the gate does not know that a claim has ended, and would admit it again.
func TestAnEndedClaimWithoutMark(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		claim := w.claim("direct", 1)
		claim.Epoch = 0
		if _, err := w.db.Admit(t.Context(), []sluice.Claim{claim}); err != nil {
			t.Fatal(err)
		}
		w.cancel(claim)
		w.loseOps()
		finds(t, w.reconcile(), sluice.DriftMissingClaim, 0, true)
		w.exact()
		claim.Epoch = w.campaign().Epoch
		w.gate.admit(w.campaign(), claim)
		if n := w.available(); n != total {
			t.Errorf("an ended claim was admitted again: %d on sale", n)
		}
	})
}

// TestATotalChangedByHand is found, and nothing repairs it.
func TestATotalChangedByHand(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		w.sql(`UPDATE campaigns SET total = total + 3`)
		finds(t, w.reconcile(), sluice.DriftTotal, 3, false)
		if why := w.frozen.all(); len(why) != 1 || !strings.Contains(why[0], "total") {
			t.Errorf("frozen: %v", why)
		}
		v, err := w.reconciler.Verify(t.Context(), w.id, nil)
		if err != nil || v.OK || v.Drift != 3 {
			t.Errorf("%+v %v", v, err)
		}
	})
}

// TestCountersChangedByHand: held is not what the rows say.
func TestCountersChangedByHand(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b")
		w.sql(`UPDATE campaigns SET held = held + 1`)
		finds(t, w.reconcile(), sluice.DriftCounters, 1, false)
	})
}

// TestARowThatVanished: the gate knows a claim as settled, and the ledger does not know it. Nothing explains that.
func TestARowThatVanished(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b")
		w.sql(`DELETE FROM orders WHERE user_id = 'a'`)
		w.sql(`UPDATE campaigns SET held = held - 1`)
		finds(t, w.reconcile(), sluice.DriftUnknownClaim, 1, false)
		if len(w.frozen.all()) != 1 {
			t.Errorf("frozen: %v", w.frozen.all())
		}
	})
}

// TestAGateWhoseSumIsWrong: its figures were changed by hand.
func TestAGateWhoseSumIsWrong(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	w.buy("a")
	g := w.gate.(*gates)
	g.set(func(g *gates) { g.shards[0].available += 2 })
	finds(t, w.reconcile(), sluice.DriftSum, 2, false)
	g.set(func(g *gates) { g.shards[0].available -= 2; g.shards[0].live++ })
	if run := w.reconcile(); len(run.Found) != 2 || run.OK {
		t.Errorf("a count that is not that of its claims: %+v", run)
	}
	w.rearm(sluice.EpochPlanned) // what an operator does
	if run := w.reconcile(); run.OK {
		t.Errorf("the count survives, and is not found: %+v", run)
	}
}

// TestTransferThatWasNotForgotten: it has arrived, and counts once when it is completed.
func TestTransferThatWasNotForgotten(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	g := w.gate.(*gates)
	g.set(func(g *gates) { g.shards[0].out = 2 })
	clean(t, w.reconcile())
	if g.count("complete") == 0 {
		t.Error("nobody completed it")
	}
}

// TestQuantityThatWasGivenBackInPart: one coupon of two was revoked, and the gate was not told.
func TestQuantityThatWasGivenBackInPart(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	claim := w.claim("a", 2)
	if w.gate.admit(w.campaign(), claim) != sluice.ReasonQueued {
		t.Fatal("not admitted")
	}
	w.settle([]sluice.Claim{claim})
	g := w.gate.(*gates)
	w.sql(`UPDATE orders SET quantity = 1, live_units = 1, limit_units = 1`)
	w.sql(`UPDATE campaigns SET held = 1`)
	finds(t, w.reconcile(), sluice.DriftQuantity, 1, true)
	if _, err := w.rearmer.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.exact()
	clean(t, w.reconcile())
	g.set(func(g *gates) { g.shards[0].claims[claim.ID].live = 0; g.shards[0].live--; g.shards[0].available++ })
	finds(t, w.reconcile(), sluice.DriftMissingClaim, 1, false)
}

// TestTwoReconcilersAtOnce repair the same differences, each once.
func TestTwoReconcilersAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		orders := w.buy("a", "b", "c")
		w.cancel(orders[0])
		claim := w.claim("direct", 1)
		claim.Epoch = 0
		if _, err := w.db.Admit(t.Context(), []sluice.Claim{claim}); err != nil {
			t.Fatal(err)
		}
		w.loseOps()
		var all sync.WaitGroup
		for range 3 {
			_, reconciler := w.agents(upkeep.Config{})
			all.Go(func() {
				run, err := reconciler.Reconcile(t.Context(), w.id)
				if err != nil || !run.OK {
					t.Errorf("%+v %v", run, err)
				}
			})
		}
		all.Wait()
		w.exact()
		clean(t, w.reconcile())
		page, err := w.db.Runs(t.Context(), w.id, "", 10)
		if err != nil || len(page.Items) != 4 || page.Items[0].Campaign != w.id {
			t.Errorf("on record: %+v %v", page.Items, err)
		}
	})
}

// TestADiscardedDeadLetter: its unit comes back, once.
func TestADiscardedDeadLetter(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		bad := w.queue("bad")
		w.dead(bad)
		_, w.reconciler = w.agents(upkeep.Config{Now: later(time.Hour)})
		clean(t, w.reconcile()) // it waits for a person, however long
		sweeper := upkeep.NewSweeper(
			upkeep.SweeperConfig{Config: upkeep.Config{Now: later(time.Hour)}}, upkeep.SweeperDeps{
				Campaigns: w.db, Gates: w.gate, Repairs: w.gate, Settler: w.db, Letters: w.db,
			})
		if _, err := sweeper.RunOnce(t.Context()); err != nil || w.campaign().Stock.Held != 1 {
			t.Errorf("a dead letter was swept: %d held, %v", w.campaign().Stock.Held, err)
		}
		w.discard()
		w.release()
		w.exact()
		if n := w.available(); n != total-1 {
			t.Errorf("%d on sale", n)
		}
		clean(t, w.reconcile())
	})
}

// TestDiscardOfAClaimThatIsBeingConfirmed is PROTOCOL "What was wrong before".
func TestDiscardOfAClaimThatIsBeingConfirmed(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for round := range 4 {
			bad := w.queue(fmt.Sprintf("bad%d", round))
			w.dead(bad)
			var both sync.WaitGroup
			both.Go(func() { w.settle(bad) })
			both.Go(func() { w.discard() })
			both.Wait()
			w.release()
			w.exact()
		}
		clean(t, w.reconcile())
	})
}

// dead makes dead letters of claims.
func (w *world) dead(claims []sluice.Claim) {
	w.t.Helper()
	for try := 0; ; try++ {
		dead, err := w.db.FailTries(w.t.Context(), claims, "it is bad")
		if err != nil || try > 10 {
			w.t.Fatal(try, err)
		}
		if len(dead) == len(claims) {
			return
		}
	}
}

func (w *world) discard() {
	w.t.Helper()
	_, _, err := w.db.DiscardDeadLetters(w.t.Context(), sluice.DeadLetterQuery{Campaign: w.id}, operator,
		sluice.MillisOf(time.Now()))
	if err != nil {
		w.t.Error(err)
	}
}

// TestAGateThatForgotIsArmedAnew: the reconciler notices what nobody noticed before.
func TestAGateThatForgotIsArmedAnew(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a")
		w.gate.flushAll()
		if run := w.reconcile(); run.OK || run.Error == "" || len(run.Found) > 0 {
			t.Errorf("compared with a gate that is not there: %+v", run)
		}
		if _, err := w.reconciler.Verify(t.Context(), w.id, nil); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("verified: %v", err)
		}
		w.until(func() error { _, err := w.rearmer.RunOnce(t.Context()); return err })
		w.exact()
		w.causeIs(sluice.EpochLost)
		clean(t, w.reconcile())
		if len(w.frozen.all()) > 0 {
			t.Errorf("frozen: %v", w.frozen.all())
		}
	})
}

// TestReconcileWhileTheSaleRuns: nothing is found where nothing is wrong, however much moves.
func TestReconcileWhileTheSaleRuns(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		stop := make(chan struct{})
		var buyers sync.WaitGroup
		for b := range 2 {
			buyers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					claim := w.claim(fmt.Sprintf("u%d-%d", b, i), 1)
					if w.gate.admit(w.campaign(), claim) != sluice.ReasonQueued {
						continue
					}
					w.settle([]sluice.Claim{claim})
					w.cancel(claim)
					w.release()
				}
			})
		}
		for range 5 {
			run := w.reconcile()
			if run.Drift > 0 || len(w.frozen.all()) > 0 {
				t.Errorf("found %+v, frozen %v", run, w.frozen.all())
			}
		}
		close(stop)
		buyers.Wait()
		w.exact()
		clean(t, w.reconcile())
	})
}
