package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

const dueStart sluice.Millis = 1_900_000_000_000

func dueClaim(campaign, user string, n int) sluice.Claim {
	request := fmt.Sprint(n)
	return sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
		RequestID: request, Quantity: 1, At: dueStart,
	}
}

// settleMany settles n claims of as many users, in batches.
func settleMany(t *testing.T, db *sqldb.DB, campaign string, n int) (ids []sluice.ClaimID) {
	t.Helper()
	for len(ids) < n {
		var batch []sluice.Claim
		for range min(1000, n-len(ids)) {
			c := dueClaim(campaign, fmt.Sprint("u", len(ids)), 1)
			c.Quantity, ids, batch = 1, append(ids, c.ID), append(batch, c)
		}
		settleAll(t, db, batch...)
	}
	return ids
}

// TestTenThousandOrdersDueAtOnce closes them with the expirer while claims go on, and counts transactions: no piece is
// larger than 256, each claim waits for one piece at most, and all units come back once.
func TestTenThousandOrdersDueAtOnce(t *testing.T) {
	const orders, claimers = 10_000, 4
	var inOneGo atomic.Int64 // background writes of one transaction, at most
	db := openAt(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "l.db"), CacheMB: 64})
	permit := &permitLog{}
	db.SetPermit(permit)
	due := create(t, db, sluice.Campaign{ID: "due", Stock: sluice.Stock{Total: orders},
		Goods: sluice.Goods{PriceMinor: 1}})
	live := create(t, db, sluice.Campaign{ID: "live", Stock: sluice.Stock{Total: 1_000_000},
		Goods: sluice.Goods{PriceMinor: 1}})
	settleMany(t, db, due.ID, orders)

	var claimed, pieces, closed atomic.Int64
	var once sync.Once
	done := make(chan struct{})
	expirer := upkeep.NewExpirer(upkeep.Config{
		Now: func() time.Time { return (dueStart + 900_000).Time() },
		OnPiece: func(s sluice.Sweep, err error) {
			if err != nil || s.Done > 256 {
				t.Errorf("a piece: %+v %v", s, err)
			}
			inOneGo.Store(max(inOneGo.Load(), int64(s.Done)))
			pieces.Add(1)
			if closed.Add(int64(s.Done)) >= orders || err != nil {
				once.Do(func() { close(done) })
			}
		},
	}, db)
	stop := make(chan struct{})
	var all sync.WaitGroup
	running := make(chan struct{}, claimers)
	for i := range claimers {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				c := dueClaim(live.ID, fmt.Sprint("v", i, "-", n), n)
				c.At += 3_600_000 // not due yet
				if _, err := db.Settle(context.Background(), []sluice.Claim{c}); err != nil {
					t.Error(err)
					return
				}
				if claimed.Add(1); n == 0 {
					running <- struct{}{}
				}
			}
		})
	}
	for range claimers {
		<-running
	}
	expirer.Start()
	<-done
	close(stop)
	all.Wait()
	expirer.Stop()

	if closed.Load() != orders {
		t.Errorf("closed %d orders", closed.Load())
	}
	if n := pieces.Load(); n < orders/256 || inOneGo.Load() > 256 {
		t.Errorf("%d pieces of up to %d", n, inOneGo.Load())
	}
	// Four claimers keep one claim waiting at every transaction: each transaction that closes a piece settles one
	// as well.
	if total := claimed.Load(); total < pieces.Load()/2 {
		t.Errorf("%d claims were settled while %d pieces were closed", total, pieces.Load())
	}
	allBackOnce(t, db, permit, due.ID, orders)
}

// allBackOnce checks that every one of n orders gave its unit back, once.
func allBackOnce(t *testing.T, db *sqldb.DB, permit *permitLog, campaign string, n int) {
	t.Helper()
	c, err := db.Campaign(t.Context(), campaign)
	if err != nil || c.Stock.Held != 0 || c.Stock.Sold != 0 {
		t.Fatalf("after the expiry: %+v %v", c.Stock, err)
	}
	back := map[sluice.ClaimID]int{}
	for _, op := range permit.released() {
		back[op.Claim]++
	}
	if len(back) != n || len(permit.released()) != n {
		t.Fatalf("%d claims gave back, in %d releases", len(back), len(permit.released()))
	}
}

