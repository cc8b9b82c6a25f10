package fault

import (
	"errors"
	"sync"
)

// ErrInjected is what a broken call answers.
var ErrInjected = errors.New("fault: injected")

// Kind says how a call is broken.
type Kind int

// The kinds.
const (
	None   Kind = iota
	Refuse      // it is not carried out, and fails
	Lose        // it is carried out, and its answer is a failure
	Hold        // it is carried out when it is let go
)

// Store breaks steps of a store's writer. Its method Around goes to where the store lets its steps be carried out.
// The zero value breaks nothing. It is safe for concurrent use.
type Store struct {
	mu   sync.Mutex
	next map[string][]*Call
}

// Call is one step that will be broken.
type Call struct {
	kind    Kind
	entered chan struct{}
	release chan struct{}
	once    sync.Once
}

// Entered is closed when the step has begun.
func (c *Call) Entered() <-chan struct{} { return c.entered }

// Release lets a held step go on. It is idempotent.
func (c *Call) Release() { c.once.Do(func() { close(c.release) }) }

// Next breaks the next call of step that is not promised to another kind yet.
func (s *Store) Next(step string, kind Kind) *Call {
	c := &Call{kind: kind, entered: make(chan struct{}), release: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = map[string][]*Call{}
	}
	s.next[step] = append(s.next[step], c)
	return c
}

// Heal takes back every fault that has not come yet.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}

// Around carries out a step, or breaks it.
func (s *Store) Around(step string, do func() error) error {
	c := s.take(step)
	if c == nil {
		return do()
	}
	close(c.entered)
	switch c.kind {
	case Refuse:
		return ErrInjected
	case Lose:
		return errors.Join(ErrInjected, do())
	case Hold:
		<-c.release
	}
	return do()
}

func (s *Store) take(step string) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.next[step]
	if len(list) == 0 {
		return nil
	}
	s.next[step] = list[1:]
	return list[0]
}
