package sim_test

import (
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/fault"
	"github.com/sluice-sale/sluice/internal/sim"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

var (
	seeds = flag.Int("seeds", manySeeds, "how many histories to play")
	seed  = flag.Uint64("seed", 0, "play this one history only")
)

// TestHistories plays as many seeded histories as asked for. A failing one prints its seed; play it again with -seed.
func TestHistories(t *testing.T) {
	first, count := uint64(time.Now().UnixNano())&0xffff_ffff, *seeds
	if *seed != 0 {
		first, count = *seed, 1
	}
	t.Logf("seeds from %d", first)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(count, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			store := openStore(t)
			for i := next.Add(1) - 1; i < int64(count) && !t.Failed(); i = next.Add(1) - 1 {
				if err := sim.NewWorld(store, first+uint64(i)).Run(t.Context()); err != nil {
					t.Errorf("%v\nplay it again: go test ./internal/sim -run TestHistories -seed %d", err, first+uint64(i))
				}
			}
		})
	}
	workers.Wait()
}

func openStore(t *testing.T) *sim.Store {
	path := filepath.Join(folder(t), "sluice.db")
	steps := &fault.Store{}
	db, err := sqldb.Open(t.Context(), sqldb.Config{Path: path, CacheMB: 16, Around: steps.Around})
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = db.Close() })
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=query_only(1)")
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = raw.Close() })
	return sim.NewStore(db, sim.Auditor{DB: raw}, steps)
}

// folder is in memory where the machine has such a place: what a crash loses is the history's to say, not the disk's.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
