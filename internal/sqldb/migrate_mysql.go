package sqldb

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"github.com/sluice-sale/sluice"
)

// migrateSeconds is how long a node waits for another one that migrates.
const migrateSeconds = 120

// migrateMySQL brings the schema up to date. Nodes that start at once do it one after another, and all but the first
// find nothing to do. A schema newer than this node's stays as it is: migrations only add to what the version before
// reads.
func migrateMySQL(ctx context.Context, base *mysql.Config, log *slog.Logger) (err error) {
	c := base.Clone()
	c.ReadTimeout = 2 * migrateSeconds * 1e9
	pool, err := openPool(c, 2, 0)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return notConnected(err)
	}
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256([]byte(base.DBName)) // the lock is the server's, not the database's
	name := "sluice-migrate-" + hex.EncodeToString(sum[:8])
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, ?)`, name, migrateSeconds).Scan(&got); err != nil {
		return translate(err, "lock the schema")
	}
	if got.Int64 != 1 {
		return fmt.Errorf("sqldb: another node has been migrating for %d s: %w", migrateSeconds, sluice.ErrUnavailable)
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, name) }()
	sub, err := fsSub("migrations/mysql")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectMySQL, pool, sub)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	return appendOnly(ctx, conn, log)
}

// notConnected sorts an error of connecting: ErrInvalid where only another URL can help, else ErrUnavailable.
func notConnected(err error) error {
	switch myCode(err) {
	case myDeniedDatabase, myDenied, myNoDatabase, myDeniedPlugin:
		return fmt.Errorf("sqldb: connect: %w: %w", sluice.ErrInvalid, err)
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Errorf("sqldb: connect: %w: %w", err, sluice.NewFault(sluice.ErrInvalid, "LEDGER_TLS",
			"the certificate of the database is not believed: name the PEM file of its authority in the setting mysql.ca, and "+
				"the server by a name that its certificate has"))
	}
	return translate(err, "connect")
}

// appendOnly has the database refuse to change what is in the audit log. TiDB has no triggers, and a server that writes
// a binary log may ask for a right that the ledger's user does not have: then the log is only as safe as that user's
// rights, which is said and does not keep the node from starting.
func appendOnly(ctx context.Context, conn *sql.Conn, log *slog.Logger) error {
	var version string
	if err := conn.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
		return translate(err, "ask for the version")
	}
	if strings.Contains(version, "TiDB") {
		return nil
	}
	for _, verb := range []string{"update", "delete"} {
		name := "audit_log_no_" + verb
		var n int
		err := conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.TRIGGERS
			WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME = ?`, name).Scan(&n)
		if err != nil {
			return translate(err, "look for triggers")
		}
		if n > 0 {
			continue
		}
		_, err = conn.ExecContext(ctx, `CREATE TRIGGER `+name+` BEFORE `+verb+` ON audit_log FOR EACH ROW
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'audit_log is append-only'`)
		if myLost(err) {
			return translate(err, "make a trigger")
		}
		if err != nil {
			log.Warn("the database does not keep the audit log append-only: the trigger could not be made", "trigger", name,
				"err", err)
		}
	}
	return nil
}
