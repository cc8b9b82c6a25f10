package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Adjuster finishes decreases that somebody wrote down and did not live to carry out, and those whose gates were armed
// anew in between: PROTOCOL "Adjustment". Asking the gates again for the same revision gives the same answer.
type Adjuster struct{ *agent }

// NewAdjuster makes the agent; Start sets it going. It looks every second by default.
func NewAdjuster(cfg Config, ledger Adjustments, gates Repairs) *Adjuster {
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	return &Adjuster{newAgent("adjuster", cfg, func(
		ctx context.Context, _ sluice.Millis, _ int,
	) (s sluice.Sweep, err error) {
		pending, err := ledger.PendingAdjustments(ctx)
		if err != nil {
			return s, err
		}
		for _, a := range pending {
			done, e := finish(ctx, ledger, gates, a)
			if done {
				s.Done++
			}
			err = errors.Join(err, e)
		}
		return s, err
	})}
}

// finish asks the gates for the units of a decrease and carries it out in the ledger; false where it has to wait.
func finish(ctx context.Context, ledger Adjustments, gates Repairs, a sluice.Adjustment) (bool, error) {
	results, err := gates.Apply(ctx, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: a.Campaign, Units: a.Asked, Epoch: a.Epoch, Revision: a.Revision,
	}})
	if err != nil || len(results) == 0 || results[0].Verdict != sluice.PermitDone {
		return false, wrapped(err, "take the units of "+a.ChangeID)
	}
	a.Applied, a.Epoch = -results[0].Taken, results[0].Epoch
	is, err := ledger.FinishAdjustment(ctx, a)
	if errors.Is(err, sluice.ErrConflict) {
		return false, nil // claims are on their way to the gates: later
	}
	return err == nil && !is.Pending, wrapped(err, "finish "+a.ChangeID)
}

func wrapped(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("upkeep: %s: %w", doing, err)
}
