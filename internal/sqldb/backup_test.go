package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestLogBeginsAnew settles many times what the write-ahead log may hold: the log must be begun again and again.
func TestLogBeginsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	db := openAt(t, sqldb.Config{Path: path, CacheMB: 8, LogPages: 64})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1e6}, Goods: sluice.Goods{PriceMinor: 1}})
	wal := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	settled := 0
	for last, same := int64(0), 0; same < 100; settled++ {
		if _, err := db.Settle(t.Context(), []sluice.Claim{goods("g", fmt.Sprint("u", settled), "1")}); err != nil {
			t.Fatal(err)
		}
		if size := wal(); size != last {
			last, same = size, 0
		} else {
			same++ // the log is being written over from its beginning
		}
		if settled > 200_000 {
			t.Fatalf("the log has %d bytes and still grows", last)
		}
	}
	v, err := db.Verify(t.Context(), "g", nil)
	if err != nil || !v.OK || v.Held != int64(settled) {
		t.Fatalf("%+v %v, want %d held", v, err, settled)
	}
}

// TestBackupOfRunningLedger copies while claims are settled: the copy is of one moment, and a ledger of its own.
func TestBackupOfRunningLedger(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, sqldb.Config{Path: filepath.Join(dir, "ledger.db"), CacheMB: 8})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1e6}, Goods: sluice.Goods{PriceMinor: 1}})
	settleSome := func(w, i int) {
		var batch []sluice.Claim
		for j := range 300 {
			batch = append(batch, goods("g", fmt.Sprintf("u%d-%d-%d", w, i, j), "1"))
		}
		if _, err := db.Settle(t.Context(), batch); err != nil {
			t.Errorf("settle: %v", err)
		}
	}
	for i := range 20 {
		settleSome(0, i)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				settleSome(1, i)
			}
		}
	})
	target := filepath.Join(dir, "copy.db")
	var last, steps int64
	err := db.Backup(t.Context(), target, func(done, of int64) {
		steps++
		if done < last || done > of {
			t.Errorf("progress went from %d to %d of %d", last, done, of)
		}
		last = done
	})
	close(stop)
	wg.Wait()
	if err != nil || steps == 0 {
		t.Fatalf("backup: %v after %d steps", err, steps)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v %v", info.Mode(), err)
	}
	again := db.Backup(t.Context(), target, nil)
	var f *sluice.Fault
	if !errors.As(again, &f) || f.Code != "FILE_EXISTS" {
		t.Errorf("over an existing file: %v", again)
	}
	other := openAt(t, sqldb.Config{Path: target, CacheMB: 8})
	v, err := other.Verify(t.Context(), "g", nil)
	if err != nil || !v.OK || v.Held < 6000 || v.Held%300 != 0 {
		t.Fatalf("the copy: %+v %v", v, err)
	}
	out, err := other.Settle(t.Context(), []sluice.Claim{goods("g", "u0-0-0", "1"), goods("g", "new", "1")})
	if err != nil || !out[0].Replayed || out[1].Reason != sluice.ReasonConfirmed || out[1].Replayed {
		t.Fatalf("claims on the copy: %+v %v", out, err)
	}
}

func TestBackupStopped(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, sqldb.Config{Path: filepath.Join(dir, "ledger.db"), CacheMB: 8})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, target := range []string{filepath.Join(dir, "a", "copy.db"), filepath.Join(dir, "copy.db")} {
		if err := db.Backup(ctx, target, nil); err == nil {
			t.Errorf("%s was written", target)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "ledger.db") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1}})
}

func TestOneProcessAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	db := openAt(t, sqldb.Config{Path: path, CacheMB: 8})
	_, err := sqldb.Open(t.Context(), sqldb.Config{Path: path})
	said := fmt.Sprint(err) // for people: which folder, and whose it is
	for _, part := range []string{filepath.Dir(path), strconv.Itoa(os.Getpid())} {
		if err == nil || !strings.Contains(said, part) {
			t.Fatalf("a second ledger on the folder: %v", err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the close left a write-ahead log: %v", err)
	}
	openAt(t, sqldb.Config{Path: path, CacheMB: 8})
}
