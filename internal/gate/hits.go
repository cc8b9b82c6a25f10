package gate

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
)

// Hits of a block are counted in steps, so that the last hour can be told without keeping each one.
const (
	hitStep  sluice.Millis = 5 * 60 * 1000
	hitSteps               = 12
)

// hits counts what each block has refused, by its reference. A block that has refused nothing takes no room.
type hits struct{ all sync.Map } // string to *hitSlots

// hitSlots holds the number of a step in the upper half of a slot and the hits of that step in the lower one.
type hitSlots [hitSteps]atomic.Uint64

func (h *hits) add(reference string, now sluice.Millis) {
	x, ok := h.all.Load(reference)
	if !ok {
		x, _ = h.all.LoadOrStore(reference, new(hitSlots))
	}
	step := uint64(max(0, now) / hitStep)
	slot := &x.(*hitSlots)[step%hitSteps]
	for {
		switch old := slot.Load(); {
		case old>>32 == step:
			slot.Add(1)
			return
		case slot.CompareAndSwap(old, step<<32|1):
			return
		}
	}
}

// of gives the hits of the last 55 to 60 minutes.
func (s *hitSlots) of(now sluice.Millis) (n int64) {
	step := int64(max(0, now) / hitStep)
	for i := range s {
		if x := s[i].Load(); int64(x>>32) > step-hitSteps && int64(x>>32) <= step {
			n += int64(x & (1<<32 - 1))
		}
	}
	return n
}

// forget drops what was not hit within the hour.
func (h *hits) forget(now sluice.Millis) {
	h.all.Range(func(reference, x any) bool {
		if x.(*hitSlots).of(now) == 0 {
			h.all.Delete(reference)
		}
		return true
	})
}

// BlockHits says how many claims and asks for a pass the block of this id has refused on this node in the last hour,
// to five minutes.
func (g *Gate) BlockHits(id string) int64 {
	x, ok := g.hits.all.Load(id)
	if !ok {
		return 0
	}
	return x.(*hitSlots).of(sluice.MillisOf(g.cfg.Now()))
}
