package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// jobSeen is what the tests read of a job.
type jobSeen struct {
	State, Fault string
	Node         string
	Done, Total  int
}

func jobAt(t *testing.T, s *e2e.Server, id string) (j jobSeen) {
	t.Helper()
	s.Admin(t, "GET", "/v1/admin/jobs/"+id, nil, 200).Into(t, &j)
	return j
}

// TestAJobWhoseNodeDied: a bulk replay runs on a node that is killed in the middle. The other node shows where it was
// interrupted, and the same again does the rest: every letter is handed over, none twice, none is left.
func TestAJobWhoseNodeDied(t *testing.T) {
	const letters = 1200 // six seconds of work, at the pace of a replay
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL)
	now := time.Now().UnixMilli()
	var rows []string
	for i := range letters {
		rows = append(rows, fmt.Sprintf("('letter-%05d', 'kept', 3, 'unreadable', %d, %d, 'no message')", i, now-5000,
			now-5000))
	}
	maria.Do("INSERT INTO dead_letters (ident, state, tries, fault, first_ms, last_ms, raw) VALUES " +
		strings.Join(rows, ", "))
	left := func() string {
		return maria.Do(fmt.Sprintf("SELECT COUNT(*) FROM dead_letters WHERE state = 'kept' AND last_ms <= %d", now))
	}
	ask := map[string]any{"id": "first", "kind": "dead_letters.replay", "as_of": time.UnixMilli(now).UTC().
		Format(time.RFC3339Nano), "reason": "the settler is mended"}
	nodes[0].Admin(t, "POST", "/v1/admin/jobs", ask, 202)
	if !nodes[1].Eventually(20*time.Second, func() bool { return jobAt(t, nodes[1], "first").Done > 0 }) {
		t.Fatal("the job does not begin, or nobody is told")
	}
	nodes[0].Kill(t)
	if j := jobAt(t, nodes[1], "first"); j.State != "running" || left() == "0" {
		t.Fatalf("it was to be in the middle: %+v, %s left", j, left())
	}
	silent := time.Duration(sluice.JobLost)*time.Millisecond + 10*time.Second
	if !nodes[1].Eventually(silent, func() bool { return jobAt(t, nodes[1], "first").State == "failed" }) {
		t.Fatalf("its node is dead: %+v", jobAt(t, nodes[1], "first"))
	}
	if j := jobAt(t, nodes[1], "first"); j.Done == 0 || !strings.HasPrefix(j.Node, "node0") ||
		!strings.HasPrefix(j.Fault, fmt.Sprintf("interrupted at %d: ", j.Done)) {
		t.Errorf("what is shown: %+v", j)
	}
	if left() == "0" {
		t.Fatal("nothing is left to do")
	}
	nodes[1].Admin(t, "POST", "/v1/admin/jobs", ask, 202) // the same id is the same job: nothing is begun
	ask["id"] = "again"
	nodes[1].Admin(t, "POST", "/v1/admin/jobs", ask, 202)
	if !nodes[1].Eventually(30*time.Second, func() bool { return jobAt(t, nodes[1], "again").State == "done" }) {
		t.Fatalf("the rest: %+v", jobAt(t, nodes[1], "again"))
	}
	if left() != "0" {
		t.Errorf("%s letters were left", left())
	}
	if n := maria.Do("SELECT COUNT(*) FROM audit_log WHERE action = 'dead_letter.replay'"); n != fmt.Sprint(letters) {
		t.Errorf("%s replays of %d letters", n, letters)
	}
}
