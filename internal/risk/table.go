package risk

import (
	"math"
	"math/bits"
	"sync"
)

// The sizes of the tables. A table is allocated once, when a rule first needs it.
const (
	ways         = 8       // entries of one set
	countSets    = 1 << 15 // 262,144 keys of 16 bytes and 40 bytes of a lock a set: 5.5 MB
	distinctSets = 1 << 13 // 65,536 keys of 80 bytes: 5.5 MB
	sketchWords  = 4       // a sketch is a bitmap of 256 bits
	maxTables    = 24      // different combinations of signal, scope and time: 132 MB at most
)

// A window is cut into two halves. An entry keeps the half that runs and the one before it, so that what is looked at
// is between the last half and the whole of the window, and never more.

// countEntry counts in one half and the one before. half is the number of the half, its lowest 32 bits.
type countEntry struct {
	tag         uint32 // the upper bits of the key's hash; with the set's number 47 bits of it
	half        uint32
	now, before uint16 // counts of all nodes
	fresh       uint16 // of now, what the other nodes have not been told
	_           uint16
}

// at turns the entry to the half that runs.
func (e *countEntry) at(half uint32) {
	switch age := half - e.half; {
	case age == 0 || age > 1<<31: // or a half that is over already: what comes late is counted in the one that runs
		return
	case age == 1:
		e.before = e.now
	default:
		e.before = 0
	}
	e.now, e.fresh, e.half = 0, 0, half
}

func (e *countEntry) sum() uint32 { return uint32(e.now) + uint32(e.before) }

type countSet struct {
	mu      sync.Mutex
	dirty   bool // some entry has something fresh
	entries [ways]countEntry
}

// counts is a table of counters.
type counts struct {
	sets []countSet
}

func newCounts() *counts { return &counts{make([]countSet, countSets)} }

// find gives the key's entry at half; nil where there is none and none is to be made. The caller holds the set's lock.
func (s *countSet) find(tag, half uint32, make bool) *countEntry {
	least := &s.entries[0]
	for i := range s.entries {
		e := &s.entries[i]
		if e.tag == tag && e.half != 0 {
			e.at(half)
			return e
		}
		if make {
			if e.half != 0 {
				e.at(half)
			}
			if e.sum() < least.sum() {
				least = e
			}
		}
	}
	if !make {
		return nil
	}
	*least = countEntry{tag: tag, half: half}
	return least
}

func place(hash uint64, sets int) (set uint64, tag uint32) {
	return hash & uint64(sets-1), uint32(hash >> 32)
}

// add counts n for the key. told says that other nodes know of it.
func (t *counts) add(hash uint64, half uint32, n uint16, told bool) {
	i, tag := place(hash, len(t.sets))
	s := &t.sets[i]
	s.mu.Lock()
	e := s.find(tag, half, true)
	e.now = plus(e.now, n)
	if !told {
		e.fresh = plus(e.fresh, n)
		s.dirty = true
	}
	s.mu.Unlock()
}

func plus(a, n uint16) uint16 { return uint16(min(uint32(a)+uint32(n), math.MaxUint16)) }

// sum gives what was counted for the key.
func (t *counts) sum(hash uint64, half uint32) uint32 {
	i, tag := place(hash, len(t.sets))
	s := &t.sets[i]
	s.mu.Lock()
	var n uint32
	if e := s.find(tag, half, false); e != nil {
		n = e.sum()
	}
	s.mu.Unlock()
	return n
}

// drain calls back for what the other nodes have not been told, up to most entries; the rest waits for the next time.
// Entries that have counted less than floor wait as well. It may be called by one goroutine only.
func (t *counts) drain(half uint32, floor uint32, most int, each func(hash uint64, n uint16)) {
	for i := range t.sets {
		s := &t.sets[i]
		s.mu.Lock()
		if s.dirty {
			s.dirty = false
			for j := range s.entries {
				e := &s.entries[j]
				if e.fresh == 0 || e.half != half {
					continue
				}
				if e.sum() < floor || most == 0 {
					s.dirty = true
					continue
				}
				// The middle bits of the hash are in neither set nor tag: whoever hears of it places it the same way.
				each(uint64(e.tag)<<32|uint64(i), e.fresh)
				e.fresh = 0
				most--
			}
		}
		s.mu.Unlock()
	}
}

