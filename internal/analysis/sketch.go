package analysis

import (
	"math"
	"math/bits"
	"slices"
)

// saving keeps the largest of many counts in a fixed number of counters (Space-Saving, Metwally, Agrawal and El Abbadi,
// 2005): what finds no counter takes over the smallest one, and inherits its count as a possible error. So no count is
// too low, none is too high by more than the smallest counter, which is at most the sum of all over the number of
// counters, and while there are no more keys than counters every count is exact. Keys are 64-bit hashes under a random
// seed; that two of a million keys share one has a chance of one in thirty million.
type saving struct {
	size     int
	counters []counter
	heap     []int32          // of counters, the smallest count first
	index    map[uint64]int32 // key → counter
	total    int64
}

type counter struct {
	key   uint64
	count int64
	over  int64 // the count is too high by at most this
	pos   int32 // in heap
	label string
	users smallest // of the accounts seen since the counter is its key's
	other smallest // of the devices
	units int64    // since the counter is its key's
}

func newSaving(size int) *saving {
	return &saving{size: size, index: make(map[uint64]int32, min(size, 256))}
}

// add counts n for key, whose label is kept where it is new, and gives the counter, valid until the next call.
func (s *saving) add(key uint64, label []byte, n int64) *counter {
	s.total += n
	i, ok := s.index[key]
	switch {
	case ok:
	case len(s.counters) < s.size:
		i = int32(len(s.counters))
		s.counters = append(s.counters, counter{key: key, label: string(label), pos: i})
		s.heap = append(s.heap, i)
		s.index[key] = i
		s.up(int(i))
	default:
		i = s.heap[0]
		c := &s.counters[i]
		delete(s.index, c.key)
		s.index[key] = i
		*c = counter{key: key, label: string(label), count: c.count, over: c.count, pos: c.pos,
			users: c.users[:0], other: c.other[:0]}
	}
	c := &s.counters[i]
	c.count += n
	s.down(int(c.pos))
	return c
}

// find gives the counter of key; nil where it has none.
func (s *saving) find(key uint64) *counter {
	if i, ok := s.index[key]; ok {
		return &s.counters[i]
	}
	return nil
}

// bound is how much any count may be too high at most: what a key that has no counter could have, too.
func (s *saving) bound() int64 {
	if len(s.counters) < s.size {
		return 0
	}
	worst := int64(0)
	for i := range s.counters {
		worst = max(worst, s.counters[i].over)
	}
	return worst
}

// sorted gives the counters, the largest first, those that are sure before those that are not.
func (s *saving) sorted() []*counter {
	all := make([]*counter, len(s.counters))
	for i := range s.counters {
		all[i] = &s.counters[i]
	}
	slices.SortFunc(all, func(a, b *counter) int {
		switch {
		case a.count != b.count:
			return int(max(-1, min(1, b.count-a.count)))
		case a.over != b.over:
			return int(max(-1, min(1, a.over-b.over)))
		case a.label < b.label:
			return -1
		}
		return 1
	})
	return all
}

func (s *saving) less(a, b int) bool {
	return s.counters[s.heap[a]].count < s.counters[s.heap[b]].count
}

func (s *saving) swap(a, b int) {
	s.heap[a], s.heap[b] = s.heap[b], s.heap[a]
	s.counters[s.heap[a]].pos, s.counters[s.heap[b]].pos = int32(a), int32(b)
}

func (s *saving) up(i int) {
	for i > 0 && s.less(i, (i-1)/2) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *saving) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.less(child+1, child) {
			child++
		}
		if !s.less(child, i) {
			return
		}
		s.swap(i, child)
		i = child
	}
}

// keptSmallest is how many hashes tell how many different things were seen: fewer are counted exactly, more with a
// standard error of 1/√62, 13%.
const keptSmallest = 64

// smallest counts different things by their smallest hashes (k minimum values, Bar-Yossef and others, 2002). It is in
// order.
type smallest []uint64

func (s *smallest) add(hash uint64) {
	v := *s
	if len(v) == keptSmallest && hash >= v[len(v)-1] {
		return
	}
	at, found := slices.BinarySearch(v, hash)
	if found {
		return
	}
	if len(v) == keptSmallest {
		v = v[:len(v)-1]
	}
	*s = slices.Insert(v, at, hash)
}

// count is how many there were: exact below keptSmallest.
func (s smallest) count() int64 {
	if len(s) < keptSmallest {
		return int64(len(s))
	}
	return int64(float64(len(s)-1) / (float64(s[len(s)-1]) / math.MaxUint64))
}

// Registers of a distinct: 2^14 bytes, for a standard error of 1.04/√2^14, 0.8%.
const (
	distinctBits  = 14
	distinctError = 0.0081
)

// distinct estimates how many different things were seen (HyperLogLog, Flajolet and others, 2007), with linear counting
// where they are few.
type distinct [1 << distinctBits]uint8

func (d *distinct) add(hash uint64) {
	i := hash >> (64 - distinctBits)
	rank := uint8(bits.LeadingZeros64(hash<<distinctBits|1<<(distinctBits-1))) + 1
	d[i] = max(d[i], rank)
}

func (d *distinct) count() int64 {
	const m = float64(len(d))
	sum, empty := 0.0, 0
	for _, r := range d {
		sum += 1 / float64(uint64(1)<<r)
		if r == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/float64(empty))
	}
	return int64(estimate + 0.5)
}
