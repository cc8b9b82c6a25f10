package sqldb

import "database/sql"

// locking gives a query for one row by its key such that the row stays as it is read until the transaction ends.
func (t *tx) locking(query string) string { return query } // there is one writer

// clockQuery reads the database's clock, in milliseconds.
func (db *DB) clockQuery() string { return `SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)` }

func (t *tx) clockQuery() string { return t.w.db.clockQuery() }

// query runs a query whose text depends on its arguments, so that it is not kept prepared.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	return t.w.conn.QueryContext(t.ctx, query, args...)
}
