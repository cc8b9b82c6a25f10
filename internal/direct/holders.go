package direct

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
)

// holders are the users that have a claim on a campaign, by the first 8 bytes of their keys. It answers "maybe" and
// "no" without a lock, an allocation or I/O; a "maybe" costs a look into the ledger. Users are only added. The set of
// internal/redis has a young generation and adds in bulk, since lists of millions come from the gate there; here they
// come a batch at a time, and the plain form will do.
type holders struct {
	table atomic.Pointer[[]atomic.Uint64] // open addressing, a power of two; 0 is a free place

	mu sync.Mutex // held by who adds
	n  int
}

const minHolders = 1 << 10

// fold gives the fingerprint of a key; never 0. Keys are cut from SHA-256, so that their bits are as good as any hash.
func fold(k sluice.UserKey) uint64 { return max(1, binary.LittleEndian.Uint64(k[:8])) }

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

func (h *holders) add(keys ...sluice.UserKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		h.room()
		if place(*h.table.Load(), fold(k)) {
			h.n++
		}
	}
}

// forget empties the set.
func (h *holders) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.table.Store(nil)
	h.n = 0
}

// room sees to it that a third of the places stays free. Callers hold the lock.
func (h *holders) room() {
	old := h.table.Load()
	if old != nil && h.n < len(*old)/3*2 {
		return
	}
	size := minHolders
	if old != nil {
		size = 2 * len(*old)
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
