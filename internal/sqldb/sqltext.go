package sqldb

import "database/sql"

// locking gives a query for one row by its key such that the row stays as it is read until the transaction ends.
func (t *tx) locking(query string) string { return query + lockRows }

// databaseClock reads the database's clock, in milliseconds.
var databaseClock = perDialect{
	sqlite: `SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	mysql:  `SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)`,
}

func (db *DB) clockQuery() string { return db.dialect.pick(databaseClock) }

func (t *tx) clockQuery() string { return t.db.clockQuery() }

// query runs a query whose text depends on its arguments, so that it is not kept prepared.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	if t.w == nil {
		s := forMySQL(query)
		return t.conn.QueryContext(t.ctx, s.text, arrange(s, args)...)
	}
	return t.w.conn.QueryContext(t.ctx, forSQLite(query), args...)
}
