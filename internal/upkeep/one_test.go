package upkeep_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// compare runs the reconciler dry and gives the run.
func (w *world) compare() sluice.ReconcileRun {
	w.t.Helper()
	run, err := w.reconciler.Compare(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// about gives what a run found about a claim.
func about(t *testing.T, run sluice.ReconcileRun, id sluice.ClaimID) sluice.Drift {
	t.Helper()
	i := slices.IndexFunc(run.Found, func(d sluice.Drift) bool { return d.Claim == id.String() })
	if i < 0 {
		t.Fatalf("nothing about %s: %+v", id, run)
	}
	return run.Found[i]
}

// refused repairs one difference and expects a conflict of this code.
func (w *world) refused(id sluice.ClaimID, seen, code string) {
	w.t.Helper()
	_, err := w.reconciler.RepairOne(w.t.Context(), w.id, id, seen)
	var fault *sluice.Fault
	if !errors.As(err, &fault) || fault.Code != code || !errors.Is(err, sluice.ErrConflict) {
		w.t.Errorf("repaired %s: %v, want %s", id, err, code)
	}
}

// TestOneOfTwoDifferencesIsRepaired: a dry run finds both and touches neither; a repair touches the one that it is
// asked for and says what was there before and after. The other one stands until it is asked for.
func TestOneOfTwoDifferencesIsRepaired(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		direct := w.claim("direct", 2) // in the ledger, not in the gate
		direct.Epoch = 0
		if _, err := w.db.Admit(t.Context(), []sluice.Claim{direct}); err != nil {
			t.Fatal(err)
		}
		closed := w.buy("a", "b")[0] // live in the gate, ended in the ledger
		w.cancel(closed)
		w.loseOps()
		before := w.available()

		run := w.compare()
		if run.OK || run.Mode != sluice.RunDry || run.ID == 0 || len(run.Found) != 2 || run.Error != "" {
			t.Fatalf("a dry run: %+v", run)
		}
		for _, d := range run.Found {
			if d.Repair != "" {
				t.Errorf("a dry run repairs: %+v", d)
			}
		}
		if again := w.compare(); len(again.Found) != 2 || w.available() != before || len(w.frozen.all()) > 0 {
			t.Errorf("a dry run changes something: %+v, %d on sale, frozen %v", again, w.available(), w.frozen.all())
		}
		d := about(t, run, direct.ID)
		want := sluice.Sides{
			Gate:   sluice.Side{State: sluice.SideAbsent},
			Ledger: sluice.Side{State: sluice.SideLive, Units: 2, LimitUnits: 2},
		}
		if d.Before != want || d.Remedy != sluice.RemedyTake || d.After.Gate != want.Ledger || d.Seen == "" {
			t.Errorf("seen of %s: %+v", direct.ID, d)
		}

		fixed, err := w.reconciler.RepairOne(t.Context(), w.id, direct.ID, d.Seen)
		if err != nil {
			t.Fatal(err)
		}
		if fixed.Before != d.Before || fixed.After != d.After {
			t.Errorf("from %+v to %+v, and it was to be %+v", fixed.Before, fixed.After, d.After)
		}
		if r := fixed.Run; !r.OK || r.Mode != sluice.RunOne || r.ID == 0 || len(r.Found) != 1 || r.Found[0].Repair == "" {
			t.Errorf("the run of the repair: %+v", r)
		}
		if n := w.available(); n != before-2 {
			t.Errorf("%d on sale, before there were %d", n, before)
		}
		run = w.compare()
		if len(run.Found) != 1 {
			t.Fatalf("the other one is gone too, or this one stands: %+v", run.Found)
		}
		w.refused(direct.ID, d.Seen, "DRIFT_GONE")

		e := about(t, run, closed.ID)
		fixed, err = w.reconciler.RepairOne(t.Context(), w.id, closed.ID, e.Seen)
		if err != nil || fixed.After != e.After || fixed.After.Gate.State != sluice.SideEnded {
			t.Errorf("%+v, %v, and it was to be %+v", fixed, err, e.After)
		}
		w.exact()
		clean(t, w.reconcile())
		page, err := w.db.Runs(t.Context(), w.id, "", 10)
		var modes []sluice.RunMode
		for _, r := range page.Items {
			modes = append(modes, r.Mode)
		}
		if err != nil || !slices.Equal(modes, []sluice.RunMode{"", "one", "dry_run", "one", "dry_run", "dry_run"}) {
			t.Errorf("on record are %q, %v", modes, err)
		}
	})
}

