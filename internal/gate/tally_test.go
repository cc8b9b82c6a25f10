package gate_test

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// keeper is a ledger of buckets: it replaces what it is given again, and counts how often it was given anything.
type keeper struct {
	rows  map[string]map[sluice.Millis]sluice.Bucket
	given int
}

func (k *keeper) keep(campaign string, buckets []sluice.Bucket) error {
	if k.rows == nil {
		k.rows = map[string]map[sluice.Millis]sluice.Bucket{}
	}
	if k.rows[campaign] == nil {
		k.rows[campaign] = map[sluice.Millis]sluice.Bucket{}
	}
	for _, b := range buckets {
		k.rows[campaign][b.Start] = b
		k.given++
	}
	return nil
}

func (k *keeper) sum(campaign string) (all sluice.Bucket) {
	for _, b := range k.rows[campaign] {
		all.Merge(&b)
	}
	return all
}

func (r *rig) flush(tb testing.TB, k *keeper) {
	tb.Helper()
	if err := r.Tally().Flush(k.keep); err != nil {
		tb.Fatal(err)
	}
}

func TestBuckets(t *testing.T) {
	r := newRig(t, nil)
	k := new(keeper)
	r.clock.setWall(opening.Add(-1500 * time.Millisecond))
	starts := r.clock.millis() + 1500
	n := 0
	claim := func() {
		n++
		r.Claim(t.Context(), r.request(t, fmt.Sprint("user-", n)))
	}
	for range 130 { // 13 s in steps of 100 ms
		claim()
		r.clock.advance(100 * time.Millisecond)
		r.flush(t, k)
	}
	r.clock.advance(2 * time.Second)
	r.flush(t, k)
	rows := k.rows["spring"]
	fine, coarse := 0, 0
	for start, b := range rows {
		wantStart, wantWidth := sluice.BucketAt(start, starts)
		if start != wantStart || b.Width != wantWidth || b.Latency.Count() != b.Total() {
			t.Errorf("bucket %+v", b)
		}
		if b.Width == sluice.FineBucket {
			fine++
		} else {
			coarse++
		}
	}
	sum := k.sum("spring")
	if fine != 100 || coarse != 4 || sum.Total() != 130 || k.given != fine+coarse {
		t.Errorf("%d fine and %d coarse buckets, %d claims, handed %d times", fine, coarse, sum.Total(), k.given)
	}
	if sum.Counts[sluice.ReasonNotStarted] != 15 || sum.Counts[sluice.ReasonConfirmed] != 115 {
		t.Errorf("counts %v", sum.Counts)
	}
	totals, _ := r.Tally().Campaign("spring")
	if totals.Units != 115 || totals.FirstUnitAt != starts || totals.LastUnitAt != starts+11_400 {
		t.Errorf("totals %+v", totals)
	}
}

// TestFlushThatFails: what the ledger did not take is handed again, what it took is not.
func TestFlushThatFails(t *testing.T) {
	r := newRig(t, nil)
	other := spring()
	other.ID = "other"
	r.PutCampaign(other)
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	req := r.request(t, "alice")
	req.Campaign = "other"
	r.claim(t, req, sluice.ReasonConfirmed)
	r.clock.advance(3 * time.Second)
	k, broken := new(keeper), errors.New("disk full")
	err := r.Tally().Flush(func(campaign string, b []sluice.Bucket) error {
		if campaign == "spring" {
			return broken
		}
		return k.keep(campaign, b)
	})
	if !errors.Is(err, broken) || k.given != 1 {
		t.Errorf("error %v, %d given", err, k.given)
	}
	for range 3 {
		r.flush(t, k)
	}
	if k.given != 2 || k.rows["spring"] == nil {
		t.Errorf("%d given: %v", k.given, k.rows)
	}
}

// TestReplaysAreNotClaims: an answer that is given again is counted apart.
func TestReplaysAreNotClaims(t *testing.T) {
	r := newRig(t, nil)
	r.admitter.answer.Replayed = true
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	r.admitter.answer.Replayed = false
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	totals := r.Tally().Totals()
	if totals.Reasons[sluice.ReasonNone] != 1 || totals.Reasons[sluice.ReasonConfirmed] != 1 || totals.Units != 1 {
		t.Errorf("totals %+v", totals)
	}
}

