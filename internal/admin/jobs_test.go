package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// settled waits until a job has ended.
func settled(t *testing.T, d *admin.Jobs, id string) sluice.Job {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for {
		j, err := d.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.State != sluice.JobRunning {
			return j
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("job %s does not end: %+v", id, j)
		}
	}
}

// failedOf: a job that failed has the code of its fault, and says why.
func failedOf(t *testing.T, d *admin.Jobs) {
	t.Helper()
	for kind, want := range map[string][2]string{
		"fail": {"INTERNAL", "broken"}, "panic": {"INTERNAL", "admin: a job panicked: oh"},
		"full": {"BLOCKLIST_FULL", "import: BLOCKLIST_FULL: there are 9"}, "away": {"UNAVAILABLE", "write: "},
	} {
		j := settled(t, d, kind)
		if j.State != sluice.JobFailed || j.Code != want[0] || !strings.HasPrefix(j.Fault, want[1]) {
			t.Errorf("%s: %+v", kind, j)
		}
	}
}

func TestJobsGoOnByThemselves(t *testing.T) {
	s := newStack(t)
	begun := make(chan struct{}, 10)
	d := admin.NewJobs(admin.JobsConfig{Ledger: s.db, Node: "n1", Kinds: map[string]admin.Work{
		"count": func(_ context.Context, j sluice.Job, a sluice.Actor, told func(sluice.JobProgress)) (any, error) {
			told(sluice.JobProgress{Total: 3, Done: 2, Failed: 1})
			return map[string]any{"asked": j.Ask, "by": a.Name}, nil
		},
		"fail": func(context.Context, sluice.Job, sluice.Actor, func(sluice.JobProgress)) (any, error) {
			return nil, errors.New("broken")
		},
		"full": func(context.Context, sluice.Job, sluice.Actor, func(sluice.JobProgress)) (any, error) {
			return nil, fmt.Errorf("import: %w", sluice.NewFault(sluice.ErrConflict, "BLOCKLIST_FULL", "there are 9"))
		},
		"away": func(context.Context, sluice.Job, sluice.Actor, func(sluice.JobProgress)) (any, error) {
			return nil, fmt.Errorf("write: %w", sluice.ErrUnavailable)
		},
		"panic": func(context.Context, sluice.Job, sluice.Actor, func(sluice.JobProgress)) (any, error) { panic("oh") },
		"wait": func(ctx context.Context, _ sluice.Job, _ sluice.Actor, _ func(sluice.JobProgress)) (any, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	by := sluice.Actor{Name: "Olga", KeyID: "key_1", Role: sluice.RoleOperator}
	start := func(id, kind string) (sluice.Job, error) {
		return d.Start(t.Context(), sluice.Job{ID: id, Kind: kind, Ask: json.RawMessage(`{"n":1}`)}, by)
	}
	for _, kind := range []string{"count", "fail", "panic", "full", "away"} {
		if j, err := start(kind, kind); err != nil || j.State != sluice.JobRunning || j.Author != "Olga" {
			t.Fatalf("%s: %+v %v", kind, j, err)
		}
		settled(t, d, kind)
	}
	if j := settled(t, d, "count"); j.State != sluice.JobDone || j.Done != 2 || j.Failed != 1 || j.Total != 3 ||
		string(j.Result) != `{"asked":{"n":1},"by":"Olga"}` {
		t.Errorf("%+v %s", j, j.Result)
	}
	if j, err := start("count", "count"); err != nil || j.State != sluice.JobDone {
		t.Errorf("the same again is begun again: %+v %v", j, err)
	}
	failedOf(t, d)
	for _, tt := range []sluice.Job{{Kind: "none"}, {Kind: "count", ID: "a/b"},
		{Kind: "count", ID: strings.Repeat("x", 65)},
		{Kind: "count", Reason: strings.Repeat("x", 600)}, {Kind: "count", Ask: make(json.RawMessage, 2<<20)}} {
		if _, err := d.Start(t.Context(), tt, by); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%.60v: %v", tt, err)
		}
	}
	for _, id := range []string{"w1", "w2", "w3", "w4"} {
		if _, err := start(id, "wait"); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	if _, err := start("w5", "wait"); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("a fifth job: %v", err)
	}
	if _, err := d.Cancel(t.Context(), "w1", by); err != nil {
		t.Fatal(err)
	}
	if j := settled(t, d, "w1"); j.State != sluice.JobCancelled || j.Code != "STOPPED" {
		t.Errorf("cancelled: %+v", j)
	}
	d.Stop()
	if j := settled(t, d, "w2"); j.State != sluice.JobCancelled {
		t.Errorf("its server stopped: %+v", j)
	}
	if _, err := start("late", "count"); err == nil {
		t.Error("a desk that has stopped starts jobs")
	}
	if all, err := d.List(t.Context(), sluice.JobQuery{Limit: 50}); err != nil || len(all) != 9 {
		t.Errorf("%d jobs, %v", len(all), err)
	}
}

func TestPreflightOnRealParts(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	state := sluice.CheckGo
	look := func(context.Context, *sluice.CampaignView) sluice.PreflightCheck {
		return sluice.PreflightCheck{State: state, Detail: "as the test says"}
	}
	d := admin.NewPreflights(admin.PreflightConfig{Ledger: s.db, Campaigns: s.campaigns,
		Rate: func(*sluice.CampaignView) float64 { return 500 }, Parts: []admin.PartCheck{{Name: "nodes", Look: look}}})
	ctx, by := t.Context(), sluice.Actor{Name: "Olga"}
	run := func() (sluice.Preflight, map[string]sluice.PreflightState) {
		t.Helper()
		p, err := d.Run(ctx, "spring", by)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]sluice.PreflightState{}
		for _, c := range p.Checks {
			if all[c.Name] = c.State; c.Detail == "" {
				t.Errorf("%s says nothing", c.Name)
			}
		}
		return p, all
	}
	p, checks := run()
	if p.OK || checks["rehearsed"] != sluice.CheckUnknown || checks["preheated"] != sluice.CheckGo ||
		checks["verified"] != sluice.CheckGo || checks["schedule"] != sluice.CheckGo {
		t.Errorf("before a rehearsal: %+v", p)
	}
	if _, err := d.Sign(ctx, "spring", p.Seq, by); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("no go is signed without a reason: %v", err)
	}
	rehearsal := func(id string, result admin.RehearsalResult) {
		t.Helper()
		s.clock.add(time.Second)
		text, _ := json.Marshal(result)
		j := sluice.Job{ID: id, Kind: admin.RehearsalKind, State: sluice.JobRunning, Object: "campaign/spring",
			Ask: json.RawMessage(`{}`), CreatedAt: sluice.MillisOf(s.clock.now())}
		if _, _, err := s.db.CreateJob(ctx, j, by); err != nil {
			t.Fatal(err)
		}
		j.State, j.Result, j.EndedAt = sluice.JobDone, text, j.CreatedAt+1
		if err := s.db.EndJob(ctx, j); err != nil {
			t.Fatal(err)
		}
	}
	rehearsal("slow", admin.RehearsalResult{OK: true, ClaimsPerS: 400})
	if _, checks := run(); checks["rehearsed"] != sluice.CheckNoGo {
		t.Errorf("slower than what is let through: %v", checks)
	}
	rehearsal("bad", admin.RehearsalResult{Verdict: "oversold by 1"})
	if _, checks := run(); checks["rehearsed"] != sluice.CheckNoGo {
		t.Errorf("a promise was broken: %v", checks)
	}
	rehearsal("good", admin.RehearsalResult{OK: true, ClaimsPerS: 5000})
	if p, _ = run(); !p.OK {
		t.Errorf("all is well: %+v", p)
	}
	if got, err := d.Sign(ctx, "spring", p.Seq, by); err != nil || got.SignedBy != "Olga" {
		t.Errorf("%+v %v", got, err)
	}
	state = sluice.CheckNoGo
	if p, _ = run(); p.OK || p.SignedBy != "" {
		t.Errorf("a node is silent, and the run before is signed: %+v", p)
	}
	s.want(200, "POST", "/v1/admin/campaigns/spring/end", nil)
	if _, checks := run(); checks["schedule"] != sluice.CheckNoGo {
		t.Errorf("it has ended: %v", checks)
	}
	if _, err := d.Run(ctx, "none", by); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("no such campaign: %v", err)
	}
}

