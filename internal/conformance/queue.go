package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// QueueConsumer is a queue as one node reads it.
type QueueConsumer interface {
	Receive(ctx context.Context, limit int) ([]sluice.Delivery, error)
	Ack(ctx context.Context, done []sluice.Delivery) error
}

// QueueBench is one queue, empty and of its own, and the handles the suite needs beside it. Claims are of the campaigns
// "spring" and "autumn".
type QueueBench struct {
	// Publish puts claims on the queue in one call and returns when they are there for sure.
	Publish func(t *testing.T, claims []sluice.Claim)
	// PublishRaw puts a message there whose bytes this version cannot read.
	PublishRaw func(t *testing.T, raw []byte)
	// Consumer gives one more consumer, as of another node. It ends with the test at the latest.
	Consumer func(t *testing.T) QueueConsumer
	// Abandon ends a consumer as the death of its process would.
	Abandon func(t *testing.T, c QueueConsumer)
	// State is the backlog. It may lag behind.
	State func(t *testing.T) sluice.QueueState
	// Restart kills the broker and starts it again. Consumers find it again by themselves.
	Restart func(t *testing.T)
	// Settle runs a settler of the project on c and l until stop is called or the test ends.
	Settle func(t *testing.T, c QueueConsumer, l *QueueLedger) (stop func())
}

// QueuePatience bounds every wait of the suite.
const QueuePatience = 40 * time.Second

// Queue runs the suite that every queue passes.
func Queue(t *testing.T, open func(t *testing.T) QueueBench) {
	tests := []struct {
		name string
		run  func(*queueTest, *testing.T)
	}{
		{"every claim comes, whole", (*queueTest).whole},
		{"never more than was asked for", (*queueTest).limit},
		{"what is acknowledged does not come again", (*queueTest).acked},
		{"acknowledging twice or nothing is harmless", (*queueTest).ackTwice},
		{"duplicates come as they were published", (*queueTest).duplicates},
		{"what an abandoned consumer held comes to another", (*queueTest).abandoned},
		{"two consumers share the work", (*queueTest).shared},
		{"a message that cannot be read comes with its bytes", (*queueTest).unreadable},
		{"an empty queue wakes its reader", (*queueTest).wakes},
		{"a reader can be stopped", (*queueTest).stopped},
		{"backlog and age of the oldest", (*queueTest).backlog},
		{"the broker dies and comes back", (*queueTest).restart},
		{"settled once, whatever comes twice or late", (*queueTest).settledOnce},
		{"acknowledged after the commit only", (*queueTest).afterCommit},
		{"poison fails alone", (*queueTest).poison},
		{"tries survive a redelivery", (*queueTest).triesSurvive},
		{"an outage of the ledger counts nothing", (*queueTest).outage},
		{"an answer of the ledger is lost", (*queueTest).lostAnswer},
		{"an unknown version is kept, not dropped", (*queueTest).kept},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tc.run(&queueTest{QueueBench: open(t)}, t)
		})
	}
}

type queueTest struct {
	QueueBench
	n int
}

// claims makes n claims that were never made before, each another user's.
func (q *queueTest) claims(n int) []sluice.Claim {
	all := make([]sluice.Claim, n)
	for i := range all {
		q.n++
		campaign := [...]string{"spring", "autumn"}[q.n%2]
		c := claimOf(campaign, fmt.Sprintf("user %d é", q.n), fmt.Sprintf("r%d", q.n), 1+q.n%3)
		c.Epoch = int64(1 + q.n%5)
		if q.n%7 == 0 {
			c.RequestID = ""
		}
		if q.n%5 == 0 {
			c.Source = sluice.SourceGrant
		}
		all[i] = c
	}
	return all
}

// until polls until ok, and fails the test where patience ends before.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.After(QueuePatience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %v", what, QueuePatience)
		}
	}
}

// receive reads until enough says so. A queue that is away for a moment is asked again.
func (q *queueTest) receive(
	t *testing.T, c QueueConsumer, limit int, enough func([]sluice.Delivery) bool,
) []sluice.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), QueuePatience)
	defer cancel()
	var all []sluice.Delivery
	for !enough(all) {
		got, err := c.Receive(ctx, limit)
		if ctx.Err() != nil {
			t.Fatalf("%d deliveries came, and no more within %v (last error: %v)", len(all), QueuePatience, err)
		}
		if err != nil {
			pauseBriefly(ctx)
			continue
		}
		if len(got) > limit {
			t.Fatalf("%d deliveries where at most %d were asked for", len(got), limit)
		}
		all = append(all, got...)
	}
	return all
}

func pauseBriefly(ctx context.Context) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// covers says whether deliveries hold each of the claims at least once.
func covers(want []sluice.Claim) func([]sluice.Delivery) bool {
	return func(got []sluice.Delivery) bool {
		if len(got) < len(want) {
			return false
		}
		have := map[sluice.ClaimID]bool{}
		for i := range got {
			have[got[i].Claim.ID] = true
		}
		return !slices.ContainsFunc(want, func(c sluice.Claim) bool { return !have[c.ID] })
	}
}

