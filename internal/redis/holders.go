package redis

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
)

// holders are the users that have a claim on a campaign, by the first 8 bytes of their keys. It answers "maybe" and
// "no" without a lock, an allocation or I/O: of 5 million others one user in 3 · 10¹² is taken for a holder, and that
// costs a look at the gate. Users are only added; an epoch that forgets some makes a look-up more, never a wrong
// answer.
//
// Those whom this node admits come to a small table first, which stays in the processor's cache; when the gate's list
// was read, which has them too, they go over to the large one.
type holders struct {
	table        atomic.Pointer[[]atomic.Uint64] // open addressing, a power of two; 0 is a free place
	young, older atomic.Pointer[young]           // older is on its way to the table

	mu   sync.Mutex // held by who adds
	n    int
	room int    // of the next young
	met  uint64 // what was read ahead, so that it has to be
}

// young has room for what one node admits between two looks at the gate; more goes to the large table.
type young struct {
	table []atomic.Uint64
	n     int
}

const maxYoung = 1 << 16

// has says whether a fingerprint is there; y may be nil.
func (y *young) has(f uint64) bool { return y != nil && in(y.table, f) }

// larger gives a table of four times the room with the same in it.
func (y *young) larger() *young {
	l := &young{table: make([]atomic.Uint64, min(4*len(y.table), maxYoung)), n: y.n}
	for i := range y.table {
		if f := y.table[i].Load(); f != 0 {
			place(l.table, f)
		}
	}
	return l
}

const minHolders = 1 << 10

// fold gives the fingerprint of a key; never 0. Keys are cut from SHA-256, so that their bits are as good as any hash.
func fold(k sluice.UserKey) uint64 { return max(1, binary.LittleEndian.Uint64(k[:8])) }

// has says whether the user may hold a claim. It looks at the tables in the order in which users move.
func (h *holders) has(k sluice.UserKey) bool {
	f := fold(k)
	if h.young.Load().has(f) || h.older.Load().has(f) {
		return true
	}
	t := h.table.Load()
	return t != nil && in(*t, f)
}

// any says whether there is anything to forget.
func (h *holders) any() bool { return h.young.Load() != nil || h.table.Load() != nil }

// in says whether a fingerprint is in a table.
func in(t []atomic.Uint64, f uint64) bool {
	mask := uint64(len(t) - 1)
	for i := f & mask; ; i = (i + 1) & mask {
		switch t[i].Load() {
		case f:
			return true
		case 0:
			return false
		}
	}
}

// add notes users. Those who are young come to the large table with the others of their age.
func (h *holders) add(keys ...sluice.UserKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	y, older := h.young.Load(), h.older.Load()
	for len(keys) > 0 { // some at a time: a list is long, and most of it may be known
		var some [minHolders]uint64
		n, news := min(len(keys), len(some)), some[:0]
		for _, k := range keys[:n] {
			if f := fold(k); !y.has(f) && !older.has(f) {
				news = append(news, f)
			}
		}
		h.put(news)
		keys = keys[n:]
	}
}

// put adds fingerprints to the large table. All places are read before any is changed: the processor waits for memory
// once, not once a user. Callers hold the lock.
func (h *holders) put(some []uint64) {
	h.grow(len(some))
	t := *h.table.Load()
	h.met = met(t, some)
	for _, f := range some {
		if place(t, f) {
			h.n++
		}
	}
}

// addClaims notes the users of claims that this node has admitted.
func (h *holders) addClaims(claims []sluice.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	y := h.young.Load()
	if y == nil {
		h.room = max(h.room, minHolders)
		y = &young{table: make([]atomic.Uint64, h.room)}
		h.young.Store(y)
	}
	for len(claims) > 0 { // some at a time, as add does
		var some [minHolders]uint64
		n := min(len(claims), len(some))
		for i := range n {
			some[i] = fold(claims[i].ID.User())
		}
		claims = claims[n:]
		for y.n+n > len(y.table)/3*2 && len(y.table) < maxYoung {
			y = y.larger()
			h.young.Store(y)
		}
		if y.n+n > len(y.table)/3*2 {
			h.put(some[:n])
			continue
		}
		h.met = met(y.table, some[:n])
		for _, f := range some[:n] {
			if place(y.table, f) {
				y.n++
			}
		}
	}
}

// settleDown moves the young to the large table, some at a time. One at a time calls it.
func (h *holders) settleDown() {
	h.mu.Lock()
	y := h.young.Load()
	h.older.Store(y) // before it leaves: whoever looks finds them in one of the two
	h.young.Store(nil)
	switch {
	case y == nil:
	case y.n >= h.room/3*2:
		h.room = min(2*h.room, maxYoung)
	case y.n < h.room/8:
		h.room = max(h.room/2, minHolders)
	}
	h.mu.Unlock()
	if y == nil {
		return
	}
	for at := 0; at < len(y.table); at += minHolders {
		var some [minHolders]uint64
		n := 0
		for i := range minHolders {
			if f := y.table[at+i].Load(); f != 0 {
				some[n], n = f, n+1
			}
		}
		h.mu.Lock()
		h.put(some[:n])
		h.mu.Unlock()
	}
	h.older.Store(nil)
}

// met reads the places of fingerprints and gives what it read.
func met(t []atomic.Uint64, some []uint64) (all uint64) {
	mask := uint64(len(t) - 1)
	for _, f := range some {
		all |= t[f&mask].Load()
	}
	return all
}

// clear forgets everybody.
func (h *holders) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.young.Store(nil)
	h.table.Store(nil)
	h.n = 0
}

// grow sees to it that more users find places, and a third stays free. Callers hold the lock.
func (h *holders) grow(more int) {
	old := h.table.Load()
	size := minHolders
	if old != nil {
		size = len(*old)
	}
	for h.n+more > size/3*2 {
		size *= 2
	}
	if old != nil && size == len(*old) {
		return
	}
	t := make([]atomic.Uint64, size)
	if old != nil {
		for i := range *old {
			if f := (*old)[i].Load(); f != 0 {
				place(t, f)
			}
		}
	}
	h.table.Store(&t)
}

// place puts a fingerprint into a table; false where it was there.
func place(t []atomic.Uint64, f uint64) bool {
	mask := uint64(len(t) - 1)
	for i := f & mask; ; i = (i + 1) & mask {
		switch t[i].Load() {
		case f:
			return false
		case 0:
			t[i].Store(f)
			return true
		}
	}
}
