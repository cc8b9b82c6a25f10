package sqldb

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sluice-sale/sluice"
)

// MySQLConfig says where the ledger is on MariaDB 10.11, MySQL 8 or TiDB, and how it is used. Zero values mean the
// defaults given. A node opens at most Urgent + Claims + Background + Readers connections, and one more while it
// migrates.
type MySQLConfig struct {
	// URL is mysql://user:password@host:port/database. Its query may hold tls (true, skip-verify, preferred) and socket,
	// the path of a socket in place of host and port.
	URL string
	// TLS is used where the URL asks for it; by default the host's name is verified against the system's roots.
	TLS *tls.Config

	Urgent     int // transactions at once: payments and what operators do; default 8
	Claims     int // batches of claims at once; default 4
	Background int // sweeps at once; default 2
	Readers    int // default 8
	MaxWaiting int // writes that may wait; more are refused with ErrUnavailable; default 65,536

	Dial     time.Duration // of a connection; default 3 s
	Write    time.Duration // until a statement is sent; default 10 s
	Read     time.Duration // until a writer's statement answers; default 10 s
	Scan     time.Duration // until a reader's statement goes on; default 60 s
	LockWait time.Duration // for a row that another transaction holds, in seconds; default 3 s
	Idle     time.Duration // until a connection that is not used is closed; default 5 min

	Remote    bool          // as Config.Remote
	MaxTries  int           // as Config.MaxTries
	LostGrace time.Duration // as Config.LostGrace
	Node      string        // as Config.Node

	Log     *slog.Logger // default: discard
	OnBatch func(BatchStats)
	Now     func() time.Time                         // default: time.Now
	Doubt   func(campaign, note string)              // as Config.Doubt
	Around  func(step string, do func() error) error // as Config.Around
}

// OpenMySQL opens the ledger at cfg.URL, migrates it, which is safe while others do so too, and is ready for work.
func OpenMySQL(ctx context.Context, cfg MySQLConfig) (*DB, error) {
	cfg.defaults()
	base, err := mysqlConfig(cfg)
	if err != nil {
		return nil, err
	}
	db := &DB{
		cfg: Config{
			Log: cfg.Log, Readers: cfg.Readers, MaxWaiting: cfg.MaxWaiting, OnBatch: cfg.OnBatch, Now: cfg.Now,
			Doubt: cfg.Doubt, Around: cfg.Around, Remote: cfg.Remote, MaxTries: cfg.MaxTries, LostGrace: cfg.LostGrace,
			Node: cfg.Node,
		},
		log: cfg.Log, dialect: dialectMySQL, counting: make(chan struct{}, 1),
	}
	if err := migrateMySQL(ctx, base, cfg.Log); err != nil {
		return nil, fmt.Errorf("sqldb: migrate %s: %w", base.Addr, err)
	}
	// A node that is cut off in the middle of a transaction leaves it open on the server, with the locks of its
	// campaigns. The server ends it when no statement has come for longer than one may take.
	writing := base.Clone()
	silent := cfg.Read.Round(time.Second) + 2*time.Second
	writing.Params["wait_timeout"] = fmt.Sprint(int(silent / time.Second))
	writers, err := openPool(writing, cfg.Urgent+cfg.Background, min(cfg.Idle, silent/2))
	if err != nil {
		return nil, err
	}
	// Only batches of claims are sent several statements at a time: their texts are constants.
	batching := writing.Clone()
	batching.MultiStatements = true
	settlers, err := openPool(batching, cfg.Claims, min(cfg.Idle, silent/2))
	if err != nil {
		_ = writers.Close()
		return nil, err
	}
	reading := base.Clone()
	reading.ReadTimeout = cfg.Scan
	readers, err := openPool(reading, cfg.Readers, cfg.Idle)
	if err != nil {
		_ = errors.Join(writers.Close(), settlers.Close())
		return nil, err
	}
	db.rdb = &pool{DB: readers, texts: &db.texts}
	db.crew = newCrew(db, [numLanes]*sql.DB{laneUrgent: writers, laneClaims: settlers, laneBackground: writers},
		[numLanes]int{laneUrgent: cfg.Urgent, laneClaims: cfg.Claims, laneBackground: cfg.Background}, base.ReadTimeout)
	return db, nil
}