func (q *queueTest) ack(t *testing.T, c QueueConsumer, done []sluice.Delivery) {
	t.Helper()
	if err := c.Ack(t.Context(), done); err != nil {
		t.Fatalf("acknowledge %d: %v", len(done), err)
	}
}

// empty waits until nothing is left on the queue.
func (q *queueTest) empty(t *testing.T) {
	t.Helper()
	var s sluice.QueueState
	until(t, "the queue is empty", func() bool {
		s = q.State(t)
		return s.Entries == 0 && s.Claims == 0 && s.Oldest == 0
	})
}

// quiet checks that nothing more comes for a moment.
func (q *queueTest) quiet(t *testing.T, c QueueConsumer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		got, err := c.Receive(ctx, 100)
		if err == nil && len(got) > 0 {
			t.Fatalf("%d deliveries come again, the first is %+v", len(got), got[0].Claim)
		}
	}
}

func sameClaimBody(a, b sluice.Claim) bool {
	return a.ID == b.ID && a.Campaign == b.Campaign && a.User == b.User && a.RequestID == b.RequestID &&
		a.Quantity == b.Quantity && a.Source == b.Source && a.At == b.At && a.Epoch == b.Epoch
}

func (q *queueTest) whole(t *testing.T) {
	var want []sluice.Claim
	for _, n := range []int{1, 2, 300, 1500} {
		call := q.claims(n)
		q.Publish(t, call)
		want = append(want, call...)
	}
	c := q.Consumer(t)
	got := q.receive(t, c, 1024, covers(want))
	byID := map[sluice.ClaimID]sluice.Claim{}
	for _, d := range got {
		if d.Fault != "" || d.Tag == "" {
			t.Fatalf("delivery %+v", d)
		}
		byID[d.Claim.ID] = d.Claim
	}
	for _, w := range want {
		if !sameClaimBody(w, byID[w.ID]) {
			t.Fatalf("published %+v, received %+v", w, byID[w.ID])
		}
	}
	q.ack(t, c, got)
	q.empty(t)
}

func (q *queueTest) limit(t *testing.T) {
	want := q.claims(250)
	q.Publish(t, want)
	c := q.Consumer(t)
	var all []sluice.Delivery
	for _, limit := range []int{1, 7, 100, 1000} {
		got := q.receive(t, c, limit, func(d []sluice.Delivery) bool { return len(d) > 0 })
		q.ack(t, c, got)
		all = append(all, got...)
	}
	for !covers(want)(all) {
		got := q.receive(t, c, 33, func(d []sluice.Delivery) bool { return len(d) > 0 })
		q.ack(t, c, got)
		all = append(all, got...)
	}
	q.empty(t)
}

func (q *queueTest) acked(t *testing.T) {
	want := q.claims(100)
	q.Publish(t, want[:60])
	q.Publish(t, want[60:])
	first := q.Consumer(t)
	got := q.receive(t, first, 1024, covers(want))
	q.ack(t, first, got)
	q.empty(t)
	q.Abandon(t, first)
	q.quiet(t, q.Consumer(t))
}

func (q *queueTest) ackTwice(t *testing.T) {
	want := q.claims(20)
	q.Publish(t, want)
	c := q.Consumer(t)
	q.ack(t, c, nil)
	got := q.receive(t, c, 1024, covers(want))
	q.ack(t, c, got[:10])
	_ = c.Ack(t.Context(), got[:10]) // a queue may say that it does not know them any more
	q.ack(t, c, got[10:])
	q.empty(t)
	more := q.claims(5)
	q.Publish(t, more)
	q.ack(t, c, q.receive(t, c, 1024, covers(more)))
	q.empty(t)
}

func (q *queueTest) duplicates(t *testing.T) {
	want := q.claims(50)
	q.Publish(t, want)
	back := slices.Clone(want)
	slices.Reverse(back)
	q.Publish(t, back)
	c := q.Consumer(t)
	got := q.receive(t, c, 64, func(d []sluice.Delivery) bool { return len(d) >= 100 })
	count := map[sluice.ClaimID]int{}
	for _, d := range got {
		count[d.Claim.ID]++
	}
	for _, w := range want {
		if count[w.ID] < 2 {
			t.Errorf("%s came %d times, and was published twice", w.ID, count[w.ID])
		}
	}
	q.ack(t, c, got)
	q.empty(t)
}

func (q *queueTest) abandoned(t *testing.T) {
	want := q.claims(200)
	for i := 0; i < len(want); i += 20 {
		q.Publish(t, want[i:i+20])
	}
	first := q.Consumer(t)
	got := q.receive(t, first, 1024, func(d []sluice.Delivery) bool { return len(d) >= 100 })
	q.ack(t, first, got[:40])
	gone := map[sluice.ClaimID]bool{}
	for _, d := range got[:40] {
		gone[d.Claim.ID] = true
	}
	q.Abandon(t, first)
	var left []sluice.Claim
	for _, c := range want {
		if !gone[c.ID] {
			left = append(left, c)
		}
	}
	second := q.Consumer(t)
	q.ack(t, second, q.receive(t, second, 1024, covers(left)))
	q.empty(t)
}

