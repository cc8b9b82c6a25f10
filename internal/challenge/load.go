package challenge

import (
	"sync"
	"time"
)

// loadOver is the time over which a rate is measured.
const loadOver = 5 * time.Second

// load measures how often something happens, as an average that forgets.
type load struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
	rate float64 // a second, at last
}

// add counts one and gives the rate a second.
func (l *load) add() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	gone := now.Sub(l.last)
	l.last = now
	switch {
	case gone >= loadOver:
		l.rate = 0
	case gone > 0:
		l.rate *= 1 - float64(gone)/float64(loadOver)
	}
	l.rate += 1 / loadOver.Seconds()
	return l.rate
}
