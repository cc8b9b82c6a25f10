package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

// TestBackupWhileClaimsComeIn copies a ledger that is being written and starts a server on the copy: it verifies, has
// everything that was confirmed before the copy began, and sells on.
func TestBackupWhileClaimsComeIn(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 100_000, 1, nil))
	var before []e2e.Claim
	for i := range 50 {
		before = append(before, s.Claim(t, "spring", fmt.Sprintf("early%d", i), "r", 1))
	}
	var stop atomic.Bool
	var crowd sync.WaitGroup
	for w := range 8 {
		crowd.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if _, err := s.TryClaim("spring", fmt.Sprintf("u%d-%d", w, i), "r", 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	copied := filepath.Join(t.TempDir(), "restored", "sluice.db")
	r := s.CLI(t, "", "backup", "--out", copied)
	stop.Store(true)
	crowd.Wait()
	if r.Code != 0 || !strings.Contains(r.Out, "sluice serve --data "+filepath.Dir(copied)) {
		t.Fatalf("backup: %+v", r)
	}
	if again := s.CLI(t, "", "backup", "--out", copied); again.Code != 1 || !strings.Contains(again.Err, "exists") {
		t.Errorf("a second backup under the same name: %+v", again)
	}
	s.Verify(t, "spring")
	restored := e2e.Start(t, e2e.Options{Data: filepath.Dir(copied)})
	v := restored.Verify(t, "spring")
	if v.Held < int64(len(before)) {
		t.Errorf("the copy has %d units held, fewer than the %d before it", v.Held, len(before))
	}
	for i, want := range before {
		got := restored.Claim(t, "spring", fmt.Sprintf("early%d", i), "r", 1)
		if got.ClaimID != want.ClaimID || !got.Replayed || got.Code != "CONFIRMED" {
			t.Fatalf("claim %d answers %+v on the copy, %+v before", i, got, want)
		}
	}
	if c := restored.Claim(t, "spring", "late", "r", 1); c.Code != "CONFIRMED" {
		t.Errorf("a new claim on the copy: %+v", c)
	}
}
