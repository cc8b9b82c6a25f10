package upkeep_test

import (
	"errors"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// TestLostWhereNobodyHoldsIt: a claim is not lost as long as a gate holds it, or cannot be believed to have none.
func TestLostWhereNobodyHoldsIt(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		queued := w.queue("a", "b")
		lost := upkeep.NewLost(w.db, w.gate, w.db)
		turnsUp := func(when string, c sluice.Claim) {
			t.Helper()
			var f *sluice.Fault
			if out, err := lost.Lost(t.Context(), c); !errors.As(err, &f) || f.Code != "NOT_LOST" {
				t.Errorf("%s: %+v %v", when, out, err)
			}
		}
		turnsUp("a gate holds it", queued[0])
		w.rearm(sluice.EpochLost) // the gates were asked, and it is there
		turnsUp("a gate holds it, after a loss", queued[0])
		w.gate.flushAll()
		turnsUp("there is no gate", queued[0])
		w.rearm(sluice.EpochLost)
		if _, err := w.gate.Seal(t.Context(), w.campaign(), w.campaign().Epoch+1); err != nil {
			t.Fatal(err)
		}
		turnsUp("the gates are being armed", queued[0])
		w.rearm(sluice.EpochPlanned)
		for range 2 {
			out, err := lost.Lost(t.Context(), queued[0])
			if err != nil || out.Reason != sluice.ReasonLost || out.State != sluice.ClaimRejected {
				t.Fatalf("%+v %v", out, err)
			}
		}
		// Its message, and the other's that nobody asked for, come after all.
		if out := w.settle(queued); out[0].Reason != sluice.ReasonLost || out[1].Reason != sluice.ReasonConfirmed {
			t.Errorf("settled late: %+v", out)
		}
		w.release()
		w.exact()
		clean(t, w.reconcile())
	})
}