func (q *queueTest) shared(t *testing.T) {
	want := q.claims(2000)
	for i := 0; i < len(want); i += 50 {
		q.Publish(t, want[i:i+50])
	}
	ctx, cancel := context.WithTimeout(t.Context(), QueuePatience)
	defer cancel()
	var mu sync.Mutex
	var all []sluice.Delivery
	var workers sync.WaitGroup
	for range 2 {
		c := q.Consumer(t)
		workers.Go(func() {
			for ctx.Err() == nil {
				got, err := c.Receive(ctx, 100)
				if err != nil || c.Ack(ctx, got) != nil {
					continue
				}
				mu.Lock()
				if all = append(all, got...); covers(want)(all) {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if !covers(want)(all) {
		t.Fatalf("%d deliveries, and claims are missing", len(all))
	}
	q.empty(t)
}

func (q *queueTest) unreadable(t *testing.T) {
	before, after := q.claims(3), q.claims(3)
	garbage, future := []byte("\x00 no message at all"), []byte("\xfe\x01\x02 of a version that is not born yet")
	q.Publish(t, before)
	q.PublishRaw(t, garbage)
	q.PublishRaw(t, future)
	q.Publish(t, after)
	c := q.Consumer(t)
	good := append(slices.Clone(before), after...)
	got := q.receive(t, c, 1024, func(d []sluice.Delivery) bool { return len(d) >= 8 && covers(good)(d) })
	for _, raw := range [][]byte{garbage, future} {
		i := slices.IndexFunc(got, func(d sluice.Delivery) bool { return d.Fault != "" && bytes.Equal(d.Raw, raw) })
		if i < 0 {
			t.Fatalf("%q did not come as it is: %+v", raw, got)
		}
		if got[i].Claim.User != "" || got[i].Tag == "" {
			t.Errorf("a message that cannot be read has a claim or no tag: %+v", got[i])
		}
	}
	q.ack(t, c, got)
	q.empty(t)
}

func (q *queueTest) wakes(t *testing.T) {
	c := q.Consumer(t)
	q.quiet(t, c)
	for range 3 {
		want := q.claims(1)
		came := make(chan []sluice.Delivery, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), QueuePatience)
			defer cancel()
			for ctx.Err() == nil {
				if got, err := c.Receive(ctx, 10); err == nil && len(got) > 0 {
					came <- got
					return
				}
			}
			close(came)
		}()
		q.Publish(t, want)
		published := time.Now()
		got := <-came
		if took := time.Since(published); took > time.Second {
			t.Errorf("a message came after %v", took)
		}
		if !covers(want)(got) {
			t.Fatalf("something else came: %+v", got)
		}
		q.ack(t, c, got)
	}
	q.empty(t)
}

func (q *queueTest) stopped(t *testing.T) {
	c := q.Consumer(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = c.Receive(ctx, 10)
		}
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
		t.Fatal("a cancelled reader still reads after 3 s")
	}
	want := q.claims(5)
	q.Publish(t, want)
	q.ack(t, c, q.receive(t, c, 10, covers(want)))
	q.empty(t)
}

func (q *queueTest) backlog(t *testing.T) {
	q.Consumer(t) // a queue may only be there once somebody reads it
	q.empty(t)
	began := sluice.MillisOf(time.Now())
	want := q.claims(50)
	q.Publish(t, want[:25])
	q.Publish(t, want[25:])
	var s sluice.QueueState
	until(t, "the backlog shows", func() bool { s = q.State(t); return s.Entries >= 2 && s.Oldest != 0 })
	if now := sluice.MillisOf(time.Now()); s.Oldest < began-2000 || s.Oldest > now+2000 {
		t.Errorf("the oldest came at %d, and it was published at %d", s.Oldest, began)
	}
	c := q.Consumer(t)
	got := q.receive(t, c, 1024, covers(want))
	if s = q.State(t); s.Entries == 0 {
		t.Error("what was received and not acknowledged is no backlog any more")
	}
	q.ack(t, c, got)
	q.empty(t)
}

func (q *queueTest) restart(t *testing.T) {
	want := q.claims(300)
	q.Publish(t, want[:200])
	c := q.Consumer(t)
	held := q.receive(t, c, 50, func(d []sluice.Delivery) bool { return len(d) > 0 })
	q.Restart(t)
	_ = c.Ack(t.Context(), held) // may be of a connection that is no more: they come again then
	q.Publish(t, want[200:])
	gone := map[sluice.ClaimID]bool{}
	for _, d := range held {
		gone[d.Claim.ID] = true
	}
	var left []sluice.Claim
	for _, w := range want {
		if !gone[w.ID] {
			left = append(left, w)
		}
	}
	// What cannot be acknowledged over a connection that has just died comes again.
	_ = c.Ack(t.Context(), q.receive(t, c, 1024, covers(left)))
	until(t, "the rest is acknowledged", func() bool {
		if s := q.State(t); s.Entries == 0 && s.Oldest == 0 {
			return true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if got, err := c.Receive(ctx, 1024); err == nil {
			_ = c.Ack(t.Context(), got)
		}
		return false
	})
}
