package sqldb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// benchLedger opens a ledger with a campaign that holds so many claims already. A ledger that holds any is kept under
// SLUICE_BENCH_DIR between runs, since filling it takes longer than measuring.
func benchLedger(b *testing.B, rows int) (*sqldb.DB, *crowd) {
	b.Helper()
	dir := b.TempDir()
	if keep := os.Getenv("SLUICE_BENCH_DIR"); keep != "" && rows > 0 {
		dir = filepath.Join(keep, strconv.Itoa(rows))
	}
	path := filepath.Join(dir, "ledger.db")
	db := openAt(b, sqldb.Config{Path: path})
	if _, err := db.Campaign(b.Context(), "bench"); errors.Is(err, sluice.ErrNotFound) {
		stock := sluice.Stock{Total: sluice.MaxTotal}
		create(b, db, sluice.Campaign{ID: "bench", Stock: stock, Goods: sluice.Goods{PriceMinor: 9900}})
		if rows > 0 {
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
			fill(b, path, rows)
			db = openAt(b, sqldb.Config{Path: path})
		}
	} else if err != nil {
		b.Fatal(err)
	}
	c, err := db.Campaign(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return db, &crowd{n: int(c.Stock.Held)}
}

// fill writes rows past the ledger, in the same shape and with ids as random as hashes are, so that the index is
// left as a sale would leave it.
func fill(b *testing.B, path string, rows int) {
	b.Helper()
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=cache_size(-1048576)&_pragma=synchronous(OFF)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for _, statement := range []string{
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO orders (seq, claim_id, limit_no, user_id, request_id, quantity, amount_minor, state, live_units,
			limit_units, created_ms, due_ms)
			SELECT 1 << 32 | i, randomblob(20), 1, printf('user-%%08d', i), printf('req-%%016x', i), 1, 9900, 'unpaid', 1, 1,
			1800000000000 + i / 50, 1800000900000 + i / 50 FROM n`,
		`UPDATE campaigns SET held = %d`,
		`UPDATE campaigns SET claims = %d`,
	} {
		if _, err := raw.ExecContext(b.Context(), fmt.Sprintf(statement, rows)); err != nil {
			b.Fatal(err)
		}
	}
}

// crowd makes claims of ever new users.
type crowd struct{ n int }

func (c *crowd) next(batch int) []sluice.Claim {
	claims := make([]sluice.Claim, batch)
	for i := range claims {
		c.n++
		user, request := fmt.Sprintf("user-%08d", c.n), fmt.Sprintf("req-%016x", c.n)
		claims[i] = sluice.Claim{
			ID: sluice.NewClaimID("bench", user, sluice.SourceClaim, request), Campaign: "bench", User: user,
			RequestID: request, Quantity: 1, At: sluice.Millis(1_800_000_000_000 + c.n/50),
		}
	}
	return claims
}

// BenchmarkSettle measures the writer alone: the claims are made before, nothing but the ledger runs.
func BenchmarkSettle(b *testing.B) {
	rows, _ := strconv.Atoi(os.Getenv("SLUICE_BENCH_ROWS"))
	for _, batch := range []int{512, 1024} {
		b.Run(fmt.Sprintf("rows=%d/batch=%d", rows, batch), func(b *testing.B) {
			db, crowd := benchLedger(b, rows)
			settle(b, db, crowd, batch)
		})
	}
}

// BenchmarkOneTransactionPerClaim is the baseline of BenchmarkSettle: the same store, each claim with a commit of its
// own.
func BenchmarkOneTransactionPerClaim(b *testing.B) {
	db, crowd := benchLedger(b, 0)
	settle(b, db, crowd, 1)
}

// BenchmarkLoad measures reading a campaign's claims back, as a restart does.
func BenchmarkLoad(b *testing.B) {
	rows, _ := strconv.Atoi(os.Getenv("SLUICE_BENCH_ROWS"))
	rows = max(rows, 200_000)
	db, _ := benchLedger(b, rows)
	read, cpu := 0, time.Duration(0)
	for b.Loop() {
		before := cpuTime()
		err := db.Load(b.Context(), "bench", nil, func(list []sluice.ClaimRow) error {
			read += len(list)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime() - before
	}
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/1000/float64(read), "cpu-us/claim")
}

func settle(b *testing.B, db *sqldb.DB, crowd *crowd, batch int) {
	b.ReportAllocs()
	claims, cpu := 0, time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		next := crowd.next(batch)
		before := cpuTime()
		b.StartTimer()
		out, err := db.Settle(b.Context(), next)
		if err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime() - before
		for _, o := range out {
			if o.Reason != sluice.ReasonConfirmed || o.Replayed {
				b.Fatalf("a claim came to %v", o)
			}
		}
		claims += batch
	}
	b.ReportMetric(float64(claims)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/1000/float64(claims), "cpu-us/claim")
}

// cpuTime is what the process used so far: unlike the wall clock it says the same on a busy machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
