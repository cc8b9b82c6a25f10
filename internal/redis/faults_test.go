package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// goods is a campaign that is on sale now.
func goods(id string, total int64, limit int) sluice.Campaign {
	c := aSale(id, limit)
	c.Title, c.Stock.Total = "a campaign", total
	c.Goods = sluice.Goods{SKU: "sku", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true}
	return c
}

// hasty has calls given up soon.
func hasty(cfg *redis.AdmissionConfig, _ *redis.AdmissionDeps) {
	cfg.CallTime, cfg.MaxWait = 200*time.Millisecond, time.Second
}

// insist claims as a client does who wants to know: again, with the same id, until it is decided.
func insist(n *node, claim sluice.Claim, within time.Duration) (d sluice.Decision) {
	eventually(within, func() bool {
		d = n.Admit(context.Background(), claim)
		return d.Reason != sluice.ReasonBusy && d.Reason != sluice.ReasonUnavailable
	})
	return d
}

// TestFaultsBetweenAdmissionAndRedis breaks the connection in the middle of a crowd. Whatever happens, everybody who
// asks again hears an answer that holds, and no unit is stranded.
func TestFaultsBetweenAdmissionAndRedis(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault func(*servers.RedisServer, *servers.FaultProxy)
		end   func(*servers.RedisServer, *servers.FaultProxy)
	}{
		{"replies are lost after the work was done",
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.LoseReplies() },
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.Restore() }},
		{"requests are lost",
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.LoseRequests() },
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.Restore() }},
		{"connections are cut",
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.Cut() },
			func(_ *servers.RedisServer, p *servers.FaultProxy) { p.Restore() }},
		{"the server is frozen",
			func(s *servers.RedisServer, _ *servers.FaultProxy) { s.Freeze() },
			func(s *servers.RedisServer, _ *servers.FaultProxy) { s.Thaw() }},
	} {
		for _, shards := range []int{1, 4} {
			t.Run(fmt.Sprint(tc.name, ", shards ", shards), func(t *testing.T) {
				server := servers.Redis(t)
				proxy := servers.Proxy(t, server.Addr)
				s := newSite(t, "redis://"+proxy.Addr+"/0", shards)
				n := s.open(t, "n1", hasty)
				n.create(t, goods("c", 60, 1))
				var broken sync.WaitGroup
				broken.Go(func() {
					for range 2 {
						<-time.After(100 * time.Millisecond)
						tc.fault(server, proxy)
						<-time.After(700 * time.Millisecond)
						tc.end(server, proxy)
					}
				})
				answers := crowdOf(n, "c", 200, 30*time.Second)
				broken.Wait()
				holds(t, n, "c", answers, 60)
			})
		}
	}
}

// crowdOf has so many users claim at once, spread over a second, and gives what each heard at last.
func crowdOf(n *node, campaign string, users int, within time.Duration) map[string]sluice.Decision {
	var mu sync.Mutex
	answers := map[string]sluice.Decision{}
	var all sync.WaitGroup
	for i := range users {
		all.Go(func() {
			<-time.After(time.Duration(i) * time.Second / time.Duration(users))
			u := fmt.Sprint("u", i)
			d := insist(n, claimOf(campaign, u, "r", 1), within)
			mu.Lock()
			answers[u] = d
			mu.Unlock()
		})
	}
	all.Wait()
	return answers
}

