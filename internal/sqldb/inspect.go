package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MySQLFacts are what a database server says of itself.
type MySQLFacts struct {
	Version        string
	TiDB           bool
	Isolation      string // of this ledger's connections
	Charset        string // of the database
	Collation      string
	FlushLog       string // innodb_flush_log_at_trx_commit: 1 syncs each commit
	SyncBinlog     string // 1 syncs the binary log with each commit; empty where there is none
	MaxConnections int
	Connected      int
	BufferPool     int64         // bytes
	Skew           time.Duration // its clock less this machine's
	Alive          int           // nodes with a recent heartbeat; 0 before the first migration
	Migrated       bool          // the ledger's tables are there
}

// Pool says how many connections a node opens at most.
func (cfg MySQLConfig) Pool() int {
	cfg.defaults()
	return cfg.Urgent + cfg.Claims + cfg.Background + cfg.Readers
}

// InspectMySQL asks the server at cfg.URL. It changes nothing.
func InspectMySQL(ctx context.Context, cfg MySQLConfig) (f MySQLFacts, err error) {
	cfg.defaults()
	base, err := mysqlConfig(cfg)
	if err != nil {
		return f, err
	}
	db, err := openPool(base, 1, 0)
	if err != nil {
		return f, err
	}
	defer func() { _ = db.Close() }()
	began := time.Now()
	var us int64
	row := db.QueryRowContext(ctx, `SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), VERSION()`)
	if err := row.Scan(&us, &f.Version); err != nil {
		return f, notConnected(err)
	}
	f.Skew = time.UnixMicro(us).Sub(began.Add(time.Since(began) / 2))
	f.TiDB = strings.Contains(f.Version, "TiDB")
	if err := f.variables(ctx, db); err != nil {
		return f, err
	}
	row = db.QueryRowContext(ctx, `SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME
		FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?`, base.DBName)
	if err := row.Scan(&f.Charset, &f.Collation); err != nil {
		return f, translate(err, "the database's character set")
	}
	var tables int
	row = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?
		AND TABLE_NAME IN ('campaigns', 'nodes')`, base.DBName)
	if err := row.Scan(&tables); err != nil {
		return f, translate(err, "the ledger's tables")
	}
	if f.Migrated = tables == 2; f.Migrated {
		at := began.Add(f.Skew).Add(-5 * time.Second).UnixMilli()
		row = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM nodes WHERE seen_ms > ?`, at)
		if err := row.Scan(&f.Alive); err != nil {
			return f, translate(err, "the nodes")
		}
	}
	return f, nil
}

// variables reads what the server and this connection are set to. The names differ between servers.
func (f *MySQLFacts) variables(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation',
		'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'max_connections', 'innodb_buffer_pool_size')`)
	if err != nil {
		return translate(err, "the server's variables")
	}
	defer func() { _ = rows.Close() }()
	is := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return translate(err, "the server's variables")
		}
		is[name] = value
	}
	if err := rows.Err(); err != nil {
		return translate(err, "the server's variables")
	}
	f.Isolation = is["transaction_isolation"]
	if f.Isolation == "" {
		f.Isolation = is["tx_isolation"]
	}
	f.FlushLog = is["innodb_flush_log_at_trx_commit"]
	if is["log_bin"] == "ON" {
		f.SyncBinlog = is["sync_binlog"]
	}
	f.MaxConnections, _ = strconv.Atoi(is["max_connections"])
	f.BufferPool, _ = strconv.ParseInt(is["innodb_buffer_pool_size"], 10, 64)
	var name string
	row := db.QueryRowContext(ctx, `SHOW STATUS LIKE 'Threads_connected'`)
	if err := row.Scan(&name, &f.Connected); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("sqldb: connections: %w", err)
	}
	return nil
}
