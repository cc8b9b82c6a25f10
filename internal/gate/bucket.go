package gate

import (
	"math"
	"sync/atomic"
	"time"
)

// maxInterval bounds the time between two tokens, in ns: one a day.
const maxInterval = float64(24 * time.Hour)

// bucket is a token bucket without a lock: the moment at which it will be full again, and how long one token takes. It
// holds burstOfRate seconds of its rate. The zero value has no bound.
type bucket struct {
	interval atomic.Int64 // ns a token; 0: no bound
	tat      atomic.Int64 // ns on the clock that never jumps
}

// setRate sets the tokens a second; zero or less means no bound. A rate that differs from the one before begins with a
// full bucket, so that nobody waits out what a slower rate had promised.
func (b *bucket) setRate(rate float64) {
	interval := int64(0)
	if rate > 0 {
		interval = max(1, int64(math.Min(float64(time.Second)/rate, maxInterval)))
	}
	if b.interval.Swap(interval) != interval {
		b.tat.Store(0)
	}
}

// take takes one token at mono, or says how long until there is one.
func (b *bucket) take(mono time.Duration) (wait time.Duration, ok bool) {
	interval := b.interval.Load()
	if interval == 0 {
		return 0, true
	}
	tolerance := max(0, int64(burstOfRate*float64(time.Second))-interval)
	for {
		old := b.tat.Load()
		tat := max(old, int64(mono))
		if ahead := tat - int64(mono); ahead > tolerance {
			return time.Duration(ahead - tolerance), false
		}
		if b.tat.CompareAndSwap(old, tat+interval) {
			return 0, true
		}
	}
}

// giveBack returns a token that was taken and not used.
func (b *bucket) giveBack() { b.tat.Add(-b.interval.Load()) }
