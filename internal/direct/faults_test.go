package direct_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/direct"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestWhatTheLedgerFails: nothing done is BUSY; not known is found out under the same claim id; what stays unknown is
// UNAVAILABLE with the claim's id. However it ends, a unit is sold once.
func TestWhatTheLedgerFails(t *testing.T) {
	lost := fault{sluice.ErrUncertain, true}
	broken := fault{sluice.ErrUncertain, false}
	away := fault{sluice.ErrUnavailable, false}
	for _, tc := range []struct {
		name  string
		fails []fault
		wait  time.Duration
		first sluice.Reason
		again sluice.Reason
	}{
		{"nothing was done", []fault{away}, 0, sluice.ReasonBusy, sluice.ReasonConfirmed},
		{"done, and the answer is lost", []fault{lost}, 0, sluice.ReasonConfirmed, sluice.ReasonConfirmed},
		{"perhaps done, and then away", []fault{lost, away, away}, 0, sluice.ReasonConfirmed, sluice.ReasonConfirmed},
		{"not done, and nobody knows", []fault{broken}, 0, sluice.ReasonConfirmed, sluice.ReasonConfirmed},
		{"unknown for too long", []fault{lost, broken, away, away, away, away}, 30 * time.Millisecond,
			sluice.ReasonUnavailable, sluice.ReasonConfirmed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, adm := openFaulty(t, 5, direct.Config{MaxWait: tc.wait})
			f.fails = tc.fails
			claim := claimOf("u", "r")
			d := adm.Admit(t.Context(), claim)
			if d.Reason != tc.first || d.Reason == sluice.ReasonUnavailable && d.ID != claim.ID {
				t.Fatalf("first: %+v", d)
			}
			f.mu.Lock()
			f.fails = nil
			f.mu.Unlock()
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
				if d = adm.Admit(t.Context(), claim); d.Reason != sluice.ReasonUnavailable {
					break
				}
			}
			if d.Reason != tc.again {
				t.Fatalf("again: %+v", d)
			}
			if c, err := f.Campaign(t.Context(), "g"); err != nil || c.Stock.Held != 1 {
				t.Fatalf("%+v %v", c.Stock, err)
			}
		})
	}
}

// TestClaimsGather: what comes while a batch is under way is one batch.
func TestClaimsGather(t *testing.T) {
	f, adm := openFaulty(t, 1000, direct.Config{})
	f.hold = make(chan struct{})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if d := adm.Admit(context.Background(), claimOf(fmt.Sprint("u", i), "r")); d.Reason != sluice.ReasonConfirmed {
				t.Errorf("%+v", d)
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for adm.Waiting() < 200 {
		<-tick.C
	}
	close(f.hold)
	all.Wait()
	if f.calls > 3 {
		t.Errorf("%d transactions for 200 claims", f.calls)
	}
	adm.Close()
	if d := adm.Admit(t.Context(), claimOf("late", "r")); d.Reason != sluice.ReasonBusy {
		t.Errorf("after Close: %+v", d)
	}
}

// TestAWinnerIsNeverToldSoldOut: on three nodes units come and go at the edge of sold out, and every winner asks
// again on any node. Whoever was told CONFIRMED hears that, from the marker's side as well: first the replay, then
// the marker, as the gate asks them.
func TestAWinnerIsNeverToldSoldOut(t *testing.T) {
	const stock, buyers = 6, 12
	f := &fleet{t: t, url: servers.MariaDB(t).URL}
	f.start(3)
	t.Cleanup(f.stop)
	f.put(campaignOf(t, f.nodes[0].db, stock))
	stop := make(chan struct{})
	time.AfterFunc(4*time.Second, func() { close(stop) })
	var all sync.WaitGroup
	var won, marked, refused atomic.Int64
	for b := range buyers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(b), 1))
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				claim := claimOf(fmt.Sprint("u", b), fmt.Sprint(n))
				d, by := askAs(f, rng, claim)
				if d.Reason != sluice.ReasonConfirmed {
					refused.Add(1)
					if by == "marker" {
						marked.Add(1)
					}
					continue
				}
				won.Add(1)
				beat := time.NewTicker(5 * time.Millisecond) // long enough for markers to be set meanwhile
				for range 30 {
					<-beat.C
					again, by := askAs(f, rng, claim)
					if again.Reason != sluice.ReasonConfirmed || again.ID != claim.ID {
						t.Errorf("a winner is told %v by the %s", again.Reason, by)
					}
				}
				beat.Stop()
				db := f.nodes[rng.IntN(3)].db
				_, err := db.CloseOrder(context.Background(), claim.ID, sluice.CloseCancelled, sluice.Actor{}, now())
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d won, %d were refused, %d of them by a marker", won.Load(), refused.Load(), marked.Load())
	if won.Load() <= stock || marked.Load() == 0 {
		t.Errorf("%d won, %d were refused by a marker: that is no test", won.Load(), marked.Load())
	}
	v, err := f.nodes[0].db.Verify(t.Context(), "g", nil)
	if err != nil || !v.OK || v.Held != 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// askAs walks a claim through a node as the gate does.
func askAs(f *fleet, rng *rand.Rand, claim sluice.Claim) (d sluice.Decision, by string) {
	n := f.nodes[rng.IntN(len(f.nodes))]
	ctx := context.Background()
	if d, ok := n.adm.Replay(ctx, "g", claim.ID, claim.Quantity); ok {
		return d, "replay"
	}
	if n.adm.SoldOut("g") {
		return sluice.Refuse(sluice.ReasonSoldOut), "marker"
	}
	return n.adm.Admit(ctx, claim), "admission"
}

// TestTwoNodesSellExactlyTheStock with as many copies of each claim on the other node.
func TestTwoNodesSellExactlyTheStock(t *testing.T) {
	const stock, buyers = 300, 900
	f := &fleet{t: t, url: servers.MariaDB(t).URL}
	f.start(2)
	t.Cleanup(f.stop)
	f.put(campaignOf(t, f.nodes[0].db, stock))
	var all sync.WaitGroup
	var won [buyers]atomic.Int64
	for i := range buyers {
		for n := range 2 {
			all.Go(func() {
				d := f.nodes[n].adm.Admit(context.Background(), claimOf(fmt.Sprint("u", i), "r"))
				switch d.Reason {
				case sluice.ReasonConfirmed:
					won[i].Add(1)
				case sluice.ReasonSoldOut:
				default:
					t.Errorf("%+v", d)
				}
			})
		}
	}
	all.Wait()
	winners := 0
	for i := range won {
		if won[i].Load() > 0 {
			winners++
		}
	}
	v, err := f.nodes[1].db.Verify(t.Context(), "g", nil)
	if err != nil || !v.OK || v.Held != stock || winners != stock {
		t.Errorf("%d winners, %+v %v", winners, v, err)
	}
}
