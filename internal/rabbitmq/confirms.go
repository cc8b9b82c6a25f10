package rabbitmq

import (
	"sync"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"
)

// batch counts what became of the messages of one call.
type batch struct {
	left     atomic.Int64 // not answered yet, and one while the call is still sending
	refused  atomic.Int64 // the broker said that it did not take them
	returned atomic.Int64 // no queue wanted them
	lost     atomic.Int64 // the connection ended first
	done     chan struct{}
}

func newBatch() *batch {
	b := &batch{done: make(chan struct{})}
	b.left.Store(1)
	return b
}

func (b *batch) answered() {
	if b.left.Add(-1) == 0 {
		close(b.done)
	}
}

// sent is one message on its way: the broker confirms them in the order they were sent.
type sent struct {
	batch *batch
	id    string
}

// confirms follows the messages of one channel. slots bounds what is on its way; mu guards waiting and head.
type confirms struct {
	wire  *wire
	slots chan struct{}

	sending sync.Mutex // order of the channel = order of waiting; never held while something is waited for

	mu      sync.Mutex
	waiting []sent // in order; those before head are answered
	head    int
	over    bool
}

// openConfirms puts the channel of w into confirm mode.
func openConfirms(w *wire, inFlight int) (*confirms, error) {
	s := &confirms{wire: w, slots: make(chan struct{}, inFlight)}
	// The driver hands over returns and confirmations in the broker's order, a return before its confirmation. A return is
	// handed over unbuffered, so it has been taken here before its confirmation exists.
	returns := w.ch.NotifyReturn(make(chan amqp.Return))
	answers := w.ch.NotifyPublish(make(chan amqp.Confirmation, inFlight))
	go s.run(returns, answers)
	return s, w.ch.Confirm(false)
}

func (s *confirms) run(returns chan amqp.Return, answers chan amqp.Confirmation) {
	returned := map[string]int{}
	for {
		select {
		case r, more := <-returns:
			if !more {
				returns = nil
				continue
			}
			returned[r.MessageId]++
		case a, more := <-answers:
			if !more {
				s.end()
				return
			}
			s.answer(a.Ack, returned)
		}
	}
}

func (s *confirms) answer(taken bool, returned map[string]int) {
	m, ok := s.next()
	if !ok {
		return
	}
	switch {
	case returned[m.id] > 0:
		if returned[m.id]--; returned[m.id] == 0 {
			delete(returned, m.id)
		}
		m.batch.returned.Add(1)
	case !taken:
		m.batch.refused.Add(1)
	}
	<-s.slots
	m.batch.answered()
}

func (s *confirms) next() (sent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.waiting) {
		return sent{}, false
	}
	m := s.waiting[s.head]
	s.waiting[s.head] = sent{}
	if s.head++; s.head == len(s.waiting) {
		s.waiting, s.head = s.waiting[:0], 0
	}
	return m, true
}

// end: whatever was not answered never will be.
func (s *confirms) end() {
	s.mu.Lock()
	open := s.waiting[s.head:]
	s.waiting, s.head, s.over = nil, 0, true
	s.mu.Unlock()
	for _, m := range open {
		m.batch.lost.Add(1)
		m.batch.answered()
	}
}

// send puts one message on its way; the caller holds a slot. False: the channel is gone, nothing was sent.
func (s *confirms) send(b *batch, exchange, key string, m amqp.Publishing) bool {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return false
	}
	b.left.Add(1)
	s.waiting = append(s.waiting, sent{batch: b, id: m.MessageId})
	s.mu.Unlock()
	// Where this fails the channel is ending, and the message is answered with the others: as lost.
	if err := s.wire.ch.Publish(exchange, key, true, false, m); err != nil {
		s.wire.raw.abort()
	}
	return true
}
