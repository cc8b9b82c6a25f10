package gate

import (
	"sync/atomic"

	"github.com/sluice-sale/sluice"
)

// Pages that wait for an opening say so once a minute. What they say is counted in steps, so that the last minute can
// be told without keeping who said it.
const (
	pageStep  = sluice.Millis(5000)
	pageSteps = 12 // of a minute
)

// pageSlots holds the number of a step in the upper half of a slot and what was counted in it in the lower one. It has
// a slot more than a minute has steps: the present step is not over.
type pageSlots [pageSteps + 1]atomic.Uint64

func (s *pageSlots) add(now sluice.Millis) {
	step := uint64(max(0, now) / pageStep)
	slot := &s[step%uint64(len(s))]
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

// of gives what was counted in the last minute whose steps are over.
func (s *pageSlots) of(now sluice.Millis) (n int64) {
	step := int64(max(0, now) / pageStep)
	for i := range s {
		if x := s[i].Load(); int64(x>>32) >= step-pageSteps && int64(x>>32) < step {
			n += int64(x & (1<<32 - 1))
		}
	}
	return n
}

// PageOpen counts that somebody's page of a campaign is open. It neither locks nor allocates, and does not keep the
// text; of a campaign that is not there nothing is kept.
func (g *Gate) PageOpen(campaign string) {
	if e, ok := (*g.registry.Load())[campaign]; ok {
		e.pages.add(sluice.MillisOf(g.cfg.Now()))
	}
}

// PagesOpen says about how many pages of campaigns to come were open in the last minute, to five seconds, as told to
// this node: each of them speaks once a minute, to any node. Campaigns that none has spoken of are left out.
func (g *Gate) PagesOpen() map[string]int64 {
	now, all := sluice.MillisOf(g.cfg.Now()), map[string]int64{}
	for id, e := range *g.registry.Load() {
		if now >= e.campaign.StartsAt {
			continue
		}
		if n := e.pages.of(now); n > 0 {
			all[id] = n
		}
	}
	return all
}
