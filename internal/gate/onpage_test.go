package gate_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// TestPagesOpen: what pages that wait say is told for a minute once its step is over, by campaign, also after the
// campaign was edited; nothing is told of one that has started, and nothing kept of one that is not there.
func TestPagesOpen(t *testing.T) {
	r := newRig(t, nil)
	r.clock.setWall(opening.Add(-10 * time.Minute))
	autumn := spring()
	autumn.ID = "autumn"
	r.PutCampaign(autumn)
	want := func(when string, all map[string]int64) {
		t.Helper()
		if got := r.PagesOpen(); !maps.Equal(got, all) {
			t.Errorf("%s: %v, want %v", when, got, all)
		}
	}
	var pages sync.WaitGroup
	for range 8 {
		pages.Go(func() {
			for range 100 {
				r.PageOpen("spring")
			}
		})
	}
	pages.Wait()
	r.PageOpen("autumn")
	r.PageOpen("nowhere")
	want("before the step is over", nil)
	r.clock.advance(5 * time.Second)
	want("after it", map[string]int64{"spring": 800, "autumn": 1})
	r.PutCampaign(spring())
	r.clock.advance(55 * time.Second)
	r.PageOpen("autumn")
	want("a minute on, edited", map[string]int64{"spring": 800, "autumn": 1})
	r.clock.advance(5 * time.Second)
	want("they have gone", map[string]int64{"autumn": 1})
	r.clock.setWall(opening.Add(-time.Second))
	r.PageOpen("spring")
	r.clock.setWall(opening.Add(5 * time.Second))
	want("it has started", nil)
	r.DropCampaign("spring")
	r.PageOpen("spring")
}

// TestPagesWrapAround: a slot that was used a while ago does not count for what comes in it now.
func TestPagesWrapAround(t *testing.T) {
	r := newRig(t, nil)
	c := spring()
	c.StartsAt = sluice.MillisOf(opening.Add(time.Hour))
	r.PutCampaign(c)
	for range 30 { // one a step, for two and a half minutes
		r.PageOpen("spring")
		r.clock.advance(5 * time.Second)
	}
	if got := r.PagesOpen()["spring"]; got != 12 {
		t.Errorf("%d pages in a minute, want 12", got)
	}
}