// holds checks each answer against the rows, and the sum of all of them against gate and ledger.
func holds(t *testing.T, n *node, campaign string, answers map[string]sluice.Decision, stock int64) {
	t.Helper()
	won := int64(0)
	for u, d := range answers {
		switch d.Reason {
		case sluice.ReasonQueued, sluice.ReasonConfirmed:
			won++
		case sluice.ReasonSoldOut:
		default:
			t.Errorf("%s heard %v at last", u, d.Reason)
		}
	}
	if won != stock {
		t.Errorf("%d heard that they have one of %d units", won, stock)
	}
	n.exact(t, campaign, stock)
	var ids []sluice.ClaimID
	for u := range answers {
		ids = append(ids, claimOf(campaign, u, "r", 1).ID)
	}
	rows, err := n.db.ClaimRecords(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for u, d := range answers {
		rec, there := rows[claimOf(campaign, u, "r", 1).ID]
		if there != d.Reason.Admitted() || there && rec.State != sluice.ClaimConfirmed {
			t.Errorf("%s heard %v, and the ledger has %v %v", u, d.Reason, there, rec.State)
		}
	}
}

// TestALostGateIsNoticedAndNobodyIsForgotten takes away what Redis knew while nothing is settled. It is noticed within
// two seconds, the gates are armed anew, everybody who heard QUEUED has the unit, and the rest can be bought.
func TestALostGateIsNoticedAndNobodyIsForgotten(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(s *servers.RedisServer, old string)
	}{
		{"FLUSHALL", func(s *servers.RedisServer, _ string) { s.FlushAll() }},
		{"restarted empty", func(s *servers.RedisServer, _ string) { s.Kill9(); s.Empty(); s.Start() }},
		{"restored from an old snapshot", func(s *servers.RedisServer, old string) { s.Kill9(); s.Restore(old); s.Start() }},
		{"restarted with all it had", func(s *servers.RedisServer, _ string) { s.Stop(); s.Start() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := servers.Redis(t, servers.With("appendfsync", "always"))
			s := newSite(t, server.URL(), 1)
			n := s.open(t, "n1", hasty)
			n.create(t, goods("c", 10, 1))
			n.hush(true)
			promise := func(from, to int) {
				t.Helper()
				for i := from; i < to; i++ {
					d := insist(n, claimOf("c", fmt.Sprint("u", i), "r", 1), 5*time.Second)
					if d.Reason != sluice.ReasonQueued {
						t.Fatalf("u%d: %v", i, d.Reason)
					}
				}
			}
			promise(0, 3)
			old := server.Snapshot()
			promise(3, 7)
			before := len(n.told())
			epoch, _ := n.Campaign("c")
			tc.lose(server, old)
			if !eventually(2*time.Second, func() bool { return len(n.told()) > before }) {
				t.Fatal("nobody noticed")
			}
			if !eventually(10*time.Second, func() bool {
				is, _ := n.Campaign("c")
				armed, err := n.rearm.Armed(t.Context(), is)
				return is.Epoch > epoch.Epoch && armed && err == nil
			}) {
				t.Fatal("it was not armed again")
			}
			n.hush(false)
			answers := crowdOf(n, "c", 20, 20*time.Second) // the seven among them, who hear that they have theirs
			for i := range 7 {
				if d := answers[fmt.Sprint("u", i)]; !d.Reason.Admitted() {
					t.Errorf("u%d was told QUEUED and then %v", i, d.Reason)
				}
			}
			holds(t, n, "c", answers, 10)
		})
	}
}

// TestARestartOfEverythingIsNoticed takes node and Redis down together, as a power cut does: nobody is left who
// knew the server before, and what Redis comes back with looks whole.
func TestARestartOfEverythingIsNoticed(t *testing.T) {
	server := servers.Redis(t, servers.With("appendfsync", "always"))
	s := newSite(t, server.URL(), 1)
	n := s.open(t, "n1", hasty)
	n.create(t, goods("c", 10, 1))
	for i := range 3 {
		insist(n, claimOf("c", fmt.Sprint("u", i), "r", 1), 5*time.Second)
	}
	n.exact(t, "c", 3)
	old := server.Snapshot() // the rest was never written
	for i := range 6 {
		insist(n, claimOf("c", fmt.Sprint("u", i), "r", 1), 5*time.Second)
	}
	n.exact(t, "c", 6)
	epoch, _ := n.Campaign("c")
	n.stop()
	server.Kill9()
	server.Restore(old)
	server.Start()
	n = s.open(t, "n2", hasty)
	if !eventually(5*time.Second, func() bool {
		is, _ := n.Campaign("c")
		armed, err := n.rearm.Armed(t.Context(), is)
		return is.Epoch > epoch.Epoch && armed && err == nil
	}) {
		t.Fatal("nobody noticed")
	}
	holds(t, n, "c", crowdOf(n, "c", 20, 20*time.Second), 10)
}

