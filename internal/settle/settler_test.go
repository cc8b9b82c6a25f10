package settle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/settle"
)

// steps records the order in which the ports are used, and has a step fail. mu guards all of it.
type steps struct {
	*reader
	*conformance.QueueLedger
	mu    sync.Mutex
	taken []string
	fail  map[string]error
}

func (s *steps) step(name string, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, fmt.Sprint(name, " ", n))
	return s.fail[name]
}

func (s *steps) done() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.taken) }

func (s *steps) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	out, err := s.QueueLedger.Settle(ctx, claims)
	return out, errors.Join(err, s.step("commit", len(claims)))
}

func (s *steps) Settled(_ context.Context, claims []sluice.Claim) error {
	return s.step("gate", len(claims))
}

func (s *steps) Ack(ctx context.Context, done []sluice.Delivery) error {
	if err := s.step("ack", len(done)); err != nil {
		return err
	}
	return s.reader.Ack(ctx, done)
}

func (s *steps) Announce(_ context.Context, all []sluice.Announcement) error {
	return s.step("announce", len(all))
}

func someClaims(n int) []sluice.Claim {
	all := make([]sluice.Claim, n)
	for i := range all {
		user := fmt.Sprint("u", i)
		all[i] = sluice.Claim{
			ID: aClaim(user), Campaign: "spring", User: user, RequestID: "r", Quantity: 1, At: sluice.MillisOf(time.Now()),
		}
	}
	return all
}

// TestOrderOfSteps: commit, those who wait, gate, queue; and what fails after the commit stops nothing.
func TestOrderOfSteps(t *testing.T) {
	for _, failing := range []string{"", "gate", "announce", "ack"} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			s := &steps{reader: &reader{q: q}, QueueLedger: conformance.NewQueueLedger(), fail: map[string]error{
				failing: sluice.ErrUncertain,
			}}
			q.publish(someClaims(5))
			told := 0
			w := settler(t, settle.Config{OnSettled: func(all []sluice.Announcement) { told += len(all) }},
				settle.Ports{Consumer: s, Ledger: s, Gate: s, Announcer: s})
			synctest.Wait()
			if got, want := fmt.Sprint(s.done()), "[commit 5 announce 5 gate 5 ack 5]"; got != want {
				t.Errorf("with %q failing: %s, want %s", failing, got, want)
			}
			if left := q.state().Claims; (failing == "ack") != (left == 5) || told != 5 {
				t.Errorf("with %q failing: %d are left on the queue, %d were told of here", failing, left, told)
			}
			w.Stop()
		})
	}
}

// TestASpoiledBatchIsHalved: one claim makes the whole transaction fail; the others go through, and it alone counts.
func TestASpoiledBatchIsHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, claims := newQueue(), someClaims(100)
		l := &spoiled{QueueLedger: conformance.NewQueueLedger(), by: claims[37].ID, tries: map[sluice.ClaimID]int{}}
		q.publish(claims)
		var y tally
		w := settler(t, settle.Config{Settlers: 1, OnBatch: y.add}, settle.Ports{Consumer: &reader{q: q}, Ledger: l})
		<-time.After(time.Minute)
		w.Stop()
		if y.confirmed.Load() != 99 || l.calls > 20 {
			t.Errorf("%d confirmed with %d calls", y.confirmed.Load(), l.calls)
		}
		if len(l.tries) != 1 || l.tries[claims[37].ID] != conformance.QueueTries || q.state().Claims != 0 {
			t.Errorf("tries %v, %d left on the queue", l.tries, q.state().Claims)
		}
	})
}

// spoiled is a ledger whose transactions fail where a certain claim is in them. One settler at a time.
type spoiled struct {
	*conformance.QueueLedger
	by    sluice.ClaimID
	calls int
	tries map[sluice.ClaimID]int
}

func (l *spoiled) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	l.calls++
	for i := range claims {
		if claims[i].ID == l.by {
			return nil, errors.New("a claim that the transaction chokes on")
		}
	}
	return l.QueueLedger.Settle(ctx, claims)
}

func (l *spoiled) FailTries(ctx context.Context, claims []sluice.Claim, why string) ([]sluice.ClaimID, error) {
	for i := range claims {
		l.tries[claims[i].ID]++
	}
	return l.QueueLedger.FailTries(ctx, claims, why)
}

