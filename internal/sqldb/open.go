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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // also the driver "sqlite"

	"github.com/sluice-sale/sluice"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// Permit is told what committed transactions mean for admission. Both methods are called by the writer, between the
// commit and the answer to its callers: they must not block, and must not call the ledger.
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
	LogPages   int          // of the write-ahead log, after which it is moved into the database; default 65,536
	Readers    int          // connections for reads; default 4
	MaxWaiting int          // writes that may wait; more are refused with ErrUnavailable; default 65,536
	OnBatch    func(BatchStats)
	Now        func() time.Time // default: time.Now
	// Doubt is told that a write was undone because a campaign's counters would have left their bounds: it has to be
	// frozen. It runs where the write was asked for and may use the ledger. Default: nobody is told.
	Doubt func(campaign, note string)
	// Remote says that permits are in other processes, or survive this one: what commits mean for them is kept in the
	// ledger as well, until DonePermitOps.
	Remote   bool
	MaxTries int // tries of a claim before it becomes a dead letter; default 3
	// LostGrace is how long after the arming of a later epoch a claim may still turn up; default 1 minute.
	LostGrace time.Duration
	// Node names the server that writes, where several share the ledger: what each has counted is kept apart.
	Node string
	// MaxPages bounds the file, in pages; a write that would pass it fails with ErrUnavailable, as on a full disk. 0: no
	// bound.
	MaxPages int64
	// Around, where given, carries out the writer's steps, StepBegin and StepCommit: it calls do at most once, and
	// what it returns counts as the step's outcome. It is for tracing and pacing, and for seeing what a store does
	// that fails or is slow.
	Around func(step string, do func() error) error
}

// What the writer asks of the store once in a transaction.
const (
	StepBegin  = "begin"
	StepCommit = "commit" // with its fsync
)

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
	cfg     Config
	log     *slog.Logger
	dialect dialect
	rdb     *pool // the readers'
	close   sync.Once
	// Of SQLite:
	wdb  *sql.DB // one connection: the writer's
	w    *writer
	c    *checkpointer
	lock *dataLock
	// Of MySQL:
	crew        *crew
	texts       texts    // translated statements
	places      sync.Map // id of a campaign -> place
	parsed      sync.Map // campaigns.terms -> terms
	parsedCount atomic.Int64

	counting chan struct{} // held by whoever counts all rows of a campaign
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
	cfg.LogPages = orDefault(cfg.LogPages, defaultLogPages)
	cfg.Readers = orDefault(cfg.Readers, 4)
	cfg.MaxWaiting = orDefault(cfg.MaxWaiting, 65_536)
	cfg.MaxTries = orDefault(cfg.MaxTries, defaultMaxTries)
	cfg.LostGrace = time.Duration(orDefault(int(cfg.LostGrace), int(defaultLostGrace)))
	if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o700); err != nil {
		return nil, fmt.Errorf("sqldb: data folder: %w", err)
	}
	lock, err := lockData(cfg.Path)
	if err != nil {
		return nil, err
	}
	// fdatasync keeps a commit as durable as fsync does and leaves the file's times alone, which saves a write to the
	// file system's journal. Where there is none the error says so, and fsync it stays.
	_, _ = sqlite.Fdatasync(true)
	db := &DB{cfg: cfg, log: cfg.Log, lock: lock, counting: make(chan struct{}, 1)}
	if err := db.start(ctx); err != nil {
		_ = db.stop() // what went wrong first is what counts
		return nil, err
	}
	return db, nil
}

