package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a transaction on a database with several writers.
const (
	maxAgain   = 12                    // runs of a transaction that others have undone
	maxLost    = 2                     // runs of one whose connection was lost before its commit
	againAfter = 2 * time.Millisecond  // the first wait, doubled with each run
	againMost  = 50 * time.Millisecond // the longest wait
	// txReads times the time that one statement may take is what a transaction may take.
	txReads = 4
)

// crew writes to a database that several writers share, in this process and in others. Each write is a transaction of
// its own, in its caller's goroutine, on a connection of its lane: payments never wait for claims, nor claims for
// sweeps. It is the one place where a transaction that others have undone is run again.
type crew struct {
	db    *DB
	pools [numLanes]*sql.DB
	lanes [numLanes]chan struct{} // a place for each connection
	most  time.Duration           // for a whole transaction

	waiting [numLanes]atomic.Int64
	commits sync.RWMutex // held for reading from a commit until its permit was told

	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup
}

func newCrew(db *DB, pools [numLanes]*sql.DB, places [numLanes]int, read time.Duration) *crew {
	c := &crew{db: db, pools: pools, most: txReads * read}
	for l, n := range places {
		c.lanes[l] = make(chan struct{}, n)
	}
	return c
}

func (c *crew) queued() (urgent, claims, background int) {
	w := &c.waiting
	return int(w[laneUrgent].Load()), int(w[laneClaims].Load()), int(w[laneBackground].Load())
}

// stop lets everything that waits finish. It is idempotent.
func (c *crew) stop() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.work.Wait()
}

func (c *crew) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return fmt.Errorf("sqldb: the ledger is closed: %w", sluice.ErrUnavailable)
	}
	c.work.Add(1)
	return nil
}

// pause runs fn while no transaction of this process is between its commit and its permit.
func (c *crew) pause(ctx context.Context, fn func()) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqldb: %w: %w", sluice.ErrUnavailable, err)
	}
	if err := c.begin(); err != nil {
		return err
	}
	defer c.work.Done()
	c.commits.Lock()
	defer c.commits.Unlock()
	return call(func() error { fn(); return nil })
}

// write is DB.write.
func (c *crew) write(ctx context.Context, l lane, fn func(*tx) error) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.work.Done()
	if err := c.place(ctx, l); err != nil {
		return err
	}
	defer func() { <-c.lanes[l] }()
	return c.again(l, fn)
}

// place waits for one of the lane's connections.
func (c *crew) place(ctx context.Context, l lane) error {
	select {
	case c.lanes[l] <- struct{}{}:
		return nil
	default:
	}
	u, k, b := c.queued()
	if n := u + k + b; n >= c.db.cfg.MaxWaiting {
		return fmt.Errorf("sqldb: %d writes wait: %w", n, sluice.ErrUnavailable)
	}
	c.waiting[l].Add(1)
	defer c.waiting[l].Add(-1)
	select {
	case c.lanes[l] <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sqldb: %w: %w", sluice.ErrUnavailable, ctx.Err())
	}
}

// again runs fn in a transaction until it is through, or has failed in a way that running it again cannot help. It is
// not begun again once it has taken the time of a statement: whoever waits for it has given up by then.
func (c *crew) again(l lane, fn func(*tx) error) error {
	start := time.Now()
	lost := 0
	for run := 1; ; run++ {
		err := c.transact(l, fn)
		late := run >= maxAgain || time.Since(start) >= c.most/txReads
		switch {
		case err == nil || errors.Is(err, sluice.ErrUncertain):
			return err
		case myRetryable(err) && !late:
		case myLost(err) && lost < maxLost-1 && !late:
			lost++
		case myRetryable(err) || myLost(err) || myCode(err) != 0 && !isSentinel(err):
			return translate(err, "write")
		default:
			return err
		}
		wait := time.NewTimer(rand.N(min(againMost, againAfter<<run)))
		<-wait.C
	}
}

// isSentinel says whether err says already what it means to whoever asked.
func isSentinel(err error) bool {
	return errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain) ||
		errors.Is(err, sluice.ErrNotFound) || errors.Is(err, sluice.ErrConflict) || errors.Is(err, sluice.ErrInvalid) ||
		errors.Is(err, errMoved)
}

// transact runs fn in one transaction. ErrUncertain comes only from a commit.
func (c *crew) transact(l lane, fn func(*tx) error) error {
	start := time.Now()
	stats := BatchStats{Ops: 1, Failed: true}
	defer func() {
		if c.db.cfg.OnBatch != nil {
			stats.Seconds = time.Since(start).Seconds()
			c.db.cfg.OnBatch(stats)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), c.most)
	defer cancel()
	conn, err := c.pools[l].Conn(ctx)
	if err != nil {
		return translate(err, "connect")
	}
	clean := false
	defer func() {
		if !clean { // whatever is open on it ends with it
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()
	if err := c.step(ctx, conn, StepBegin, "BEGIN"); err != nil {
		return translate(err, "begin")
	}
	t := &tx{ctx: ctx, db: c.db, conn: conn}
	err = call(func() error { return fn(t) })
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		if !myLost(err) {
			_, e := conn.ExecContext(ctx, "ROLLBACK")
			clean = e == nil
		}
		stats.Failed = myLost(err) || myRetryable(err)
		return err
	}
	stats.Claims = t.claims
	if err := c.commit(ctx, t, &stats); err != nil {
		return err
	}
	clean, stats.Failed = true, false
	return nil
}

// commit commits and tells the permit.
func (c *crew) commit(ctx context.Context, t *tx, stats *BatchStats) error {
	c.commits.RLock()
	defer c.commits.RUnlock()
	start := time.Now()
	err := c.step(ctx, t.conn, StepCommit, "COMMIT")
	stats.Commit = time.Since(start).Seconds()
	if myRetryable(err) {
		return err
	}
	if err != nil {
		c.db.log.Error("commit failed", "err", err)
		c.db.tellDoubt(t.touched)
		return fmt.Errorf("sqldb: commit: %w: %w", sluice.ErrUncertain, err)
	}
	c.db.tellPermit(t.permits)
	return nil
}

// step runs BEGIN or COMMIT.
func (c *crew) step(ctx context.Context, conn *sql.Conn, s, text string) error {
	do := func() error {
		_, err := conn.ExecContext(ctx, text)
		return err
	}
	if c.db.cfg.Around != nil {
		return c.db.cfg.Around(s, do)
	}
	return do()
}
