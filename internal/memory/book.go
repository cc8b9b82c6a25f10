package memory

import (
	"sync"

	"github.com/sluice-sale/sluice"
)

// record is one claim. It holds no pointers, so that the collector never walks the millions of them.
type record struct {
	id       sluice.ClaimID
	quantity int32
	live     int32         // units it takes from the stock
	limit    int32         // units it takes of the user's limit
	next     uint32        // the user's next record + 1; 0 ends the list
	campaign uint32        // campaign.no in this process
	rejected sluice.Reason // why, for a rejected claim
	pending  bool          // not committed yet
}

// holder is what a user has in a book.
type holder struct {
	units int64  // Σ limit units
	head  uint32 // the newest record + 1
}

const chunkSize = 4096

// book knows the claims of one campaign, or of all campaigns that share a limit. Its lock also guards the stock of
// these campaigns, so that limit, stock and claim change together. It is never held over I/O.
type book struct {
	mu      sync.RWMutex
	unknown int // campaigns whose claims are not all read: what they take of the limit is not known
	claims
}

// claims is the content of a book.
type claims struct {
	chunks  []*[chunkSize]record // records by number; chunks never move
	n       uint32
	free    []uint32 // numbers of records that were forgotten: add uses them again
	index   map[sluice.ClaimID]uint32
	holders map[sluice.UserKey]holder
	pending map[sluice.ClaimID]*batch // claims whose batch is not committed yet
}

func newClaims(size int) claims {
	return claims{
		index:   make(map[sluice.ClaimID]uint32, size),
		holders: make(map[sluice.UserKey]holder, size),
		pending: make(map[sluice.ClaimID]*batch),
	}
}

func (b *claims) at(i uint32) *record { return &b.chunks[i/chunkSize][i%chunkSize] }

// find gives the record of a claim, or nil.
func (b *claims) find(id sluice.ClaimID) *record {
	i, ok := b.index[id]
	if !ok {
		return nil
	}
	return b.at(i)
}

// add keeps a record and counts it towards its user's limit.
func (b *claims) add(r record) {
	i := b.place()
	key := r.id.User()
	h := b.holders[key]
	r.next = h.head
	h.head, h.units = i+1, h.units+int64(r.limit)
	b.holders[key] = h
	b.index[r.id] = i
	*b.at(i) = r
}

// place gives the number of a record that is free.
func (b *claims) place() uint32 {
	if last := len(b.free) - 1; last >= 0 {
		i := b.free[last]
		b.free = b.free[:last]
		return i
	}
	if b.n%chunkSize == 0 {
		b.chunks = append(b.chunks, new([chunkSize]record))
	}
	b.n++
	return b.n - 1
}

// give takes units and limit units off a record, never more than it has, and says how many units came free.
func (b *claims) give(r *record, units, limit int64) int64 {
	units = min(units, int64(r.live))
	limit = min(limit, int64(r.limit))
	r.live -= int32(units)
	r.limit -= int32(limit)
	if limit > 0 {
		key := r.id.User()
		h := b.holders[key]
		h.units -= limit
		b.holders[key] = h
	}
	return units
}

// forget takes away a claim that never came to be, without a trace: a store that refuses may do so for hours.
func (b *claims) forget(id sluice.ClaimID) (units int64) {
	i, ok := b.index[id]
	if !ok {
		return 0
	}
	r := b.at(i)
	units = b.give(r, int64(r.live), int64(r.limit))
	key := id.User()
	h := b.holders[key]
	for at := &h.head; *at != 0; at = &b.at(*at - 1).next {
		if *at == i+1 {
			*at = r.next
			break
		}
	}
	if b.holders[key] = h; h.head == 0 {
		delete(b.holders, key)
	}
	delete(b.index, id)
	delete(b.pending, id)
	*r = record{}
	b.free = append(b.free, i)
	return units
}

// without gives the same content less the claims of one campaign.
func (b *claims) without(campaign uint32) claims {
	kept := newClaims(0)
	for i := range b.n {
		r := *b.at(i)
		if r.campaign == campaign || r.quantity == 0 {
			continue
		}
		kept.add(r)
		if t, ok := b.pending[r.id]; ok {
			kept.pending[r.id] = t
		}
	}
	return kept
}

// maxListed bounds the claims that a LIMIT_REACHED names.
const maxListed = 100

// list gives the user's claims that take of the limit, newest first, or a batch that one of them still waits for.
func (b *claims) list(key sluice.UserKey) (ids []sluice.ClaimID, waiting *batch) {
	for n := b.holders[key].head; n != 0; {
		r := b.at(n - 1)
		if r.limit > 0 {
			if r.pending {
				return nil, b.pending[r.id]
			}
			if len(ids) < maxListed {
				ids = append(ids, r.id)
			}
		}
		n = r.next
	}
	return ids, nil
}