// TestARepairIsOfWhatWasSeen: what has moved since is not repaired, though it still differs.
func TestARepairIsOfWhatWasSeen(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		direct := w.claim("direct", 2)
		direct.Epoch = 0
		if _, err := w.db.Admit(t.Context(), []sluice.Claim{direct}); err != nil {
			t.Fatal(err)
		}
		w.loseOps()
		seen := about(t, w.compare(), direct.ID).Seen
		before := w.available()
		w.cancel(direct) // it was to be taken, and has ended meanwhile
		w.loseOps()
		w.refused(direct.ID, seen, "DRIFT_CHANGED")
		w.refused(direct.ID, "something", "DRIFT_CHANGED")
		if n := w.available(); n != before {
			t.Errorf("%d on sale, before there were %d", n, before)
		}
		d := about(t, w.compare(), direct.ID)
		fixed, err := w.reconciler.RepairOne(t.Context(), w.id, direct.ID, d.Seen)
		if err != nil || d.Remedy != sluice.RemedyRelease || fixed.After != d.After {
			t.Errorf("%+v, %v, and it was to be %+v", fixed, err, d.After)
		}
		w.exact()

		stuck := w.queue("slow")[0]
		_, w.reconciler = w.agents(upkeep.Config{Now: later(2 * time.Minute)})
		d = about(t, w.compare(), stuck.ID)
		w.rearm(sluice.EpochPlanned) // another epoch: what was seen was of the one before
		w.refused(stuck.ID, d.Seen, "DRIFT_CHANGED")
		d = about(t, w.compare(), stuck.ID)
		fixed, err = w.reconciler.RepairOne(t.Context(), w.id, stuck.ID, d.Seen)
		if err != nil || d.Remedy != sluice.RemedySettle || fixed.After != d.After || w.campaign().Stock.Held != 1 {
			t.Errorf("%+v, %v, and it was to be %+v", fixed, err, d.After)
		}
		told := w.queue("told")[0]
		if _, err := w.db.Settle(t.Context(), []sluice.Claim{told}); err != nil {
			t.Fatal(err)
		}
		d = about(t, w.compare(), told.ID)
		fixed, err = w.reconciler.RepairOne(t.Context(), w.id, told.ID, d.Seen)
		if err != nil || d.Remedy != sluice.RemedySettled || fixed.After != d.After {
			t.Errorf("%+v, %v, and it was to be %+v", fixed, err, d.After)
		}
		w.exact()
		clean(t, w.reconcile())
	})
}

// TestWhatNothingRepairsIsLeft: a dry run finds it and freezes nothing; a repair of it is refused.
func TestWhatNothingRepairsIsLeft(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		claim := w.buy("a", "b")[0]
		w.sql(`DELETE FROM orders WHERE user_id = 'a'`)
		w.sql(`UPDATE campaigns SET held = held - 1`)
		run := w.compare()
		d := about(t, run, claim.ID)
		if run.OK || d.Kind != sluice.DriftUnknownClaim || d.Remedy != "" || d.After != d.Before || len(w.frozen.all()) > 0 {
			t.Errorf("%+v, frozen %v", run, w.frozen.all())
		}
		w.refused(claim.ID, d.Seen, "NO_REPAIR")
	})
}

// TestARepairOfTheWholeIsNoneOfOne: arming anew touches every claim of the campaign.
func TestARepairOfTheWholeIsNoneOfOne(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	claim := w.claim("a", 2)
	if w.gate.admit(w.campaign(), claim) != sluice.ReasonQueued {
		t.Fatal("not admitted")
	}
	w.settle([]sluice.Claim{claim})
	w.sql(`UPDATE orders SET quantity = 1, live_units = 1, limit_units = 1`)
	w.sql(`UPDATE campaigns SET held = 1`)
	d := about(t, w.compare(), claim.ID)
	if d.Remedy != sluice.RemedyRearm || d.Remedy.Alone() {
		t.Errorf("%+v", d)
	}
	w.refused(claim.ID, d.Seen, "REPAIR_IS_WHOLE")
	epoch := w.campaign().Epoch
	w.gate.flushAll()
	if run := w.compare(); run.Error == "" || run.OK {
		t.Errorf("compared with a gate that is not there: %+v", run)
	}
	if s, err := w.rearmer.RunOnce(t.Context()); err != nil || s.Done > 0 || w.campaign().Epoch != epoch {
		t.Errorf("a dry run has gates armed anew: %+v %v", s, err)
	}
	if _, err := w.reconciler.RepairOne(t.Context(), w.id, claim.ID, d.Seen); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("repaired without a gate: %v", err)
	}
}
