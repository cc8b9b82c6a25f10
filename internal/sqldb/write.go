package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// lane says how urgent a write is. Each transaction takes everything urgent that waits (up to maxUrgent), one batch of
// claims and one piece of background work, in that order: payments never queue behind claims, nor claims behind a
// sweep.
type lane int

const (
	laneUrgent lane = iota
	laneClaims
	laneBackground
	numLanes
)

// Bounds of one transaction.
const (
	maxUrgent     = 256
	maxClaimOps   = 1
	maxBackground = 1
)

// op is one piece of work for the writer. Its caller waits on done and then reads err.
type op struct {
	fn    func(*tx) error // nil for a pause
	pause func()          // runs between transactions
	err   error
	done  chan struct{}
	tx    tx
}

// writer owns the one connection that writes.
type writer struct {
	db      *DB
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt // owned by run
	hot     map[string]*hotStmt  // owned by run
	terms   map[string]terms     // owned by run: parsed campaigns.terms, by their text
	work    []*op                // owned by run: room for transact
	commits atomic.Int64
	wake    chan struct{} // one place: something waits
	stopped chan struct{} // closed when run has returned

	mu      sync.Mutex
	queue   [numLanes][]*op
	waiting int
	closing bool
}

func startWriter(ctx context.Context, db *DB) (*writer, error) {
	conn, err := db.wdb.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("sqldb: the writer's connection: %w", err)
	}
	w := &writer{
		db: db, conn: conn, stmts: map[string]*sql.Stmt{}, hot: map[string]*hotStmt{}, terms: map[string]terms{},
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// warm reads the indexes on claims into the writer's page cache. A sale hits their pages at random, so that each would
// otherwise be read one by one in the first seconds after a start. Counting rows reads exactly the smallest whole
// index: half a second for 5 million claims.
func (w *writer) warm(ctx context.Context) error {
	for _, table := range []string{"orders", "coupons"} {
		var n int64
		if err := w.conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
			return translate(err, "read the index of "+table)
		}
	}
	return nil
}

// write runs fn inside a transaction that it may share with other callers' work, and returns once that is committed.
// An error of fn undoes what fn did and nothing else. ErrUnavailable: nothing was done. ErrUncertain: the commit
// failed, and what is on disk must be read. ctx bounds only the wait for a place in the queue: once begun, the outcome
// is always awaited.
func (db *DB) write(ctx context.Context, l lane, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqldb: %w: %w", sluice.ErrUnavailable, err)
	}
	fn = fenced(ctx, fn)
	if db.crew != nil {
		return db.crew.write(ctx, l, fn)
	}
	o := &op{fn: fn, done: make(chan struct{})}
	if err := db.w.add(l, o); err != nil {
		return err
	}
	<-o.done
	return o.err
}

// pause runs fn between two transactions of this process: nothing of them is half committed while it runs. fn must be
// quick.
func (db *DB) pause(ctx context.Context, fn func()) error {
	if db.crew != nil {
		return db.crew.pause(ctx, fn)
	}
	o := &op{pause: fn, done: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqldb: %w: %w", sluice.ErrUnavailable, err)
	}
	if err := db.w.add(laneUrgent, o); err != nil {
		return err
	}
	<-o.done
	return o.err
}

func (w *writer) add(l lane, o *op) error {
	w.mu.Lock()
	switch {
	case w.closing:
		w.mu.Unlock()
		return fmt.Errorf("sqldb: the ledger is closed: %w", sluice.ErrUnavailable)
	case w.waiting >= w.db.cfg.MaxWaiting:
		w.mu.Unlock()
		return fmt.Errorf("sqldb: %d writes wait: %w", w.waiting, sluice.ErrUnavailable)
	}
	w.queue[l] = append(w.queue[l], o)
	w.waiting++
	w.mu.Unlock()
	w.signal()
	return nil
}

// Waiting says how many writes wait for the writer, at most Config.MaxWaiting.
func (db *DB) Waiting() int {
	if db.crew != nil {
		urgent, claims, background := db.crew.queued()
		return urgent + claims + background
	}
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	return db.w.waiting
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop lets everything that waits finish, then ends the writer. It is idempotent.
func (w *writer) stop() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.signal()
	<-w.stopped
}

// Queued says how many writes wait in each lane: urgent ones, batches of claims, background work.
func (db *DB) Queued() (urgent, claims, background int) {
	if db.crew != nil {
		return db.crew.queued()
	}
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	q := &db.w.queue
	return len(q[laneUrgent]), len(q[laneClaims]), len(q[laneBackground])
}

// take removes the next transaction's work from the queues.
func (w *writer) take(into []*op) (ops []*op, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ops = into[:0]
	for l, most := range [numLanes]int{maxUrgent, maxClaimOps, maxBackground} {
		n := min(most, len(w.queue[l]))
		ops = append(ops, w.queue[l][:n]...)
		rest := copy(w.queue[l], w.queue[l][n:])
		clear(w.queue[l][rest:])
		w.queue[l] = w.queue[l][:rest]
	}
	w.waiting -= len(ops)
	return ops, w.closing
}

func (w *writer) run() {
	defer close(w.stopped)
	defer func() {
		for _, s := range w.stmts {
			_ = s.Close()
		}
		_ = w.conn.Raw(func(any) error {
			for _, s := range w.hot {
				_ = s.stmt.Close()
			}
			return nil
		})
		_ = w.conn.Close()
	}()
	var ops []*op
	var closing bool
	for {
		if ops, closing = w.take(ops); len(ops) == 0 {
			if closing {
				return
			}
			<-w.wake
			continue
		}
		w.transact(ops)
		for _, o := range ops {
			close(o.done)
		}
	}
}

