package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// source is a store that lists nodes, and what it said last. The zero source, without read, never answers.
type source struct {
	read func(ctx context.Context) ([]sluice.Node, error)
	ctx  context.Context // of all its readings

	mu    sync.Mutex
	busy  chan struct{} // closed at the end of the reading that is under way; nil: there is none
	err   error         // of the reading before
	nodes []sluice.Node
	at    time.Time // when nodes were so
}

// ask starts a reading, where none is under way, and gives what is closed at its end: after storeTimeout at the latest.
// It is nobody's own, so that a store that is slow is asked once at a time, and loses no connection to it.
func (s *source) ask() <-chan struct{} {
	if s.read == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil {
		return s.busy
	}
	done := make(chan struct{})
	s.busy = done
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(s.ctx, storeTimeout)
		defer cancel()
		nodes, err := s.read(ctx)
		if err == nil {
			s.note(nodes)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy, s.err = nil, err
	}()
	return done
}

// note remembers what the store has just said.
func (s *source) note(nodes []sluice.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes, s.at = nodes, time.Now()
}

// failed gives the error of the reading before.
func (s *source) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// last gives the nodes as they were when the store said so last, and how long ago that is.
func (s *source) last() ([]sluice.Node, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes, time.Since(s.at)
}

// laterGrace is how much longer than the store that answers first the other one may take to list the nodes.
const laterGrace = 200 * time.Millisecond

// ask has both stores list the nodes at once. Where one has answered, the other is waited for a little if it is known
// to live, and else not at all. The error is that of the ledger: neither has answered within storeTimeout.
func (f *Fleet) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ledger, redis := f.ledger.ask(), f.redis.ask()
	var late <-chan time.Time
	answered := false
	heard := func(from *source, otherLives bool) {
		if from.failed() != nil {
			return
		}
		answered = true
		grace := time.Duration(0)
		if otherLives {
			grace = laterGrace
		}
		late = time.After(grace)
	}
	for over := false; !over && (ledger != nil || redis != nil); {
		select {
		case <-ledger:
			ledger = nil
			heard(&f.ledger, f.redisUp.Load())
		case <-redis:
			redis = nil
			heard(&f.redis, f.ledgerUp.Load())
		case <-late:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
	if answered {
		return nil
	}
	return errors.Join(sluice.ErrUnavailable, f.ledger.failed())
}

// known lists the nodes that either store has spoken of last, each by its younger heartbeat. now: the heartbeats have
// aged since; else they are as old as they were then.
func (f *Fleet) known(now bool) map[string]sluice.Node {
	byID := map[string]sluice.Node{}
	for _, s := range []*source{&f.ledger, &f.redis} {
		nodes, ago := s.last()
		for _, n := range nodes {
			if now {
				n.AgeMS += ago.Milliseconds()
			}
			if old, ok := byID[n.ID]; ok {
				n = merge(old, n)
			}
			byID[n.ID] = n
		}
	}
	return byID
}

// merge joins what two stores say of one node: what is in force there only grows.
func merge(a, b sluice.Node) sluice.Node {
	young, old := a, b
	if b.AgeMS < a.AgeMS {
		young, old = b, a
	}
	young.Settings = max(young.Settings, old.Settings)
	young.Control = max(young.Control, old.Control)
	if young.Flushed == nil {
		young.Flushed = old.Flushed
	}
	if !young.Standing.Known() {
		young.Standing = old.Standing
	}
	return young
}
