package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// backupCmd copies a ledger beside the server that runs on it.
type backupCmd struct {
	Out string `required:"" placeholder:"FILE" help:"Where the copy goes; a folder gets sluice.db." predictor:"file"`
	dataFlags
}

// Help says how to restore.
func (backupCmd) Help() string {
	return `The copy is consistent as of its beginning; a server may run meanwhile, and goes on.
To restore, start a server on a folder that holds the copy as sluice.db:

  sluice backup --data sluice-data --out restored/sluice.db
  sluice serve --data restored

The secrets are not in the copy: keep secrets.json, or the variables that set them, with it.`
}

// Run copies it.
func (c *backupCmd) Run(a *app) error {
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	if cfg.Ledger.IsURL() {
		return &failure{code: exitFailed, err: fmt.Errorf("the ledger %s is a database server: its own tools back it up",
			cfg.Ledger), next: "mariadb-dump --single-transaction, or mysqldump"}
	}
	out := c.Out
	st, err := os.Stat(out)
	if err == nil && st.IsDir() || strings.HasSuffix(out, string(filepath.Separator)) {
		out = filepath.Join(out, ledgerFile)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	p := newProgress(a.err, a.json)
	err = sqldb.BackupFile(a.ctx, ledgerPath(cfg), out, func(done, of int64) { p.at("copying, pages:", done, of) })
	p.end()
	var fault *sluice.Fault
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return &failure{code: exitFailed, err: fmt.Errorf("there is no ledger in %s", cfg.Data),
			next: "sluice backup --data with the server's data folder"}
	case errors.As(err, &fault) && errors.Is(err, sluice.ErrConflict):
		return &failure{code: exitFailed, err: errors.New(fault.Detail), next: "--out with another name"}
	case err != nil:
		return err
	}
	if st, err = os.Stat(out); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if a.json {
		return a.printJSON(map[string]any{"file": out, "bytes": st.Size()})
	}
	restore := "sluice serve --data " + filepath.Dir(out)
	if filepath.Base(out) != ledgerFile {
		restore = "put it into a folder of its own as " + ledgerFile + ", then sluice serve --data with that folder"
	}
	a.say("%s, %s bytes. To restore: %s", out, thousands(st.Size()), restore)
	return nil
}

// migrateCmd brings the ledger's schema up to date; serve does so by itself.
type migrateCmd struct{ dataFlags }

// Help says when it is of use.
func (migrateCmd) Help() string {
	return `serve migrates by itself when it starts. On a ledger that several nodes share, any number may do so at once:
one of them migrates, the others wait. A node of the version before goes on beside a schema that is newer by one.
The ledger is the one of the settings: SLUICE_LEDGER, or the configuration file.`
}

// Run migrates it. A server that runs on sqlite keeps the folder to itself: then there is nothing to migrate.
func (c *migrateCmd) Run(a *app) error {
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	keepPrivate()
	var db *sqldb.DB
	where := ledgerPath(cfg)
	if cfg.Ledger.IsURL() {
		where = cfg.Ledger.String()
		var tlsConfig *tls.Config
		if tlsConfig, err = mysqlTLS(&cfg.Config); err != nil {
			return err
		}
		db, err = sqldb.OpenMySQL(a.ctx, sqldb.MySQLConfig{URL: cfg.Ledger.Reveal(), TLS: tlsConfig,
			Dial: cfg.MySQL.DialTimeout})
	} else {
		db, err = sqldb.Open(a.ctx, sqldb.Config{Path: where})
	}
	if err != nil {
		return notOpened(cfg, err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"ledger": where, "migrated": true})
	}
	a.say("%s is up to date", where)
	return nil
}
