package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// TestAnEpochThatIsAboutToBeArmedIsArmedOnce: while nodes settle what they promised the gates are not armed for the
// new epoch, and every node that has heard of it says so. That must not begin the next epoch, and that one the next.
func TestAnEpochThatIsAboutToBeArmedIsArmedOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if err := w.db.Beat(t.Context(), sluice.Node{ID: "seller", Flushed: map[string]int64{w.id: 2}}); err != nil {
			t.Fatal(err)
		}
		one, _ := w.agents(upkeep.Config{Leader: w.db, Node: "n1"})
		two, reconciler := w.agents(upkeep.Config{Leader: w.db, Node: "n2"})
		w.gate.flushAll()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		armed := make(chan error, 1)
		go func() {
			_, err := one.Rearm(ctx, w.id, 2, sluice.EpochLost)
			armed <- err
		}()
		w.until(func() error { // the epoch is open and its gates are waited for
			if w.campaign().Epoch != 3 {
				return sluice.ErrUnavailable
			}
			return nil
		})
		one.Doubt(w.id, 2)
		two.Doubt(w.id, 2)
		if run, err := reconciler.Reconcile(ctx, w.id); err != nil || run.Error == "" {
			t.Errorf("compared with gates that are not armed: %+v, %v", run, err)
		}
		if err := w.db.Beat(ctx, sluice.Node{ID: "seller", Flushed: map[string]int64{w.id: 3}}); err != nil {
			t.Fatal(err)
		}
		if err := <-armed; err != nil {
			t.Fatal(err)
		}
		for _, r := range []*upkeep.Rearmer{one, two} {
			if s, err := r.RunOnce(ctx); err != nil || s.Done != 1 {
				t.Errorf("what was missing is there: %+v, %v", s, err)
			}
		}
		if c := w.campaign(); c.Epoch != 3 {
			t.Errorf("armed again for having been late: epoch %d", c.Epoch)
		}
		if err := w.db.Beat(ctx, sluice.Node{ID: "seller", Flushed: map[string]int64{w.id: 9}}); err != nil {
			t.Fatal(err)
		}
		w.gate.flushAll()
		two.Doubt(w.id, 2)
		if _, err := two.RunOnce(ctx); err != nil || w.campaign().Epoch != 4 {
			t.Errorf("gates that are gone are not armed: epoch %d, %v", w.campaign().Epoch, err)
		}
	})
}

// TestVerifyWaitsForGatesThatAreBeingArmed: an epoch is open and its gates are not armed yet, as in the moment after a
// campaign was created.
func TestVerifyWaitsForGatesThatAreBeingArmed(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.buy("a")
		if err := w.db.Beat(ctx, sluice.Node{ID: "seller", Flushed: map[string]int64{w.id: 2}}); err != nil {
			t.Fatal(err)
		}
		armed := make(chan error, 1)
		go func() {
			_, err := w.rearmer.Rearm(ctx, w.id, 2, sluice.EpochPlanned)
			armed <- err
		}()
		w.until(func() error {
			if w.campaign().Epoch != 3 {
				return sluice.ErrUnavailable
			}
			return nil
		})
		patient := upkeep.NewReconciler(
			upkeep.ReconcilerConfig{Between: 10 * time.Second, Stuck: time.Minute}, upkeep.ReconcilerDeps{
				Campaigns: w.db, Rows: w.db, Runs: w.db, Freezer: &w.frozen, Gates: w.gate, Repairs: w.gate, Settler: w.db,
				Letters: w.db, Doubt: w.rearmer.Doubt,
			})
		verified := make(chan error, 1)
		go func() {
			v, err := patient.Verify(ctx, w.id, nil)
			if err == nil && (!v.OK || v.Held+v.Sold != 1) {
				err = fmt.Errorf("%+v", v)
			}
			verified <- err
		}()
		if _, err := w.reconciler.Verify(ctx, w.id, nil); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("one with less patience: %v", err)
		}
		if err := w.db.Beat(ctx, sluice.Node{ID: "seller", Flushed: map[string]int64{w.id: 3}}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(<-armed, <-verified); err != nil {
			t.Error(err)
		}
	})
}