// TestLatency counts from the arrival of the request, and is never below zero.
func TestLatency(t *testing.T) {
	r := newRig(t, nil)
	for i, waited := range []sluice.Millis{0, 20, -5000} {
		req := r.request(t, fmt.Sprint("user-", i))
		req.At -= waited
		r.claim(t, req, sluice.ReasonConfirmed)
	}
	buckets, _ := r.Tally().Since("spring", 0, 0)
	if len(buckets) != 1 {
		t.Fatalf("%d buckets", len(buckets))
	}
	h := buckets[0].Latency
	p50, p99 := h.Quantile(0.5), h.Quantile(0.99)
	if p50 > time.Millisecond || p99 < 20*time.Millisecond || p99 > 25*time.Millisecond {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}

// TestSince: whoever asks again and again, replacing what comes twice, has seen everything.
func TestSince(t *testing.T) {
	r := newRig(t, nil)
	seen := map[sluice.Millis]sluice.Bucket{}
	var cursor sluice.Millis
	most := 0
	for i := range 300 {
		r.Claim(t.Context(), r.request(t, fmt.Sprint("user-", i)))
		if i%7 == 0 {
			var buckets []sluice.Bucket
			buckets, cursor = r.Tally().Since("spring", cursor, 0)
			most = max(most, len(buckets))
			for _, b := range buckets {
				seen[b.Start] = b
			}
		}
		r.clock.advance(130 * time.Millisecond)
	}
	for more := true; more; {
		var buckets []sluice.Bucket
		before := cursor
		buckets, cursor = r.Tally().Since("spring", cursor, 1)
		for _, b := range buckets {
			seen[b.Start] = b
		}
		more = cursor != before
	}
	var total int64
	for b := range maps.Values(seen) {
		total += b.Total()
	}
	if total != 300 || most > 3 {
		t.Errorf("%d of 300 seen; %d buckets at once", total, most)
	}
	if b, next := r.Tally().Since("nobody", 7, 0); b != nil || next != 7 {
		t.Error("an unknown campaign has buckets")
	}
}

// TestTallyIsBounded: what is older than a quarter of an hour goes, whether the ledger took it or not.
func TestTallyIsBounded(t *testing.T) {
	r := newRig(t, nil)
	req := r.request(t, "alice")
	refuse := func(string, []sluice.Bucket) error { return sluice.ErrUnavailable }
	for range 2000 {
		r.Claim(t.Context(), req)
		r.clock.advance(time.Second)
		if err := r.Tally().Flush(refuse); !errors.Is(err, sluice.ErrUnavailable) && err != nil {
			t.Fatal(err)
		}
	}
	buckets, _ := r.Tally().Since("spring", 0, 0)
	if n := len(buckets); n < 898 || n > 902 {
		t.Errorf("%d buckets are kept", n)
	}
	if totals, _ := r.Tally().Campaign("spring"); totals.Reasons[sluice.ReasonConfirmed] != 2000 {
		t.Errorf("totals %+v", totals)
	}
}

// TestFinish: at the end the bucket that is still filling is handed too; what comes later reopens it as a whole.
func TestFinish(t *testing.T) {
	r := newRig(t, nil)
	k := new(keeper)
	for i := range int64(2) {
		r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
		r.flush(t, k)
		if sum := k.sum("spring"); sum.Total() != i {
			t.Errorf("%d claims were kept by a flush, want %d", sum.Total(), i)
		}
		if err := r.Tally().Finish(k.keep); err != nil {
			t.Fatal(err)
		}
		if sum := k.sum("spring"); sum.Total() != i+1 {
			t.Errorf("%d claims were kept at the end, want %d", sum.Total(), i+1)
		}
	}
}

// TestDroppedCampaign: its last buckets still reach the ledger.
func TestDroppedCampaign(t *testing.T) {
	r := newRig(t, nil)
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	r.DropCampaign("spring")
	k := new(keeper)
	r.flush(t, k)
	if sum := k.sum("spring"); sum.Total() != 1 {
		t.Errorf("%d claims were kept", sum.Total())
	}
	r.claim(t, r.request(t, "alice"), sluice.ReasonUnknownCampaign)
	totals := r.Tally().Totals()
	if totals.Reasons[sluice.ReasonUnknownCampaign] != 1 || totals.Reasons[sluice.ReasonConfirmed] != 1 {
		t.Errorf("totals %+v", totals)
	}
}

// TestTallyWhenTheClockGoesBack: buckets that were handed are handed again as a whole, and nothing is counted twice.
func TestTallyWhenTheClockGoesBack(t *testing.T) {
	r := newRig(t, nil)
	k := new(keeper)
	n := int64(0)
	for _, jump := range []time.Duration{
		0, time.Second, time.Second, -2 * time.Second, time.Second, -time.Hour, 2 * time.Hour,
	} {
		r.clock.wall.Add(jump.Milliseconds())
		for range 2 {
			r.Claim(t.Context(), r.request(t, fmt.Sprint("user-", n)))
			n++
		}
		r.flush(t, k)
	}
	r.clock.advance(5 * time.Second)
	r.flush(t, k)
	if sum := k.sum("spring"); sum.Total() != n {
		t.Errorf("%d of %d claims were kept", sum.Total(), n)
	}
}

// TestTallyUnderPressure: while claims, flushes and live views run at once, each claim is counted in one bucket.
func TestTallyUnderPressure(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.PerUserRate = 1e6 })
	r.clock.setWall(opening.Add(-time.Second))
	k := new(keeper)
	req := r.request(t, "alice")
	var done atomic.Bool
	var claims, others sync.WaitGroup
	const workers, each = 8, 3000
	for range workers {
		claims.Go(func() {
			mine := *req
			for range each {
				r.Claim(t.Context(), &mine)
			}
		})
	}
	others.Go(func() {
		// The clock stops within the time for which buckets are kept: a claim may take as long as it wants to.
		for i := 0; !done.Load(); i++ {
			if i < 20_000 {
				r.clock.advance(20 * time.Millisecond)
			}
			if err := r.Tally().Flush(k.keep); err != nil {
				t.Error(err)
			}
			r.Tally().Since("spring", 0, 0)
		}
	})
	claims.Wait()
	done.Store(true)
	others.Wait()
	r.clock.advance(5 * time.Second)
	r.flush(t, k)
	sum, totals := k.sum("spring"), r.Tally().Totals()
	if sum.Total() != workers*each || sum.Latency.Count() != workers*each {
		t.Errorf("%d claims and %d answer times kept, want %d", sum.Total(), sum.Latency.Count(), workers*each)
	}
	var all int64
	for _, n := range totals.Reasons {
		all += n
	}
	if all != workers*each {
		t.Errorf("%d claims in the totals", all)
	}
	if distinct := len(k.rows["spring"]); k.given < distinct {
		t.Errorf("%d handed, %d distinct", k.given, distinct)
	}
}
