package sqldb_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestCountingLeavesReadersFree: whoever asks for many verifications and reports at once has them one after the other,
// and buyers can still look their claims up.
func TestCountingLeavesReadersFree(t *testing.T) {
	db := openAt(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), CacheMB: 8, Readers: 3})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 10}, PerUserLimit: 5})
	var crowd sync.WaitGroup
	held := func() sluice.Permit { // the first verification stands here, with its connection and the writer's pause
		for range 8 {
			crowd.Go(func() {
				if _, err := db.Verify(t.Context(), "g", nil); err != nil {
					t.Error(err)
				}
			})
			crowd.Go(func() {
				if _, err := db.Tallies(t.Context(), "g"); err != nil {
					t.Error(err)
				}
			})
		}
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := db.UserClaims(ctx, "alice", "g")
			cancel()
			if err != nil {
				t.Errorf("a look at claims: %v", err)
				break
			}
		}
		return sluice.Permit{Available: 10}
	}
	v, err := db.Verify(t.Context(), "g", held)
	crowd.Wait()
	if err != nil || !v.OK {
		t.Errorf("%+v %v", v, err)
	}
}

// TestCountingEndsWithItsCaller: who waits for a turn and goes away has none.
func TestCountingEndsWithItsCaller(t *testing.T) {
	db := openAt(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), CacheMB: 8})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 10}, PerUserLimit: 5})
	_, err := db.Verify(t.Context(), "g", func() sluice.Permit {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := db.Tallies(ctx, "g"); err == nil {
			t.Error("it was counted for nobody")
		}
		return sluice.Permit{Available: 10}
	})
	if err != nil {
		t.Error(err)
	}
}
