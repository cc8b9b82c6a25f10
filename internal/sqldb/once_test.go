package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestOnce runs the suite of shared state on the ledger: two nodes of one MariaDB, and SQLite.
func TestOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		conformance.Once(t, func(t *testing.T) conformance.OnceBench {
			one, two := open(t, sqldb.Config{}), open(t, sqldb.Config{})
			if err := sqldb.ForgetOnce(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			return conformance.OnceBench{
				Nodes: []sluice.Once{sqldb.NewOnce(one), sqldb.NewOnce(two)},
				Pass:  func(_ *testing.T, d time.Duration) { <-time.After(d) },
			}
		})
	})
}

// TestOnceSweeps: what is over is deleted, and what is not over stays.
func TestOnceSweeps(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		o := sqldb.NewOnce(db)
		ask := func(key string, ttl time.Duration) bool {
			first, err := o.First(t.Context(), key, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return first
		}
		for i := range 300 {
			ask(fmt.Sprint("short", i), time.Millisecond)
		}
		ask("long", time.Minute)
		<-time.After(20 * time.Millisecond)
		eventually(t, "only what is not over is left", func() bool {
			another := sqldb.NewOnce(db) // another node, whose sweep is due
			if _, err := another.First(t.Context(), "long", time.Minute); err != nil {
				t.Fatal(err)
			}
			n, err := sqldb.CountOnce(t.Context(), db)
			return err == nil && n == 1
		})
		if ask("long", time.Minute) {
			t.Error("what was not over was deleted")
		}
	})
}

// TestOnceGathers: a thousand at once travel in few transactions, and of each key one is the first.
func TestOnceGathers(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		o := sqldb.NewOnce(open(t, sqldb.Config{}))
		var firsts atomic.Int32
		var all sync.WaitGroup
		start := time.Now()
		for i := range 2000 {
			all.Go(func() {
				first, err := o.First(t.Context(), fmt.Sprint(i%1000), time.Minute)
				if err != nil {
					t.Error(err)
				}
				if first {
					firsts.Add(1)
				}
			})
		}
		all.Wait()
		if n := firsts.Load(); n != 1000 {
			t.Errorf("%d of 1000 keys came for the first time", n)
		}
		t.Logf("2000 keys in %v", time.Since(start))
	})
}

// TestOnceOfAClosedLedger: nothing is known, so that nobody is the first.
func TestOnceOfAClosedLedger(t *testing.T) {
	db := openAt(t, sqldb.Config{Path: t.TempDir() + "/l.db", CacheMB: 8})
	o := sqldb.NewOnce(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if first, err := o.First(t.Context(), "k", time.Minute); first || !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("first %v, %v", first, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if first, err := o.First(gone, "k", time.Minute); first || err == nil {
		t.Errorf("given up: first %v, %v", first, err)
	}
}
