package sqldb_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// openAt opens a ledger and closes it when the test ends.
func openAt(tb testing.TB, cfg sqldb.Config) *sqldb.DB {
	tb.Helper()
	db, err := sqldb.Open(tb.Context(), cfg)
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

// create makes an open campaign of c; what c leaves out has usable values.
func create(tb testing.TB, db *sqldb.DB, c sluice.Campaign) sluice.Campaign {
	tb.Helper()
	if c.Kind == "" {
		c.Kind = sluice.KindGoods
	}
	c.Control, c.StartsAt, c.EndsAt = sluice.ControlOpen, 1, 1<<50
	c.PerUserLimit = max(c.PerUserLimit, 1)
	if c.Kind == sluice.KindGoods {
		c.Goods.UnpaidWindowSec, c.Goods.Currency, c.Goods.LimitBackOnClose = 900, "CNY", true
	} else {
		c.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 100, Currency: "CNY", ValidDays: 7}
	}
	c, err := db.CreateCampaign(tb.Context(), c, sluice.Actor{Name: "test"}, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
