package sqldb_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func TestJobs(t *testing.T) { onEach(t, jobsAreKept) }

func jobsAreKept(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	job := func(id string, at sluice.Millis) sluice.Job {
		return sluice.Job{ID: id, Kind: "rehearsal", State: sluice.JobRunning, Object: "campaign/spring", Author: "ops",
			KeyID: "key_1", Reason: "原因", Total: -1, Node: "n1", Ask: json.RawMessage(`{"buyers":2}`), CreatedAt: at, BeatAt: at}
	}
	one, made, err := db.CreateJob(ctx, job("j1", 1000), operator)
	if err != nil || !made || one.ID != "j1" {
		t.Fatalf("%+v %v %v", one, made, err)
	}
	if e := lastAudit(t, db); e.Action != "job.start" || e.Object != "job/j1" {
		t.Errorf("audit row %+v", e)
	}
	if again, made, err := db.CreateJob(ctx, job("j1", 2000), operator); err != nil || made || again.CreatedAt != 1000 {
		t.Errorf("the same id again: %+v %v %v", again, made, err)
	}
	if stop, err := db.BeatJob(ctx, "j1", sluice.JobProgress{Total: 10, Done: 3, Failed: 1}, 1500); err != nil || stop {
		t.Errorf("beat: %v %v", stop, err)
	}
	if _, _, err := db.CreateJob(ctx, job("j2", 3000), operator); err != nil {
		t.Fatal(err)
	}
	if j, err := db.CancelJob(ctx, "j1", operator, 1600); err != nil || !j.Cancel {
		t.Errorf("cancel: %+v %v", j, err)
	}
	if stop, err := db.BeatJob(ctx, "j1", sluice.JobProgress{Total: 10, Done: 4}, 1700); err != nil || !stop {
		t.Errorf("beat after a cancel: %v %v", stop, err)
	}
	end := one
	end.State, end.Done, end.EndedAt, end.Result = sluice.JobCancelled, 4, 1800, json.RawMessage(`{"done":4}`)
	if err := db.EndJob(ctx, end); err != nil {
		t.Fatal(err)
	}
	end.State = sluice.JobFailed // too late
	if err := db.EndJob(ctx, end); err != nil {
		t.Fatal(err)
	}
	got, err := db.Job(ctx, "j1")
	if err != nil || got.State != sluice.JobCancelled || got.Done != 4 || string(got.Result) != `{"done":4}` ||
		got.EndedAt != 1800 || got.Reason != "原因" {
		t.Errorf("%+v %v", got, err)
	}
	if err := db.LoseJobs(ctx, 4000, 0, 5000); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Job(ctx, "j2"); err != nil || got.State != sluice.JobFailed ||
		got.Code != "INTERRUPTED" || !strings.HasPrefix(got.Fault, "interrupted at 0: its node stopped") {
		t.Errorf("its node stopped: %+v %v", got, err)
	}
	for _, tt := range []struct {
		q    sluice.JobQuery
		want int
	}{
		{sluice.JobQuery{Limit: 9}, 2}, {sluice.JobQuery{Limit: 1}, 1}, {sluice.JobQuery{Limit: 9, Before: 3000}, 1},
		{sluice.JobQuery{Limit: 9, State: sluice.JobFailed}, 1}, {sluice.JobQuery{Limit: 9, Kind: "x"}, 0},
		{sluice.JobQuery{Limit: 9, Object: "campaign/spring"}, 2},
	} {
		if all, err := db.Jobs(ctx, tt.q); err != nil || len(all) != tt.want {
			t.Errorf("%+v: %d, %v", tt.q, len(all), err)
		}
	}
	if err := db.LoseJobs(ctx, 0, 2000, 6000); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Job(ctx, "j1"); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("it ended long ago: %v", err)
	}
	if _, err := db.CancelJob(ctx, "none", operator, 1); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("no such job: %v", err)
	}
}

func TestPreflights(t *testing.T) { onEach(t, preflightsAreKept) }

func preflightsAreKept(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	if _, err := db.Preflight(ctx, "spring"); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("there is none: %v", err)
	}
	run := sluice.Preflight{Campaign: "spring", At: 1000, OK: true, Author: "ops",
		Checks: []sluice.PreflightCheck{{Name: "nodes", State: sluice.CheckGo, Detail: "一个节点", Code: "nodes_agree",
			Args: sluice.PreflightArgs{"at": "now", "alive": 1.0}}}}
	first, err := db.RecordPreflight(ctx, run, operator)
	if err != nil {
		t.Fatal(err)
	}
	run.OK, run.At = false, 2000
	second, err := db.RecordPreflight(ctx, run, operator)
	if err != nil || second.Seq <= first.Seq {
		t.Fatalf("%+v %v", second, err)
	}
	if got, err := db.Preflight(ctx, "spring"); err != nil || got.Seq != second.Seq || got.OK || len(got.Checks) != 1 ||
		!reflect.DeepEqual(got.Checks, run.Checks) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := db.SignPreflight(ctx, "spring", first.Seq, operator, 3000); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("an older run is signed: %v", err)
	}
	signer := operator
	signer.Reason = "fine"
	if got, err := db.SignPreflight(ctx, "spring", second.Seq, signer, 3000); err != nil || got.SignedBy != "ops" {
		t.Errorf("%+v %v", got, err)
	}
	if e := lastAudit(t, db); e.Action != "preflight.sign" || e.Object != "campaign/spring" {
		t.Errorf("audit row %+v", e)
	}
	if got, err := db.Preflight(ctx, "spring"); err != nil || got.SignedAt != 3000 || got.Reason != "fine" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := db.SignPreflight(ctx, "spring", second.Seq, signer, 4000); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("signed twice: %v", err)
	}
}
