//go:build tidb

package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// tidbDatabases numbers the databases of this process.
var tidbDatabases atomic.Int64

// tidb gives the address of a fresh database on the TiDB that scripts/tidb.sh started, and a way to run a statement.
func tidb(t *testing.T) (url string, do func(statement string)) {
	t.Helper()
	server := os.Getenv("SLUICE_TEST_TIDB")
	if server == "" {
		t.Fatal("SLUICE_TEST_TIDB is not set: run scripts/tidb.sh")
	}
	name := fmt.Sprintf("ledger%d_%d", os.Getpid(), tidbDatabases.Add(1))
	open := func(db string) *sql.DB {
		c, err := sql.Open("mysql", "root@tcp("+server[len("mysql://root:@"):]+")/"+db+"?multiStatements=true")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	all := open("")
	if _, err := all.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = all.ExecContext(context.Background(), "DROP DATABASE "+name) })
	own := open(name)
	return server + "/" + name, func(statement string) {
		t.Helper()
		if _, err := own.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedgerOnTiDB runs the suite that every ledger passes.
func TestLedgerOnTiDB(t *testing.T) {
	conformance.Ledger(t, func(t *testing.T) conformance.LedgerUnderTest {
		url, do := tidb(t)
		return tidbUnderTest(t, url, do)
	})
}

func tidbUnderTest(t *testing.T, url string, do func(string)) conformance.LedgerUnderTest {
	db := openMySQL(t, sqldb.MySQLConfig{URL: url})
	told := &ops{}
	db.SetPermit(told)
	return conformance.LedgerUnderTest{
		Claims: db, Campaigns: db, Stock: db, Told: told.told,
		Plant: func(_ *testing.T, statement string) { do(statement) }, // TiDB does not enforce CHECKs unless it is told to
		Restart: func(t *testing.T) conformance.LedgerUnderTest {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return tidbUnderTest(t, url, do)
		},
	}
}
