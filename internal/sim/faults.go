package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/fault"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// claimFault is what happens to the next commit of claims.
type claimFault int

const (
	faultNone       claimFault = iota
	faultRefused               // nothing is written, and the ledger says so
	faultLostBefore            // nothing is written, and nobody knows
	faultLostAfter             // all is written, and nobody knows
)

// flaky is a ledger whose next commit of claims fails in a chosen way.
type flaky struct {
	memory.Ledger
	next claimFault // read and cleared by Settle; the world plays one step at a time
}

// Settle passes the batch on, or does what the fault says.
func (f *flaky) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	switch next := f.next; next {
	case faultRefused, faultLostBefore:
		f.next = faultNone
		if next == faultRefused {
			return nil, fmt.Errorf("sim: refused: %w", sluice.ErrUnavailable)
		}
		return nil, fmt.Errorf("sim: lost before the commit: %w", sluice.ErrUncertain)
	case faultLostAfter:
		f.next = faultNone
		if _, err := f.Ledger.Settle(ctx, claims); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("sim: lost after the commit: %w", sluice.ErrUncertain)
	}
	return f.Ledger.Settle(ctx, claims)
}

// write makes a write that is idempotent, now and then over a commit that fails, whether it was done or not; then it
// asks again, as the ledger tells its callers to. retried says that it had to.
func (w *World) write(do func() error) (retried bool, err error) {
	if w.rng.IntN(5) > 0 {
		return false, do()
	}
	kind := fault.Refuse
	if w.rng.IntN(2) == 0 {
		kind = fault.Lose
	}
	w.steps.Next(sqldb.StepCommit, kind)
	err = do()
	w.steps.Heal() // where nothing was to be written there was no commit
	if !errors.Is(err, sluice.ErrUncertain) {
		return false, err
	}
	w.note("the commit failed, done: %v", kind == fault.Lose)
	for _, c := range w.campaigns {
		for known := false; !known; runtime.Gosched() {
			_, _, known = w.adm.Permit(c.set.ID)
		}
	}
	return true, do()
}