func TestRehearsalClone(t *testing.T) {
	s := newStack(t)
	body := goodsBody("spring", 500)
	body["limit_group"], body["protection"] = "g1", object{"pass": "always", "max_rate": 900}
	body["eligibility"] = object{"claims": object{"tier": []string{"gold"}}}
	s.want(201, "POST", "/v1/admin/campaigns", body)
	v, err := s.campaigns.RehearsalClone(t.Context(), "spring", 100, sluice.Actor{Name: "Olga"})
	if err != nil {
		t.Fatal(err)
	}
	if !v.LoadTest || v.Stock.Total != 100 || v.LimitGroup != "" || v.Protection.Pass != sluice.PassOff ||
		v.Protection.MaxRate != 900 || len(v.Eligibility.Claims) != 0 || v.State != sluice.StateLive ||
		v.Goods.PriceMinor != 9900 {
		t.Errorf("%+v", v)
	}
	if d := s.claim(v.ID, "anybody", "r"); d.Reason != sluice.ReasonConfirmed {
		t.Errorf("the crowd is refused: %+v", d)
	}
	listed := func(query string) (sale, clone bool) {
		l := string(s.want(200, "GET", "/v1/admin/campaigns"+query, nil).body)
		return strings.Contains(l, `"spring"`), strings.Contains(l, `"`+v.ID+`"`)
	}
	if sale, clone := listed("?load_test=not_ended"); !sale || !clone {
		t.Errorf("a clone that is open: sale %v, clone %v", sale, clone)
	}
	s.want(200, "POST", "/v1/admin/campaigns/"+v.ID+"/end", nil)
	for query, want := range map[string][2]bool{
		"?load_test=not_ended": {true, false}, "?load_test=not_ended&state=ended": {}, "?load_test=true": {false, true},
		"?load_test=false": {true, false}, "?state=ended": {false, true}, "": {true, true},
	} {
		if sale, clone := listed(query); want != [2]bool{sale, clone} {
			t.Errorf("%s: sale %v, clone %v, want %v", query, sale, clone, want)
		}
	}
}
