package api_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// longLog is an audit log of n entries.
type longLog struct{ n int }

func (l longLog) Audit(_ context.Context, q sluice.AuditQuery) ([]sluice.AuditEntry, error) {
	all := make([]sluice.AuditEntry, min(l.n, q.Limit))
	for i := range all {
		all[i] = sluice.AuditEntry{Seq: int64(l.n - i), Action: "campaign.pause", Object: "campaign/spring"}
	}
	return all, nil
}

// TestAuditExportsSayWhereTheyAreCut: an export of 10,000 rows says so where more matched, and only there, in both
// forms.
func TestAuditExportsSayWhereTheyAreCut(t *testing.T) {
	for _, tt := range []struct {
		n, rows int
		cut     string
	}{{0, 0, ""}, {9_999, 9_999, ""}, {10_000, 10_000, ""}, {10_001, 10_000, "10000"}} {
		a := operators(t, api.AdminConfig{}, api.AdminDeps{Audit: longLog{tt.n}})
		for _, form := range []string{"csv", "json"} {
			got := ask(a, "GET", "/v1/admin/audit-log."+form, "", as("support"))
			rows := strings.Count(got.body, "campaign.pause")
			if got.status != 200 || rows != tt.rows || got.header("Sluice-Cut") != tt.cut {
				t.Errorf("%s of %d: %d, %d rows, cut %q", form, tt.n, got.status, rows, got.header("Sluice-Cut"))
			}
			if tt.n > 0 && !strings.Contains(got.body, strconv.Itoa(tt.n)) {
				t.Errorf("%s of %d: the newest is not in it", form, tt.n)
			}
		}
	}
}