// start opens the connections and starts the writer; stop undoes as much of it as there is.
func (db *DB) start(ctx context.Context) (err error) {
	if db.wdb, err = sql.Open("sqlite", dsn(db.cfg, false)); err != nil {
		return fmt.Errorf("sqldb: open %s: %w", db.cfg.Path, err)
	}
	db.wdb.SetMaxOpenConns(1)
	if err := migrate(ctx, db.wdb); err != nil {
		return fmt.Errorf("sqldb: migrate %s: %w", db.cfg.Path, err)
	}
	rdb, err := sql.Open("sqlite", dsn(db.cfg, true))
	if err != nil {
		return fmt.Errorf("sqldb: open %s: %w", db.cfg.Path, err)
	}
	db.rdb = &pool{DB: rdb}
	db.rdb.SetMaxOpenConns(db.cfg.Readers)
	db.rdb.SetMaxIdleConns(db.cfg.Readers)
	if db.w, err = startWriter(ctx, db); err != nil {
		return err
	}
	if err := db.w.warm(ctx); err != nil {
		return err
	}
	if db.cfg.MaxPages > 0 {
		if err := db.SetMaxPages(ctx, db.cfg.MaxPages); err != nil {
			return err
		}
	}
	db.c, err = startCheckpointer(db)
	return err
}

func (db *DB) stop() (err error) {
	if db.crew != nil {
		return db.stopMySQL()
	}
	if db.c != nil {
		db.c.stop()
	}
	if db.w != nil {
		db.w.stop()
	}
	if db.rdb != nil {
		err = db.rdb.Close()
	}
	if db.wdb != nil {
		if db.w != nil {
			if _, e := checkpoint(context.Background(), db.wdb, "TRUNCATE"); e != nil {
				db.log.Warn("the last checkpoint failed; the write-ahead log stays and is read at the next start", "err", e)
			}
		}
		if e := db.wdb.Close(); err == nil {
			err = e
		}
	}
	db.lock.release()
	return err
}

// SetMaxPages changes Config.MaxPages of the running ledger. A bound below the file's present size is that size.
func (db *DB) SetMaxPages(ctx context.Context, pages int64) error {
	return db.tune(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages))
}

// SetReadOnly makes every write fail with ErrUnavailable, or ends that, while reads go on: for the time in which the
// data folder is being moved, say.
func (db *DB) SetReadOnly(ctx context.Context, on bool) error {
	if on {
		return db.tune(ctx, `PRAGMA query_only = 1`)
	}
	return db.tune(ctx, `PRAGMA query_only = 0`)
}

// tune runs a pragma on the writer's connection between two transactions.
func (db *DB) tune(ctx context.Context, pragma string) error {
	if db.crew != nil {
		return sluice.NewFault(sluice.ErrInvalid, "UNSUPPORTED", "a ledger on a database server is tuned there")
	}
	var err error
	if e := db.pause(ctx, func() { _, err = db.w.conn.ExecContext(context.Background(), pragma) }); e != nil {
		return e
	}
	if err != nil {
		return translate(err, pragma)
	}
	return nil
}

func inUse(folder, pid string) error {
	if pid == "" {
		pid = "unknown"
	}
	return fmt.Errorf("sqldb: the data folder %s is in use by another server (process %s): %w", folder, pid,
		sluice.ErrConflict)
}

// SetPermit says who is told of commits. Without one nobody is.
func (db *DB) SetPermit(p Permit) {
	db.permitMu.Lock()
	defer db.permitMu.Unlock()
	db.permit = p
}

// Close finishes the writes that wait, moves the write-ahead log into the database and closes the store. It is
// idempotent.
func (db *DB) Close() (err error) {
	db.close.Do(func() { err = db.stop() })
	return err
}

func dsn(cfg Config, reader bool) string {
	q := url.Values{}
	q.Set("_journal_mode", "WAL") // the driver sets it after the pragmas: the size of a page has to be known before
	for _, p := range []string{
		"busy_timeout(10000)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
	} {
		q.Add("_pragma", p)
	}
	if reader {
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-16384)")
	} else {
		q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", cfg.CacheMB*1024))
		q.Add("_pragma", "wal_autocheckpoint(0)") // the checkpointer's
	}
	return fileURI(cfg.Path) + "?" + q.Encode()
}

// fileURI names the file at path, whatever stands in its name.
func fileURI(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
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
