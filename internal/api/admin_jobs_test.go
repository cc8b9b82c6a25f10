package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// jobDesk keeps what it was asked to start.
type jobDesk struct {
	api.JobDesk
	started []sluice.Job
}

func (d *jobDesk) Start(_ context.Context, j sluice.Job, a sluice.Actor) (sluice.Job, error) {
	d.started = append(d.started, j)
	j.ID, j.State, j.Author = "job_1", sluice.JobRunning, a.Name
	return j, nil
}

func (d *jobDesk) List(_ context.Context, q sluice.JobQuery) ([]sluice.Job, error) {
	return []sluice.Job{{ID: "job_1", State: sluice.JobDone, CreatedAt: 7, Result: json.RawMessage(`{"done":3}`)}}, nil
}

type oneCampaign struct{ api.CampaignShelf }

func (oneCampaign) Get(_ context.Context, id string) (sluice.CampaignView, error) {
	if id != "spring" {
		return sluice.CampaignView{}, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "there is no campaign "+id)
	}
	return sluice.CampaignView{}, nil
}

// checkDesk has one run, the seventh.
type checkDesk struct{ signed int64 }

func (d *checkDesk) Latest(context.Context, string) (sluice.Preflight, error) {
	return sluice.Preflight{Seq: 7, Checks: []sluice.PreflightCheck{{Name: "a", State: sluice.CheckGo},
		{Name: "b", State: sluice.CheckAbsent}, {Name: "c", State: sluice.CheckUnknown}}}, nil
}

func (d *checkDesk) Run(ctx context.Context, id string, _ sluice.Actor) (sluice.Preflight, error) {
	return d.Latest(ctx, id)
}

func (d *checkDesk) Sign(ctx context.Context, id string, seq int64, _ sluice.Actor) (sluice.Preflight, error) {
	if seq != 7 {
		return sluice.Preflight{}, errors.Join(sluice.ErrConflict)
	}
	d.signed = seq
	return d.Latest(ctx, id)
}

func TestJobsAndChecksByHTTP(t *testing.T) {
	jobs, checks := &jobDesk{}, &checkDesk{}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Jobs: jobs, Preflight: checks, Shelf: oneCampaign{}})
	const all, spring = "/v1/admin/jobs", "/v1/admin/campaigns/spring/"
	for _, tt := range []struct {
		who, method, uri, body string
		status                 int
		says                   string
	}{
		{"viewer", "GET", all, "", 200, `"result":{"done":3}`},
		{"viewer", "GET", all + "?limit=1", "", 200, `"next_before_ms":7`},
		{"viewer", "GET", all + "?limit=201", "", 422, "limit"},
		{"viewer", "GET", all + "?state=odd", "", 422, "state"},
		{"support", "POST", all, `{"kind":"dead_letters.discard","ids":[1]}`, 403, ""},
		{"operator", "POST", all, `{"kind":"dead_letters.discard","ids":[1]}`, 202, `"state":"running"`},
		{"operator", "POST", all, `{"kind":"dead_letters.replay"}`, 422, "as_of"},
		{"operator", "POST", all, `{"kind":"dead_letters.replay","as_of":"2999-01-01T00:00:00Z"}`, 422, "as_of"},
		{"operator", "POST", all, `{"kind":"rehearsal"}`, 422, "kind"},
		{"operator", "POST", all, `{"kind":"dead_letters.replay","ids":[` + strings.Repeat("1,", 500) + `1]}`, 422, "ids"},
		{"support", "POST", spring + "rehearsals", `{}`, 403, ""},
		{"operator", "POST", spring + "rehearsals", `{}`, 202, `"object":"campaign/spring"`},
		{"operator", "POST", spring + "rehearsals", `{"buyers":20001}`, 422, "buyers"},
		{"operator", "POST", spring + "rehearsals", `{"buyers":-1}`, 422, "buyers"},
		{"operator", "POST", spring + "rehearsals", `{"seconds":61}`, 422, "seconds"},
		{"operator", "POST", "/v1/admin/campaigns/none/rehearsals", `{}`, 404, "UNKNOWN_CAMPAIGN"},
		{"viewer", "GET", spring + "preflight", "", 200, `"go":1,"of":2`},
		{"viewer", "POST", spring + "preflight", "", 403, ""},
		{"operator", "POST", spring + "preflight", "", 200, `"run":7`},
		{"operator", "POST", spring + "preflight/sign-off", `{}`, 422, "run"},
		{"operator", "POST", spring + "preflight/sign-off", `{"run":6}`, 409, ""},
		{"operator", "POST", spring + "preflight/sign-off", `{"run":7,"reason":"fine"}`, 200, `"run":7`},
	} {
		got := ask(a, tt.method, tt.uri, tt.body, as(tt.who), isJSON)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s %s %.60s: %d %s, want %d %s", tt.who, tt.method, tt.uri, tt.body, got.status, got.body, tt.status,
				tt.says)
		}
	}
	if len(jobs.started) != 2 || checks.signed != 7 {
		t.Errorf("%d jobs started, run %d signed", len(jobs.started), checks.signed)
	}
}

