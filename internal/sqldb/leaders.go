package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Lead asks for the lead of a job for a term from now on, by the database's clock. A node that leads already stays the
// leader under the same token; a term that is over is given to whoever asks first, under a token that is larger than
// all before it. leads false: another node leads. Writes under sluice.WithFence and the token are refused once the lead
// has gone to another.
func (db *DB) Lead(ctx context.Context, job, node string, term time.Duration) (token int64, leads bool, err error) {
	ms := term.Milliseconds()
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		token, leads = 0, false
		now, err := t.now()
		if err != nil {
			return err
		}
		n, err := t.exec(`UPDATE leaders SET until_ms = ? WHERE job = ? AND node = ? AND until_ms > ?`,
			now+ms, job, node, now)
		if err == nil && n == 0 {
			n, err = t.exec(`UPDATE leaders SET node = ?, token = token + 1, until_ms = ? WHERE job = ? AND until_ms <= ?`,
				node, now+ms, job, now)
		}
		if err != nil {
			return err
		}
		var holder string
		err = t.row(`SELECT node, token FROM leaders WHERE job = ?`, []any{job}, &holder, &token)
		if n == 0 && errors.Is(err, sluice.ErrNotFound) {
			_, err = t.exec(`INSERT INTO leaders (job, node, token, until_ms) VALUES (?, ?, 1, ?)`, job, node, now+ms)
			if isUnique(err) { // another node was first
				return nil
			}
			n, holder, token = 1, node, 1
		}
		leads = n == 1 && holder == node
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("sqldb: lead %s: %w", job, err)
	}
	if !leads {
		return 0, false, nil
	}
	return token, true, nil
}

// Resign ends the node's lead of a job, so that another need not wait for the end of its term.
func (db *DB) Resign(ctx context.Context, job, node string) error {
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		_, err := t.exec(`UPDATE leaders SET until_ms = 0 WHERE job = ? AND node = ?`, job, node)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: resign %s: %w", job, err)
	}
	return nil
}

// now reads the database's clock, so that nodes whose clocks differ agree.
func (t *tx) now() (ms int64, err error) {
	err = t.row(t.clockQuery(), nil, &ms)
	return ms, err
}

// Clock reads the database's clock.
func (db *DB) Clock(ctx context.Context) (ms sluice.Millis, err error) {
	if err = db.rdb.QueryRowContext(ctx, db.clockQuery()).Scan(&ms); err != nil {
		return 0, translate(err, "the database's clock")
	}
	return ms, nil
}
