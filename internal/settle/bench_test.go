package settle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
)

// BenchmarkQueueToLedger carries orders from the outbox on Redis to MariaDB, with an fsync at each commit: from the
// first receive to the last acknowledgement, the gate told of each. The last line is the baseline: one message, one
// transaction.
func BenchmarkQueueToLedger(b *testing.B) {
	for _, bench := range []struct {
		name     string
		orders   int
		batch    int
		settlers int
	}{
		{"settlers=1", 100_000, settle.MaxBatch, 1}, {"settlers=2", 100_000, settle.MaxBatch, 2},
		{"settlers=4", 100_000, settle.MaxBatch, 4}, {"one_message_one_transaction", 5_000, 1, 16},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				w := newWorld(b, servers.MariaDB(b).URL, func(c *sluice.Campaign) { c.Stock.Total = 1_000_000 })
				w.admit(w.claims(0, bench.orders), 256)
				var y tally
				b.StartTimer()
				began := time.Now()
				s := w.settler(w.ledger, settle.Config{MaxBatch: bench.batch, Settlers: bench.settlers, OnBatch: y.add})
				wait(b, "all are settled", 5*time.Minute, func() bool {
					return y.confirmed.Load() == int64(bench.orders) && s.InHand() == 0
				})
				took := time.Since(began)
				b.StopTimer()
				s.Stop()
				w.quiet(int64(bench.orders))
				b.ReportMetric(float64(bench.orders)/took.Seconds(), "orders/s")
				b.ReportMetric(float64(y.claims.Load())/float64(y.batches.Load()), "claims/tx")
				b.Log(fmt.Sprint(y.batches.Load(), " transactions"))
			}
		})
	}
}
