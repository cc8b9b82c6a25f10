package sqldb_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// BenchmarkSettleMariaDB measures settling with several batches under way at once, every commit synced, as settlers do.
func BenchmarkSettleMariaDB(b *testing.B) {
	for _, size := range []int{256, 512, 1024} {
		for _, at := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("batch=%d/at-once=%d", size, at), func(b *testing.B) {
				db := benchMaria(b, at)
				settleAtOnce(b, db, size, at)
			})
		}
	}
}

// BenchmarkOneTransactionPerClaimMariaDB is the same with batches of one.
func BenchmarkOneTransactionPerClaimMariaDB(b *testing.B) {
	for _, at := range []int{16, 64} {
		b.Run(fmt.Sprintf("at-once=%d", at), func(b *testing.B) { settleAtOnce(b, benchMaria(b, at), 1, at) })
	}
}

func benchMaria(b *testing.B, at int) *sqldb.DB {
	db := openMySQL(b, sqldb.MySQLConfig{URL: servers.MariaDB(b).URL, Claims: at})
	create(b, db, sluice.Campaign{
		ID: "bench", Stock: sluice.Stock{Total: sluice.MaxTotal}, Goods: sluice.Goods{PriceMinor: 9900},
	})
	return db
}

// settleAtOnce settles b.N batches, so many at once.
func settleAtOnce(b *testing.B, db *sqldb.DB, size, at int) {
	var crowd crowd
	batches := make([][]sluice.Claim, b.N)
	for i := range batches {
		batches[i] = crowd.next(size)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	cpu := cpuTime()
	b.ResetTimer()
	for range at {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				out, err := db.Settle(context.Background(), batches[i-1])
				if err != nil {
					b.Error(err)
					return
				}
				for _, o := range out {
					if o.Reason != sluice.ReasonConfirmed || o.Replayed {
						b.Errorf("a claim came to %+v", o)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	claims := float64(b.N * size)
	b.ReportMetric(claims/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/1000/claims, "cpu-us/claim")
}