// transact runs ops in one transaction and sets their errors.
func (w *writer) transact(ops []*op) {
	start := time.Now()
	work := w.work[:0]
	for _, o := range ops {
		if o.pause != nil {
			o.err = call(func() error { o.pause(); return nil })
		} else {
			work = append(work, o)
		}
	}
	if w.work = work; len(work) == 0 {
		return
	}
	stats := BatchStats{Ops: len(work)}
	defer func() {
		if w.db.cfg.OnBatch != nil {
			stats.Seconds = time.Since(start).Seconds()
			w.db.cfg.OnBatch(stats)
		}
	}()
	if err := w.step(StepBegin, "BEGIN IMMEDIATE"); err != nil {
		w.rollback()
		w.failAll(work, translate(err, "begin"))
		stats.Failed = true
		return
	}
	good := 0
	for _, o := range work {
		if err := w.runOp(o, len(work) > 1); err != nil {
			w.rollback()
			w.failAll(work, err)
			stats.Failed = true
			return
		}
		if o.err == nil {
			good++
			stats.Claims += o.tx.claims
		}
	}
	if good == 0 {
		w.rollback()
		return
	}
	committing := time.Now()
	err := w.step(StepCommit, "COMMIT")
	stats.Commit = time.Since(committing).Seconds()
	if err != nil {
		w.rollback()
		w.uncertain(work, err)
		stats.Failed = true
		return
	}
	w.commits.Add(1)
	for _, o := range work {
		if o.err == nil {
			w.db.tellPermit(o.tx.permits)
		}
	}
}

// step runs one of the writer's own statements.
func (w *writer) step(s, text string) error {
	do := func() error { return w.exec(text) }
	if w.db.cfg.Around != nil {
		return w.db.cfg.Around(s, do)
	}
	return do()
}

// exec runs a statement that has neither arguments nor rows.
func (w *writer) exec(text string) error {
	t := tx{ctx: context.Background(), db: w.db, w: w}
	s, err := t.stmt(text)
	if err == nil {
		_, err = s.ExecContext(t.ctx)
	}
	return err
}

// rollback ends whatever transaction is open. SQLite may have rolled back by itself, as it does on a full disk, and
// then says that there is none: either way none is open afterwards, unless the store is broken for good, which the
// next BEGIN says.
func (w *writer) rollback() { _ = w.exec("ROLLBACK") }

// tellPermit hands the permit what a commit means for it.
func (db *DB) tellPermit(ops []sluice.PermitOp) {
	if len(ops) == 0 {
		return
	}
	db.permitMu.RLock()
	p := db.permit
	db.permitMu.RUnlock()
	if p != nil {
		p.Apply(ops)
	}
}

// tellDoubt tells the permit that a commit may have failed or not.
func (db *DB) tellDoubt(campaigns []string) {
	if len(campaigns) == 0 {
		return
	}
	slices.Sort(campaigns)
	db.permitMu.RLock()
	p := db.permit
	db.permitMu.RUnlock()
	if p != nil {
		p.Uncertain(slices.Compact(campaigns))
	}
}

// runOp runs one op, inside a savepoint where others share the transaction. It returns an error only where the
// whole transaction is lost.
func (w *writer) runOp(o *op, shared bool) error {
	if shared {
		if err := w.exec("SAVEPOINT op"); err != nil {
			return translate(err, "savepoint")
		}
	}
	o.tx = tx{ctx: context.Background(), db: w.db, w: w}
	o.err = call(func() error {
		if err := o.fn(&o.tx); err != nil {
			return err
		}
		return o.tx.finish()
	})
	if o.err != nil {
		if storeFailed(o.err) {
			return translate(o.err, "write")
		}
		o.tx.permits, o.tx.touched = nil, nil
		if !shared { // alone: the transaction goes with it
			return nil
		}
		if err := w.exec("ROLLBACK TO op"); err != nil {
			return translate(err, "rollback")
		}
	}
	if shared {
		if err := w.exec("RELEASE op"); err != nil {
			return translate(err, "release")
		}
	}
	return nil
}

// call runs fn; a panic of it is an error, so that it fails alone.
func call(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sqldb: a write panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return fn()
}

func (w *writer) failAll(ops []*op, err error) {
	for _, o := range ops {
		if o.err == nil || storeFailed(o.err) {
			o.err = err
		}
	}
}

func (w *writer) uncertain(ops []*op, err error) {
	w.db.log.Error("commit failed", "err", err, "ops", len(ops))
	var touched []string
	for _, o := range ops {
		if o.err != nil {
			continue
		}
		o.err = fmt.Errorf("sqldb: commit: %w: %w", sluice.ErrUncertain, err)
		touched = append(touched, o.tx.touched...)
	}
	w.db.tellDoubt(touched)
}

// maxTerms bounds the parsed terms that the writer keeps.
const maxTerms = 1024

// termsOf parses campaigns.terms; every batch asks for the same few.
func (w *writer) termsOf(text string) (terms, error) {
	if t, ok := w.terms[text]; ok {
		return t, nil
	}
	t, err := parseTerms(text)
	if err != nil {
		return t, err
	}
	if len(w.terms) >= maxTerms {
		clear(w.terms)
	}
	w.terms[text] = t
	return t, nil
}
