package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func TestGlanceAndUnpaid(t *testing.T) { onEach(t, glanceAndUnpaid) }

func glanceAndUnpaid(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	db.SetPermit(&permitLog{})
	create(t, db, sluice.Campaign{ID: "spring", Stock: sluice.Stock{Total: 10},
		Goods: sluice.Goods{PriceMinor: 100}})
	create(t, db, sluice.Campaign{ID: "other", Stock: sluice.Stock{Total: 10}, Goods: sluice.Goods{PriceMinor: 100}})
	one, two := dueClaim("spring", "u1", 1), dueClaim("spring", "u2", 1)
	two.At += 25_000
	settleAll(t, db, one, two, dueClaim("other", "u1", 1))
	looked := false
	c, err := db.Glance(ctx, "spring", func() { looked = true })
	if err != nil || !looked || c.Stock.Held != 2 || c.Stock.Total != 10 {
		t.Errorf("%+v, looked %v, %v", c.Stock, looked, err)
	}
	if _, err := db.Glance(ctx, "none", func() {}); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("no such campaign: %v", err)
	}
	u, err := db.Unpaid(ctx, "spring", dueStart+850_000)
	first := one.At + 900_000 // the window that create sets
	if err != nil || u.Orders != 2 || u.Units != 2 || u.NextAt != first || u.Minute != 1 || len(u.Waves) != 2 ||
		u.Waves[0] != (sluice.UnpaidWave{At: first - first%sluice.UnpaidWaveWidth, Units: 1}) || u.Stopped {
		t.Errorf("%+v %v", u, err)
	}
	down := sluice.SwitchSetting{Name: sluice.SwitchPaymentsDown, Value: 1, Set: true, At: dueStart + 1}
	if _, err := db.SetSwitch(ctx, down, operator); err != nil {
		t.Fatal(err)
	}
	if u, err := db.Unpaid(ctx, "spring", dueStart+10_000); err != nil || !u.Stopped || u.NextAt != 0 || u.Units != 2 {
		t.Errorf("while payments are marked down: %+v %v", u, err)
	}
}
