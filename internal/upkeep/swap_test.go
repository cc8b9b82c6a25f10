package upkeep_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// swapped is gates where a unit comes back before the claims are read, and goes again after them: their figures are
// then what they were. It happens but so often.
type swapped struct {
	upkeep.Gates
	times         int
	before, after func()
}

func (g *swapped) Claims(
	ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.GateClaim) error,
) error {
	if g.times == 0 {
		return g.Gates.Claims(ctx, c, shard, each)
	}
	g.times--
	g.before()
	err := g.Gates.Claims(ctx, c, shard, each)
	g.after()
	return err
}

// TestAUnitThatChangesHandsIsNoDrift: a unit that one buyer gives back and another takes while the claims are read is
// nothing that a campaign is frozen for.
func TestAUnitThatChangesHandsIsNoDrift(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for times := range 3 {
			was := w.buy("first" + string(rune('a'+times)))
			gates := &swapped{Gates: w.gate, times: times}
			gates.before = func() { w.cancel(was[0]); w.release() }
			gates.after = func() { was = w.buy("next" + string(rune('a'+times)) + string(rune('a'+gates.times))) }
			r := upkeep.NewReconciler(upkeep.ReconcilerConfig{Between: time.Millisecond}, upkeep.ReconcilerDeps{
				Campaigns: w.db, Rows: w.db, Runs: w.db, Freezer: &w.frozen, Gates: gates, Repairs: w.gate, Settler: w.db,
			})
			run, err := r.Reconcile(t.Context(), w.id)
			if err != nil || run.Drift > 0 || len(w.frozen.all()) > 0 {
				t.Errorf("%d times: found %+v, frozen %v, %v", times, run, w.frozen.all(), err)
			}
		}
		clean(t, w.reconcile())
	})
}
