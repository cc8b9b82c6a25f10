package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
)

// QueueTries is how many tries the suite's ledger gives a claim.
const QueueTries = 3

// QueueLedger is a ledger for the queue suite, which needs none of SQL: rows by claim id, tries, dead letters, and the
// ways in which a ledger can be away. It is safe for concurrent use.
type QueueLedger struct {
	mu      sync.Mutex
	rows    map[sluice.ClaimID]sluice.Claim
	written map[sluice.ClaimID]int // times that a row was written: 1, or something is wrong
	tries   map[sluice.ClaimID]int
	dead    map[sluice.ClaimID]bool
	letters [][]byte
	poison  map[sluice.ClaimID]bool
	down    bool
	lose    int           // commits whose answer gets lost
	calls   int           // of Settle
	hold    chan struct{} // Settle waits for it before it writes; nil: does not
	waiting int           // calls that wait there
}

// NewQueueLedger makes an empty one.
func NewQueueLedger() *QueueLedger {
	return &QueueLedger{
		rows: map[sluice.ClaimID]sluice.Claim{}, written: map[sluice.ClaimID]int{}, tries: map[sluice.ClaimID]int{},
		dead: map[sluice.ClaimID]bool{}, poison: map[sluice.ClaimID]bool{},
	}
}

// Settle writes claims that are not there yet.
func (l *QueueLedger) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.down {
		return nil, fmt.Errorf("the suite's ledger is away: %w", sluice.ErrUnavailable)
	}
	out := make([]sluice.Outcome, len(claims))
	for i, c := range claims {
		was, again := l.rows[c.ID]
		switch {
		case l.poison[c.ID]:
			out[i] = sluice.Outcome{Reason: sluice.ReasonUnavailable}
		case again && (was.User != c.User || was.Quantity != c.Quantity):
			out[i] = sluice.Outcome{Reason: sluice.ReasonRequestIDReused}
		default:
			out[i] = sluice.Outcome{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, Replayed: again}
			if !again {
				l.rows[c.ID] = c
				l.written[c.ID]++
			}
		}
	}
	if l.lose > 0 {
		l.lose--
		return nil, fmt.Errorf("the suite's ledger: the answer of a commit got lost: %w", sluice.ErrUncertain)
	}
	return out, nil
}

func (l *QueueLedger) wait(ctx context.Context) error {
	l.mu.Lock()
	hold := l.hold
	if hold != nil {
		l.waiting++
	}
	l.mu.Unlock()
	if hold == nil {
		return nil
	}
	defer func() { l.mu.Lock(); l.waiting--; l.mu.Unlock() }()
	select {
	case <-hold:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the suite's ledger: %w: %w", sluice.ErrUnavailable, ctx.Err())
	}
}

// FailTries counts.
func (l *QueueLedger) FailTries(_ context.Context, claims []sluice.Claim, _ string) ([]sluice.ClaimID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, fmt.Errorf("the suite's ledger is away: %w", sluice.ErrUnavailable)
	}
	var dead []sluice.ClaimID
	for _, c := range claims {
		if !l.dead[c.ID] {
			l.tries[c.ID]++
		}
		if l.tries[c.ID] >= QueueTries {
			l.dead[c.ID] = true
			dead = append(dead, c.ID)
		}
	}
	return dead, nil
}

// KeepDeadLetter keeps bytes once.
func (l *QueueLedger) KeepDeadLetter(_ context.Context, raw []byte, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return fmt.Errorf("the suite's ledger is away: %w", sluice.ErrUnavailable)
	}
	if !slices.ContainsFunc(l.letters, func(b []byte) bool { return bytes.Equal(b, raw) }) {
		l.letters = append(l.letters, bytes.Clone(raw))
	}
	return nil
}

func (l *QueueLedger) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// settled says how many of the claims have a row, and whether one was written twice.
func (l *QueueLedger) settled(claims []sluice.Claim) (n int, twice bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range claims {
		if l.written[claims[i].ID] > 0 {
			n++
		}
		twice = twice || l.written[claims[i].ID] > 1
	}
	return n, twice
}

// allSettled waits until each claim has its one row and the queue is empty.
func (q *queueTest) allSettled(t *testing.T, l *QueueLedger, claims []sluice.Claim) {
	t.Helper()
	until(t, fmt.Sprintf("%d claims are settled", len(claims)), func() bool {
		n, twice := l.settled(claims)
		if twice {
			t.Fatal("a claim was written twice")
		}
		return n == len(claims)
	})
	q.empty(t)
}

func (q *queueTest) settledOnce(t *testing.T) {
	l := NewQueueLedger()
	want := q.claims(900)
	back := slices.Clone(want)
	slices.Reverse(back)
	for i := 0; i < len(want); i += 90 {
		q.Publish(t, want[i:i+90])
		q.Publish(t, back[i:i+90])
	}
	for range 2 {
		defer q.Settle(t, q.Consumer(t), l)()
	}
	q.Publish(t, want[100:200])
	q.allSettled(t, l, want)
}

