package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"
)

// Bounds of the write-ahead log, in frames: one changed page of one transaction each.
const (
	// defaultLogPages starts copying the log into the database. The more the log holds, the more changes of one page are
	// copied once; the less it holds, the quicker the log is searched and the sooner a restart has read it.
	defaultLogPages = 65_536
	// checkpointTail is the share of it that the writer itself may have to copy to begin the log anew: a few
	// milliseconds.
	checkpointTail = 64
	// checkpointAlways times as much is where the writer copies whatever is left, since the log must not grow for ever.
	checkpointAlways = 4
	// checkpointPasses bounds the passes in a row over what came meanwhile.
	checkpointPasses = 6
)

const (
	checkpointLook  = 50 * time.Millisecond // how often the log's length is looked at
	checkpointIdle  = time.Second           // how long the writer must have rested for a short log to be copied as well
	checkpointRetry = 5 * time.Second       // after a failure, such as a full disk
)

// checkpointer moves the write-ahead log into the database on a connection of its own, while the writer goes on. The
// database is then synced in its time and not in that of a commit; left to itself, SQLite does it inside a commit,
// which then takes hundreds of milliseconds. The writer is asked only for the short rest, after which it begins the
// log anew.
type checkpointer struct {
	db      *DB
	pool    *sql.DB
	log     *slog.Logger
	cancel  context.CancelFunc
	stopped chan struct{}
}

func startCheckpointer(db *DB) (*checkpointer, error) {
	pool, err := sql.Open("sqlite", dsn(db.cfg, false))
	if err != nil {
		return nil, fmt.Errorf("sqldb: the checkpointer's connection: %w", err)
	}
	pool.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancel(context.Background())
	c := &checkpointer{db: db, pool: pool, log: db.log, cancel: cancel, stopped: make(chan struct{})}
	go c.run(ctx)
	return c, nil
}

// stop ends the checkpointer after its present pass. It is idempotent.
func (c *checkpointer) stop() {
	c.cancel()
	<-c.stopped
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.stopped)
	defer func() { _ = c.pool.Close() }()
	ticker := time.NewTicker(checkpointLook)
	defer ticker.Stop()
	var seen int64
	var since, retry time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if n := c.db.w.commits.Load(); n != seen {
				seen, since = n, now
			}
			if now.Before(retry) {
				continue
			}
			if err := c.look(ctx, now.Sub(since) >= checkpointIdle); err != nil && ctx.Err() == nil {
				c.log.Warn("checkpoint failed", "err", err)
				retry = now.Add(checkpointRetry)
			}
		}
	}
}

// look copies the log if it is long, or if the writer is idle.
func (c *checkpointer) look(ctx context.Context, idle bool) error {
	at := int64(c.db.cfg.LogPages)
	w, err := checkpoint(ctx, c.pool, "NOOP")
	if err != nil || w.frames == w.copied || w.frames < at && !idle {
		return err
	}
	for range checkpointPasses {
		if w, err = checkpoint(ctx, c.pool, "PASSIVE"); err != nil {
			return err
		}
		if w.left() <= at/checkpointTail {
			break
		}
	}
	if w.frames < at || w.left() > at/checkpointTail && w.frames < checkpointAlways*at {
		return nil
	}
	var e error
	err = c.db.pause(ctx, func() { _, e = checkpoint(context.Background(), c.db.w.conn, "PASSIVE") })
	if err == nil {
		err = e
	}
	return err
}

// walState is the length of the log and how much of it is in the database.
type walState struct{ frames, copied int64 }

func (w walState) left() int64 { return w.frames - w.copied }

// checkpoint runs a checkpoint. That another one is under way is no error: the log is looked at again soon.
func checkpoint(ctx context.Context, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, mode string) (w walState, err error) {
	var busy int
	err = on.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&busy, &w.frames, &w.copied)
	return w, err
}