// TestTheMarkerHidesNoWinnerFromHimself is with two nodes: a winner of one asks the other, whose marker stands.
func TestTheMarkerHidesNoWinnerFromHimself(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 4)
	a, b := s.open(t, "a", nil), s.open(t, "b", nil)
	made := a.create(t, goods("c", 3, 1))
	if err := b.Put(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	a.hush(true)
	b.hush(true)
	for i := range 3 {
		if d := insist(a, claimOf("c", fmt.Sprint("winner", i), "r", 1), 5*time.Second); d.Reason != sluice.ReasonQueued {
			t.Fatalf("winner %d: %v", i, d.Reason)
		}
	}
	if d := insist(b, claimOf("c", "loser", "r", 1), 5*time.Second); d.Reason != sluice.ReasonSoldOut {
		t.Fatalf("loser: %v", d.Reason)
	}
	if !eventually(3*time.Second, func() bool { return b.SoldOut("c") }) {
		t.Fatal("the marker does not stand")
	}
	for i := range 3 {
		id := claimOf("c", fmt.Sprint("winner", i), "r", 1).ID
		if d, ok := b.Replay(t.Context(), "c", id, 1); !ok || d.Reason != sluice.ReasonQueued || !d.Replayed {
			t.Errorf("winner %d at the other node: %v, %+v", i, ok, d)
		}
	}
	loser := claimOf("c", "another loser", "r", 1)
	if n := testing.AllocsPerRun(1000, func() {
		_, known := b.Replay(context.Background(), "c", loser.ID, 1)
		if known {
			t.Error("a loser is known")
		}
		b.SoldOut("c")
	}); n != 0 {
		t.Errorf("a refusal by the marker allocates %v times", n)
	}
}

// TestAUnitOnItsWayIsNotSoldOut leaves the last unit between two shards.
func TestAUnitOnItsWayIsNotSoldOut(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 2)
	n := s.open(t, "n1", nil)
	n.create(t, goods("c", 1, 1))
	c, _ := n.Campaign("c")
	out, err := n.gates.Out(t.Context(), &c, 0, 1, 1) // the one unit lies in the first shard
	if err != nil || out == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	d := n.Admit(t.Context(), claimOf("c", "u", "r", 1))
	if d.Reason == sluice.ReasonSoldOut {
		t.Fatal("SOLD_OUT while a unit is on its way")
	}
	if d = insist(n, claimOf("c", "u", "r", 1), 5*time.Second); d.Reason != sluice.ReasonQueued &&
		d.Reason != sluice.ReasonConfirmed {
		t.Fatalf("then %v", d.Reason)
	}
	n.exact(t, "c", 1)
}

// TestARetryAfterACloseIsNotQueuedAgain was a stranded unit once.
func TestARetryAfterACloseIsNotQueuedAgain(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 1)
	n := s.open(t, "n1", nil)
	n.create(t, goods("c", 2, 1))
	claim := claimOf("c", "u", "r", 1)
	n.Admit(t.Context(), claim)
	n.exact(t, "c", 1)
	if _, err := n.db.CloseOrder(t.Context(), claim.ID, sluice.CloseCancelled, operator, now()); err != nil {
		t.Fatal(err)
	}
	n.exact(t, "c", 0)
	for range 3 {
		if d := n.Admit(t.Context(), claim); d.State != sluice.ClaimReleased || d.Closed != sluice.CloseCancelled {
			t.Fatalf("a retry: %+v", d)
		}
	}
	n.exact(t, "c", 0)
}
