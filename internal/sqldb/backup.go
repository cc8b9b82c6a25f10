package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/sluice-sale/sluice"
)

// backupStep is how many pages are copied between two looks at the context.
const backupStep = 2048

// Backup writes a consistent copy of the running ledger to path, as of the moment it begins; a server started on
// the copy has everything that was committed then. It never overwrites: an existing path is an ErrConflict Fault
// FILE_EXISTS. A ledger on MySQL is an ErrInvalid Fault BACKUP_UNSUPPORTED. The copy appears under its name only
// when it is complete and on the disk. Claims go on meanwhile; progress, where given, gets pages done and pages in
// all.
func (db *DB) Backup(ctx context.Context, path string, progress func(done, of int64)) error {
	if db.crew != nil {
		return sluice.NewFault(sluice.ErrInvalid, "BACKUP_UNSUPPORTED",
			"a ledger on a database server is backed up with that server's own means, such as mariadb-dump --single-transaction")
	}
	return backup(ctx, db.rdb.DB, path, progress)
}

// BackupFile is Backup of the ledger at from, by a process that does not have it open: whether a server is running on
// it or not. It takes no lock and changes nothing. ErrNotFound: there is no ledger.
func BackupFile(ctx context.Context, from, path string, progress func(done, of int64)) error {
	rdb, err := openFile(from)
	if err != nil {
		return fmt.Errorf("sqldb: backup: %w", err)
	}
	defer func() { _ = rdb.Close() }()
	return backup(ctx, rdb, path, progress)
}

// ProbeFile says how many campaigns the ledger at path has, by a process that does not have it open, as BackupFile. An
// error other than ErrNotFound means that it is no ledger that can be read.
func ProbeFile(ctx context.Context, path string) (campaigns int64, err error) {
	rdb, err := openFile(path)
	if err != nil {
		return 0, fmt.Errorf("sqldb: probe: %w", err)
	}
	defer func() { _ = rdb.Close() }()
	if err := rdb.QueryRowContext(ctx, `SELECT COUNT(*) FROM campaigns`).Scan(&campaigns); err != nil {
		return 0, translate(err, "probe")
	}
	return campaigns, nil
}

// openFile opens a ledger that is there, for reading beside the process that writes it.
func openFile(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: %w", sluice.ErrNotFound, err)
	}
	return sql.Open("sqlite", dsn(Config{Path: path}, true)+"&mode=rw")
}

func backup(ctx context.Context, rdb *sql.DB, path string, progress func(done, of int64)) error {
	if _, err := os.Lstat(path); err == nil {
		return sluice.NewFault(sluice.ErrConflict, "FILE_EXISTS", path+" exists; a backup does not overwrite")
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*") // mode 0600
	if err != nil {
		return fmt.Errorf("sqldb: backup: %w", err)
	}
	_ = part.Close()
	defer func() { _ = os.Remove(part.Name()) }()
	if err := copyTo(ctx, rdb, part.Name(), progress); err != nil {
		return err
	}
	// A link, unlike a rename, fails where the name has been taken meanwhile.
	if err := os.Link(part.Name(), path); err != nil {
		return fmt.Errorf("sqldb: backup: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

func copyTo(ctx context.Context, rdb *sql.DB, path string, progress func(done, of int64)) error {
	conn, err := rdb.Conn(ctx)
	if err != nil {
		return translate(err, "backup")
	}
	defer func() { _ = conn.Close() }()
	// Inside a read transaction the copy sees one snapshot; without one it would begin again at every commit.
	if _, err := conn.ExecContext(ctx, `BEGIN`); err != nil {
		return translate(err, "backup")
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) }()
	var n int
	if err := conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM campaigns`).Scan(&n); err != nil {
		return translate(err, "backup")
	}
	return conn.Raw(func(dc any) error {
		source, ok := dc.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("sqldb: the driver's connection is a %T", dc)
		}
		b, err := source.NewBackup(fileURI(path))
		if err != nil {
			return translate(err, "backup to "+path)
		}
		for more := true; more; {
			if err = ctx.Err(); err != nil {
				break
			}
			if more, err = b.Step(backupStep); err != nil {
				break
			}
			if of := int64(b.PageCount()); progress != nil {
				progress(of-int64(b.Remaining()), of)
			}
		}
		if e := b.Finish(); err == nil {
			err = e
		}
		if err != nil {
			return translate(err, "backup to "+path)
		}
		return nil
	})
}

// syncFolder makes a new name in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sqldb: sync %s: %w", dir, err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sqldb: sync %s: %w", dir, err)
	}
	return nil
}