// TestWithoutItsOwnWordForALossOfNothing: a reconciler that was given Doubt alone repairs by it.
func TestWithoutItsOwnWordForALossOfNothing(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	w.settle(w.queueOf("a", 2))
	w.sql(`UPDATE orders SET quantity = 1, live_units = 1, limit_units = 1`)
	w.sql(`UPDATE campaigns SET held = 1`)
	reconciler := upkeep.NewReconciler(
		upkeep.ReconcilerConfig{Between: 5 * time.Millisecond, Stuck: time.Minute}, upkeep.ReconcilerDeps{
			Campaigns: w.db, Rows: w.db, Runs: w.db, Freezer: &w.frozen, Gates: w.gate, Repairs: w.gate, Settler: w.db,
			Letters: w.db, Doubt: w.rearmer.Doubt,
		})
	run, err := reconciler.Reconcile(t.Context(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	finds(t, run, sluice.DriftQuantity, 1, true)
	if _, err := w.rearmer.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.exact()
}

// queueOf has one claim on so many units admitted.
func (w *world) queueOf(user string, q int) []sluice.Claim {
	w.t.Helper()
	claim := w.claim(user, q)
	if r := w.gate.admit(w.campaign(), claim); r != sluice.ReasonQueued {
		w.t.Fatalf("not admitted: %s", r)
	}
	return []sluice.Claim{claim}
}

// picky is a ledger that refuses the rows of one claim by themselves.
type picky struct {
	upkeep.Settler
	refuses sluice.ClaimID
}

func (p picky) Settle(ctx context.Context, claims []sluice.Claim) (out []sluice.Outcome, err error) {
	for _, c := range claims {
		if c.ID == p.refuses {
			out = append(out, sluice.Outcome{Reason: sluice.ReasonUnavailable})
			continue
		}
		one, err := p.Settler.Settle(ctx, []sluice.Claim{c})
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// fragile is a ledger whose transactions fail as a whole where one claim is among them.
type fragile struct {
	upkeep.Settler
	spoils sluice.ClaimID
}

var errSpoiled = errors.New("the row spoils the transaction")

func (f fragile) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	for _, c := range claims {
		if c.ID == f.spoils {
			return nil, errSpoiled
		}
	}
	return f.Settler.Settle(ctx, claims)
}

// TestAClaimThatSpoilsTransactionsIsSweptAlone: the others that were left behind with it are settled, and that one is a
// dead letter once its tries are used up.
func TestAClaimThatSpoilsTransactionsIsSweptAlone(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		claims := w.queue("a", "b", "poison", "c", "d")
		deps := upkeep.SweeperDeps{
			Campaigns: w.db, Gates: w.gate, Repairs: w.gate, Settler: fragile{w.db, claims[2].ID},
		}
		cfg := upkeep.SweeperConfig{Config: upkeep.Config{Now: later(time.Minute)}}
		deps.Letters = w.db
		for range 3 {
			if _, err := upkeep.NewSweeper(cfg, deps).RunOnce(t.Context()); err != nil {
				t.Error(err)
			}
		}
		letters, err := w.db.DeadLetters(t.Context(), sluice.DeadLetterQuery{State: sluice.DeadLetterKept, Limit: 10})
		if err != nil || len(letters.Items) != 1 || letters.Items[0].Claim.ID != claims[2].ID {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
		for i, out := range w.settle(claims) {
			if out.Replayed == (i == 2) {
				t.Errorf("claim %d: %+v", i, out)
			}
		}
		w.exact()
	})
}

// TestShardsStayWhereSomethingCannotBeSettled: a claim that has no row would be left at a home that it has no more, and
// count there for good. The change is refused before it is written down, and the campaign goes on as it was.
func TestShardsStayWhereSomethingCannotBeSettled(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.buy("a", "b")
		claims := w.queue("c", "poison")
		rearmer := upkeep.NewRearmer(
			upkeep.RearmConfig{Flush: 100 * time.Millisecond, Poll: time.Millisecond}, upkeep.RearmDeps{
				Campaigns: w.db, Epochs: w.db, Rows: w.db, Armory: w.gate, Gates: w.gate, Repairs: w.gate,
				Settler: picky{w.db, claims[1].ID},
			})
		if _, err := rearmer.Reshard(t.Context(), w.id, 3); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("the answer is %v", err)
		}
		if c := w.campaign(); c.Shards > 1 || c.Epoch != 2 {
			t.Errorf("it was written down: %d shards, epoch %d", c.Shards, c.Epoch)
		}
		if _, err := rearmer.RunOnce(t.Context()); err != nil {
			t.Error(err)
		}
		if armed, err := rearmer.Armed(t.Context(), w.campaign()); err != nil || !armed {
			t.Errorf("the campaign is closed: %v", err)
		}
		w.settle(claims)
		w.exact()
		if n := w.available(); n != total-4 {
			t.Errorf("%d units are on sale", n)
		}
	})
}

// TestShardsStayWhileNobodyReadsTheQueue: gates with entries in their queue cannot be given up, and that is found out
// before the change is written down.
func TestShardsStayWhileNobodyReadsTheQueue(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, redisGates)
	w.gate.(*inRedis).unread = true
	w.queue("a")
	rearmer := upkeep.NewRearmer(
		upkeep.RearmConfig{Flush: 100 * time.Millisecond, Poll: time.Millisecond}, upkeep.RearmDeps{
			Campaigns: w.db, Epochs: w.db, Rows: w.db, Armory: w.gate, Gates: w.gate, Repairs: w.gate, Settler: w.db,
		})
	if _, err := rearmer.Reshard(t.Context(), w.id, 3); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("the answer is %v", err)
	}
	if c := w.campaign(); c.Shards > 1 || c.Epoch != 2 {
		t.Errorf("it was written down: %d shards, epoch %d", c.Shards, c.Epoch)
	}
}