func (cfg *MySQLConfig) defaults() {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	for _, d := range []struct {
		v   *int
		def int
	}{{&cfg.Urgent, 8}, {&cfg.Claims, 4}, {&cfg.Background, 2}, {&cfg.Readers, 8}, {&cfg.MaxWaiting, 65_536},
		{&cfg.MaxTries, defaultMaxTries}} {
		*d.v = orDefault(*d.v, d.def)
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&cfg.Dial, 3 * time.Second}, {&cfg.Write, 10 * time.Second}, {&cfg.Read, 10 * time.Second},
		{&cfg.Scan, time.Minute}, {&cfg.LockWait, 3 * time.Second}, {&cfg.Idle, 5 * time.Minute},
		{&cfg.LostGrace, defaultLostGrace},
	} {
		*d.v = cmp.Or(*d.v, d.def)
	}
}

// stopMySQL lets what waits finish and closes the connections.
func (db *DB) stopMySQL() error {
	db.crew.stop()
	return errors.Join(db.crew.pools[laneUrgent].Close(), db.crew.pools[laneClaims].Close(), db.rdb.Close())
}

// mysqlConfig reads the URL.
func mysqlConfig(cfg MySQLConfig) (*mysql.Config, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "mysql" {
		// The error of url.Parse shows the URL, which holds the password.
		return nil, sluice.NewFault(sluice.ErrInvalid, "LEDGER_URL",
			"the ledger's URL is not mysql://user:password@host/database")
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr = u.Host + ":3306"
	}
	for key, values := range u.Query() {
		switch v := values[0]; {
		case key == "socket" && v != "":
			c.Net, c.Addr = "unix", v
		case key == "tls" && slices.Contains([]string{"true", "false", "skip-verify", "preferred"}, v):
			c.TLSConfig = v
		default:
			return nil, sluice.NewFault(sluice.ErrInvalid, "LEDGER_URL", "the ledger's URL has an unknown setting "+key)
		}
	}
	if verified := c.TLSConfig == "true"; cfg.TLS != nil && (verified || c.TLSConfig == "skip-verify") {
		c.TLS = cfg.TLS.Clone() // the driver writes the server's name into it
		c.TLS.InsecureSkipVerify = !verified
	}
	if c.DBName == "" || strings.Contains(c.DBName, "/") {
		return nil, sluice.NewFault(sluice.ErrInvalid, "LEDGER_URL", "the ledger's URL names no database")
	}
	c.Collation = "utf8mb4_bin"
	c.InterpolateParams = true
	c.ClientFoundRows = true // a conditional update counts the rows that it found, as SQLite does
	c.Timeout, c.ReadTimeout, c.WriteTimeout = cfg.Dial, cfg.Read, cfg.Write
	c.MaxAllowedPacket = 0        // the server's
	c.Logger = &mysql.NopLogger{} // what fails comes back as an error
	c.Params = map[string]string{
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
		"innodb_lock_wait_timeout": fmt.Sprint(max(1, int(cfg.LockWait/time.Second))),
		"autocommit":               "1",
		"time_zone":                "'+00:00'", // where no hour comes twice
	}
	return c, nil
}

// openPool makes a pool whose connections read what is committed. Its first connection is made when it is needed.
func openPool(c *mysql.Config, most int, idle time.Duration) (*sql.DB, error) {
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("sqldb: %w", err)
	}
	db := sql.OpenDB(readCommitted{inner})
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(idle)
	return db, nil
}

// readCommitted sets the isolation of each new connection. The variable has another name on MariaDB than on MySQL, so
// that the driver cannot be told.
type readCommitted struct{ driver.Connector }

// Connect makes a connection.
func (r readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	e, ok := c.(driver.ExecerContext)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("sqldb: the driver's connection is a %T", c)
	}
	if _, err := e.ExecContext(ctx, `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`, nil); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// pool is a pool for reading. Where texts is given it says each text in the words of MySQL.
type pool struct {
	*sql.DB
	texts *texts
}

// QueryContext runs a query.
func (p *pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if p.texts == nil {
		return p.DB.QueryContext(ctx, query, args...)
	}
	s := p.texts.of(query)
	return p.DB.QueryContext(ctx, s.text, arrange(s, args)...)
}

// QueryRowContext runs a query for one row.
func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if p.texts == nil {
		return p.DB.QueryRowContext(ctx, query, args...)
	}
	s := p.texts.of(query)
	return p.DB.QueryRowContext(ctx, s.text, arrange(s, args)...)
}
