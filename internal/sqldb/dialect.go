package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sluice-sale/sluice"
)

// sqliteCode gives the primary result code of a driver error, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// storeFailed says whether err is the store's trouble, after which the transaction is lost, not the statement's.
func storeFailed(err error) bool {
	switch sqliteCode(err) {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY,
		lib.SQLITE_CORRUPT, lib.SQLITE_CANTOPEN, lib.SQLITE_NOTADB, lib.SQLITE_PROTOCOL, lib.SQLITE_PERM,
		lib.SQLITE_INTERRUPT:
		return true
	}
	return false
}

// isUnique says whether err is a broken UNIQUE or PRIMARY KEY constraint.
func isUnique(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return myCode(err) == myDuplicate || myCode(err) == myDuplicateKeyName
}

// isBroken says whether err is a broken CHECK constraint.
func isBroken(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() == lib.SQLITE_CONSTRAINT_CHECK
	}
	return myCode(err) == myCheckMaria || myCode(err) == myCheck
}

// translate turns a driver error met before the commit into ErrUnavailable: nothing was done.
func translate(err error, doing string) error {
	return fmt.Errorf("sqldb: %s: %w: %w", doing, sluice.ErrUnavailable, err)
}

// readFailed wraps an error of a read: what is a sentinel already stays one, anything else is ErrUnavailable.
func readFailed(err error, doing string) error {
	if errors.Is(err, sluice.ErrNotFound) || errors.Is(err, sluice.ErrUnavailable) {
		return fmt.Errorf("sqldb: %s: %w", doing, err)
	}
	return translate(err, doing)
}

// isNetwork says whether err comes from the way to the server.
func isNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