// The table of sketches has the shape of the table of counters, and is written out: a common one over both entries
// would call through a dictionary where every claim counts, and no method of either is the other's.

// sketch is a set of which only the size is asked: each member sets one bit.
type sketch [sketchWords]uint64

// size estimates how many members were added, by linear counting. It is exact but for members that share a bit: of n
// members about n²/512 do, and the estimate makes up for them on average.
func (s *sketch) size() float64 {
	ones := 0
	for _, w := range s {
		ones += bits.OnesCount64(w)
	}
	return estimates[ones]
}

// estimates is the size for each number of bits that are set.
var estimates = func() (e [sketchWords*64 + 1]float64) {
	const m = float64(len(e) - 1)
	for ones := range e {
		zeros := max(m-float64(ones), 0.5)
		e[ones] = m * math.Log(m/zeros)
	}
	return e
}()

type distinctEntry struct {
	tag, half   uint32
	now, before sketch
	fresh       bool
}

func (e *distinctEntry) at(half uint32) {
	switch age := half - e.half; {
	case age == 0 || age > 1<<31:
		return
	case age == 1:
		e.before = e.now
	default:
		e.before = sketch{}
	}
	e.now, e.fresh, e.half = sketch{}, false, half
}

func (e *distinctEntry) size() float64 {
	both := e.now
	for i := range both {
		both[i] |= e.before[i]
	}
	return both.size()
}

type distinctSet struct {
	mu      sync.Mutex
	dirty   bool
	entries [ways]distinctEntry
}

// distincts is a table of sketches.
type distincts struct {
	sets []distinctSet
}

func newDistincts() *distincts { return &distincts{make([]distinctSet, distinctSets)} }

func (s *distinctSet) find(tag, half uint32, make bool) *distinctEntry {
	least, size := &s.entries[0], math.Inf(1)
	for i := range s.entries {
		e := &s.entries[i]
		if e.tag == tag && e.half != 0 {
			e.at(half)
			return e
		}
		if make {
			if e.half != 0 {
				e.at(half)
			}
			if n := e.size(); n < size {
				least, size = e, n
			}
		}
	}
	if !make {
		return nil
	}
	*least = distinctEntry{tag: tag, half: half}
	return least
}

// add puts a member into the key's set.
func (t *distincts) add(hash, member uint64, half uint32) {
	i, tag := place(hash, len(t.sets))
	s := &t.sets[i]
	bit := member ^ member>>32
	bit = (bit ^ bit>>16) % (sketchWords * 64)
	s.mu.Lock()
	e := s.find(tag, half, true)
	if w, b := &e.now[bit/64], uint64(1)<<(bit%64); *w&b == 0 {
		*w |= b
		e.fresh, s.dirty = true, true
	}
	s.mu.Unlock()
}

// join adds what another node has seen.
func (t *distincts) join(hash uint64, other *sketch, half uint32) {
	i, tag := place(hash, len(t.sets))
	s := &t.sets[i]
	s.mu.Lock()
	e := s.find(tag, half, true)
	for k := range e.now {
		e.now[k] |= other[k]
	}
	s.mu.Unlock()
}

func (t *distincts) size(hash uint64, half uint32) float64 {
	i, tag := place(hash, len(t.sets))
	s := &t.sets[i]
	s.mu.Lock()
	var n float64
	if e := s.find(tag, half, false); e != nil {
		n = e.size()
	}
	s.mu.Unlock()
	return n
}

func (t *distincts) drain(half uint32, floor float64, most int, each func(hash uint64, s *sketch)) {
	for i := range t.sets {
		s := &t.sets[i]
		s.mu.Lock()
		if s.dirty {
			s.dirty = false
			for j := range s.entries {
				e := &s.entries[j]
				if !e.fresh || e.half != half {
					continue
				}
				if e.size() < floor || most == 0 {
					s.dirty = true
					continue
				}
				each(uint64(e.tag)<<32|uint64(i), &e.now)
				e.fresh = false
				most--
			}
		}
		s.mu.Unlock()
	}
}
