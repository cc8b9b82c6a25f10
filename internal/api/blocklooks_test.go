package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// lookingList is a blocklist of two that knows whom it hits.
type lookingList struct {
	everyList
	staged  string
	dropped int
}

func (*lookingList) List(
	context.Context, sluice.BlockScope, string, string, int,
) ([]sluice.Block, error) {
	return []sluice.Block{{ID: "a", CreatedAt: 1}, {ID: "bb", CreatedAt: 1}}, nil
}

func (*lookingList) Hits(id string) (int64, sluice.Millis, bool) { return int64(len(id)), 5000, true }

func (*lookingList) Preview(
	_ context.Context, scope sluice.BlockScope, value string,
) (sluice.BlockPreview, error) {
	return sluice.BlockPreview{Scope: scope, Value: strings.ToLower(value), Since: 5000,
		Crowd: sluice.CrowdCount{People: 7, Admitted: 3, Known: 9, Full: true}, Block: &sluice.Block{ID: "blk_1"}}, nil
}

func (l *lookingList) Stage(body []byte) (string, json.RawMessage, func(), error) {
	l.staged = string(body)
	return "blocklist.import", json.RawMessage(`{"staged":"csv_1"}`), func() { l.dropped++ }, nil
}

// otherJob is a desk that has had a job of that id before.
type otherJob struct{ jobDesk }

func (*otherJob) Start(context.Context, sluice.Job, sluice.Actor) (sluice.Job, error) {
	return sluice.Job{ID: "job_1", State: sluice.JobDone, Ask: json.RawMessage(`{"staged":"csv_0"}`)}, nil
}

func TestBlocksTellWhomTheyHit(t *testing.T) {
	list, jobs := &lookingList{}, &jobDesk{}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Blocklist: list, Allowlist: everyList{}, Jobs: jobs})
	const path, csv = "/v1/admin/blocklist", "Content-Type: text/csv"
	for _, tt := range []struct {
		who, method, uri, body string
		status                 int
		says                   string
	}{
		{"support", "GET", path, "", 200, `"hits_hour":1`},
		{"support", "GET", path, "", 200, `"hits_hour":2`},
		{"support", "GET", path, "", 200, `"hits_since":"1970-01-01T00:00:05Z"`},
		{"support", "GET", path + "/preview?scope=user&value=Bob", "", 200,
			`"value":"bob","people":7,"admitted":3,"known":9,"partial":true`},
		{"support", "GET", path + "/preview?scope=user&value=Bob", "", 200, `"block":{"id":"blk_1"`},
		{"viewer", "GET", path + "/preview?scope=user&value=Bob", "", 403, ""},
		{"support", "GET", path + "/preview?scope=planet&value=x", "", 422, "scope"},
		{"support", "GET", path + "/preview?scope=user", "", 422, "value"},
		{"support", "POST", path + "/import-jobs", "scope,value\n", 403, ""},
		{"operator", "POST", path + "/import-jobs?dry_run=true", "scope,value\n", 422, "dry_run"},
		{"operator", "POST", path + "/import-jobs?id=job_1&reason=bots", "scope,value\nuser,u\n", 202, `"state":"running"`},
	} {
		got := ask(a, tt.method, tt.uri, tt.body, as(tt.who), csv)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", tt.who, tt.method, tt.uri, got.status, got.body, tt.status, tt.says)
		}
	}
	if len(jobs.started) != 1 || jobs.started[0].Kind != "blocklist.import" || jobs.started[0].ID != "job_1" ||
		jobs.started[0].Reason != "bots" || jobs.started[0].Object != "blocklist" {
		t.Errorf("started %+v", jobs.started)
	}
	if list.staged != "scope,value\nuser,u\n" || list.dropped != 0 {
		t.Errorf("staged %q, dropped %d", list.staged, list.dropped)
	}
	a = operators(t, api.AdminConfig{}, api.AdminDeps{Blocklist: list, Jobs: &otherJob{}})
	got := ask(a, "POST", path+"/import-jobs?id=job_1", "scope,value\n", as("operator"), csv)
	if got.status != 202 || !strings.Contains(got.body, `"state":"done"`) || list.dropped != 1 {
		t.Errorf("the same id again: %d %s, dropped %d", got.status, got.body, list.dropped)
	}
}
