package settle_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/settle"
)

// queue is a queue in memory: the least that the suite asks for. mu guards all of it.
type queue struct {
	mu      sync.Mutex
	next    int
	ready   []message
	held    map[string]holding
	arrived chan struct{} // closed and replaced when something comes
}

type message struct {
	sluice.Delivery
	at sluice.Millis
}

type holding struct {
	message
	by *reader
}

// reader is one consumer of a queue.
type reader struct {
	q    *queue
	mu   sync.Mutex
	dead bool
}

func newQueue() *queue { return &queue{held: map[string]holding{}, arrived: make(chan struct{})} }

func (q *queue) put(all ...sluice.Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range all {
		q.next++
		d.Tag = strconv.Itoa(q.next)
		q.ready = append(q.ready, message{d, sluice.MillisOf(time.Now())})
	}
	q.wake()
}

func (q *queue) wake() { close(q.arrived); q.arrived = make(chan struct{}) }

func (q *queue) publish(claims []sluice.Claim) {
	all := make([]sluice.Delivery, len(claims))
	for i := range claims {
		all[i].Claim = claims[i]
	}
	q.put(all...)
}

func (q *queue) state() (s sluice.QueueState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := func(m message) {
		s.Entries++
		s.Claims++
		if s.Oldest == 0 || m.at < s.Oldest {
			s.Oldest = m.at
		}
	}
	for _, m := range q.ready {
		oldest(m)
	}
	for _, h := range q.held {
		oldest(h.message)
	}
	return s
}

// abandon gives back what a reader holds and cuts it off.
func (q *queue) abandon(r *reader) {
	r.mu.Lock()
	r.dead = true
	r.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	for tag, h := range q.held {
		if h.by == r || r == nil {
			delete(q.held, tag)
			q.ready = append(q.ready, h.message)
		}
	}
	q.wake()
}

// restart gives back what all readers hold.
func (q *queue) restart() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for tag, h := range q.held {
		delete(q.held, tag)
		q.ready = append(q.ready, h.message)
	}
	q.wake()
}

func (r *reader) cut() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.dead }

// Receive is of settle.Consumer.
func (r *reader) Receive(ctx context.Context, limit int) ([]sluice.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("queue: %w", err)
		}
		if r.cut() {
			<-ctx.Done()
			continue
		}
		r.q.mu.Lock()
		n := min(limit, len(r.q.ready))
		var got []sluice.Delivery
		for _, m := range r.q.ready[:n] {
			r.q.held[m.Tag] = holding{m, r}
			got = append(got, m.Delivery)
		}
		r.q.ready = r.q.ready[n:]
		arrived := r.q.arrived
		r.q.mu.Unlock()
		if n > 0 {
			return got, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
		}
	}
}

// Ack is of settle.Consumer.
func (r *reader) Ack(_ context.Context, done []sluice.Delivery) error {
	if r.cut() {
		return fmt.Errorf("queue: the reader is gone: %w", sluice.ErrUnavailable)
	}
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	for _, d := range done {
		if h, ok := r.q.held[d.Tag]; ok && h.by == r {
			delete(r.q.held, d.Tag)
		}
	}
	return nil
}

// gate records what it is told.
type gate struct {
	mu      sync.Mutex
	settled map[sluice.ClaimID]int
	err     error
}

// Settled is of settle.Gate.
func (g *gate) Settled(_ context.Context, claims []sluice.Claim) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.settled == nil {
		g.settled = map[sluice.ClaimID]int{}
	}
	for i := range claims {
		g.settled[claims[i].ID]++
	}
	return g.err
}

// goods says that every campaign is on goods.
type goods struct{}

// KindOf is of settle.Kinds.
func (goods) KindOf(context.Context, string) (sluice.Kind, error) { return sluice.KindGoods, nil }

func settler(t *testing.T, cfg settle.Config, ports settle.Ports) *settle.Settler {
	t.Helper()
	if ports.Gate == nil {
		ports.Gate = &gate{}
	}
	if ports.Kinds == nil {
		ports.Kinds = goods{}
	}
	s, err := settle.New(cfg, ports)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// TestQueueInMemory runs the suite on the queue that the tests of this package use, and so the settler on the suite.
func TestQueueInMemory(t *testing.T) {
	conformance.Queue(t, func(*testing.T) conformance.QueueBench {
		q := newQueue()
		return conformance.QueueBench{
			Publish: func(_ *testing.T, claims []sluice.Claim) { q.publish(claims) },
			PublishRaw: func(_ *testing.T, raw []byte) {
				q.put(sluice.Delivery{Raw: raw, Fault: "not a message of this queue"})
			},
			Consumer: func(*testing.T) conformance.QueueConsumer { return &reader{q: q} },
			Abandon: func(t *testing.T, c conformance.QueueConsumer) {
				r, ok := c.(*reader)
				if !ok {
					t.Fatal("another queue's consumer")
				}
				q.abandon(r)
			},
			State:   func(*testing.T) sluice.QueueState { return q.state() },
			Restart: func(*testing.T) { q.restart() },
			Settle: func(t *testing.T, c conformance.QueueConsumer, l *conformance.QueueLedger) func() {
				return settler(t, settle.Config{}, settle.Ports{Consumer: c, Ledger: l}).Stop
			},
		}
	})
}
