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
type holders struct {
	table atomic.Pointer[[]atomic.Uint64] // open addressing, a power of two; 0 is a free place

	mu  sync.Mutex // held by who adds
	n   int
	met uint64 // what was read ahead, so that it has to be
}

const minHolders = 1 << 10

// fold gives the fingerprint of a key; never 0. Keys are cut from SHA-256, so that their bits are as good as any hash.
func fold(k sluice.UserKey) uint64 { return max(1, binary.LittleEndian.Uint64(k[:8])) }

// has says whether the user may hold a claim.
func (h *holders) has(k sluice.UserKey) bool {
	t := h.table.Load()
	if t == nil {
		return false
	}
	mask := uint64(len(*t) - 1)
	for f, i := fold(k), fold(k)&mask; ; i = (i + 1) & mask {
		switch (*t)[i].Load() {
		case f:
			return true
		case 0:
			return false
		}
	}
}

// add notes users.
func (h *holders) add(keys ...sluice.UserKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(keys) > 0 { // some at a time: a list is long, and most of it may be known
		some := keys[:min(len(keys), minHolders)]
		keys = keys[len(some):]
		h.room(len(some))
		t := *h.table.Load()
		mask, met := uint64(len(t)-1), uint64(0)
		for i := range some {
			met |= t[fold(some[i])&mask].Load()
		}
		h.met = met
		for i := range some {
			if place(t, fold(some[i])) {
				h.n++
			}
		}
	}
}

// addClaims notes the users of claims.
func (h *holders) addClaims(claims []sluice.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room(len(claims))
	t := *h.table.Load()
	// All places are read before any is changed: the processor waits for memory once, not once a claim.
	mask, met := uint64(len(t)-1), uint64(0)
	for i := range claims {
		met |= t[fold(claims[i].ID.User())&mask].Load()
	}
	h.met = met
	for i := range claims {
		if place(t, fold(claims[i].ID.User())) {
			h.n++
		}
	}
}

// clear forgets everybody.
func (h *holders) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.table.Store(nil)
	h.n = 0
}

// room sees to it that more users find places, and a third stays free. Callers hold the lock.
func (h *holders) room(more int) {
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
