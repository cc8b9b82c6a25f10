package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sluice-sale/sluice"
)

// hotStmt is a prepared statement of the driver itself, for the few statements that run once for every claim: going
// through database/sql costs a third more. Its arguments are kept and overwritten, so nothing is allocated for them.
type hotStmt struct {
	stmt driver.Stmt
	args []driver.NamedValue
}

// hotConn is the driver's connection while a hot section of a write runs.
type hotConn struct {
	ctx   context.Context
	conn  driver.ConnPrepareContext
	stmts map[string]*hotStmt // owned by the writer, which closes them
}

// hot runs fn with the writer's raw connection. fn must not use the statements of tx meanwhile: they wait for the same
// connection.
func (t *tx) hot(fn func(*hotConn) error) error {
	var err error
	if e := t.w.conn.Raw(func(dc any) error {
		conn, ok := dc.(driver.ConnPrepareContext)
		if !ok {
			return fmt.Errorf("sqldb: the driver's connection is a %T", dc)
		}
		// A panic that got as far as database/sql would close the writer's connection for good.
		err = call(func() error { return fn(&hotConn{ctx: t.ctx, conn: conn, stmts: t.w.hot}) })
		return nil
	}); e != nil {
		return e
	}
	return err
}

// stmt gives the prepared statement of query, a constant text with n arguments.
func (c *hotConn) stmt(query string, n int) (*hotStmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	st, err := c.conn.PrepareContext(c.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("sqldb: prepare %q: %w", query, err)
	}
	s := &hotStmt{stmt: st, args: make([]driver.NamedValue, n)}
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	c.stmts[query] = s
	return s, nil
}

// exec runs s with args and says how many rows it changed.
func (c *hotConn) exec(s *hotStmt, args ...driver.Value) (int64, error) {
	for i, a := range args {
		s.args[i].Value = a
	}
	r, err := s.stmt.(driver.StmtExecContext).ExecContext(c.ctx, s.args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query runs s and hands each row to each; the values are valid only inside it.
func (c *hotConn) query(s *hotStmt, each func(row []driver.Value) error, args ...driver.Value) error {
	for i, a := range args {
		s.args[i].Value = a
	}
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(c.ctx, s.args)
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// drain reads rows to their end and closes them.
func drain(rows driver.Rows, each func(row []driver.Value) error) (err error) {
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// Values of the driver as what they stand for. A column that is NULL gives the zero value.

func intOf(v driver.Value) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	case []byte: // a sum of MySQL is a decimal
		i, _ := strconv.ParseInt(string(n), 10, 64)
		return i
	}
	return 0
}

func textOf(v driver.Value) string {
	switch s := v.(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}

func claimIDOf(v driver.Value) (id sluice.ClaimID) {
	b, _ := v.([]byte)
	copy(id[:], b)
	return id
}

// nullText keeps an empty text as NULL.
func nullText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}
