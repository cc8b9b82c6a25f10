package admin_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// world is what the checks of a campaign stand on: its row, its permit, what verifying comes to, the last rehearsal.
type world struct {
	admin.CampaignLedger
	admin.PreflightLedger
	admin.Permits
	campaign sluice.Campaign
	permit   *sluice.Permit
	verified sluice.Verification
	fault    error
	result   string
}

func (w *world) Campaign(context.Context, string) (sluice.Campaign, error) { return w.campaign, nil }

func (w *world) Permit(string) (sluice.Permit, sluice.Millis, bool) {
	if w.permit == nil {
		return sluice.Permit{}, 0, false
	}
	return *w.permit, 0, true
}

func (w *world) Verify(context.Context, string, func() sluice.Permit) (sluice.Verification, error) {
	return w.verified, w.fault
}

func (w *world) Jobs(context.Context, sluice.JobQuery) ([]sluice.Job, error) {
	if w.result == "" {
		return nil, nil
	}
	return []sluice.Job{{Result: json.RawMessage(w.result), EndedAt: 1_900_000_000_000}}, nil
}

func (w *world) RecordPreflight(
	_ context.Context, p sluice.Preflight, _ sluice.Actor,
) (sluice.Preflight, error) {
	return p, nil
}

// Every state of the campaign's own checks has a code that is listed, and its sentence is filled.
func TestEveryCheckHasACode(t *testing.T) {
	now := time.UnixMilli(1_900_000_000_000)
	moved := func(starts, ends time.Duration) func(*world) {
		return func(w *world) {
			w.campaign.StartsAt, w.campaign.EndsAt = sluice.MillisOf(now.Add(starts)), sluice.MillisOf(now.Add(ends))
		}
	}
	tests := []struct {
		code   sluice.PreflightCode
		state  sluice.PreflightState
		detail string
		set    func(*world)
	}{
		{"schedule_opens", "go", "opens at 2030-03-17T18:46:40Z", moved(time.Hour, 2*time.Hour)},
		{"schedule_open", "go", "is open", moved(-time.Hour, time.Hour)},
		{"schedule_not_offered", "no_go", "is ended", moved(-2*time.Hour, -time.Hour)},
		{"preheated_none", "no_go", "no permit yet", func(w *world) { w.permit = nil }},
		{"preheated_differs", "no_go", "has 7 units, and the ledger 10", func(w *world) { w.permit.Available = 7 }},
		{"preheated_same", "go", "10 units", func(*world) {}},
		{"verified_unknown", "unknown", "not be counted", func(w *world) { w.fault = context.Canceled }},
		{"verified_drift", "no_go", "drift 3", func(w *world) { w.verified.OK, w.verified.Drift = false, 3 }},
		{"verified_sum", "go", "= 10", func(w *world) { w.verified.Total = 10 }},
		{"rehearsed_none", "unknown", "no rehearsal yet", func(*world) {}},
		{"rehearsed_unreadable", "unknown", "cannot be read", func(w *world) { w.result = "[" }},
		{"rehearsed_failed", "no_go", "failed: oversold by 1", func(w *world) { w.result = `{"verdict":"oversold by 1"}` }},
		{"rehearsed_slow", "no_go", "400 claims", func(w *world) { w.result = `{"ok":true,"claims_per_s":399.7}` }},
		{"rehearsed_rate", "go", "by 9 buyers", func(w *world) { w.result = `{"ok":true,"claims_per_s":501,"buyers":9}` }},
	}
	var reached []sluice.PreflightCode
	for _, tt := range tests {
		w := &world{permit: &sluice.Permit{Available: 10}, verified: sluice.Verification{OK: true},
			campaign: sluice.Campaign{ID: "spring", Stock: sluice.Stock{Total: 10}, Control: sluice.ControlOpen}}
		moved(time.Hour, 2*time.Hour)(w)
		tt.set(w)
		d := admin.NewPreflights(admin.PreflightConfig{Ledger: w, Rate: func(*sluice.CampaignView) float64 { return 500 },
			Campaigns: admin.NewCampaigns(admin.CampaignsConfig{Ledger: w, Permits: w, Verifier: w,
				Now: func() time.Time { return now }})})
		p, err := d.Run(t.Context(), "spring", sluice.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Checks {
			if !slices.Contains(sluice.PreflightCodes(), c.Code) || strings.Contains(c.Detail, "{") || c.Detail == "" {
				t.Errorf("%s: %+v", tt.code, c)
			}
		}
		name, _, _ := strings.Cut(string(tt.code), "_")
		i := slices.IndexFunc(p.Checks, func(c sluice.PreflightCheck) bool { return c.Name == name })
		if c := p.Checks[i]; c.Code != tt.code || c.State != tt.state || !strings.Contains(c.Detail, tt.detail) {
			t.Errorf("%+v, want %s, %s, %q", c, tt.code, tt.state, tt.detail)
		}
		reached = append(reached, tt.code)
	}
	for _, code := range sluice.PreflightCodes() {
		switch name, _, _ := strings.Cut(string(code), "_"); name {
		case "schedule", "preheated", "verified", "rehearsed":
			if !slices.Contains(reached, code) {
				t.Errorf("no check comes to %s", code)
			}
		}
	}
}
