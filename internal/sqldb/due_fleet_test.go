package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// twoNodes opens one database from two servers, each with a permit that notes what it hears.
func twoNodes(t *testing.T) (nodes [2]*sqldb.DB, heard func() []sluice.PermitOp) {
	t.Helper()
	place := servers.MariaDB(t)
	var logs [2]*permitLog
	for i := range nodes {
		nodes[i], logs[i] = openMySQL(t, sqldb.MySQLConfig{URL: place.URL, Remote: true}), &permitLog{}
		nodes[i].SetPermit(logs[i])
	}
	return nodes, func() []sluice.PermitOp { return append(logs[0].released(), logs[1].released()...) }
}

// TestTwoNodesEndEveryOrderOnce: pay, cancel and expiry of the same orders, all at once and on both nodes.
func TestTwoNodesEndEveryOrderOnce(t *testing.T) {
	const orders = 120
	nodes, heard := twoNodes(t)
	create(t, nodes[0], sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: orders}, Goods: sluice.Goods{PriceMinor: 1}})
	ids := settleMany(t, nodes[0], "g", orders)
	const now = dueStart + 900_000
	var all sync.WaitGroup
	for i, id := range ids {
		for n, db := range nodes {
			all.Go(func() {
				for range 2 { // the payment side sends it again
					_, err := db.Pay(context.Background(), sluice.Payment{
						Reference: fmt.Sprint(i, "-", n), Order: id, AmountMinor: 1, Currency: "CNY", Status: sluice.PaymentSucceeded,
						Received: now,
					})
					if err != nil {
						t.Error("pay:", err)
					}
				}
			})
			all.Go(func() {
				_, err := db.CloseOrder(context.Background(), id, sluice.CloseCancelled, sluice.Actor{}, now)
				if err != nil && !errors.Is(err, sluice.ErrConflict) {
					t.Error("cancel:", err)
				}
			})
		}
	}
	for _, db := range nodes {
		all.Go(func() {
			for range 20 {
				if _, err := db.CloseDue(context.Background(), now, 16); err != nil {
					t.Error("expiry:", err)
				}
			}
		})
	}
	all.Wait()
	closed := map[sluice.ClaimID]bool{}
	for _, id := range ids {
		o := must(nodes[1].Order(t.Context(), id, now))
		if o.State == sluice.OrderClosed {
			closed[id] = true
		} else if o.State != sluice.OrderPaid {
			t.Errorf("%s is %s", id, o.State)
		}
		if !o.RefundDue { // two payments came: one at least has to go back
			t.Errorf("%s is %s and owes nothing", id, o.State)
		}
	}
	payments := must(nodes[0].Payments(t.Context(), sluice.PaymentQuery{Limit: 1000}))
	if len(payments.Items) != 2*orders {
		t.Errorf("%d payments are on record, want %d", len(payments.Items), 2*orders)
	}
	onceEach(t, "heard of by the nodes", heard(), closed)
	onceEach(t, "kept for other permits", must(nodes[0].PermitOps(t.Context(), "g", 0, 1000)), closed)
	if v := must(nodes[0].Verify(t.Context(), "g", nil)); !v.OK || v.Sold != int64(orders-len(closed)) || v.Held != 0 {
		t.Errorf("%d are closed: %+v", len(closed), v)
	}
}

// onceEach checks that exactly these claims are released, each once. Claims that were settled without an epoch also
// have a take.
func onceEach(t *testing.T, what string, list []sluice.PermitOp, want map[sluice.ClaimID]bool) {
	t.Helper()
	got := map[sluice.ClaimID]int{}
	for _, op := range list {
		if op.Kind == sluice.PermitRelease {
			got[op.Claim]++
		}
	}
	for id, n := range got {
		if n != 1 || !want[id] {
			t.Errorf("%s: %s is released %d times", what, id, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d are released, want %d", what, len(got), len(want))
	}
}

// TestTenThousandDueOnTwoNodes closes ten thousand orders that fall due at once from two nodes, while claims on the
// same campaign go on: each claim waits for a few pieces at most.
func TestTenThousandDueOnTwoNodes(t *testing.T) {
	const orders, claimers = 10_000, 4
	nodes, heard := twoNodes(t)
	million := sluice.Stock{Total: 1_000_000}
	create(t, nodes[0], sluice.Campaign{ID: "g", Stock: million, Goods: sluice.Goods{PriceMinor: 1}})
	want := map[sluice.ClaimID]bool{}
	for _, id := range settleMany(t, nodes[0], "g", orders) {
		want[id] = true
	}
	stop := make(chan struct{})
	var claims, sweeps sync.WaitGroup
	var mu sync.Mutex
	var waits []time.Duration
	for i := range claimers {
		claims.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				c := dueClaim("g", fmt.Sprint("v", i, "-", n), n)
				c.At += 3_600_000 // not due yet
				began := time.Now()
				if _, err := nodes[i%2].Settle(context.Background(), []sluice.Claim{c}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
			}
		})
	}
	var closed atomic.Int64
	began := time.Now()
	for _, db := range nodes {
		sweeps.Go(func() {
			for closed.Load() < orders {
				s, err := db.CloseDue(context.Background(), dueStart+900_000, 0)
				if err != nil {
					t.Error(err)
					return
				}
				closed.Add(int64(s.Done))
			}
		})
	}
	sweeps.Wait()
	took := time.Since(began)
	close(stop)
	claims.Wait()
	slices.Sort(waits)
	p50, p99, most := waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1]
	t.Logf("closed in %v; %d claims meanwhile waited %v, p99 %v, at most %v", took, len(waits), p50, p99, most)
	if most > 2*time.Second || took > 30*time.Second {
		t.Errorf("it took %v, and a claim waited %v", took, most)
	}
	onceEach(t, "heard of by the nodes", heard(), want)
	v := must(nodes[1].Verify(t.Context(), "g", nil))
	if !v.OK || v.Held != int64(len(waits)) {
		t.Errorf("%d claims, %+v", len(waits), v)
	}
}

