package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// oneLook is a desk that shows the same to everybody.
type oneLook struct {
	api.LiveDesk
	look sluice.LiveLook
}

func (d oneLook) Live(context.Context, string, sluice.Millis, int) (sluice.LiveLook, error) {
	return d.look, nil
}

// TestTheLargestLook: every field of a look is as long as it gets in the largest sale, and it is 3 KB at most: long
// reasons in Chinese, each reason of a refusal with millions, all waves, more switches than are told, and buckets that
// wait.
func TestTheLargestLook(t *testing.T) {
	const at, many = sluice.Millis(1_796_000_000_000), int64(99_999_999)
	long := strings.Repeat("暂停活动，请等待通知", 20)
	v := sluice.LiveLook{At: at, Phase: "degraded", Rate: many, RateAt: at, Peak: many, PeakAt: at, Failing: many,
		PerSecond: many, Passes: many, PassRate: many, Pages: many, ExactAt: at, Off: many, Next: at, More: true}
	v.Campaign.Kind, v.Campaign.State, v.Campaign.ControlNote = sluice.KindGoods, sluice.StateFrozen, long
	v.Campaign.Stock.Total, v.Campaign.Stock.Held, v.Campaign.Stock.Sold = many, many, many
	v.Campaign.Available, v.Campaign.Queued, v.Campaign.Revision, v.Campaign.SoldOutAt = many, many, many, at
	v.Campaign.StartsAt, v.Campaign.Protection.Pass = at+1, sluice.PassAlways
	v.Verified = sluice.Verification{UnitsOverTotal: many, UsersOverLimit: many, Drift: many, CheckedAt: at}
	b := sluice.Bucket{Start: at, Width: 1000}
	for _, r := range sluice.Reasons() {
		v.Decisions[r], b.Counts[r] = many, many
	}
	v.Decisions[sluice.ReasonNone], b.Counts[sluice.ReasonNone] = many, many
	b.Latency.Add(time.Second)
	v.Latency.Add(time.Second)
	for range 60 {
		v.Buckets = append(v.Buckets, b)
	}
	v.Unpaid = sluice.Unpaid{Orders: many, Units: many, NextAt: at, Minute: many, Stopped: true, At: at}
	for range sluice.MaxUnpaidWaves {
		v.Unpaid.Waves = append(v.Unpaid.Waves, sluice.UnpaidWave{At: at, Units: many})
	}
	v.Health = sluice.Health{Alive: 100, Dead: 100, InForce: 100, Skew: time.Hour, Letters: many, Oldest: at - 100_000,
		Parts: map[string]sluice.PartState{"ledger": sluice.PartUp, "redis": "down", "broker": "down",
			"payments": sluice.PartMarked}}
	for i := range 9 {
		v.Switches = append(v.Switches, sluice.SwitchSetting{Name: fmt.Sprint("challenge_all_", i), Campaign: "spring",
			Value: 1e6, Set: true, Reason: long, Author: long, At: at})
	}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Live: oneLook{look: v}})
	got := ask(a, "GET", "/v1/admin/campaigns/spring/live?since=1", "", as("viewer"))
	if got.status != 200 || !strings.Contains(got.body, `"buckets":[{`) || !strings.Contains(got.body, `"more":true`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if len(got.body) > 3*1024 {
		t.Errorf("the largest look is %d bytes", len(got.body))
	}
}
