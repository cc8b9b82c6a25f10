package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// How settling on MariaDB is measured: batches as a settler gathers them, several under way; beside a consumer that
// does each message in a transaction of its own, on as many connections as serve it best.
const (
	settleBatch   = sqldb.MaxSettle
	settleAtOnce  = 2
	messageAtOnce = 32
)

// settled: orders that settlers write to MariaDB in a second, every commit synced.
func settled(ctx context.Context, b *bench) error {
	var values, base samples
	for range b.runs {
		m, err := startMaria(ctx, b.temp)
		if err != nil {
			return err
		}
		one, err := m.oneByOne(ctx)
		if err == nil {
			base = append(base, one)
			var many float64
			many, err = m.settle(ctx, b.of(300_000, 50_000))
			values = append(values, many)
		}
		if err = errors.Join(err, m.stop()); err != nil {
			return err
		}
	}
	g := goal{"at least 30,000/s, and 12 times the baseline", func(v, ratio float64) bool {
		return v >= 30_000 && ratio >= 12
	}}
	return b.record("settled", "orders/s", values, "one message, one transaction", base, g, costs{},
		fmt.Sprintf("MariaDB; batches of %d, %d at once; baseline on %d connections", settleBatch, settleAtOnce,
			messageAtOnce))
}

// maria is a MariaDB of the benchmark's own, with its defaults: each commit is synced.
type maria struct {
	cmd  *exec.Cmd
	dir  string
	addr string
}

func startMaria(ctx context.Context, temp string) (m *maria, err error) {
	m = &maria{}
	if m.dir, err = os.MkdirTemp(temp, "maria-"); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.addr = ln.Addr().String()
	_, port, _ := net.SplitHostPort(m.addr)
	if err := ln.Close(); err != nil {
		return nil, err
	}
	data := filepath.Join(m.dir, "data")
	install := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db (package mariadb-server): %w: %s", err, out)
	}
	m.cmd = exec.Command("mariadbd", "--no-defaults", "--user=root", "--datadir="+data, "--bind-address=127.0.0.1",
		"--port="+port, "--socket="+filepath.Join(m.dir, "s"), "--skip-name-resolve", "--character-set-server=utf8mb4",
		"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G")
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	db, err := sql.Open("mysql", m.dsn(""))
	if err != nil {
		return nil, errors.Join(err, m.stop())
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err = db.ExecContext(ctx, `CREATE DATABASE bench`); err == nil {
			return m, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("MariaDB does not answer: %w", err), m.stop())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (m *maria) dsn(database string) string {
	return "root@tcp(" + m.addr + ")/" + database + "?interpolateParams=true"
}

func (m *maria) stop() error {
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	_ = m.cmd.Wait() // it ends by a signal
	return os.RemoveAll(m.dir)
}

func (m *maria) open(ctx context.Context, id string) (*sqldb.DB, sluice.Campaign, error) {
	db, err := sqldb.OpenMySQL(ctx, sqldb.MySQLConfig{URL: "mysql://root@" + m.addr + "/bench", Claims: settleAtOnce})
	if err != nil {
		return nil, sluice.Campaign{}, err
	}
	c, err := db.CreateCampaign(ctx, campaign(id), sluice.Actor{Name: "bench"}, sluice.MillisOf(time.Now()))
	if err != nil {
		return nil, c, errors.Join(err, db.Close())
	}
	return db, c, nil
}

// settle settles n orders and audits what is there afterwards.
func (m *maria) settle(ctx context.Context, n int) (perSecond float64, err error) {
	db, _, err := m.open(ctx, "many")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var batches [][]sluice.Claim
	for from := 0; from < n; from += settleBatch {
		batches = append(batches, claims("many", from, min(settleBatch, n-from)))
	}
	began := time.Now()
	err = atOnce(settleAtOnce, func(next func() int) error {
		for i := next(); i < len(batches); i = next() {
			if err := settle(ctx, db, batches[i]); err != nil {
				return err
			}
		}
		return nil
	})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if v, err := db.Verify(ctx, "many", nil); err != nil || !v.OK || v.Held != int64(n) {
		return 0, fmt.Errorf("a run without a speed: %+v %w", v, err)
	}
	return float64(n) / took.Seconds(), nil
}

// oneByOne is the baseline, as plain as it can be: for each message a transaction that takes a unit and writes the
// order, on the same tables.
func (m *maria) oneByOne(ctx context.Context) (perSecond float64, err error) {
	db, c, err := m.open(ctx, "one")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	plain, err := sql.Open("mysql", m.dsn("bench"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	plain.SetMaxOpenConns(messageAtOnce)
	plain.SetMaxIdleConns(messageAtOnce)
	list := claims("one", 0, 200_000)
	var done atomic.Int64
	began := time.Now()
	err = atOnce(messageAtOnce, func(next func() int) error {
		for i := next(); i < len(list) && time.Since(began) < oneByOne; i = next() {
			if err := oneMessage(ctx, plain, c.No, int64(i)+1, &list[i]); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return float64(done.Load()) / time.Since(began).Seconds(), err
}

func oneMessage(ctx context.Context, db *sql.DB, no, n int64, c *sluice.Claim) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE campaigns SET held = held + 1 WHERE no = ? AND held + sold < total`, no)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO orders (seq, claim_id, limit_no, user_id, request_id, quantity,
			amount_minor, state, live_units, limit_units, created_ms, due_ms)
			VALUES (?, ?, ?, ?, ?, 1, 9900, 'unpaid', 1, 1, ?, ?)`,
			no<<32|n, c.ID[:], no, c.User, c.RequestID, int64(c.At), int64(c.At)+900_000)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// atOnce runs work so many times at once; next deals out 0, 1, 2, …
func atOnce(n int, work func(next func() int) error) error {
	var last atomic.Int64
	next := func() int { return int(last.Add(1)) - 1 }
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = work(next) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
