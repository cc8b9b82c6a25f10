package settle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// item is one delivery in hand.
type item struct {
	sluice.Delivery
	tries int       // that failed by themselves, as far as this process saw
	next  time.Time // not before; zero: now
}

// intake reads a queue ahead of those who work on it, up to a bound, so that the next batch is here when the last one
// is done. mu guards all below it.
type intake struct {
	consumer Consumer
	log      *slog.Logger
	prepare  func(ctx context.Context, got []sluice.Delivery) // may be nil

	mu     sync.Mutex
	ready  []item
	parked []item
	busy   map[string]int // transactions under way by campaign
	inHand int            // ready, parked and taken
	held   int            // reasons not to receive: outages under way, a pause
	change chan struct{}  // closed and replaced whenever any of the above changes
}

func newIntake(c Consumer, log *slog.Logger) *intake {
	return &intake{consumer: c, log: log, change: make(chan struct{}), busy: map[string]int{}}
}

// changed tells everyone who waits; mu is held.
func (in *intake) changed() {
	close(in.change)
	in.change = make(chan struct{})
}

// run receives until ctx is done.
func (in *intake) run(ctx context.Context) {
	var trouble backoff
	for {
		room := in.room(ctx, nil)
		if room == 0 {
			return
		}
		got, err := in.consumer.Receive(ctx, min(room, MaxBatch))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if trouble.first() {
				in.log.Warn("the queue cannot be read; it is tried again", "err", err)
			}
			trouble.wait(ctx)
			continue
		}
		trouble.over()
		if len(got) == 0 {
			continue
		}
		if in.prepare != nil {
			in.prepare(ctx, got)
		}
		in.add(got)
	}
}

// room waits until something may be received and says how much; 0 where ctx is done or stop is closed.
func (in *intake) room(ctx context.Context, stop <-chan struct{}) int {
	for {
		in.mu.Lock()
		room, change := MaxGathered-in.inHand, in.change
		if in.held > 0 {
			room = 0
		}
		in.mu.Unlock()
		if room > 0 && ctx.Err() == nil {
			return room
		}
		select {
		case <-ctx.Done():
			return 0
		case <-stop:
			return 0
		case <-change:
		}
	}
}

func (in *intake) add(got []sluice.Delivery) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range got {
		in.ready = append(in.ready, item{Delivery: got[i]})
	}
	in.inHand += len(got)
	in.changed()
}

// turn is the right to write what was taken: until it has ended nobody else of this process is given a few claims of
// the same campaigns. In the ledger they would only wait for the first transaction's lock, with a connection, while
// more could have come to go with them. As many as a transaction may have go at once: then one transaction is prepared
// while the other is synced.
type turn struct {
	in        *intake
	campaigns []string
}

// end gives the turn up. It is idempotent.
func (t *turn) end() {
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	for _, c := range t.campaigns {
		if t.in.busy[c]--; t.in.busy[c] == 0 {
			delete(t.in.busy, c)
		}
	}
	if len(t.campaigns) > 0 && len(t.in.ready) > 0 {
		t.in.changed()
	}
	t.campaigns = nil
}

// cut takes up to limit items in their order, of campaigns that nobody is writing unless there are as many; mu is held.
func (in *intake) cut(limit int) ([]item, *turn) {
	t := &turn{in: in}
	var batch []item
	mine, rest, plenty := map[string]bool{}, in.ready[:0], len(in.ready) >= limit
	for _, it := range in.ready {
		c := it.Claim.Campaign
		switch {
		case len(batch) == limit || in.busy[c] > 0 && !mine[c] && !plenty:
			rest = append(rest, it)
			continue
		case !mine[c]:
			mine[c] = true
			in.busy[c]++
			t.campaigns = append(t.campaigns, c)
		}
		batch = append(batch, it)
	}
	clear(in.ready[len(rest):])
	in.ready = rest
	return batch, t
}

// take waits for work and gives up to limit items of it; nil once ctx is done or stop is closed.
func (in *intake) take(ctx context.Context, stop <-chan struct{}, limit int) ([]item, *turn) {
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-stop:
			return nil, nil
		default:
		}
		in.mu.Lock()
		due := in.unpark(time.Now())
		batch, t := in.cut(limit)
		change := in.change
		in.mu.Unlock()
		if len(batch) > 0 {
			return batch, t
		}
		timer := time.NewTimer(due)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, nil
		case <-stop:
			timer.Stop()
			return nil, nil
		case <-change:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// unpark makes ready what is due at now and gives the time until the next is; mu is held.
func (in *intake) unpark(now time.Time) time.Duration {
	due, rest := time.Minute, in.parked[:0]
	for _, it := range in.parked {
		if wait := it.next.Sub(now); wait > 0 {
			due = min(due, wait)
			rest = append(rest, it)
			continue
		}
		in.ready = append(in.ready, it)
	}
	in.parked = rest
	return due
}

// park puts items aside until their next try.
func (in *intake) park(items []item) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, it := range items {
		it.tries++
		it.next = time.Now().Add(time.Duration(it.tries) * retryAfter)
		in.parked = append(in.parked, it)
	}
	in.changed()
}

// giveBack puts items in front again, in their order: they were not worked on.
func (in *intake) giveBack(items []item) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ready = append(append(make([]item, 0, len(items)+len(in.ready)), items...), in.ready...)
	in.changed()
}

// finished says that n items are in hand no more.
func (in *intake) finished(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inHand -= n
	in.changed()
}

// hold stops receiving until release was called as often.
func (in *intake) hold()    { in.holds(1) }
func (in *intake) release() { in.holds(-1) }

func (in *intake) holds(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held += n
	in.changed()
}

// hand says how many items are in hand.
func (in *intake) hand() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.inHand
}

// backoff is the pause between tries, doubling up to its bound.
type backoff struct{ pause time.Duration }

// first says whether this is the first try that failed since over.
func (b *backoff) first() bool { return b.pause == 0 }

func (b *backoff) over() { b.pause = 0 }

// wait pauses; false where ctx was done before.
func (b *backoff) wait(ctx context.Context) bool {
	b.pause = min(max(2*b.pause, minPause), maxPause)
	timer := time.NewTimer(b.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
