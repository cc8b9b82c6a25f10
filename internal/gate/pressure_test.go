package gate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// TestSnapshotsUnderPressure changes everything that can be changed while claims run: each is decided by one state or
// the other.
func TestSnapshotsUnderPressure(t *testing.T) {
	out := new(lines)
	r := newRig(t, func(c *gate.Config) { c.DecisionLog, c.PerUserRate = out, 1e6 })
	allowed := map[sluice.Reason]bool{
		sluice.ReasonConfirmed: true, sluice.ReasonBlocked: true, sluice.ReasonClosed: true, sluice.ReasonPaused: true,
		sluice.ReasonNotEligible: true, sluice.ReasonUnknownCampaign: true, sluice.ReasonBusy: true,
	}
	var done atomic.Bool
	var claims, changes sync.WaitGroup
	for i := range 4 {
		req := r.request(t, fmt.Sprint("user-", i))
		claims.Go(func() {
			for range 3000 {
				if d := r.Claim(t.Context(), req); !allowed[d.Reason] {
					t.Errorf("%s", d.Reason)
					return
				}
			}
		})
	}
	paused := spring()
	paused.Control = sluice.ControlPaused
	invited := spring()
	invited.Eligibility.Audience = true
	for _, change := range []func(){
		func() { r.PutCampaign(paused); r.PutCampaign(spring()) },
		func() { r.PutCampaign(invited); r.SetAudience("spring", []sluice.UserKey{sluice.UserKeyOf("user-1")}) },
		func() {
			r.SetBlocks([]sluice.Block{{ID: "b", Scope: sluice.BlockAddress, Value: "192.0.2.0/24"}})
			r.SetBlocks(nil)
		},
		func() {
			r.SetSwitches([]sluice.SwitchSetting{
				set(sluice.SwitchClosed, "spring", 1), set(sluice.SwitchDecisionLog, "", 1), set(sluice.SwitchMaxRate, "", 1e6),
			})
			r.SetSwitches(nil)
		},
		func() { r.DropCampaign("spring"); r.Campaigns(); r.Campaign("spring") },
		func() { r.clock.mono.Add(int64(time.Millisecond)); r.Tally().Totals() },
	} {
		changes.Go(func() {
			for !done.Load() {
				change()
			}
		})
	}
	claims.Wait()
	done.Store(true)
	changes.Wait()
	r.PutCampaign(spring())
	r.SetSwitches(nil)
	r.SetBlocks(nil)
	r.claim(t, r.request(t, "the last"), sluice.ReasonConfirmed)
}

// TestCampaigns: what was put in is what is given out, in order.
func TestCampaigns(t *testing.T) {
	r := newRig(t, nil)
	var all []sluice.Campaign
	for _, id := range []string{"c", "a", "b"} {
		c := spring()
		c.ID, c.Control = id, sluice.ControlDraft
		all = append(all, c)
	}
	r.PutCampaigns(all)
	got := ""
	for _, c := range r.Campaigns() {
		got += c.ID + " "
	}
	if got != "a b c spring " {
		t.Errorf("campaigns %q", got)
	}
	if c, ok := r.Campaign("b"); !ok || c.Control != sluice.ControlDraft {
		t.Error("a draft is not given out")
	}
	if _, ok := r.Campaign("d"); ok {
		t.Error("a campaign that is not there")
	}
}
