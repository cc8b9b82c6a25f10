package redis

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of one Adjust: how long it goes on for, and the pause between two tries.
const (
	adjustFor   = 5 * time.Second
	adjustPause = 20 * time.Millisecond
)

// Adjust changes the campaign's total under a change id, before or during the sale, whichever node is asked. A decrease
// takes only what is available. The same change id with the same Asked gives the recorded answer; with another it is an
// ErrConflict. While another adjustment of the campaign is under way it waits for its turn. ErrUnavailable with the
// code ADJUSTMENT_PENDING: a decrease is written down and will be carried out; ask again with the same id.
func (a *Admission) Adjust(ctx context.Context, adj sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error) {
	for end := a.mono() + adjustFor; ; {
		is, again, err := a.adjust(ctx, adj, by)
		if !again {
			return is, err
		}
		if a.mono() >= end || !a.rest(adjustPause) || ctx.Err() != nil {
			if is.Pending {
				err = sluice.NewFault(sluice.ErrUnavailable, "ADJUSTMENT_PENDING",
					"the decrease is written down and will be carried out; ask again with the same change id")
			}
			return is, err
		}
	}
}

// adjust takes one turn, and says whether another one may go further.
func (a *Admission) adjust(
	ctx context.Context, adj sluice.Adjustment, by sluice.Actor,
) (is sluice.Adjustment, again bool, err error) {
	is, err = a.deps.Adjustments.Adjustment(ctx, adj.ChangeID)
	switch {
	case err == nil && (is.Campaign != adj.Campaign || is.Asked != adj.Asked):
		return adj, false, sluice.NewFault(sluice.ErrConflict, "CHANGE_ID_REUSED",
			"the change id was used for another adjustment")
	case err == nil && !is.Pending:
		return is, false, nil
	case err != nil && !errors.Is(err, sluice.ErrNotFound):
		return adj, false, err
	}
	if adj.Asked >= 0 {
		return a.increase(ctx, adj, by)
	}
	if is, err = a.deps.Adjustments.BeginAdjustment(ctx, adj, by); err != nil || !is.Pending {
		return is, coded(err, "ADJUSTMENT_PENDING"), err
	}
	a.SetEpoch(is.Campaign, is.Epoch)
	taken, err := a.takeBack(ctx, is)
	if err != nil {
		a.cfg.Log.Warn("a decrease waits for the gates", "change", adj.ChangeID, "err", err)
		return is, true, err
	}
	done := is
	done.Applied = -taken
	finished, err := a.deps.Adjustments.FinishAdjustment(ctx, done)
	if err != nil {
		return is, coded(err, "STOCK_TAKEN"), err
	}
	return finished, finished.Pending, nil // pending: the epoch has moved, and other gates have to be asked
}

// coded says whether an error is the fault with this code.
func coded(err error, code string) bool {
	f := (*sluice.Fault)(nil)
	return errors.As(err, &f) && f.Code == code
}

// takeBack takes the units of a decrease from the gates of its epoch.
func (a *Admission) takeBack(ctx context.Context, is sluice.Adjustment) (int64, error) {
	call, cancel := context.WithTimeout(ctx, a.cfg.MaxWait)
	defer cancel()
	results, err := a.look.Apply(call, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: is.Campaign, Units: is.Asked, Epoch: is.Epoch, Revision: is.Revision,
	}})
	switch {
	case err != nil:
		return 0, err
	case len(results) != 1 || results[0].Verdict != sluice.PermitDone || results[0].Epoch != is.Epoch:
		return 0, sluice.NewFault(sluice.ErrUnavailable, "ADJUSTMENT_PENDING", "the gates are of another epoch")
	}
	return results[0].Taken, nil
}

// increase writes more units down. They reach the gates as every operation does: by Apply at once, or by the releaser.
func (a *Admission) increase(
	ctx context.Context, adj sluice.Adjustment, by sluice.Actor,
) (sluice.Adjustment, bool, error) {
	adj.Applied = adj.Asked
	is, err := a.deps.Adjustments.RecordAdjustment(ctx, adj, by)
	return is, coded(err, "ADJUSTMENT_PENDING"), err
}
