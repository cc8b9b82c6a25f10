package sqldb

import "context"

// PanicWhileHot has a write panic while it holds the driver's connection.
func (db *DB) PanicWhileHot(ctx context.Context) error {
	return db.write(ctx, laneClaims, func(t *tx) error {
		return t.hot(func(*hotConn) error { panic("a bug") })
	})
}