// failing makes the next commit fail: 1 means that it is refused, 2 that it is done and the answer is lost.
func failing(fail *atomic.Int32, err error) func(string, func() error) error {
	return func(step string, do func() error) error {
		if step != sqldb.StepCommit {
			return do()
		}
		switch fail.Swap(0) {
		case 1:
			return err
		case 2:
			if failed := do(); failed != nil {
				return failed
			}
			return err
		}
		return do()
	}
}

// TestCloseUnderFailedCommits gives a unit back once, whatever becomes of the commits that close its order.
func TestCloseUnderFailedCommits(t *testing.T) { onEach(t, closeUnderFailedCommits) }

func closeUnderFailedCommits(t *testing.T, open opener) {
	errCommit := errors.New("the commit failed")
	var fail atomic.Int32
	db := open(t, sqldb.Config{Around: failing(&fail, errCommit)})
	for _, way := range []struct {
		name string
		step func(id sluice.ClaimID) error
		want sluice.OrderState
		back int
	}{
		{"cancel", func(id sluice.ClaimID) error {
			_, err := db.CloseOrder(t.Context(), id, sluice.CloseCancelled, sluice.Actor{}, dueStart)
			return err
		}, sluice.OrderClosed, 1},
		{"expiry", func(sluice.ClaimID) error {
			_, err := db.CloseDue(t.Context(), dueStart+900_000, 0)
			return err
		}, sluice.OrderClosed, 1},
		{"pay", func(id sluice.ClaimID) error {
			_, err := db.Pay(t.Context(), sluice.Payment{Reference: id.String(), Order: id, AmountMinor: 1,
				Currency: "CNY",
				Status:   sluice.PaymentSucceeded, Received: dueStart})
			return err
		}, sluice.OrderPaid, 0},
	} {
		for how := int32(1); how <= 2; how++ {
			t.Run(fmt.Sprint(way.name, " ", how), func(t *testing.T) {
				permit := &doubtfulPermit{}
				db.SetPermit(permit)
				c := create(t, db, sluice.Campaign{
					ID: fmt.Sprint(way.name, how), Stock: sluice.Stock{Total: 5}, Goods: sluice.Goods{PriceMinor: 1},
				})
				id := settleMany(t, db, c.ID, 1)[0]
				fail.Store(how)
				if err := way.step(id); !errors.Is(err, sluice.ErrUncertain) || !errors.Is(err, errCommit) {
					t.Fatalf("a failed commit: %v", err)
				}
				if len(permit.released()) != 0 {
					t.Fatalf("the permit was told of %v", permit.released())
				}
				if doubts := permit.inDoubt(); way.back > 0 && (len(doubts) != 1 || doubts[0] != c.ID) {
					t.Fatalf("in doubt: %v", doubts)
				}
				if err := way.step(id); err != nil {
					t.Fatalf("again: %v", err)
				}
				o, err := db.Order(t.Context(), id, dueStart)
				if err != nil || o.State != way.want || o.RefundDue {
					t.Fatalf("the order: %+v %v", o, err)
				}
				// After a lost answer the permit reads the ledger, and hears of the release no second time.
				want := way.back
				if how == 2 {
					want = 0
				}
				if n := len(permit.released()); n != want {
					t.Fatalf("%d releases, want %d", n, want)
				}
				k, err := db.Campaign(t.Context(), c.ID)
				if live := k.Stock.Held + k.Stock.Sold; err != nil || live != 1-int64(way.back) {
					t.Fatalf("the counters: %+v %v", k.Stock, err)
				}
			})
		}
	}
}

// doubtfulPermit notes what is in doubt as well.
type doubtfulPermit struct {
	permitLog
	doubts []string
}

func (p *doubtfulPermit) Uncertain(campaigns []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubts = append(p.doubts, campaigns...)
}

func (p *doubtfulPermit) inDoubt() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doubts
}

// TestABrokenCampaignHoldsUpNoOther plants wrong counters: the steps that they forbid are undone and told, the
// orders of other campaigns close on time.
func TestABrokenCampaignHoldsUpNoOther(t *testing.T) { onEach(t, brokenCampaignHoldsUpNoOther) }

