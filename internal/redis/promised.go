package redis

import (
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the list of promised claims.
const (
	DefaultMaxPromised = 1 << 20         // claims without an outcome; a node that has more answers BUSY
	askAfter           = 2 * time.Second // a claim whose outcome nobody told by then is looked up
	maxAsk             = 1000            // claims of one look-up, and of one transaction that settles them
	maxOffers          = 3               // a claim that the ledger refuses so often is left to the dead letters
)

// promised are the claims that this node has answered QUEUED and has not seen the outcome of. If the gate forgets one,
// this list is what remembers it.
type promised struct {
	max int

	mu    sync.Mutex
	by    map[sluice.ClaimID]promise
	order []queued         // by the time of the next look; ids that are no longer in by are passed over
	floor map[string]int64 // by campaign: claims of older epochs are not promised any more
}

// promise points to its claim among those of its call, so that the table, which holds hundreds of thousands, stays small.
type promise struct {
	claim  *sluice.Claim // not changed any more
	offers int           // how often the ledger refused the row itself
}

type queued struct {
	id sluice.ClaimID
	at time.Duration
}

func newPromised(max int) *promised {
	return &promised{max: max, by: map[sluice.ClaimID]promise{}, floor: map[string]int64{}}
}

// keep takes claims over before anybody hears QUEUED, and says whether each was: one whose epoch is over is not, since
// this node may have said already that it holds none of them. Its answer has to come from the ledger. The slice of claims
// is kept.
func (p *promised) keep(claims []sluice.Claim, now time.Duration, kept []bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range claims {
		c := &claims[i]
		if kept[i] = c.Epoch >= p.floor[c.Campaign]; !kept[i] {
			continue
		}
		if _, there := p.by[c.ID]; !there {
			p.by[c.ID] = promise{claim: c}
			p.order = append(p.order, queued{c.ID, now})
		}
	}
}

func (p *promised) find(id sluice.ClaimID) (sluice.Claim, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x, ok := p.by[id]
	if !ok {
		return sluice.Claim{}, false
	}
	return *x.claim, true
}

// drop lets go of claims whose outcome is known.
func (p *promised) drop(ids []sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		delete(p.by, id)
	}
	if len(p.by) == 0 {
		p.order = nil
	}
}

// full says whether there is no room for more.
func (p *promised) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.by) >= p.max
}

func (p *promised) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.by)
}

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
	for _, x := range p.by {
		if x.claim.Campaign == campaign && x.claim.Epoch < epoch && x.offers < maxOffers && len(all) < most {
			all = append(all, *x.claim)
		}
	}
	return all
}

// refused counts a try for a claim whose row the ledger refused.
func (p *promised) refused(id sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x, ok := p.by[id]; ok {
		x.offers++
		p.by[id] = x
	}
}

// overdue gives the claims that were not looked at for askAfter, at most so many; they come again after as long.
func (p *promised) overdue(now time.Duration, most int) (ids []sluice.ClaimID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := []queued(nil)
	for len(p.order) > 0 && len(ids) < most && now-p.order[0].at >= askAfter {
		id := p.order[0].id
		p.order = p.order[1:]
		if _, ok := p.by[id]; ok {
			ids = append(ids, id)
			again = append(again, queued{id, now})
		}
	}
	p.order = append(p.order, again...)
	return ids
}
