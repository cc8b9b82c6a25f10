package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// Every state of the checks of parts has a code that is listed, and its sentence is filled.
func TestEveryPartCheckHasACode(t *testing.T) {
	now := time.UnixMilli(1_900_000_000_000)
	nodes := func(h sluice.Health) sluice.PreflightCheck { return foundNodes(&h) }
	backlog := func(h sluice.Health, queued int64) sluice.PreflightCheck { return foundBacklog(&h, queued, false, now) }
	passes := func(mode sluice.PassMode, keys int, fault error) sluice.PreflightCheck {
		c := &sluice.CampaignView{}
		c.Protection.Pass = mode
		return foundPasses(c, keys, func(sluice.ChallengeType) error { return fault })
	}
	payments := func(price int64, down, sandbox bool) sluice.PreflightCheck {
		c := &sluice.CampaignView{}
		c.Kind, c.Goods.PriceMinor = sluice.KindGoods, price
		s := sluice.SwitchSetting{Name: sluice.SwitchPaymentsDown, Set: down, Value: 1, At: sluice.MillisOf(now)}
		return foundPayments(c, []sluice.SwitchSetting{s}, sandbox)
	}
	down := map[string]sluice.PartState{"redis": sluice.PartDown}
	tests := []struct {
		code   sluice.PreflightCode
		state  sluice.PreflightState
		detail string
		got    sluice.PreflightCheck
	}{
		{"nodes_part_down", "no_go", "redis does", nodes(sluice.Health{Parts: down})},
		{"nodes_behind", "no_go", "2 nodes, 1 with", nodes(sluice.Health{Alive: 2, InForce: 1})},
		{"nodes_agree", "go", "2 nodes", nodes(sluice.Health{Alive: 2, InForce: 2})},
		{"clocks_one", "go", "one node", sluice.Found(sluice.CheckGo, "clocks_one", nil)},
		{"clocks_apart", "no_go", "50 ms", foundClocks(50 * time.Millisecond)},
		{"clocks_together", "go", "3 ms", foundClocks(2600 * time.Microsecond)},
		{"backlog_letters", "no_go", "4 dead", backlog(sluice.Health{Letters: 4}, 1)},
		{"backlog_queued", "no_go", "1 units", backlog(sluice.Health{}, 1)},
		{"backlog_old", "no_go", "70 ms", backlog(sluice.Health{Oldest: sluice.MillisOf(now) - 70}, 0)},
		{"backlog_none", "go", "nothing", backlog(sluice.Health{}, 0)},
		{"passes_not_asked", "absent", "no pass", passes(sluice.PassOff, 1, nil)},
		{"passes_no_key", "no_go", "no key", passes(sluice.PassAlways, 0, nil)},
		{"passes_no_service", "no_go", "siteverify", passes(sluice.PassAlways, 1, challenge.ErrNoService)},
		{"passes_no_challenge", "no_go", "pow challenge could be given out: context", passes(sluice.PassAlways, 1,
			context.Canceled)},
		{"passes_given", "go", "always, with pow", passes(sluice.PassAlways, 1, nil)},
		{"payments_none", "absent", "nothing", payments(0, true, false)},
		{"payments_down", "no_go", "since 2030-", payments(1, true, true)},
		{"payments_sandbox", "go", "sandbox", payments(1, false, true)},
		{"payments_taken", "go", "notifications", payments(1, false, false)},
		{"blocklist_unknown", "unknown", "does not answer", foundBlocks(0, context.Canceled)},
		{"blocklist_in_force", "go", "6 blocks", foundBlocks(6, nil)},
		{"alarms_never", "no_go", "since the start", foundAlarms(0, now)},
		{"alarms_silent", "no_go", "301 s", foundAlarms(now.UnixMilli()-301_000, now)},
		{"alarms_read", "go", "9 s ago", foundAlarms(now.UnixMilli()-9000, now)},
	}
	var reached []sluice.PreflightCode
	for _, tt := range tests {
		c := tt.got
		if c.Code != tt.code || c.State != tt.state || !strings.Contains(c.Detail, tt.detail) ||
			strings.Contains(c.Detail, "{") || !slices.Contains(sluice.PreflightCodes(), c.Code) {
			t.Errorf("%+v, want %s, %s, %q", c, tt.code, tt.state, tt.detail)
		}
		for name, v := range c.Args {
			switch fmt.Sprintf("%T", v) {
			case "string", "int", "int64":
			default:
				t.Errorf("%s: %s is a %T", c.Code, name, v)
			}
		}
		reached = append(reached, c.Code)
	}
	for _, code := range sluice.PreflightCodes() {
		switch name, _, _ := strings.Cut(string(code), "_"); name {
		case "schedule", "preheated", "verified", "rehearsed": // the desk's own, tested there
		default:
			if !slices.Contains(reached, code) {
				t.Errorf("no check comes to %s", code)
			}
		}
	}
}
