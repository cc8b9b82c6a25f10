package direct_test

import (
	"context"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/direct"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// faulty is a real ledger whose next calls of Admit fail as a test says.
type faulty struct {
	*sqldb.DB
	mu    sync.Mutex
	fails []fault
	calls int
	hold  chan struct{} // while it is there Admit waits for it to be closed
}

// fault fails one call; done says that the work was done all the same.
type fault struct {
	err  error
	done bool
}

// Admit decides, or fails.
func (f *faulty) Admit(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	f.mu.Lock()
	f.calls++
	hold := f.hold
	var now fault
	if len(f.fails) > 0 {
		now, f.fails = f.fails[0], f.fails[1:]
	}
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if now.err != nil && !now.done {
		return nil, now.err
	}
	out, err := f.DB.Admit(ctx, claims)
	if now.err != nil {
		return nil, now.err
	}
	return out, err
}

// openFaulty makes a campaign of so many units on a ledger that can fail, and an admission over it.
func openFaulty(t *testing.T, stock int64, cfg direct.Config) (*faulty, *direct.Admission) {
	t.Helper()
	db, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: servers.MariaDB(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{DB: db}
	adm := direct.New(cfg, f, f)
	t.Cleanup(func() {
		adm.Close()
		_ = db.Close()
	})
	if err := adm.Put(t.Context(), campaignOf(t, db, stock)); err != nil {
		t.Fatal(err)
	}
	return f, adm
}

// campaignOf creates the open campaign "g".
func campaignOf(t *testing.T, db *sqldb.DB, stock int64) sluice.Campaign {
	t.Helper()
	c, err := db.CreateCampaign(t.Context(), sluice.Campaign{
		ID: "g", Kind: sluice.KindGoods, Title: "g", Stock: sluice.Stock{Total: stock}, PerUserLimit: 1, StartsAt: 1,
		EndsAt: 1 << 50, Control: sluice.ControlOpen,
		Goods: sluice.Goods{PriceMinor: 1, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
	}, operator, now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func claimOf(user, request string) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID("g", user, sluice.SourceClaim, request), Campaign: "g", User: user, RequestID: request,
		Quantity: 1, At: now(),
	}
}
