package sqldb_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
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
		Plant: func(_ *testing.T, statement string) { m.Plant(statement) },
		Restart: func(t *testing.T) conformance.LedgerUnderTest {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return mariaUnderTest(t, m)
		},
	}
}

// A user id is any text of a token that was signed, also where it travels inside a statement.
func TestOddUsersOnMariaDB(t *testing.T) {
	db := openMySQL(t, sqldb.MySQLConfig{URL: servers.MariaDB(t).URL})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 100}})
	users := []string{"a\x00b", "a\x00c", "a", "A", "\u00e4", "a\u0308", " a", "a ",
		"'; DROP TABLE orders; --", `a\`, `a\'`,
		`"`, "a?b", "?1", "\xff\xfe", "😀", "\x1a\r\n", strings.Repeat("長", 21)}
	var batch []sluice.Claim
	for _, user := range users {
		batch = append(batch, goods("g", user, user+"r"))
	}
	for try := range 2 {
		out, err := db.Settle(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range out {
			if o.Reason != sluice.ReasonConfirmed || o.Replayed != (try == 1) {
				t.Errorf("user %q, try %d: %+v", users[i], try, o)
			}
		}
	}
	for _, user := range users {
		list, err := db.UserClaims(t.Context(), user, "g")
		if err != nil || len(list) != 1 || list[0].User != user || list[0].RequestID != user+"r" {
			t.Errorf("claims of %q: %+v %v", user, list, err)
		}
	}
	if v, err := db.Verify(t.Context(), "g", nil); err != nil || !v.OK || v.Held+v.Sold != int64(len(users)) {
		t.Errorf("%+v %v", v, err)
	}
}

// TestLongTextsOnMariaDB: a row that does not fit its columns fails alone, and is not cut to fit.
func TestLongTextsOnMariaDB(t *testing.T) {
	db := openMySQL(t, sqldb.MySQLConfig{URL: servers.MariaDB(t).URL})
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 2}})
	long := goods("g", "b", strings.Repeat("x", 129))
	out, err := db.Settle(t.Context(), []sluice.Claim{
		goods("g", "a", "1"), long, goods("g", "c", "1"), goods("g", "d", "1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonUnavailable, sluice.ReasonConfirmed,
		sluice.ReasonSoldOut} {
		if out[i].Reason != want {
			t.Errorf("claim %d: %+v, want %v", i, out[i], want)
		}
	}
	if v, err := db.Verify(t.Context(), "g", nil); err != nil || !v.OK || v.Held+v.Sold != 2 {
		t.Errorf("%+v %v", v, err)
	}
}

// TestMySQLURL refuses what it would misread, and shows nobody the password.
func TestMySQLURL(t *testing.T) {
	for _, url := range []string{
		"mysql://u:secret@h:1", "mysql://u:secret@h:1/", "mysql://u:secret@h:1/a/b", "mysql://u:secret@h/a?loc=UTC",
		"mysql://u:secret@h/a?tls=yes", "mysql://u:secret@h:port/a", "postgres://u:secret@h/a", "mysql://u:sec%ret@h/a", "",
	} {
		_, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: url})
		if !errors.Is(err, sluice.ErrInvalid) || strings.Contains(fmt.Sprint(err), "sec") {
			t.Errorf("%q: %v", url, err)
		}
	}
	_, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: "mysql://u:secret@127.0.0.1:1/a"})
	if !errors.Is(err, sluice.ErrUnavailable) || strings.Contains(fmt.Sprint(err), "sec") {
		t.Errorf("nobody there: %v", err)
	}
	db := openMySQL(t, sqldb.MySQLConfig{URL: servers.MariaDB(t).URL})
	if err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "b"), nil); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("backup: %v", err)
	}
}
