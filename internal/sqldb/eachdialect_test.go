package sqldb_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// opener opens the test's one database; where several servers may share it, each call is another server.
type opener func(t *testing.T, cfg sqldb.Config) *sqldb.DB

// onEach runs a test on every kind of database.
func onEach(t *testing.T, run func(t *testing.T, open opener)) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger.db")
		var first *sqldb.DB
		run(t, func(t *testing.T, cfg sqldb.Config) *sqldb.DB {
			if first == nil || first.Ended() {
				cfg.Path, cfg.CacheMB = path, 8
				first = openAt(t, cfg)
			}
			return first
		})
	})
	t.Run("mariadb", func(t *testing.T) {
		place := servers.MariaDB(t)
		run(t, func(t *testing.T, cfg sqldb.Config) *sqldb.DB {
			return openMySQL(t, sqldb.MySQLConfig{
				URL: place.URL, Remote: cfg.Remote, MaxTries: cfg.MaxTries, LostGrace: cfg.LostGrace, Now: cfg.Now,
				Doubt: cfg.Doubt, Around: cfg.Around,
			})
		})
	})
}

// eventually waits until ok says yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal(what + ": not within 10 s")
		}
	}
}

// priced is a campaign of ten, whose orders have to be paid.
func priced(id string) sluice.Campaign {
	return sluice.Campaign{ID: id, Stock: sluice.Stock{Total: 10}, Goods: sluice.Goods{PriceMinor: 100}}
}