func (q *queueTest) afterCommit(t *testing.T) {
	l := NewQueueLedger()
	open := make(chan struct{})
	l.set(func() { l.hold = open })
	want := q.claims(100)
	q.Publish(t, want)
	first := q.Consumer(t)
	stop := q.Settle(t, first, l)
	until(t, "the ledger is asked to write", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.waiting > 0 })
	for range 20 { // nothing is acknowledged while nothing is committed
		if s := q.State(t); s.Entries == 0 {
			t.Fatal("claims were acknowledged before they were committed")
		}
	}
	// The process dies in mid-batch: its claims go to another one.
	q.Abandon(t, first)
	l.set(func() { l.hold = nil })
	second := q.Settle(t, q.Consumer(t), l)
	defer second()
	q.allSettled(t, l, want)
	close(open)
	stop()
	q.allSettled(t, l, want)
}

func (q *queueTest) poison(t *testing.T) {
	l := NewQueueLedger()
	want := q.claims(1000)
	var bad, good []sluice.Claim
	for i, c := range want {
		if i%100 == 42 {
			bad = append(bad, c)
			l.poison[c.ID] = true
		} else {
			good = append(good, c)
		}
	}
	for i := 0; i < len(want); i += 125 {
		q.Publish(t, want[i:i+125])
	}
	defer q.Settle(t, q.Consumer(t), l)()
	q.allSettled(t, l, good)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range bad {
		if l.tries[c.ID] != QueueTries || !l.dead[c.ID] || l.written[c.ID] != 0 {
			t.Errorf("a poisoned claim: %d tries, dead: %v, rows: %d", l.tries[c.ID], l.dead[c.ID], l.written[c.ID])
		}
	}
	if len(l.dead) != len(bad) || len(l.tries) != len(bad) {
		t.Errorf("%d dead letters and %d claims with tries, want %d of each", len(l.dead), len(l.tries), len(bad))
	}
}

func (q *queueTest) triesSurvive(t *testing.T) {
	l := NewQueueLedger()
	want := q.claims(10)
	l.poison[want[3].ID] = true
	q.Publish(t, want)
	first := q.Consumer(t)
	stop := q.Settle(t, first, l)
	until(t, "a first try", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.tries[want[3].ID] > 0 })
	q.Abandon(t, first)
	stop()
	defer q.Settle(t, q.Consumer(t), l)()
	until(t, "the last try", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.dead[want[3].ID] })
	q.empty(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tries[want[3].ID] != QueueTries {
		t.Errorf("%d tries over two settlers, want %d", l.tries[want[3].ID], QueueTries)
	}
}

func (q *queueTest) outage(t *testing.T) {
	l := NewQueueLedger()
	l.set(func() { l.down = true })
	want := q.claims(500)
	for i := 0; i < len(want); i += 50 {
		q.Publish(t, want[i:i+50])
	}
	defer q.Settle(t, q.Consumer(t), l)()
	until(t, "the ledger is tried again and again", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.calls >= 6 })
	if s := q.State(t); s.Entries < 10 {
		t.Errorf("%d entries are left while the ledger is away, want 10", s.Entries)
	}
	l.set(func() { l.down = false })
	q.allSettled(t, l, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tries) != 0 || len(l.dead) != 0 {
		t.Errorf("the outage was counted: %d tries, %d dead letters", len(l.tries), len(l.dead))
	}
}

func (q *queueTest) lostAnswer(t *testing.T) {
	l := NewQueueLedger()
	l.set(func() { l.lose = 3 })
	want := q.claims(400)
	for i := 0; i < len(want); i += 100 {
		q.Publish(t, want[i:i+100])
	}
	defer q.Settle(t, q.Consumer(t), l)()
	q.allSettled(t, l, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tries) != 0 || l.lose != 0 {
		t.Errorf("%d tries were counted, %d answers are still to be lost", len(l.tries), l.lose)
	}
}

func (q *queueTest) kept(t *testing.T) {
	l := NewQueueLedger()
	l.set(func() { l.down = true })
	raw := [][]byte{[]byte("\xfe of another version"), []byte("garbage"), {0}}
	good := q.claims(10)
	q.Publish(t, good[:5])
	for _, b := range raw {
		q.PublishRaw(t, b)
	}
	q.Publish(t, good[5:])
	defer q.Settle(t, q.Consumer(t), l)()
	until(t, "the ledger is tried", func() bool { return q.State(t).Entries > 0 })
	l.set(func() { l.down = false })
	q.allSettled(t, l, good)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.letters) != len(raw) {
		t.Fatalf("%d dead letters, want %d: %q", len(l.letters), len(raw), l.letters)
	}
	for _, b := range raw {
		if !slices.ContainsFunc(l.letters, func(k []byte) bool { return bytes.Equal(k, b) }) {
			t.Errorf("%q was not kept as it is", b)
		}
	}
}
