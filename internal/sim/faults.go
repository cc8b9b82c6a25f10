package sim

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

// fault is what happens to the next commit of claims.
type fault int

const (
	faultNone       fault = iota
	faultRefused          // nothing is written, and the ledger says so
	faultLostBefore       // nothing is written, and nobody knows
	faultLostAfter        // all is written, and nobody knows
)

// flaky is a ledger whose next commit of claims fails in a chosen way.
type flaky struct {
	memory.Ledger
	next fault // read and cleared by Settle; the world plays one step at a time
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
