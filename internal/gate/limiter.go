package gate

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// limiter bounds how often each key may come (GCRA), in a table of fixed size: 8 bytes a key, whatever the number of
// keys. A key's place is a set of eight words, one cache line; a word holds 24 bits of the key's hash and, in 40 bits,
// the moment from which the key's burst is whole again. A word whose moment has passed says nothing and is free. In a
// set that is full of keys under limit, the one that is closest to whole is forgotten: that key may come a burst more.
//
// Two keys are taken for one with odds of about 8 in 2²⁴ for keys of one set, 1 in 10¹¹ for a pair; they then share a
// rate. There is no lock and nothing to sweep.
type limiter struct {
	sets []limiterSet
	mask uint64
}

type limiterSet [8]atomic.Uint64

// tick is the limiter's unit of time. 40 bits of it last 4.3 years of uptime.
const (
	tick     = 125 * time.Microsecond
	tatBits  = 40
	tatMask  = 1<<tatBits - 1
	maxTicks = 1 << 32 // the longest interval: six days
)

// pace is a rate in the limiter's units: one in interval, and as many at once as fit in tolerance.
type pace struct{ interval, tolerance uint64 }

// paceOf gives the pace of rate a second with a burst of rate, at least one; a rate of zero, or above 8,000, is no
// bound.
func paceOf(rate float64) pace {
	perSecond := float64(time.Second / tick)
	if rate <= 0 || rate > perSecond {
		return pace{}
	}
	interval := math.Min(math.Round(perSecond/rate), maxTicks)
	return pace{uint64(interval), uint64((math.Max(1, rate) - 1) * interval)}
}

// slower gives the pace divided by a factor; what may come at once shrinks with it. A factor up to 1 changes nothing.
func (p pace) slower(factor float64) pace {
	if !(factor > 1) {
		return p
	}
	interval := uint64(math.Min(float64(p.interval)*factor, maxTicks))
	burst := math.Max(1, (float64(p.tolerance)/float64(p.interval)+1)/factor)
	return pace{interval, uint64((burst - 1) * float64(interval))}
}

// newLimiter makes a limiter for at least keys keys.
func newLimiter(keys int) *limiter {
	sets := max(1, (keys+7)/8)
	sets = 1 << bits.Len(uint(sets-1))
	return &limiter{sets: make([]limiterSet, sets), mask: uint64(sets - 1)}
}

// capacity gives how many keys are remembered at most.
func (l *limiter) capacity() int { return len(l.sets) * len(limiterSet{}) }

// take lets the key with this hash come at mono, or says how long it has to wait. p.interval is above zero.
func (l *limiter) take(hash uint64, p pace, mono time.Duration) (wait time.Duration, ok bool) {
	now := uint64(mono/tick) & tatMask
	set, tag := &l.sets[hash&l.mask], hash&^uint64(tatMask)
	for {
		word, old, tat := set.find(tag, now)
		tat = max(tat, now)
		if ahead := tat - now; ahead > p.tolerance {
			return time.Duration(ahead-p.tolerance) * tick, false
		}
		if word.CompareAndSwap(old, tag|min(tat+p.interval, tatMask)) {
			return 0, true
		}
	}
}

// find gives the key's word and what it holds; else the word to put it in, the one with the earliest moment.
func (s *limiterSet) find(tag, now uint64) (word *atomic.Uint64, old, tat uint64) {
	word, old = &s[0], s[0].Load()
	for i := range s {
		v := s[i].Load()
		if v&^uint64(tatMask) == tag && v != 0 {
			return &s[i], v, v & tatMask
		}
		if v&tatMask < old&tatMask {
			word, old = &s[i], v
		}
	}
	return word, old, now
}

// mix joins two hashes into one; every bit of the result depends on all of them.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return hi ^ lo
}
