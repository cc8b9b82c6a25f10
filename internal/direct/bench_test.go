package direct_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/direct"
	"github.com/sluice-sale/sluice/internal/servers"
)

// BenchmarkAdmit has 512 clients claim at once, each claim a user's first: each is an order in MariaDB when it is
// answered.
func BenchmarkAdmit(b *testing.B) {
	n := startNode(b, servers.MariaDB(b).URL, direct.Config{})
	defer n.stop()
	c, err := n.db.CreateCampaign(b.Context(), sluice.Campaign{
		ID: "g", Kind: sluice.KindGoods, Title: "g", Stock: sluice.Stock{Total: sluice.MaxTotal}, PerUserLimit: 1,
		StartsAt: 1, EndsAt: 1 << 50, Control: sluice.ControlOpen,
		Goods: sluice.Goods{PriceMinor: 1, Currency: "CNY", UnpaidWindowSec: 900},
	}, operator, now())
	if err == nil {
		err = n.adm.Put(b.Context(), c)
	}
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range 512 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				d := n.adm.Admit(context.Background(), claimOf(fmt.Sprint("u", i), "r"))
				if d.Reason != sluice.ReasonConfirmed {
					b.Errorf("%+v", d)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}