// TestTwinsAreApart: two claims of one id and other quantities are not one; the first is settled, the other one fails.
func TestTwinsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := newQueue(), conformance.NewQueueLedger()
		twins := someClaims(1)
		twins = append(twins, twins[0], twins[0])
		twins[2].Quantity = 2
		q.publish(twins)
		var y tally
		w := settler(t, settle.Config{Settlers: 1, OnBatch: y.add}, settle.Ports{Consumer: &reader{q: q}, Ledger: l})
		<-time.After(time.Minute)
		if y.confirmed.Load() != 1 || y.failed.Load() != conformance.QueueTries || q.state().Claims != 0 {
			t.Errorf("%d confirmed, %d failed, %d left", y.confirmed.Load(), y.failed.Load(), q.state().Claims)
		}
		w.Stop()
	})
}

// TestSettlersChangeAndPause: more and fewer at once, none while it is paused.
func TestSettlersChangeAndPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		l := &crowded{QueueLedger: conformance.NewQueueLedger()}
		w := settler(t, settle.Config{Settlers: 2, MaxBatch: 10}, settle.Ports{Consumer: &reader{q: q}, Ledger: l})
		claims := someClaims(1000)
		for _, n := range []int{2, 5, 1, settle.MaxSettlers + 1} {
			w.SetSettlers(n)
			<-time.After(time.Second)
			l.peak()
			q.publish(claims)
			<-time.After(time.Minute)
			if got := l.peak(); got != min(n, settle.MaxSettlers) {
				t.Errorf("%d settlers: %d transactions at once", n, got)
			}
		}
		w.Pause(true)
		w.Pause(true)
		<-time.After(time.Second) // what is being read comes yet
		q.publish(claims[:1])
		<-time.After(time.Second)
		q.publish(claims)
		<-time.After(time.Minute)
		if q.state().Claims < 1000 {
			t.Errorf("%d left while it is paused", q.state().Claims)
		}
		w.Pause(false)
		<-time.After(time.Minute)
		if q.state().Claims != 0 {
			t.Errorf("%d left after the pause", q.state().Claims)
		}
		w.Stop()
		if err := w.Drive(t.Context(), claims[:1]); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("a settler that stopped drives: %v", err)
		}
	})
}

// crowded counts transactions that are under way at once. mu guards both figures.
type crowded struct {
	*conformance.QueueLedger
	mu        sync.Mutex
	now, most int
}

func (l *crowded) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	l.mu.Lock()
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	<-time.After(10 * time.Millisecond)
	l.mu.Lock()
	l.now--
	l.mu.Unlock()
	return l.QueueLedger.Settle(ctx, claims)
}

func (l *crowded) peak() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.most
	l.most = 0
	return n
}

// TestFewClaimsWaitForTheCampaign: while a transaction of a campaign is under way a few more of its claims gather for
// the next one, and those of another campaign do not wait.
func TestFewClaimsWaitForTheCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		s := &steps{reader: &reader{q: q}, QueueLedger: conformance.NewQueueLedger()}
		l := &slow{steps: s}
		settler(t, settle.Config{Settlers: 4}, settle.Ports{Consumer: s, Ledger: l})
		claims := someClaims(8)
		claims[7].Campaign = "autumn"
		claims[7].ID = sluice.NewClaimID("autumn", claims[7].User, sluice.SourceClaim, "r")
		for i := range claims {
			q.publish(claims[i : i+1])
			synctest.Wait()
		}
		<-time.After(time.Minute)
		got := slices.DeleteFunc(s.done(), func(step string) bool { return !strings.HasPrefix(step, "commit") })
		if want := "[commit 1 commit 1 commit 6]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	})
}

// slow takes a second for a transaction.
type slow struct{ *steps }

func (l *slow) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	<-time.After(time.Second)
	return l.steps.Settle(ctx, claims)
}

