package sqldb_test

import (
	"testing"

	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// openMySQL opens a ledger and closes it when the test ends.
func openMySQL(tb testing.TB, cfg sqldb.MySQLConfig) *sqldb.DB {
	tb.Helper()
	db, err := sqldb.OpenMySQL(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func TestMain(m *testing.M) { servers.Main(m) }

func TestLedgerOnMariaDB(t *testing.T) {
	conformance.Ledger(t, func(t *testing.T) conformance.LedgerUnderTest { return mariaUnderTest(t, servers.MariaDB(t)) })
}

func mariaUnderTest(t *testing.T, m *servers.MariaDatabase) conformance.LedgerUnderTest {
	db := openMySQL(t, sqldb.MySQLConfig{URL: m.URL})
	told := &ops{}
	db.SetPermit(told)
	return conformance.LedgerUnderTest{
		Claims: db, Campaigns: db, Stock: db, Told: told.told,
		Plant: func(_ *testing.T, statement string) { m.Do("SET SESSION check_constraint_checks = 0; " + statement) },
		Restart: func(t *testing.T) conformance.LedgerUnderTest {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return mariaUnderTest(t, m)
		},
	}
}
