package settle_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
)

// rows counts the rows of a campaign's orders.
func (w *world) rows() int64 {
	w.t.Helper()
	c, err := w.ledger.Campaign(w.t.Context(), w.campaign.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Stock.Held + c.Stock.Sold
}

// TestSettlerKilledInMidBatch is pitfall 7 (acked, then lost): a settler's process is killed again and again, with
// SIGKILL, while it settles. What it had in hand comes to the next one; nothing is lost, nothing is doubled.
func TestSettlerKilledInMidBatch(t *testing.T) {
	w := newWorld(t, servers.MariaDB(t).URL, func(c *sluice.Campaign) { c.Shards = 2 })
	w.admit(w.claims(0, 6000), 100)
	for round := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|killed %d", helperEnv, w.server.URL(), w.url, round))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		before := w.rows()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("the helper says %q: %v", line, err)
		}
		wait(t, "the helper settles", 30*time.Second, func() bool { return w.rows() > before })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		w.admit(w.claims(6000+500*round, 500), 50)
	}
	if left := 7500 - w.rows(); left == 0 {
		t.Fatal("nothing was left to be taken over: the test tests nothing")
	}
	w.settler(w.ledger, settle.Config{})
	w.quiet(7500)
	w.eachOnce(w.admitted)
}

// TestAnswersOfCommitsGetLost: between settler and ledger replies vanish while the work is done. The settler neither
// counts that as a failure of claims nor settles anything twice.
func TestAnswersOfCommitsGetLost(t *testing.T) {
	m := servers.MariaDB(t)
	w := newWorld(t, m.URL, nil)
	proxy := servers.Proxy(t, m.Addr)
	w.admit(w.claims(0, 3000), 100)
	var y tally
	through := w.open(replaceHost(m.URL, m.Addr, proxy.Addr), time.Second)
	s := w.settler(through, settle.Config{MaxBatch: 100, OnBatch: y.add})
	for round := range 3 {
		before := w.rows()
		wait(t, "some are settled", 30*time.Second, func() bool { return w.rows() > before })
		proxy.LoseReplies()
		wait(t, "the settler waits", 30*time.Second, s.Paused)
		proxy.Restore()
		w.admit(w.claims(3000+1000*round, 1000), 100)
	}
	w.quiet(6000)
	w.eachOnce(w.admitted)
	if y.failed.Load() != 0 {
		t.Errorf("%d claims failed by themselves", y.failed.Load())
	}
	if n, _, err := w.ledger.DeadLetterCount(t.Context()); err != nil || n != 0 {
		t.Errorf("%d dead letters, %v", n, err)
	}
}

func replaceHost(url, from, to string) string {
	for i := 0; i+len(from) <= len(url); i++ {
		if url[i:i+len(from)] == from {
			return url[:i] + to + url[i+len(from):]
		}
	}
	return url
}

// TestLedgerAwayForFiveSeconds: admission goes on, settling waits, nothing is acknowledged or counted, and afterwards
// everything is there.
func TestLedgerAwayForFiveSeconds(t *testing.T) {
	m := servers.OwnMariaDB(t, "")
	w := newWorld(t, m.URL, nil)
	w.admit(w.claims(0, 1000), 50)
	var y tally
	s := w.settler(w.open(m.URL, time.Second), settle.Config{OnBatch: y.add})
	wait(t, "some are settled", 30*time.Second, func() bool { return y.confirmed.Load() > 0 })
	m.Kill9()
	down := time.Now()
	w.admit(w.claims(1000, 2000), 50)
	wait(t, "the settler waits", 10*time.Second, s.Paused)
	if wait := s.Typical(); wait <= 0 {
		t.Errorf("the typical wait is %v while the ledger is away", wait)
	}
	select {
	case <-time.After(time.Until(down.Add(5 * time.Second))):
	case <-t.Context().Done():
	}
	if backlog := w.server.Do("XLEN", w.client.OutboxKey(&w.campaign, 0)); backlog == "0" {
		t.Error("nothing waits in the outbox while the ledger is away")
	}
	m.Start()
	w.quiet(3000)
	w.eachOnce(w.admitted)
	if y.failed.Load() != 0 {
		t.Errorf("%d claims failed by themselves", y.failed.Load())
	}
	if n, _, err := w.ledger.DeadLetterCount(t.Context()); err != nil || n != 0 {
		t.Errorf("%d dead letters, %v", n, err)
	}
	if s.Paused() {
		t.Error("the settler still waits")
	}
}

// TestCouponsHaveTheirCodes: the settler draws them, and a claim that is settled twice keeps its first ones.
func TestCouponsHaveTheirCodes(t *testing.T) {
	w := newWorld(t, servers.MariaDB(t).URL, func(c *sluice.Campaign) {
		c.Kind, c.Goods = sluice.KindCoupon, sluice.Goods{}
		c.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 100, Currency: "CNY", ValidDays: 7}
	})
	claims := w.claims(0, 200)
	for i := range claims {
		claims[i].Quantity = 1 + i%3
	}
	w.admit(claims, 50)
	s := w.settler(w.ledger, settle.Config{MaxBatch: 20})
	w.quiet(200 + 66 + 133)
	first, err := w.ledger.ClaimRecord(t.Context(), claims[2].ID)
	if err != nil || len(first.CouponCodes) != 3 {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := s.Drive(t.Context(), claims); err != nil {
		t.Fatal(err)
	}
	wait(t, "they are settled again", 10*time.Second, func() bool { return s.InHand() == 0 })
	again, err := w.ledger.ClaimRecord(t.Context(), claims[2].ID)
	if err != nil || fmt.Sprint(again.CouponCodes) != fmt.Sprint(first.CouponCodes) {
		t.Errorf("codes %v, then %v, %v", first.CouponCodes, again.CouponCodes, err)
	}
	w.quiet(200 + 66 + 133)
}
