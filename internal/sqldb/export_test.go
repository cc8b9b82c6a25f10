package sqldb

import (
	"context"
	"errors"
	"strings"
)

// PanicWhileHot has a write panic while it holds the driver's connection.
func (db *DB) PanicWhileHot(ctx context.Context) error {
	return db.write(ctx, laneClaims, func(t *tx) error {
		return t.hot(func(*hotConn) error { panic("a bug") })
	})
}

// Plant changes the database behind the ledger's back, past its checks.
func (db *DB) Plant(ctx context.Context, statement string) error {
	off := perDialect{`PRAGMA ignore_check_constraints = 1`, `SET SESSION check_constraint_checks = 0`}
	on := perDialect{`PRAGMA ignore_check_constraints = 0`, `SET SESSION check_constraint_checks = 1`}
	var err error
	plant := func(run func(string) error) {
		for _, text := range []string{db.dialect.pick(off), statement, db.dialect.pick(on)} {
			if err == nil {
				err = run(text)
			}
		}
	}
	if db.crew == nil {
		e := db.pause(ctx, func() {
			plant(func(text string) error { _, e := db.w.conn.ExecContext(ctx, text); return e })
		})
		return errors.Join(err, e)
	}
	conn, e := db.crew.pools[laneUrgent].Conn(ctx)
	if e != nil {
		return e
	}
	do := func(text string) error { _, e := conn.ExecContext(ctx, text); return e }
	var version string
	switch e := conn.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); {
	case e != nil:
		err = e
	case strings.Contains(version, "MariaDB"):
		plant(do)
	default: // MySQL has no way past its checks but to take them off
		err = do(statement)
	}
	return errors.Join(err, conn.Close())
}

// Ended says whether the ledger was closed.
func (db *DB) Ended() bool {
	if db.w == nil {
		return false
	}
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	return db.w.closing
}

// ForgetOnce deletes every key that came once.
func ForgetOnce(ctx context.Context, db *DB) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		_, err := t.exec(`DELETE FROM once_keys`)
		return err
	})
}

// CountOnce counts the keys that came once.
func CountOnce(ctx context.Context, db *DB) (n int, err error) {
	err = db.rdb.QueryRowContext(ctx, `SELECT COUNT(*) FROM once_keys`).Scan(&n)
	return n, err
}

// HashForAll reads what a version that knows neither scopes nor rotations compares a key's secret with.
func (db *DB) HashForAll(ctx context.Context, id string) (hash []byte, err error) {
	err = db.rdb.QueryRowContext(ctx, `SELECT hash FROM api_keys WHERE id = ?`, id).Scan(&hash)
	return hash, err
}
