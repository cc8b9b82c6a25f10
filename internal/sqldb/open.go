package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sluice-sale/sluice"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// Permit is told what committed transactions mean for admission. Both methods are called by the writer, between the commit
// and the answer to its callers: they must not block, and must not call the ledger.
type Permit interface {
	// Apply carries out ops in the order of their commits.
	Apply(ops []sluice.PermitOp)
	// Uncertain says that a commit failed: what is on disk for these campaigns has to be read again.
	Uncertain(campaigns []string)
}

// Config says where the ledger is and how it writes. Zero values mean the defaults given.
type Config struct {
	Path       string       // of the SQLite file
	Log        *slog.Logger // default: discard
	CacheMB    int          // page cache of the writer; default 256
	Readers    int          // connections for reads; default 4
	MaxWaiting int          // writes that may wait; more are refused with ErrUnavailable; default 65,536
	OnBatch    func(BatchStats)
	Now        func() time.Time // default: time.Now
}

// BatchStats describes one committed (or failed) transaction of the writer.
type BatchStats struct {
	Ops     int
	Claims  int
	Seconds float64 // the whole transaction
	Commit  float64 // COMMIT alone, with its fsync; seconds
	Failed  bool
}

// DB is a ledger. It is safe for concurrent use.
type DB struct {
	cfg   Config
	log   *slog.Logger
	wdb   *sql.DB // one connection: the writer's
	rdb   *sql.DB // the readers' pool
	w     *writer
	close sync.Once

	permitMu sync.RWMutex
	permit   Permit
}

// Open opens or creates the ledger at cfg.Path, migrates it and starts its writer.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.CacheMB = orDefault(cfg.CacheMB, 256)
	cfg.Readers = orDefault(cfg.Readers, 4)
	cfg.MaxWaiting = orDefault(cfg.MaxWaiting, 65_536)
	if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o700); err != nil {
		return nil, fmt.Errorf("sqldb: data folder: %w", err)
	}
	db := &DB{cfg: cfg, log: cfg.Log}
	var err error
	if db.wdb, err = sql.Open("sqlite", dsn(cfg, false)); err != nil {
		return nil, fmt.Errorf("sqldb: open %s: %w", cfg.Path, err)
	}
	db.wdb.SetMaxOpenConns(1)
	if err := migrate(ctx, db.wdb); err != nil {
		_ = db.wdb.Close()
		return nil, fmt.Errorf("sqldb: migrate %s: %w", cfg.Path, err)
	}
	if db.rdb, err = sql.Open("sqlite", dsn(cfg, true)); err != nil {
		_ = db.wdb.Close()
		return nil, fmt.Errorf("sqldb: open %s: %w", cfg.Path, err)
	}
	db.rdb.SetMaxOpenConns(cfg.Readers)
	db.rdb.SetMaxIdleConns(cfg.Readers)
	if db.w, err = startWriter(ctx, db); err != nil {
		_ = db.rdb.Close()
		_ = db.wdb.Close()
		return nil, err
	}
	return db, nil
}

// SetPermit says who is told of commits. Without one nobody is.
func (db *DB) SetPermit(p Permit) {
	db.permitMu.Lock()
	defer db.permitMu.Unlock()
	db.permit = p
}

// Close finishes the writes that wait, then closes the store. It is idempotent.
func (db *DB) Close() error {
	var err error
	db.close.Do(func() {
		db.w.stop()
		err = db.rdb.Close()
		if e := db.wdb.Close(); err == nil {
			err = e
		}
	})
	return err
}

func dsn(cfg Config, reader bool) string {
	q := url.Values{}
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)"} {
		q.Add("_pragma", p)
	}
	if reader {
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-16384)")
	} else {
		q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", cfg.CacheMB*1024))
	}
	return "file:" + cfg.Path + "?" + q.Encode()
}

func migrate(ctx context.Context, db *sql.DB) error {
	sub, err := fsSub("migrations/sqlite")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

func orDefault(v, d int) int {
	if v == 0 {
		return d
	}
	return v
}
