package admin_test

import (
	"errors"
	"strings"
	"testing"

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
