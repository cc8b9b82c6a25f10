package redis

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// gather joins concurrent requests to calls: a call carries whatever came together while the last ones were under way.
// No lock is held over a call. Requests are taken in the order in which they came.
type gather[Q, R any] struct {
	call    func(qs []Q, rs []R) // fills rs, which has a place for each of qs
	max     int                  // requests of one call
	flights int                  // calls under way at once
	wait    time.Duration        // a request that takes longer is given up by who asked; its call goes on

	// reuse says that call keeps nothing of qs, so that their room may carry other requests.
	reuse bool
	// lent appends the bytes that a request points to and that are its asker's only, in memory that may be used again
	// once the asker has given up; lend makes requests point to what was appended. nil: there are none.
	lent func(text []byte, q *Q) []byte
	lend func(qs []Q, text string)

	waiting atomic.Int64 // requests without an answer

	mu     sync.Mutex
	queue  []*flight[Q, R] // the last one is still filling
	flying int
	usual  int        // requests of the last flight that took off: room for the next one
	bytes  int        // that were lent to it
	spare  [][]Q      // room of flights that came back
	idle   *sync.Cond // told when flying falls to zero; made by drain
}

// flight is the requests of one call.
type flight[Q, R any] struct {
	qs       []Q
	text     []byte // what was lent
	rs       []R
	wake     chan struct{} // closed when the answers are there, or take too long
	woken    sync.Once
	answered atomic.Bool
	timer    *time.Timer
}

func (f *flight[Q, R]) wakeAll() { f.woken.Do(func() { close(f.wake) }) }

// do asks for one answer; false where it takes longer than the bound. The request may be carried out all the same. q is
// copied.
func (g *gather[Q, R]) do(q *Q) (r R, ok bool) {
	f, slot := g.add(q)
	<-f.wake
	if !f.answered.Load() {
		return r, false
	}
	return f.rs[slot], true
}

func (g *gather[Q, R]) add(q *Q) (f *flight[Q, R], slot int) {
	all := int(g.waiting.Add(1))
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.queue); n > 0 && len(g.queue[n-1].qs) < g.share(all) {
		f = g.queue[n-1]
	} else {
		f = g.newFlight()
		g.queue = append(g.queue, f)
	}
	f.qs = append(f.qs, *q)
	if g.lent != nil {
		f.text = g.lent(f.text, &f.qs[len(f.qs)-1])
	}
	if g.flying < g.flights {
		g.flying++
		go g.fly()
	}
	return f, len(f.qs) - 1
}

// leastShare is what a call may carry in any case: smaller ones cost more than waiting for each other.
const leastShare = 64

// share gives how many of all requests without an answer one call may carry, so that as much is under way in each of
// them: with nearly all in one, whoever answers waits for this process to read that one, and this process for the
// next.
func (g *gather[Q, R]) share(all int) int {
	return min(g.max, max(leastShare, (all+g.flights-1)/g.flights))
}

// newFlight makes a flight with room for what is usual. Callers hold the lock.
func (g *gather[Q, R]) newFlight() *flight[Q, R] {
	f := &flight[Q, R]{wake: make(chan struct{})}
	f.timer = time.AfterFunc(g.wait, f.wakeAll)
	if n := len(g.spare); n > 0 {
		f.qs, g.spare[n-1], g.spare = g.spare[n-1], nil, g.spare[:n-1]
	} else {
		f.qs = make([]Q, 0, max(1, g.usual))
	}
	if g.lent != nil {
		f.text = make([]byte, 0, g.bytes)
	}
	return f
}

// fly makes calls until nobody waits. Before each it lets everybody else who can run go first: requests that have
// arrived are among them and join the call. On a machine with nothing else to do that costs nothing (ADR 13).
func (g *gather[Q, R]) fly() {
	for {
		runtime.Gosched()
		g.mu.Lock()
		if len(g.queue) == 0 {
			g.flying--
			if g.flying == 0 && g.idle != nil {
				g.idle.Broadcast()
			}
			g.mu.Unlock()
			return
		}
		f := g.queue[0]
		g.queue[0] = nil
		g.queue = g.queue[1:]
		g.usual, g.bytes = min(len(f.qs)+len(f.qs)/8, g.max), len(f.text)+len(f.text)/8
		g.mu.Unlock()
		if g.lend != nil {
			g.lend(f.qs, stringOf(f.text))
		}
		f.rs = make([]R, len(f.qs))
		g.call(f.qs, f.rs)
		f.timer.Stop()
		g.waiting.Add(-int64(len(f.qs)))
		qs := f.qs
		f.qs = nil
		f.answered.Store(true)
		f.wakeAll()
		if g.reuse {
			g.keepRoom(qs)
		}
	}
}

// keepRoom has another flight use the room of one that came back.
func (g *gather[Q, R]) keepRoom(qs []Q) {
	clear(qs)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.spare) <= g.flights {
		g.spare = append(g.spare, qs[:0])
	}
}

// drain blocks until no call is under way and nobody waits.
func (g *gather[Q, R]) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == nil {
		g.idle = sync.NewCond(&g.mu)
	}
	for g.flying > 0 || len(g.queue) > 0 {
		g.idle.Wait()
	}
}
