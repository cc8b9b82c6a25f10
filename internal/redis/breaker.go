package redis

import (
	"sync"
	"time"
)

// Bounds of the breaker.
const (
	breakAfter = 5                      // failures in a row open it,
	breakSpan  = time.Second            // or fewer that span so long;
	probeEvery = 500 * time.Millisecond // then one call in this time tries again,
	closeAfter = 2                      // and so many successes in a row close it
)

// breaker keeps claims from waiting for a shard that does not answer. Only trouble counts: a refusal is an answer.
type breaker struct {
	mono func() time.Duration

	mu      sync.Mutex
	fails   int           // in a row
	since   time.Duration // of the first of them
	open    bool
	opened  time.Duration
	probed  time.Duration // the last probe
	probing bool
	good    int // successes in a row while open
}

// allow says whether a call may be made now. While the breaker is open, one call at a time may, every probeEvery: who
// is allowed must tell the outcome by done.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return true
	}
	now := b.mono()
	if b.probing || now-b.probed < probeEvery {
		return false
	}
	b.probing, b.probed = true, now
	return true
}

// done tells how a call went, and gives whether the breaker opened or closed by it.
func (b *breaker) done(ok bool) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.mono()
	b.probing = false
	if ok {
		b.fails = 0
		if !b.open {
			return false
		}
		b.good++
		if b.good < closeAfter {
			b.probed = now - probeEvery // the next one at once
			return false
		}
		b.open, b.good = false, 0
		return true
	}
	b.good = 0
	if b.fails == 0 {
		b.since = now
	}
	b.fails++
	if b.open || b.fails < breakAfter && now-b.since < breakSpan {
		return false
	}
	b.open, b.opened, b.probed = true, now, now
	return true
}

// standing says whether the breaker is open, and for how long.
func (b *breaker) standing() (open bool, since time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return false, 0
	}
	return true, b.mono() - b.opened
}