func brokenCampaignHoldsUpNoOther(t *testing.T, open opener) {
	var doubted atomic.Int64
	db := open(t, sqldb.Config{Doubt: func(campaign, _ string) {
		if campaign != "broken" {
			t.Error("in doubt:", campaign)
		}
		doubted.Add(1)
	}})
	broken := create(t, db, sluice.Campaign{ID: "broken", Stock: sluice.Stock{Total: 9},
		Goods: sluice.Goods{PriceMinor: 1}})
	sound := create(t, db, sluice.Campaign{ID: "sound", Stock: sluice.Stock{Total: 9},
		Goods: sluice.Goods{PriceMinor: 1}})
	id := settleMany(t, db, broken.ID, 5)[0]
	settleMany(t, db, sound.ID, 5)
	if err := db.Plant(t.Context(), `UPDATE campaigns SET held = 0 WHERE id = 'broken'`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CloseOrder(t.Context(), id, sluice.CloseCancelled, sluice.Actor{}, dueStart); !errors.Is(err,
		sluice.ErrUnavailable) {
		t.Fatalf("cancel: %v", err)
	}
	s, err := db.CloseDue(t.Context(), dueStart+900_000, 0)
	if err != nil || s.Done != 5 || s.Next != 0 || doubted.Load() != 2 {
		t.Fatalf("close what is due: %+v %v, %d doubts", s, err, doubted.Load())
	}
	if o, err := db.Order(t.Context(), id, dueStart); err != nil || o.State != sluice.OrderUnpaid {
		t.Fatalf("the order: %+v %v", o, err)
	}
}

// TestSearchesUseTheirIndexes reads the plans of the statements that must not walk a table.
func TestSearchesUseTheirIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	_ = openAt(t, sqldb.Config{Path: path, CacheMB: 8})
	raw, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for _, tc := range []struct{ query, uses string }{
		{`SELECT 1 FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id >= x'00' AND o.claim_id <= x'ff'
			AND o.user_id = 'u' AND (o.created_ms << 20 | o.seq % 1048573) < 9
			ORDER BY (o.created_ms << 20 | o.seq % 1048573) DESC LIMIT 9`, "orders_claim"},
		{`SELECT 1 FROM coupons o JOIN campaigns c ON c.no = o.campaign_no WHERE o.claim_id >= x'00' AND o.claim_id <= x'ff'
			AND o.user_id = 'u' AND (o.created_ms << 20 | o.seq % 1048573) < 9
			ORDER BY (o.created_ms << 20 | o.seq % 1048573) DESC LIMIT 9`, "coupons_claim"},
		{`SELECT 1 FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE o.refund_due = 1 AND o.seq < 9 AND o.seq > 0
			ORDER BY o.seq DESC LIMIT 9`, "orders_refund_due"},
		{`SELECT 1 FROM orders WHERE state = 'unpaid' AND due_ms <= 9 AND campaign_no NOT IN (0, 0, 0, 0)
			ORDER BY due_ms LIMIT 256`, "orders_due"},
		{`SELECT due_ms FROM orders WHERE state = 'unpaid' AND campaign_no NOT IN (0, 0, 0, 0) ORDER BY due_ms LIMIT 1`,
			"orders_due"},
		{`SELECT 1 FROM coupons WHERE state IN ('issued', 'locked') AND valid_until_ms <= 9
			AND (state = 'issued' OR locked_until_ms <= 9) ORDER BY valid_until_ms LIMIT 256`, "coupons_expiry"},
		{`SELECT MIN(valid_until_ms) FROM coupons WHERE state IN ('issued', 'locked') AND valid_until_ms > 9`,
			"coupons_expiry"},
		{`SELECT 1 FROM payments o WHERE o.claim_id = x'00' AND +o.seq < 9 ORDER BY +o.seq DESC LIMIT 9`, "payments_claim"},
		{`DELETE FROM funnel_buckets WHERE (campaign_no, start_ms, width_ms) IN
			(SELECT b.campaign_no, b.start_ms, b.width_ms FROM campaigns c
			CROSS JOIN funnel_buckets b ON b.campaign_no = c.no AND b.start_ms < 9 LIMIT 9)`, "campaign_no=? AND start_ms<?"},
	} {
		rows, err := raw.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+tc.query)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		_ = rows.Close()
		if got := strings.Join(plan, "; "); !strings.Contains(got, tc.uses) || strings.Contains(got, "SCAN o ;") {
			t.Errorf("%s\nplan: %s\nwant %s", tc.query, got, tc.uses)
		}
	}
}
