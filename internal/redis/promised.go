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
// this list is what remembers it. It holds hundreds of thousands: it is a few pieces of memory without pointers, which
// the garbage collector does not look into.
type promised struct {
	max   int
	count atomic.Int64 // of promises in the table, read without the lock

	mu    sync.Mutex
	table []promise              // open addressing, a power of two
	texts []promisedText         // what promises point to; the first stays empty
	free  []uint32               // places among texts
	tries map[sluice.ClaimID]int // how often the ledger refused the row itself; few
	order []looked               // by the time of the next look
	floor map[string]int64       // by campaign: claims of older epochs are not promised any more
	met   uint64                 // what touch read, so that it has to
}

// promise points to its claim's message; a free place has text 0.
type promise struct {
	print    uint64
	text, at uint32
}

// promisedText has the messages of the claims that were promised together, and how many still are.
type promisedText struct {
	text []byte // not changed any more
	left int
}

// looked are the messages of some claims and when their outcomes were last looked up.
type looked struct {
	text []byte
	at   time.Duration
}

const minPromised = 1 << 10

func newPromised(max int) *promised {
	return &promised{
		max: max, table: make([]promise, minPromised), texts: make([]promisedText, 1), tries: map[sluice.ClaimID]int{},
		floor: map[string]int64{},
	}
}

// printOf gives the bits of an id that choose its place: they are cut from SHA-256, or random.
func printOf(id *sluice.ClaimID) uint64 { return binary.LittleEndian.Uint64(id[10:18]) }

// message gives the bytes of a promise's message. Callers hold the lock.
func (p *promised) message(x promise) []byte {
	raw := p.texts[x.text].text[x.at:]
	return raw[:messageSize(raw)]
}

// place gives where a claim is in the table, or the free place where it would be. Callers hold the lock.
func (p *promised) place(id *sluice.ClaimID) int {
	mask := uint64(len(p.table) - 1)
	print := printOf(id)
	for i := print & mask; ; i = (i + 1) & mask {
		x := &p.table[i]
		if x.text == 0 || x.print == print && idOf(p.texts[x.text].text[x.at:]) == *id {
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
		if old[i].text == 0 {
			continue
		}
		at := old[i].print & mask
		for p.table[at].text != 0 {
			at = (at + 1) & mask
		}
		p.table[at] = old[i]
	}
}

// remove takes a claim out of the table and closes the gap, so that those behind it are found. Callers hold the lock.
func (p *promised) remove(id *sluice.ClaimID) {
	gap := p.place(id)
	text := p.table[gap].text
	if text == 0 {
		return
	}
	p.count.Add(-1)
	if p.texts[text].left--; p.texts[text].left == 0 {
		p.texts[text].text = nil
		p.free = append(p.free, text)
	}
	mask := len(p.table) - 1
	for i := (gap + 1) & mask; p.table[i].text != 0; i = (i + 1) & mask {
		home := int(p.table[i].print) & mask
		if (i-home)&mask >= (i-gap)&mask { // it may stand in the gap without standing before its home
			p.table[gap], gap = p.table[i], i
		}
	}
	p.table[gap] = promise{}
}

// keep takes claims over before anybody hears QUEUED, and gives the places of those that it does not take: one whose
// epoch is over is not kept, since this node may have said already that it holds none of them. Its answer has to come
// from the ledger. text is the claims' messages, one after the other, which nobody changes any more; of claims nothing
// is kept.
func (p *promised) keep(claims []sluice.Claim, text []byte, now time.Duration) (missed []int) {
	if len(claims) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	floor, of := int64(0), ""
	p.room(len(claims))
	p.touch(claims)
	in := p.hold(text)
	at, from, looks := 0, 0, len(p.order)
	for i := range claims {
		c := &claims[i]
		if c.Campaign != of {
			floor, of = p.floor[c.Campaign], c.Campaign
		}
		if c.Epoch < floor {
			missed = append(missed, i)
		} else if n := p.place(&c.ID); p.table[n].text == 0 {
			p.table[n] = promise{print: printOf(&c.ID), text: in, at: uint32(at)}
			p.texts[in].left++
		}
		at += sizeOf(c)
		if (i+1)%maxLooked == 0 || i+1 == len(claims) {
			p.order = append(p.order, looked{text[from:at], now})
			from = at
		}
	}
	added := p.texts[in].left
	if added == 0 {
		p.order = p.order[:looks]
		p.texts[in].text = nil
		p.free = append(p.free, in)
		return missed
	}
	p.count.Add(int64(added))
	return missed
}

// textOf gives the messages of claims, one after the other.
func textOf(claims []sluice.Claim) []byte {
	size := 0
	for i := range claims {
		size += sizeOf(&claims[i])
	}
	text := make([]byte, 0, size)
	for i := range claims {
		text = AppendMessage(text, &claims[i])
	}
	return text
}

// hold finds a place for messages among texts. Callers hold the lock.
func (p *promised) hold(text []byte) uint32 {
	if n := len(p.free); n > 0 {
		at := p.free[n-1]
		p.free = p.free[:n-1]
		p.texts[at].text = text
		return at
	}
	p.texts = append(p.texts, promisedText{text: text})
	return uint32(len(p.texts) - 1)
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

func (p *promised) find(id sluice.ClaimID) (c sluice.Claim, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.table[p.place(&id)]
	if x.text == 0 {
		return c, false
	}
	return claimIn(p.message(x)), true
}

// claimIn reads a message of the list's own.
func claimIn(raw []byte) sluice.Claim {
	c, _ := decodeOne(raw) // what this process wrote can be read
	return c
}

// holds says whether a claim is promised.
func (p *promised) holds(id sluice.ClaimID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table[p.place(&id)].text != 0
}

// drop lets go of claims whose outcome is known.
func (p *promised) drop(ids []sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range ids {
		p.remove(&ids[i])
		if len(p.tries) > 0 {
			delete(p.tries, ids[i])
		}
	}
	if p.count.Load() == 0 {
		p.order = nil
		if len(p.table) > minPromised { // a sale is over
			p.table, p.texts, p.free = make([]promise, minPromised), make([]promisedText, 1), nil
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
	for _, x := range p.table {
		if x.text == 0 {
			continue
		}
		raw := p.message(x)
		if e, of := epochAndCampaign(raw); e >= epoch || string(of) != campaign || p.tries[idOf(raw)] >= maxOffers {
			continue
		}
		if all = append(all, claimIn(raw)); len(all) == most {
			break
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
		for text := next.text; len(text) > 0; text = text[messageSize(text):] {
			if id := idOf(text); p.table[p.place(&id)].text != 0 {
				ids = append(ids, id)
			}
		}
		if len(ids) > before {
			p.order = append(p.order, looked{next.text, now})
		}
	}
	return ids
}
