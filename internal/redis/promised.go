package redis

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the list of promised claims.
const (
	DefaultMaxPromised = 1 << 20         // claims without an outcome; a node that has more answers BUSY
	askAfter           = 2 * time.Second // a claim whose outcome nobody told by then is looked up
	maxAsk             = 1000            // claims of one look-up, and of one transaction that settles them
	maxLooked          = 500             // claims of one call that are looked up together
	maxOffers          = 3               // a claim that the ledger refuses so often is left to the dead letters
)

// promised are the claims that this node has answered QUEUED and has not seen the outcome of. If the gate forgets one,
// this list is what remembers it.
type promised struct {
	max   int
	count atomic.Int64 // len of the table, read without the lock

	mu    sync.Mutex
	table []promise              // open addressing, a power of two
	tries map[sluice.ClaimID]int // how often the ledger refused the row itself; few
	order []looked               // by the time of the next look
	floor map[string]int64       // by campaign: claims of older epochs are not promised any more
	met   uint64                 // what touch read, so that it has to
}

// promise points to its claim among those of its call: the table holds hundreds of thousands, and is one piece of
// memory.
type promise struct {
	print uint64
	claim *sluice.Claim // not changed any more; nil in a free place
}

// looked are the claims of one call and when their outcomes were last looked up.
type looked struct {
	claims []sluice.Claim
	at     time.Duration
}

const minPromised = 1 << 10

func newPromised(max int) *promised {
	return &promised{
		max: max, table: make([]promise, minPromised), tries: map[sluice.ClaimID]int{}, floor: map[string]int64{},
	}
}

// printOf gives the bits of an id that choose its place: they are cut from SHA-256, or random.
func printOf(id *sluice.ClaimID) uint64 { return binary.LittleEndian.Uint64(id[10:18]) }

// place gives where a claim is in the table, or the free place where it would be. Callers hold the lock.
func (p *promised) place(id *sluice.ClaimID) int {
	mask := uint64(len(p.table) - 1)
	print := printOf(id)
	for i := print & mask; ; i = (i + 1) & mask {
		x := &p.table[i]
		if x.claim == nil || x.print == print && x.claim.ID == *id {
			return int(i)
		}
	}
}

// room sees to it that more claims find places, and a third stays free. Callers hold the lock.
func (p *promised) room(more int) {
	size := len(p.table)
	for int(p.count.Load())+more > size/3*2 {
		size *= 2
	}
	if size == len(p.table) {
		return
	}
	old := p.table
	p.table = make([]promise, size)
	mask := uint64(size - 1)
	for i := range old {
		if old[i].claim == nil {
			continue
		}
		at := old[i].print & mask
		for p.table[at].claim != nil {
			at = (at + 1) & mask
		}
		p.table[at] = old[i]
	}
}

// add puts a claim into the table, which has room; false where it is there. Callers hold the lock and count.
func (p *promised) add(c *sluice.Claim) bool {
	i := p.place(&c.ID)
	if p.table[i].claim != nil {
		return false
	}
	p.table[i] = promise{printOf(&c.ID), c}
	return true
}

// remove takes a claim out of the table and closes the gap, so that those behind it are found. Callers hold the lock.
func (p *promised) remove(id *sluice.ClaimID) {
	gap := p.place(id)
	if p.table[gap].claim == nil {
		return
	}
	p.count.Add(-1)
	mask := len(p.table) - 1
	for i := (gap + 1) & mask; p.table[i].claim != nil; i = (i + 1) & mask {
		home := int(p.table[i].print) & mask
		if (i-home)&mask >= (i-gap)&mask { // it may stand in the gap without standing before its home
			p.table[gap], gap = p.table[i], i
		}
	}
	p.table[gap] = promise{}
}

// keep takes claims over before anybody hears QUEUED, and gives the places of those that it does not take: one whose
// epoch is over is not kept, since this node may have said already that it holds none of them. Its answer has to come
// from the ledger. The slice of claims is kept.
func (p *promised) keep(claims []sluice.Claim, now time.Duration) (missed []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := 0
	floor, of := int64(0), ""
	p.room(len(claims))
	p.touch(claims)
	for i := range claims {
		c := &claims[i]
		if c.Campaign != of {
			floor, of = p.floor[c.Campaign], c.Campaign
		}
		if c.Epoch < floor {
			missed = append(missed, i)
		} else if p.add(c) {
			added++
		}
	}
	p.count.Add(int64(added))
	for at := 0; added > 0 && at < len(claims); at += maxLooked {
		p.order = append(p.order, looked{claims[at:min(at+maxLooked, len(claims))], now})
	}
	return missed
}

// touch reads the places of claims, of all before any is changed: the processor waits for memory once, not once a
// claim. Callers hold the lock.
func (p *promised) touch(claims []sluice.Claim) {
	mask, met := uint64(len(p.table)-1), uint64(0)
	for i := range claims {
		met |= p.table[printOf(&claims[i].ID)&mask].print
	}
	p.met = met
}

func (p *promised) find(id sluice.ClaimID) (sluice.Claim, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.table[p.place(&id)]
	if x.claim == nil {
		return sluice.Claim{}, false
	}
	return *x.claim, true
}

// drop lets go of claims whose outcome is known.
func (p *promised) drop(ids []sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range ids {
		p.remove(&ids[i])
		delete(p.tries, ids[i])
	}
	if p.count.Load() == 0 {
		p.order = nil
		if len(p.table) > minPromised { // a sale is over
			p.table = make([]promise, minPromised)
		}
	}
}

// full says whether there is no room for more.
func (p *promised) full() bool { return int(p.count.Load()) >= p.max }

func (p *promised) size() int { return int(p.count.Load()) }

// raise ends all epochs of a campaign before this one.
func (p *promised) raise(campaign string, epoch int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floor[campaign] = max(p.floor[campaign], epoch)
}

// before gives promised claims of a campaign's epochs before this one, without those that the ledger keeps refusing.
func (p *promised) before(campaign string, epoch int64, most int) (all []sluice.Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.table {
		c := p.table[i].claim
		if c != nil && c.Epoch < epoch && c.Campaign == campaign && p.tries[c.ID] < maxOffers {
			if all = append(all, *c); len(all) == most {
				break
			}
		}
	}
	return all
}

// refused counts a try for a claim whose row the ledger refused.
func (p *promised) refused(id sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries[id]++
}

// overdue gives claims that were not looked at for askAfter, some at a time; they come again after as long.
func (p *promised) overdue(now time.Duration) (ids []sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && len(ids)+maxLooked <= maxAsk && now-p.order[0].at >= askAfter {
		next := p.order[0]
		p.order[0] = looked{}
		p.order = p.order[1:]
		before := len(ids)
		for i := range next.claims {
			if id := &next.claims[i].ID; p.table[p.place(id)].claim != nil {
				ids = append(ids, *id)
			}
		}
		if len(ids) > before {
			p.order = append(p.order, looked{next.claims, now})
		}
	}
	return ids
}
