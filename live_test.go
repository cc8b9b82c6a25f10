package sluice_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
)

func TestPhases(t *testing.T) {
	const now = 1_000_000_000
	on := func(name, campaign string) []sluice.SwitchSetting {
		return []sluice.SwitchSetting{{Name: name, Campaign: campaign, Value: 1, Set: true}}
	}
	view := func(state sluice.CampaignState, queued, held int64) sluice.CampaignView {
		v := sluice.CampaignView{State: state, Queued: queued}
		v.ID, v.Kind, v.StartsAt, v.Stock.Held = "spring", sluice.KindGoods, now+1000, held
		return v
	}
	early := view(sluice.StateScheduled, 0, 0)
	early.StartsAt = now + sluice.ArmedBefore + 1
	for _, tt := range []struct {
		want     sluice.LivePhase
		v        sluice.CampaignView
		set      []sluice.SwitchSetting
		degraded bool
	}{
		{sluice.PhaseTrouble, view(sluice.StateFrozen, 0, 0), on(sluice.SwitchClosed, ""), false},
		{sluice.PhaseStopped, view(sluice.StateLive, 0, 0), on(sluice.SwitchClosed, ""), false},
		{sluice.PhaseStopped, view(sluice.StatePaused, 0, 0), on(sluice.SwitchClosed, "spring"), false},
		{sluice.PhaseLive, view(sluice.StateLive, 0, 0), on(sluice.SwitchClosed, "autumn"), false},
		{sluice.PhasePaused, view(sluice.StatePaused, 0, 0), nil, false},
		{sluice.PhasePaused, view(sluice.StateLive, 0, 0), on(sluice.SwitchPaused, ""), true},
		{sluice.PhaseDegraded, view(sluice.StateLive, 0, 0), nil, true},
		{sluice.PhaseDegraded, view(sluice.StateSoldOut, 0, 0), on(sluice.SwitchDegraded, ""), false},
		{sluice.PhaseBefore, view(sluice.StateDraft, 0, 0), nil, false},
		{sluice.PhaseBefore, early, nil, true},
		{sluice.PhaseArmed, view(sluice.StateScheduled, 0, 0), nil, false},
		{sluice.PhaseLive, view(sluice.StateLive, 9, 9), nil, false},
		{sluice.PhaseDraining, view(sluice.StateSoldOut, 1, 9), nil, false},
		{sluice.PhaseDraining, view(sluice.StateEnded, 1, 9), on(sluice.SwitchClosed, ""), true},
		{sluice.PhaseSoldOut, view(sluice.StateSoldOut, 0, 9), nil, false},
		{sluice.PhaseSettling, view(sluice.StateEnded, 0, 9), nil, true},
		{sluice.PhaseSettled, view(sluice.StateEnded, 0, 0), nil, false},
	} {
		if got := tt.v.Phase(now, tt.set, tt.degraded); got != tt.want {
			t.Errorf("%s, %d queued, %d held, switches %v, degraded %v: %s, want %s",
				tt.v.State, tt.v.Queued, tt.v.Stock.Held, tt.set, tt.degraded, got, tt.want)
		}
	}
}

func TestTold(t *testing.T) {
	on := func(name, campaign string) []sluice.SwitchSetting {
		return []sluice.SwitchSetting{{Name: name, Campaign: campaign, Value: 1, Set: true}}
	}
	off := []sluice.SwitchSetting{{Name: sluice.SwitchClosed, Set: true}, {Name: sluice.SwitchPaused, Value: 1}}
	const live, scheduled, closed, paused = sluice.StateLive, sluice.StateScheduled, sluice.StateClosed, sluice.StatePaused
	for _, tt := range []struct {
		is   sluice.CampaignState
		set  []sluice.SwitchSetting
		want sluice.CampaignState
	}{
		{sluice.StateDraft, on(sluice.SwitchClosed, ""), sluice.StateDraft},
		{sluice.StateEnded, on(sluice.SwitchClosed, ""), sluice.StateEnded},
		{sluice.StateFrozen, on(sluice.SwitchClosed, ""), closed},
		{sluice.StateFrozen, nil, paused},
		{paused, on(sluice.SwitchClosed, "spring"), closed},
		{sluice.StateSoldOut, on(sluice.SwitchClosed, "spring"), closed},
		{scheduled, on(sluice.SwitchClosed, "spring"), closed},
		{scheduled, on(sluice.SwitchPaused, ""), scheduled},
		{live, on(sluice.SwitchReadOnly, ""), closed},
		{live, on(sluice.SwitchClosed, "autumn"), live},
		{live, on(sluice.SwitchPaused, "spring"), paused},
		{sluice.StateSoldOut, on(sluice.SwitchPaused, ""), paused},
		{live, off, live},
		{live, nil, live},
	} {
		v := sluice.CampaignView{State: tt.is}
		v.ID = "spring"
		if got := v.Told(tt.set); got != tt.want {
			t.Errorf("%s, switches %v: buyers are told %s, want %s", tt.is, tt.set, got, tt.want)
		}
	}
}
