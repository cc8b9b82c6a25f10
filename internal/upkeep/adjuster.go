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

// AdjusterConfig adds to Config what is done about a decrease that cannot go on.
type AdjusterConfig struct {
	Config
	// Stuck is how long a decrease may find its units taken from the gates and not free in the ledger; default 2 s. It
	// happens for a moment while claims are on their way to the gates, and for good where one shard gave units while
	// another one was in debt. Then Rearm is asked: in a new epoch the units are shared out anew, and taken again.
	Stuck time.Duration
	Rearm func(campaign string, epoch int64)
}

// NewAdjuster makes the agent; Start sets it going. It looks every second by default.
func NewAdjuster(cfg AdjusterConfig, ledger Adjustments, gates Repairs) *Adjuster {
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.Stuck <= 0 {
		cfg.Stuck = 2 * time.Second
	}
	since := map[string]time.Time{} // when each decrease first found its units missing; of the agent's goroutine
	return &Adjuster{newAgent("adjuster", cfg.Config, func(
		ctx context.Context, now sluice.Millis, _ int,
	) (s sluice.Sweep, err error) {
		pending, err := ledger.PendingAdjustments(ctx)
		if err != nil {
			return s, err
		}
		waiting := map[string]time.Time{}
		for _, a := range pending {
			done, e := finish(ctx, ledger, gates, a)
			if done {
				s.Done++
			}
			if !errors.Is(e, sluice.ErrConflict) {
				err = errors.Join(err, e)
				continue
			}
			first, again := since[a.ChangeID]
			if !again {
				first = now.Time()
			}
			waiting[a.ChangeID] = first
			if cfg.Rearm != nil && now.Time().Sub(first) >= cfg.Stuck {
				cfg.Rearm(a.Campaign, a.Epoch)
				delete(waiting, a.ChangeID)
			}
		}
		since = waiting
		return s, err
	})}
}

// finish asks the gates for the units of a decrease and carries it out in the ledger; false where it has to wait.
// ErrConflict: the gates gave units that are not free in the ledger.
func finish(ctx context.Context, ledger Adjustments, gates Repairs, a sluice.Adjustment) (bool, error) {
	results, err := gates.Apply(ctx, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: a.Campaign, Units: a.Asked, Epoch: a.Epoch, Revision: a.Revision,
	}})
	if err != nil || len(results) == 0 || results[0].Verdict != sluice.PermitDone {
		return false, wrapped(err, "take the units of "+a.ChangeID)
	}
	a.Applied, a.Epoch = -results[0].Taken, results[0].Epoch
	is, err := ledger.FinishAdjustment(ctx, a)
	return err == nil && !is.Pending, wrapped(err, "finish "+a.ChangeID)
}

func wrapped(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("upkeep: %s: %w", doing, err)
}
