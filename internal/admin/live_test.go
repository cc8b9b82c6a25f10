package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// liveJSON is what a page reads of a look.
type liveJSON struct {
	Total, Available, Queued, Held, Sold int64
	Phase                                string
	Entered, Admitted                    int64
	Rate                                 struct{ Now, Peak int64 }
	Checks                               struct {
		Exact, OK bool
		Verified  int64 `json:"verified_at_ms"`
	}
	Unpaid  struct{ Orders, Units int64 }
	Buckets []struct {
		Start  int64 `json:"start_ms"`
		Counts map[string]int64
	}
	Next int64 `json:"next_since_ms"`
	More bool
}

func (s *stack) look(since int64) (v liveJSON, size int) {
	s.t.Helper()
	path := "/v1/admin/campaigns/spring/live"
	if since > 0 {
		path += fmt.Sprintf("?since=%d", since)
	}
	a := s.want(200, "GET", path, nil)
	a.into(s.t, &v)
	if v.Available+v.Queued+v.Held+v.Sold != v.Total {
		s.t.Errorf("the parts do not add up: %s", a.body)
	}
	return v, len(a.body)
}

// TestLiveFollowsASale: every look adds up, none is larger than 3 KB, and no decision is missing or counted twice.
func TestLiveFollowsASale(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 40))
	since, asked := int64(0), int64(0)
	counts := map[int64]map[string]int64{}
	for round := range 25 {
		for i := range 10 {
			for range round%3 + 1 {
				s.claim("spring", fmt.Sprint("buyer", round, "-", i), fmt.Sprint("r", asked))
				asked++
			}
			s.clock.add(100 * time.Millisecond)
		}
		for more := true; more; {
			v, size := s.look(since)
			if size > 3000 {
				t.Errorf("round %d: a look of %d bytes", round, size)
			}
			for _, b := range v.Buckets {
				counts[b.Start] = b.Counts
			}
			since, more = v.Next, v.More
		}
	}
	v, _ := s.look(since)
	var sum int64
	for _, c := range counts {
		for _, n := range c {
			sum += n
		}
	}
	if sum != asked || v.Entered != asked || v.Admitted != 40 || v.Unpaid.Units != 40 || v.Phase != "sold_out" {
		t.Errorf("%d asked, %d in buckets, %+v", asked, sum, v)
	}
	if v.Rate.Peak != 30 {
		t.Errorf("the busiest second had 30: %+v", v.Rate)
	}
	s.clock.add(20 * time.Minute)
	if v, _ = s.look(since); v.Entered != asked || v.Rate.Peak != 30 || v.Rate.Now != 0 {
		t.Errorf("once all buckets are old: %+v", v)
	}
	s.restart()
	if v, _ = s.look(0); v.Held != 40 || v.Available != 0 {
		t.Errorf("after a restart: %+v", v)
	}
}

// counted is a ledger that counts the looks at it.
type counted struct {
	*sqldb.DB
	n atomic.Int64
}

func (c *counted) Glance(ctx context.Context, id string, also func()) (sluice.Campaign, error) {
	c.n.Add(1)
	return c.DB.Glance(ctx, id, also)
}

// TestLiveIsComputedOnceForAll: a hundred viewers cost one look at the ledger a second, and the rows are counted in the
// background.
func TestLiveIsComputedOnceForAll(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	s.sell("spring")
	ledger := &counted{DB: s.db}
	desk := s.watch(admin.NewReports(admin.ReportsConfig{Ledger: s.db, Tally: s.gate.Tally(), Permits: s.admission,
		Verifier: s.db, Now: s.clock.now}), ledger)
	for round := range int64(3) {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if v, err := desk.Live(context.Background(), "spring", 0, 10); err != nil || v.Campaign.Stock.Sold != 2 {
					t.Errorf("%+v %v", v.Campaign.Stock, err)
				}
			})
		}
		all.Wait()
		if n := ledger.n.Load(); n != round+1 {
			t.Errorf("%d looks after %d seconds", n, round+1)
		}
		s.clock.add(time.Second)
	}
	tick, end := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for ok := false; !ok; {
		s.clock.add(time.Second)
		v, err := desk.Live(t.Context(), "spring", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		ok = v.Verified.OK && v.Exact
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("the rows are not counted")
		}
	}
	for i := range 80 { // more than are kept
		if _, err := desk.Live(t.Context(), fmt.Sprint("none", i), 0, 10); err == nil {
			t.Fatal("there is no such campaign")
		}
	}
}

// TestACountThatWasAskedForIsSeen: who has all rows counted sees that count on the live screen a second later, not
// when the next count in the background comes.
func TestACountThatWasAskedForIsSeen(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	s.look(0) // starts a count in the background; the next is ten seconds away
	s.clock.add(3 * time.Second)
	checked, err := time.Parse(time.RFC3339, s.want(200, "GET", "/v1/admin/campaigns/spring/verify", nil).
		get(t, "checked_at").(string))
	if err != nil {
		t.Fatal(err)
	}
	s.clock.add(time.Second)
	a := s.want(200, "GET", "/v1/admin/campaigns/spring/live", nil)
	if got := a.get(t, "checks.verified_at_ms").(float64); int64(got) < checked.UnixMilli() {
		t.Errorf("counted at %d, shown is %d", checked.UnixMilli(), int64(got))
	}
}

// drifting is a ledger whose campaign has a unit more than it should.
type drifting struct{ *sqldb.DB }

func (d drifting) Glance(ctx context.Context, id string, also func()) (sluice.Campaign, error) {
	c, err := d.DB.Glance(ctx, id, also)
	c.Stock.Sold++
	return c, err
}

// TestLiveSaysWhatDoesNotAddUp: what is shown always adds up, and that it did not by itself is said beside it.
func TestLiveSaysWhatDoesNotAddUp(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 5))
	desk := s.watch(admin.NewReports(admin.ReportsConfig{Ledger: s.db, Tally: s.gate.Tally(), Permits: s.admission,
		Verifier: s.db, Now: s.clock.now}), drifting{s.db})
	v, err := desk.Live(t.Context(), "spring", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	c := &v.Campaign
	if v.Exact || v.Off != 1 || v.ExactAt != 0 ||
		c.Available+c.Queued+c.Stock.Held+c.Stock.Sold != c.Stock.Total {
		text, _ := json.Marshal(v)
		t.Errorf("%s", text)
	}
}
