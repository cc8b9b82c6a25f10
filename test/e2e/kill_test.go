package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// The canonical sale, and how often it is interrupted.
const (
	killBuyers = 100_000
	killStock  = 10_000
	kills      = 20
	killers    = 64 // clients at once
)

// sale is one sale as its clients saw it.
type sale struct {
	s        *e2e.Server
	campaign string

	mu        sync.Mutex
	confirmed map[string]e2e.Claim // by user
	open      []string             // users whose last call had no answer

	next  atomic.Int64 // the next new buyer
	count atomic.Int64 // confirmed answers
}

// TestKillNine kills the server 20 times at random moments of a canonical sale. Whoever has seen CONFIRMED keeps it,
// nothing is oversold, and a copy of a claim gets the same answer; whoever saw no answer asks again with the same
// request id.
func TestKillNine(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("canonical", killStock, 1, nil))
	c := &sale{s: s, campaign: "canonical", confirmed: map[string]e2e.Claim{}}
	for i := range kills {
		// A share of the stock each, so that the last kill still meets a live sale.
		at := int64(i)*killStock*9/10/kills + rng.Int64N(killStock*9/10/kills) + 1
		c.run(func() bool { return c.count.Load() >= at })
		s.Kill(t)
		s.Restart(t)
		c.check(t, rng)
	}
	c.run(func() bool { return false })
	c.check(t, rng)
	if n := len(c.confirmed); n != killStock {
		t.Errorf("%d buyers saw CONFIRMED, the stock was %d", n, killStock)
	}
}

// run lets the crowd claim until enough says so, then kills nothing itself: whoever is under way when the server dies
// is noted as open. It returns when nobody claims any more.
func (c *sale) run(enough func() bool) {
	c.mu.Lock()
	again := c.open
	c.open = nil
	c.mu.Unlock()
	retry := make(chan string, len(again))
	for _, u := range again {
		retry <- u
	}
	close(retry)
	stop := make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	for range killers {
		all.Go(func() {
			for {
				user, ok := <-retry
				if !ok {
					n := c.next.Add(1)
					if n > killBuyers {
						return
					}
					user = fmt.Sprintf("buyer-%06d", n)
				}
				c.claim(user)
				if enough() {
					once.Do(func() { c.s.KillNow(); close(stop) })
				}
				select {
				case <-stop:
					c.leave(retry)
					return
				default:
				}
			}
		})
	}
	all.Wait()
}

// leave notes those who were to ask again and did not get to it.
func (c *sale) leave(retry chan string) {
	for u := range retry {
		c.mu.Lock()
		c.open = append(c.open, u)
		c.mu.Unlock()
	}
}

func (c *sale) claim(user string) {
	for {
		a, err := c.s.TryClaim(c.campaign, user, "r-"+user, 1)
		c.mu.Lock()
		switch {
		case err != nil || a.Status == 503:
			c.open = append(c.open, user)
		case a.Code == "CONFIRMED":
			if _, seen := c.confirmed[user]; !seen {
				c.count.Add(1)
			}
			c.confirmed[user] = a
		}
		c.mu.Unlock()
		if err != nil || a.Code != "BUSY" {
			return
		}
	}
}

// check compares the ledger with everything that clients ever saw.
func (c *sale) check(t *testing.T, rng *rand.Rand) {
	t.Helper()
	c.s.Verify(t, c.campaign)
	rows := ledgerClaims(t, c.s, c.campaign)
	live := 0
	for _, r := range rows {
		if r.State == "confirmed" {
			live += r.Quantity
		}
	}
	if live > killStock {
		t.Fatalf("oversold: %d live units", live)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sample := 0
	for user, seen := range c.confirmed {
		row, ok := rows[seen.ClaimID]
		if !ok || row.UserID != user || row.State != "confirmed" {
			t.Fatalf("%s saw CONFIRMED %s; the ledger has %+v", user, seen.ClaimID, row)
		}
		if sample < 50 && rng.IntN(10) == 0 {
			sample++
			a := c.s.Claim(t, c.campaign, user, "r-"+user, 1)
			if a.Code != "CONFIRMED" || !a.Replayed || a.ClaimID != seen.ClaimID || a.OrderID != seen.OrderID {
				t.Fatalf("%s first saw %+v, then %+v", user, seen, a)
			}
		}
	}
}

// row is a claim as operators list it.
type row struct {
	ClaimID   string `json:"claim_id"`
	UserID    string `json:"user_id"`
	RequestID string `json:"request_id"`
	State     string `json:"state"`
	Quantity  int    `json:"quantity"`
}

// ledgerClaims reads all claims of a campaign, by claim id; a claim that is listed twice fails the test.
func ledgerClaims(t *testing.T, s *e2e.Server, campaign string) map[string]row {
	t.Helper()
	all := map[string]row{}
	cursor := ""
	for {
		var page struct {
			Items []row  `json:"items"`
			Next  string `json:"next_cursor"`
		}
		q := url.Values{"campaign_id": {campaign}, "limit": {"5000"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		s.Admin(t, "GET", "/v1/admin/claims?"+q.Encode(), nil, 200).Into(t, &page)
		for _, r := range page.Items {
			if _, twice := all[r.ClaimID]; twice {
				t.Fatalf("claim %s is listed twice", r.ClaimID)
			}
			all[r.ClaimID] = r
		}
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}