// TestStopFinishesWhatIsUnderWay: the transaction under way ends, is acknowledged, and Stop returns after it.
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		l := &crowded{QueueLedger: conformance.NewQueueLedger()}
		w := settler(t, settle.Config{Settlers: 1, MaxBatch: 10}, settle.Ports{Consumer: &reader{q: q}, Ledger: l})
		q.publish(someClaims(30))
		<-time.After(15 * time.Millisecond) // the second of three batches is under way
		w.Stop()
		w.Stop()
		if left := q.state().Claims; left != 10 {
			t.Errorf("%d left, want the 10 that were not begun", left)
		}
	})
}

// TestRelay is pitfall 6: the broker is away for ten seconds, nobody is refused, and what waits arrives; it is
// acknowledged only after it was confirmed. Bypassed, the relay lets go of what it has.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, b, l := newQueue(), &broker{down: true}, conformance.NewQueueLedger()
		r, err := settle.NewRelay(settle.RelayConfig{}, &reader{q: q}, b, l)
		if err != nil {
			t.Fatal(err)
		}
		r.Start()
		claims := someClaims(3000)
		q.publish(claims)
		q.put(sluice.Delivery{Raw: []byte("?"), Fault: "no message"})
		<-time.After(10 * time.Second)
		if n := q.state().Claims; n < 3000 {
			t.Fatalf("%d wait while the broker is away, want 3000", n)
		}
		b.set(false)
		<-time.After(5 * time.Second)
		if q.state().Claims != 0 || len(b.got()) != 3000 || r.InHand() != 0 {
			t.Errorf("%d wait, %d arrived, %d in hand", q.state().Claims, len(b.got()), r.InHand())
		}
		b.set(true)
		q.publish(claims[:10])
		<-time.After(time.Second)
		r.Pause(true)
		<-time.After(5 * time.Second)
		if r.InHand() != 0 || q.state().Claims != 10 {
			t.Errorf("bypassed: %d in hand, %d not acknowledged", r.InHand(), q.state().Claims)
		}
		r.Stop()
		r.Stop()
	})
}

// broker is one that is away at times. mu guards all of it.
type broker struct {
	mu   sync.Mutex
	down bool
	all  []sluice.Claim
}

func (b *broker) set(down bool) { b.mu.Lock(); defer b.mu.Unlock(); b.down = down }

func (b *broker) got() []sluice.Claim { b.mu.Lock(); defer b.mu.Unlock(); return b.all }

// Publish is of settle.Publisher.
func (b *broker) Publish(_ context.Context, claims []sluice.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return fmt.Errorf("broker: %w", sluice.ErrUncertain)
	}
	b.all = append(b.all, claims...)
	return nil
}

// TestOnlySettlingIsAway: the ledger can count tries and cannot settle: that is an outage all the same.
func TestOnlySettlingIsAway(t *testing.T) {
	for _, why := range []error{sluice.ErrUnavailable, sluice.ErrUncertain, context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			l := &halfAway{QueueLedger: conformance.NewQueueLedger(), until: time.Now().Add(20 * time.Second), why: why}
			q.publish(someClaims(50))
			paused := 0
			w := settler(t, settle.Config{Settlers: 1, OnPause: func(error) { paused++ }},
				settle.Ports{Consumer: &reader{q: q}, Ledger: l})
			<-time.After(10 * time.Second)
			if !w.Paused() || paused != 1 || w.Typical() < 9*time.Second {
				t.Errorf("paused: %v, told %d times, the typical wait is %v", w.Paused(), paused, w.Typical())
			}
			<-time.After(time.Minute)
			w.Stop()
			if l.tries != 0 || q.state().Claims != 0 || w.Paused() {
				t.Errorf("%d tries were counted, %d left on the queue, paused: %v", l.tries, q.state().Claims, w.Paused())
			}
		})
	}
}

// halfAway is a ledger that cannot settle for a while. One settler at a time.
type halfAway struct {
	*conformance.QueueLedger
	until time.Time
	why   error
	tries int
}

func (l *halfAway) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	if time.Now().Before(l.until) {
		return nil, fmt.Errorf("half of a ledger: %w", l.why)
	}
	return l.QueueLedger.Settle(ctx, claims)
}

func (l *halfAway) FailTries(ctx context.Context, claims []sluice.Claim, why string) ([]sluice.ClaimID, error) {
	l.tries += len(claims)
	return l.QueueLedger.FailTries(ctx, claims, why)
}
