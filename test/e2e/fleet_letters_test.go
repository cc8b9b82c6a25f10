package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// letterPage is a list of dead letters, as of a moment.
type letterPage struct {
	AsOf  string `json:"as_of"`
	Items []struct {
		ID  int64
		Raw string
	}
}

func lettersOf(t *testing.T, s *e2e.Server, query string) (p letterPage) {
	t.Helper()
	s.Admin(t, "GET", "/v1/admin/dead-letters?"+query, nil, 200).Into(t, &p)
	return p
}

// TestDiscardAllLeavesTheLateOne: messages that nobody can read go through a real queue to the dead letters. What
// fails while the dialog "discard all" is open, and was not counted in it, is left by the job that the dialog starts.
func TestDiscardAllLeavesTheLateOne(t *testing.T) {
	store, maria := servers.Redis(t), servers.MariaDB(t)
	s := startNodes(t, 1, "--admission", store.URL(), "--queue", "redis", "--ledger", maria.URL)[0]
	createSale(t, s, "spring", 10)
	var outbox string
	if !s.Eventually(20*time.Second, func() bool {
		outbox = strings.TrimSpace(store.Do("KEYS", "*outbox"))
		return outbox != "" && !strings.Contains(outbox, "\n")
	}) {
		t.Fatalf("outboxes: %q", outbox)
	}
	fail := func(text string, n int) {
		t.Helper()
		store.Do("XADD", outbox, "*", redis.OutboxField, text)
		if !s.Eventually(30*time.Second, func() bool { return len(lettersOf(t, s, "state=kept").Items) == n }) {
			t.Fatalf("%q does not become a dead letter", text)
		}
	}
	fail("of an old client", 1)
	fail("of an old client too", 2)
	dialog := lettersOf(t, s, "state=kept") // what the dialog is opened with
	fail("late", 3)
	s.Admin(t, "POST", "/v1/admin/jobs", map[string]any{"id": "all", "kind": "dead_letters.discard",
		"as_of": dialog.AsOf, "reason": "an old client"}, 202)
	if !s.Eventually(20*time.Second, func() bool { return jobAt(t, s, "all").State == "done" }) {
		t.Fatalf("the job: %+v", jobAt(t, s, "all"))
	}
	if j := jobAt(t, s, "all"); j.Done != 2 {
		t.Errorf("%d were discarded, want the 2 of the dialog", j.Done)
	}
	if left := lettersOf(t, s, "state=kept").Items; len(left) != 1 || left[0].ID <= dialog.Items[0].ID {
		t.Errorf("left: %+v", left)
	}
	if n := len(lettersOf(t, s, "state=discarded").Items); n != 2 {
		t.Errorf("%d are discarded", n)
	}
}
