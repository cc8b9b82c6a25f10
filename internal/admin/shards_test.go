package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// TestShards: only gates in Redis have shards, and campaigns of one limit group have equally many.
func TestShards(t *testing.T) {
	s := newStack(t)
	many := admin.NewCampaigns(admin.CampaignsConfig{
		Ledger: s.db, Publisher: s, Permits: s.admission, Verifier: s.db, Noter: s.db, MaxShards: sluice.MaxShards,
	})
	spec := func(id, group string, shards int64) sluice.CampaignSpec {
		return sluice.CampaignSpec{
			ID: id, Kind: sluice.KindGoods, Title: id, Total: 10, PerUserLimit: 1, StartsAt: now, EndsAt: now + 1000,
			Goods: &sluice.Goods{PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900}, LimitGroup: group, Shards: shards,
		}
	}
	tests := []struct {
		name string
		desk *admin.Campaigns
		spec sluice.CampaignSpec
		want string // in the fault of the field shards; "" for none
	}{
		{"one process, one permit", s.campaigns, spec("a", "", 2), "must be 1"},
		{"one is what there is", s.campaigns, spec("b", "", 1), ""},
		{"four in Redis", many, spec("c", "", 4), ""},
		{"the first of a group", many, spec("d", "group", 4), ""},
		{"another of the group with other shards", many, spec("e", "group", 2), "must be 4"},
		{"another of the group without a word", many, spec("f", "group", 0), "must be 4"},
		{"another of the group with as many", many, spec("g", "group", 4), ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			v, err := tc.desk.Create(t.Context(), tc.spec, sluice.Actor{Name: "op", Role: sluice.RoleOperator})
			if tc.want == "" {
				if err != nil || int64(v.Shards) != tc.spec.Shards {
					t.Errorf("%d shards, %v", v.Shards, err)
				}
				return
			}
			var f *sluice.Fault
			if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Field != "shards" ||
				!strings.Contains(f.Fields[0].Detail, tc.want) {
				t.Errorf("got %v, want shards: %s", err, tc.want)
			}
		})
	}
}

// TestShardsOfACampaignThatIsThere: an edit has the gates built anew once everything else is recorded, waits for its
// turn, and says what cannot be.
func TestShardsOfACampaignThatIsThere(t *testing.T) {
	s := newStack(t)
	gates := &movers{busy: 2}
	desk := admin.NewCampaigns(admin.CampaignsConfig{
		Ledger: s.db, Publisher: s, Permits: s.admission, Verifier: s.db, Noter: s.db, MaxShards: sluice.MaxShards,
		Gates: gates, Now: s.clock.now,
	})
	op := sluice.Actor{Name: "op", Role: sluice.RoleOperator}
	for _, c := range []struct{ id, group string }{{"alone", ""}, {"first", "group"}, {"second", "group"}} {
		if _, err := desk.Create(t.Context(), sluice.CampaignSpec{
			ID: c.id, Kind: sluice.KindGoods, Title: c.id, Total: 10, PerUserLimit: 1, StartsAt: now, EndsAt: now + 1000_000,
			Goods: &sluice.Goods{PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900}, LimitGroup: c.group,
		}, op); err != nil {
			t.Fatal(err)
		}
	}
	patch := func(n int64, title string) sluice.CampaignPatch {
		p := sluice.CampaignPatch{Shards: &n}
		if title != "-" {
			p.Title = &title
		}
		return p
	}
	if _, err := desk.Edit(t.Context(), "alone", patch(4, "Four"), op); err != nil || gates.asked != 4 || gates.busy != 0 {
		t.Errorf("four shards: %v, the gates were asked for %d", err, gates.asked)
	}
	if c, err := s.db.Campaign(t.Context(), "alone"); err != nil || c.Title != "Four" {
		t.Errorf("the title is %q, %v", c.Title, err)
	}
	gates.asked = 0
	if _, err := desk.Edit(t.Context(), "alone", patch(1, "-"), op); err != nil || gates.asked != 0 {
		t.Errorf("as many as there are: %v, the gates were asked for %d", err, gates.asked)
	}
	gates.err = sluice.ErrUnavailable
	var f *sluice.Fault
	if _, err := desk.Edit(t.Context(), "alone", patch(2, "-"), op); !errors.As(err, &f) || f.Code != "BUSY" {
		t.Errorf("gates that do not answer: %v", err)
	}
	refused := []struct {
		name, id string
		desk     *admin.Campaigns
		patch    sluice.CampaignPatch
		want     []string
	}{
		{"one process", "alone", s.campaigns, patch(2, "-"), []string{"shards: must be 1"}},
		{"too many, and no title", "alone", desk, patch(65, ""),
			[]string{"title: is required", "shards: must be from 1 to 64"}},
		{"not alone in its group", "first", desk, patch(2, "-"), []string{"shards: must stay 1, as campaign second"}},
	}
	for _, tc := range refused {
		t.Run(tc.name, func(t *testing.T) {
			gates.asked = 0
			_, err := tc.desk.Edit(t.Context(), tc.id, tc.patch, op)
			if !errors.As(err, &f) || len(f.Fields) != len(tc.want) || gates.asked != 0 {
				t.Fatalf("got %v, the gates were asked for %d", err, gates.asked)
			}
			for i, want := range tc.want {
				if got := f.Fields[i].Field + ": " + f.Fields[i].Detail; !strings.HasPrefix(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	rearm := admin.NewReconcile(admin.ReconcileConfig{Ledger: s.db, Campaigns: s.db, Noter: s.db, Rearmer: &armory{}})
	if _, err := rearm.Rearm(t.Context(), "first", 2, op); !errors.As(err, &f) || f.Fields[0].Field != "shards" {
		t.Errorf("armed anew by hand, not alone in its group: %v", err)
	}
	s.clock.add(2000 * time.Second)
	if _, err := desk.Edit(t.Context(), "alone", patch(2, "-"), op); !errors.As(err, &f) || f.Fields[0].Field != "shards" {
		t.Errorf("after its end: %v", err)
	}
}

// movers are gates that note what they were asked for.
type movers struct {
	busy  int // so often another node is at it
	asked int
	err   error
}

func (m *movers) Rearm(_ context.Context, _ string, shards int, _ sluice.Actor) (int64, error) {
	if m.busy > 0 {
		m.busy--
		return 0, sluice.ErrConflict
	}
	m.asked = shards
	return 7, m.err
}

// TestDegradedNeedsGates: a switch that could have no effect is refused, and can be cleared all the same.
func TestDegradedNeedsGates(t *testing.T) {
	s := newStack(t)
	desk := admin.NewSwitches(admin.SwitchesConfig{Ledger: s.db, Board: s.gate, NoGates: true, Now: s.clock.now})
	set := sluice.SwitchSetting{Name: sluice.SwitchDegraded, Value: 1, Set: true}
	var f *sluice.Fault
	if _, err := desk.Set(t.Context(), set, sluice.Actor{}); !errors.As(err, &f) || f.Code != "NO_GATES" {
		t.Errorf("set: %v", err)
	}
	if all, err := desk.Settings(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v is set, %v", all, err)
	}
	if _, err := desk.Set(t.Context(), sluice.SwitchSetting{Name: sluice.SwitchDegraded}, sluice.Actor{}); err != nil {
		t.Errorf("cleared: %v", err)
	}
}
