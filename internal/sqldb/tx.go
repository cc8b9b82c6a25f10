package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sluice-sale/sluice"
)

// tx is what a write works with. It is valid only inside the write's function.
type tx struct {
	ctx     context.Context
	db      *DB
	w       *writer   // of SQLite
	conn    *sql.Conn // of MySQL
	permits []sluice.PermitOp
	touched []string // campaigns whose units may have changed
	claims  int      // for the statistics
	// settings: the write changes what every node keeps a copy of.
	settings bool
}

// stmt gives the writer's prepared statement for query, which must be a constant text.
func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s, ok := t.w.stmts[query]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(t.ctx, forSQLite(query))
	if err != nil {
		return nil, fmt.Errorf("sqldb: prepare %q: %w", query, err)
	}
	t.w.stmts[query] = s
	return s, nil
}

// exec runs a constant statement and says how many rows it changed, or found as they should be.
func (t *tx) exec(query string, args ...any) (int64, error) {
	r, err := t.run(query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// insert runs a constant statement and gives the number that the database dealt out for the first row of it.
func (t *tx) insert(query string, args ...any) (int64, error) {
	r, err := t.run(query, args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (t *tx) run(query string, args ...any) (sql.Result, error) {
	if t.w == nil {
		s := t.db.texts.of(query)
		return t.conn.ExecContext(t.ctx, s.text, arrange(s, args)...)
	}
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(t.ctx, args...)
}

// row runs a constant query for one row; sql.ErrNoRows becomes ErrNotFound.
func (t *tx) row(query string, args []any, into ...any) (err error) {
	if t.w == nil {
		s := t.db.texts.of(query)
		err = t.conn.QueryRowContext(t.ctx, s.text, arrange(s, args)...).Scan(into...)
	} else {
		var s *sql.Stmt
		if s, err = t.stmt(query); err != nil {
			return err
		}
		err = s.QueryRowContext(t.ctx, args...).Scan(into...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return sluice.ErrNotFound
	}
	return err
}

// rows runs a constant query.
func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	if t.w == nil {
		s := t.db.texts.of(query)
		return t.conn.QueryContext(t.ctx, s.text, arrange(s, args)...)
	}
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(t.ctx, args...)
}

// pick gives the words for the transaction's database.
func (t *tx) pick(p perDialect) string { return t.db.dialect.pick(p) }

// oneRow is a query for one row as a scanner.
type oneRow struct {
	t     *tx
	query string
	args  []any
}

// Scan runs the query.
func (r oneRow) Scan(into ...any) error { return r.t.row(r.query, r.args, into...) }

// touch notes that the campaign's units are in doubt if the commit fails.
func (t *tx) touch(campaign string) { t.touched = append(t.touched, campaign) }

// release notes what the commit gives back to the permit.
func (t *tx) release(campaign string, id sluice.ClaimID, e sluice.Effects) {
	t.touch(campaign)
	if e.ReleaseUnits != 0 || e.ReleaseLimit != 0 {
		t.permits = append(t.permits, sluice.PermitOp{
			Kind: sluice.PermitRelease, Campaign: campaign, Claim: id, Units: e.ReleaseUnits, LimitUnits: e.ReleaseLimit,
		})
	}
}

func fsSub(dir string) (fs.FS, error) { return fs.Sub(migrations, dir) }
