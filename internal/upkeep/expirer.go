package upkeep

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// Closer closes orders that were not paid in time.
type Closer interface {
	// CloseDue closes up to most orders due at now in one transaction that claims and payments go before. Nothing
	// is due while payments are down: then Stopped is set. Idempotent; an error means that it may be called again.
	CloseDue(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)
}

// Expirer closes unpaid orders. The fast road is a timer at the next due moment, the sure one a look at every interval;
// ten thousand orders due in the same second are closed piece by piece, and claims go on between two pieces.
type Expirer struct{ *agent }

// NewExpirer makes the agent; Start sets it going.
func NewExpirer(cfg Config, store Closer) *Expirer {
	return &Expirer{newAgent("expirer", cfg, store.CloseDue)}
}

// Wake tells of an order due at the wall time due. Only one that is due before all others has to be told, and only
// where that is sooner than the next interval; others may be. It never blocks.
func (e *Expirer) Wake(due sluice.Millis) { e.wakeAt(due) }
