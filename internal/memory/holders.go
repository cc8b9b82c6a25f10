package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/sluice-sale/sluice"
)

// holdersSwept is how many holders are added before those whose places are all over are looked for.
const holdersSwept = 65_536

// holdersKept is how long after their windows places are kept: a clock of unpaid windows that stands still makes them
// last longer.
const holdersKept = sluice.Millis(24 * 3600 * 1000)

// HeldPlaces remembers who holds unpaid orders, in this process. Its memory grows with the unpaid orders alone: 30
// bytes a place and 100 a holder.
type HeldPlaces struct {
	mu    sync.Mutex // guards what follows
	all   map[string][]sluice.Held
	added int
}

// NewHeldPlaces makes one without holders.
func NewHeldPlaces() *HeldPlaces { return &HeldPlaces{all: map[string][]sluice.Held{}} }

// Hold takes a place for c unless the holder has limit others, which it gives then.
func (h *HeldPlaces) Hold(
	_ context.Context, holder string, c sluice.Held, limit int,
) (others []sluice.Held, ok bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.all[holder]
	if slices.ContainsFunc(held, func(x sluice.Held) bool { return x.ID == c.ID }) {
		return nil, true, nil
	}
	if len(held) >= limit {
		return slices.Clone(held), false, nil
	}
	h.all[holder] = append(held, c)
	if h.added++; h.added >= holdersSwept {
		h.added = 0
		h.sweep(c.Until - holdersKept)
	}
	return nil, true, nil
}

// sweep forgets holders whose places ended before `before`. The caller holds mu.
func (h *HeldPlaces) sweep(before sluice.Millis) {
	for holder, held := range h.all {
		if !slices.ContainsFunc(held, func(x sluice.Held) bool { return x.Until >= before }) {
			delete(h.all, holder)
		}
	}
}

// Free gives places back.
func (h *HeldPlaces) Free(_ context.Context, holder string, ids []sluice.ClaimID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := slices.DeleteFunc(h.all[holder], func(x sluice.Held) bool { return slices.Contains(ids, x.ID) })
	if len(held) == 0 {
		delete(h.all, holder)
	} else {
		h.all[holder] = held
	}
	return nil
}
