package sqldb

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/go-sql-driver/mysql"
)

// The server's error numbers that mean something to this package. MariaDB, MySQL and TiDB share them but for the few
// that are named after one of them.
const (
	myDuplicate        = 1062
	myDuplicateKeyName = 1586
	myLockWaitTimeout  = 1205
	myDeadlock         = 1213
	myTooLong          = 1406
	myOutOfRange       = 1264
	myWrongValue       = 1366
	myTruncated        = 1265
	myNotNull          = 1048
	myCheckMaria       = 4025
	myCheck            = 3819
	myTiDBConflict     = 9007
	myTiDBRetry        = 8022
	myTiDBSchema       = 8028
	myRecordChanged    = 1020 // MariaDB from 10.6 on, where innodb_snapshot_isolation is on
	myPacketTooLarge   = 1153
	myDeniedDatabase   = 1044
	myDenied           = 1045
	myNoDatabase       = 1049
	myDeniedPlugin     = 1698
)

// myCode gives the number of an error that the server answered, or 0.
func myCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// myRetryable says whether the server has undone the transaction because of others, so that it may be run again from
// its start. That the server says so after COMMIT means the same: nothing was done.
func myRetryable(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case myDeadlock, myLockWaitTimeout, myTiDBConflict, myTiDBRetry, myTiDBSchema, myRecordChanged:
		return true
	}
	return string(e.SQLState[:]) == "40001"
}

// myLost says whether the connection is what failed. Before the commit that means that nothing was done: the server
// rolls back what a lost connection has begun.
func myLost(err error) bool {
	return err != nil && !errors.Is(err, sql.ErrNoRows) && (errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sql.ErrConnDone) || isNetwork(err))
}

// myPoison says whether the server refused a row for what it is.
func myPoison(err error) bool {
	switch myCode(err) {
	case myDuplicate, myDuplicateKeyName, myTooLong, myOutOfRange, myWrongValue, myTruncated, myNotNull, myCheckMaria,
		myCheck, myPacketTooLarge:
		return true
	}
	return false
}
