package upkeep_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// taken is a ledger in which the units of a decrease are held or sold.
type taken struct{ asked int }

func (*taken) PendingAdjustments(context.Context) ([]sluice.Adjustment, error) {
	a := sluice.Adjustment{ChangeID: "less", Campaign: "spring", Asked: -3, Revision: 2, Epoch: 5, Pending: true}
	return []sluice.Adjustment{a}, nil
}

func (t *taken) FinishAdjustment(_ context.Context, a sluice.Adjustment) (sluice.Adjustment, error) {
	t.asked++
	return a, sluice.NewFault(sluice.ErrConflict, "STOCK_TAKEN", "the units are held or sold")
}

// giving are gates that have given a unit for it.
type giving struct{ upkeep.Repairs }

func (giving) Apply(_ context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error) {
	return []sluice.PermitResult{{Verdict: sluice.PermitDone, Taken: 1, Epoch: ops[0].Epoch}}, nil
}

// One shard gave a unit while another one was in debt: the ledger has none to take, and nothing would ever change that.
func TestADecreaseThatCannotGoOnGetsANewEpoch(t *testing.T) {
	now := time.Unix(1000, 0)
	var asked []int64
	ledger := &taken{}
	a := upkeep.NewAdjuster(upkeep.AdjusterConfig{
		Config: upkeep.Config{Now: func() time.Time { return now }}, Stuck: 2 * time.Second,
		Rearm: func(_ string, epoch int64) { asked = append(asked, epoch) },
	}, ledger, giving{})
	for _, later := range []time.Duration{0, time.Second, 900 * time.Millisecond} {
		now = now.Add(later)
		if _, err := a.RunOnce(t.Context()); err != nil || len(asked) > 0 {
			t.Fatalf("after %s: %v, asked for %v", later, err, asked)
		}
	}
	now = now.Add(200 * time.Millisecond)
	if _, err := a.RunOnce(t.Context()); err != nil || len(asked) != 1 || asked[0] != 5 {
		t.Errorf("asked for a new epoch after %v (%v)", asked, err)
	}
	if ledger.asked != 4 {
		t.Errorf("the ledger was asked %d times", ledger.asked)
	}
}