// TestStatementsUseTheirIndexesOnMariaDB reads the plans of the statements that must not walk a table.
func TestStatementsUseTheirIndexesOnMariaDB(t *testing.T) {
	place := servers.MariaDB(t)
	db := openMySQL(t, sqldb.MySQLConfig{URL: place.URL})
	million := sluice.Stock{Total: 1_000_000}
	create(t, db, sluice.Campaign{ID: "g", Stock: million, Goods: sluice.Goods{PriceMinor: 1}})
	create(t, db, sluice.Campaign{ID: "k", Kind: sluice.KindCoupon, Stock: million})
	settleMany(t, db, "g", 4000)
	var coupons []sluice.Claim
	for i := range 1000 {
		c := dueClaim("k", fmt.Sprint("u", i), i)
		c.CouponCodes = []string{sluice.NewCouponCode()}
		coupons = append(coupons, c)
	}
	settleAll(t, db, coupons...)
	place.Do(`ANALYZE TABLE orders, coupons, payments, permit_ops`)
	for _, tc := range []struct{ query, uses string }{
		{`SELECT 1 FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id >= X'00' AND o.claim_id <= X'01'
			AND o.user_id = 'u' ORDER BY (o.created_ms << 20 | o.seq % 1048573) DESC LIMIT 9`, "orders_claim"},
		{`SELECT 1 FROM coupons o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id >= X'00' AND o.claim_id <= X'01'
			AND o.user_id = 'u' ORDER BY (o.created_ms << 20 | o.seq % 1048573) DESC LIMIT 9`, "coupons_claim"},
		{`SELECT 1 FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.refund_due = 1 AND o.seq < 99 << 32
			ORDER BY o.seq DESC LIMIT 9`, "orders_refund_due"},
		{`SELECT seq FROM orders WHERE state = 'unpaid' AND due_ms <= 9 AND campaign_no NOT IN (0, 0, 0, 0)
			ORDER BY due_ms LIMIT 256`, "orders_due"},
		{`SELECT due_ms FROM orders WHERE state = 'unpaid' AND campaign_no NOT IN (0, 0, 0, 0) ORDER BY due_ms LIMIT 1`,
			"orders_due"},
		{`SELECT seq FROM coupons WHERE state = 'issued' AND valid_until_ms <= 9 ORDER BY valid_until_ms LIMIT 256`,
			"coupons_expiry"},
		{`SELECT MIN(valid_until_ms) FROM coupons WHERE state = 'issued' AND valid_until_ms > 9`, ""},
		{`SELECT 1 FROM payments o WHERE o.claim_id = X'00'`, "payments_claim"},
		{`SELECT seq, due_ms FROM orders WHERE state = 'unpaid' ORDER BY due_ms LIMIT 2000`, "orders_due"},
	} {
		plan := place.Plan(tc.query)
		// MySQL joins two indexes for the few that are due a refund, and sorts those.
		sorts := tc.uses == "orders_claim" || tc.uses == "coupons_claim" || strings.Contains(plan, "index_merge")
		if !strings.Contains(plan, tc.uses) || strings.Contains(plan, "\tALL\t") ||
			strings.Contains(plan, "filesort") && !sorts {
			t.Errorf("%s\nplan: %s\nwant %s", tc.query, plan, tc.uses)
		}
	}
}