// systemDesk is a server that is not well.
type systemDesk struct{ api.SystemDesk }

func (systemDesk) Health(context.Context) sluice.Health {
	return sluice.Health{Parts: map[string]sluice.PartState{"ledger": sluice.PartUp, "redis": sluice.PartDown}, Alive: 2,
		InForce: 1, Dead: 1, Letters: 3}
}

func (systemDesk) RefundsDue(context.Context) (int64, error) { return 2, nil }

func (systemDesk) Views(context.Context) ([]sluice.CampaignView, error) {
	low := sluice.CampaignView{State: sluice.StateLive, Available: 5}
	low.ID, low.Stock.Total, low.EndsAt = "low", 100, 4_000_000_000_000
	next := sluice.CampaignView{State: sluice.StateScheduled}
	next.ID, next.StartsAt = "next", 3_900_000_000_000
	coupons := sluice.CampaignView{State: sluice.StateEnded}
	coupons.ID, coupons.Kind = "coupons", sluice.KindCoupon
	coupons.Coupon.ValidUntil = sluice.MillisOf(time.Now().Add(24 * time.Hour))
	held := sluice.CampaignView{State: sluice.StateSoldOut}
	held.ID, held.Kind, held.Title, held.Stock.Held = "held", sluice.KindGoods, "Held goods", 3
	frozen := sluice.CampaignView{State: sluice.StateFrozen}
	frozen.ID, frozen.ControlNote = "frozen", "a unit too many"
	return []sluice.CampaignView{low, next, coupons, held, frozen}, nil
}

func (systemDesk) Unpaid(_ context.Context, campaign string) (sluice.Unpaid, error) {
	return sluice.Unpaid{Minute: int64(len(campaign))}, nil
}

// runsDesk has a campaign that was mended, and two that were not.
type runsDesk struct{ api.ReconcileDesk }

func (runsDesk) Runs(context.Context, string, string, int) (p sluice.Page[sluice.ReconcileRun], err error) {
	p.Items = []sluice.ReconcileRun{{Campaign: "mended", OK: true},
		{Campaign: "odd", OK: true, Mode: sluice.RunOne}, // of one difference: it says nothing of the others
		{Campaign: "odd", Drift: 3},
		{Campaign: "mended", Drift: 9}, {Campaign: "odd", Drift: 8}}
	return p, nil
}

func (systemDesk) Settings() []api.Setting {
	return []api.Setting{{Key: "admin.key", Value: "****", Source: "environment"}}
}

func (systemDesk) Capabilities() api.Capabilities { return api.Capabilities{Version: "v1"} }

// TestOverviewSaysWhatNeedsAPerson: everything that does, what asks for an act first; and no page of a part that is not
// there is offered.
func TestOverviewSaysWhatNeedsAPerson(t *testing.T) {
	a := operators(t, api.AdminConfig{}, api.AdminDeps{System: systemDesk{}, Reconcile: runsDesk{}})
	got := ask(a, "GET", "/v1/admin/overview", "", as("viewer"))
	last := -1
	for _, kind := range []string{"frozen", "part_down", "node_dead", "dead_letters", "refund_due", "drift", "low_stock",
		"coupons_ending", "settings_old", "unpaid_expiring"} {
		at := strings.Index(got.body, `"kind":"`+kind+`"`)
		if at <= last {
			t.Errorf("%s is not there, or not in its place: %s", kind, got.body)
		}
		last = at
	}
	for _, says := range []string{`"campaign_id":"held","title":"Held goods"`,
		`"campaign_id":"odd","detail"`, `did not come out","count":3}`} {
		if !strings.Contains(got.body, says) {
			t.Errorf("%s is missing: %s", says, got.body)
		}
	}
	if strings.Contains(got.body, "mended") || strings.Count(got.body, `"drift"`) != 1 {
		t.Errorf("drift that was mended, or an older run: %s", got.body)
	}
	if !strings.Contains(got.body, `"next":{"id":"next"`) || !strings.Contains(got.body, `"live":[{"id":"low"`) {
		t.Errorf("the sales: %s", got.body)
	}
	got = ask(a, "GET", "/v1/admin/capabilities", "", as("viewer"))
	if strings.Contains(got.body, "dead-letters") || !strings.Contains(got.body, `"overview"`) {
		t.Errorf("capabilities: %s", got.body)
	}
	if got = ask(a, "GET", "/v1/admin/config", "", as("support")); got.status != 403 {
		t.Errorf("settings for support: %d", got.status)
	}
	if got = ask(a, "GET", "/v1/admin/config", "", as("operator")); !strings.Contains(got.body, "admin.key") {
		t.Errorf("settings: %s", got.body)
	}
}
