package memory

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// batch is what one transaction will settle.
type batch struct {
	claims   []sluice.Claim
	of       []*campaign
	answers  []sluice.Decision // valid once answered is set
	dropped  []bool            // answered already: not to be settled
	born     time.Time
	timer    *time.Timer   // wakes those who wait for longer than MaxWait; runs from the first claim to close
	wake     chan struct{} // closed when the batch is answered, or takes too long
	woken    sync.Once
	answered atomic.Bool
}

// wait blocks until the batch is answered; false where it takes longer than MaxWait. One channel, not several:
// thousands wait here.
func (t *batch) wait() bool {
	<-t.wake
	return t.answered.Load()
}

func (t *batch) wakeAll() { t.woken.Do(func() { close(t.wake) }) }

// await gives the answer of one's own claim. Until it is there the batch may still be growing, and is not looked at.
func (a *Admission) await(c *campaign, own pendingOn, claim sluice.Claim) sluice.Decision {
	if !own.batch.wait() {
		return a.unavailable(c, claim)
	}
	return own.batch.answers[own.slot]
}

// committer gathers winners and has them settled, one transaction after the other. The next batch gathers while the
// last one syncs; finishing a batch (answering its claims) overlaps with the next transaction.
type committer struct {
	a       *Admission
	wake    chan struct{}
	settled chan *settledBatch
	idle    chan struct{} // closed when run has returned
	waiting atomic.Int64

	mu      sync.Mutex
	queue   []*batch // the last one is still gathering
	reloads []*campaign
	closing bool
}

type settledBatch struct {
	*batch
	claims   []sluice.Claim // those of the batch that were settled
	slots    []int          // and where they stand in it
	outcomes []sluice.Outcome
	err      error
}

func (k *committer) start(a *Admission) {
	k.a = a
	k.wake = make(chan struct{}, 1)
	k.settled = make(chan *settledBatch, 2)
	k.idle = make(chan struct{})
	a.done.Add(2)
	go k.run()
	go k.finish()
}

// add puts a claim into the gathering batch; false once the committer stops. The caller holds the book's lock.
func (k *committer) add(c *campaign, claim sluice.Claim) (t *batch, slot int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return nil, 0, false
	}
	if n := len(k.queue); n > 0 && len(k.queue[n-1].claims) < k.a.cfg.MaxBatch {
		t = k.queue[n-1]
	} else {
		t = &batch{born: time.Now(), wake: make(chan struct{})}
		t.timer = time.AfterFunc(k.a.cfg.MaxWait, t.wakeAll)
		k.queue = append(k.queue, t)
	}
	t.claims = append(t.claims, claim)
	t.of = append(t.of, c)
	t.answers = append(t.answers, sluice.Decision{})
	t.dropped = append(t.dropped, false)
	k.waiting.Add(1)
	k.signal()
	return t, len(t.claims) - 1, true
}

func (k *committer) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// reload asks for the campaign's state to be read back, between two batches.
func (k *committer) reload(c *campaign) {
	k.mu.Lock()
	k.reloads = append(k.reloads, c)
	k.mu.Unlock()
	k.signal()
}

func (k *committer) stop() {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	k.signal()
	<-k.idle
}

// yields is how often the committer lets everybody else who can run go first, before it takes a batch. Claims that have
// arrived are among them and join the batch; on a machine with nothing else to do it costs nothing. ADR 13.
const yields = 3

func (k *committer) run() {
	defer k.a.done.Done()
	defer close(k.settled)
	defer close(k.idle)
	for {
		for range yields {
			runtime.Gosched()
		}
		k.mu.Lock()
		var t *batch
		reloads := k.reloads
		k.reloads = nil
		for _, c := range reloads {
			k.drop(c)
		}
		if len(k.queue) > 0 {
			t = k.queue[0]
			k.queue = k.queue[1:]
		}
		closing := k.closing
		k.mu.Unlock()
		for _, c := range reloads {
			k.a.done.Add(1)
			go k.a.reload(c)
		}
		if t != nil {
			k.settle(t)
			continue
		}
		if closing {
			return
		}
		<-k.wake
	}
}

// drop answers BUSY to the gathered claims of a campaign whose state is about to be read back: none of them
// is in the ledger. Callers hold k.mu.
func (k *committer) drop(c *campaign) {
	for _, t := range k.queue {
		for i, of := range t.of {
			if of == c && !t.dropped[i] {
				t.dropped[i] = true
				t.answers[i] = busy(retryReloadMS)
			}
		}
	}
}

func (k *committer) settle(t *batch) {
	s := &settledBatch{batch: t, claims: t.claims}
	for i := range t.claims {
		if !t.dropped[i] {
			s.slots = append(s.slots, i)
		}
	}
	if len(s.slots) < len(t.claims) {
		s.claims = make([]sluice.Claim, len(s.slots))
		for j, i := range s.slots {
			s.claims[j] = t.claims[i]
		}
	}
	if len(s.claims) > 0 {
		s.outcomes, s.err = k.a.ledger.Settle(context.WithoutCancel(k.a.ctx), s.claims)
	}
	if s.err != nil && !errors.Is(s.err, sluice.ErrUnavailable) {
		// The writer has said so too, unless the fault lies between it and us.
		k.a.doubt(s.of)
	}
	k.settled <- s
}

// finish answers settled batches in order.
func (k *committer) finish() {
	defer k.a.done.Done()
	for s := range k.settled {
		for i, dropped := range s.dropped {
			if dropped {
				k.a.takeBack(s.of[i], s.batch, s.batch.claims[i].ID)
			}
		}
		switch {
		case s.err == nil:
			k.a.confirm(s)
		case errors.Is(s.err, sluice.ErrUnavailable):
			k.a.cfg.Log.Warn("batch refused by the ledger", "claims", len(s.claims), "err", s.err)
			k.a.undo(s)
		default:
			k.a.cfg.Log.Error("batch in doubt", "claims", len(s.claims), "err", s.err)
			k.a.done.Add(1)
			go k.a.findOut(s)
			continue
		}
		k.close(s)
	}
}

func (k *committer) close(s *settledBatch) {
	if k.a.cfg.BatchDone != nil {
		k.a.cfg.BatchDone(len(s.claims), time.Since(s.born))
	}
	s.timer.Stop()
	k.waiting.Add(-int64(len(s.batch.claims)))
	s.answered.Store(true)
	s.wakeAll()
}

// confirm notes the outcomes of a committed batch and prepares its answers.
func (a *Admission) confirm(s *settledBatch) {
	for j := 0; j < len(s.claims); {
		c := s.of[s.slots[j]]
		c.book.mu.Lock()
		for ; j < len(s.claims) && s.of[s.slots[j]].book == c.book; j++ {
			i := s.slots[j]
			s.answers[i] = a.conclude(s.of[i], s.claims[j], s.outcomes[j])
		}
		c.book.mu.Unlock()
	}
}

// conclude notes one outcome. Callers hold the book's lock.
func (a *Admission) conclude(c *campaign, claim sluice.Claim, o sluice.Outcome) sluice.Decision {
	b := c.book
	if r := b.find(claim.ID); r != nil && r.pending {
		r.pending = false
		delete(b.pending, claim.ID)
		if o.Reason == sluice.ReasonLimitReached || o.Reason == sluice.ReasonSoldOut {
			r.rejected = o.Reason
		}
	}
	d := sluice.Decision{
		Reason: o.Reason, State: o.State, Replayed: o.Replayed, HasID: true, ID: claim.ID, Kind: c.set.Kind,
		Quantity: claim.Quantity, CouponCodes: o.CouponCodes,
	}
	if o.Reason == sluice.ReasonConfirmed && !o.Replayed {
		c.reloads = 0
		return d
	}
	// The ledger knows something that admission did not: its rows win, and a person should look.
	a.cfg.Log.Error("the ledger disagrees with admission", "campaign", c.id, "claim", claim.ID.String(),
		"outcome", o.Reason.String(), "replayed", o.Replayed)
	if !c.reloading {
		c.distrust()
		a.commit.reload(c)
	}
	if o.Reason != sluice.ReasonConfirmed {
		note := "the ledger refused an admitted claim: " + claim.ID.String() + " " + o.Reason.String()
		go a.cfg.Doubt(c.id, note)
	}
	return d
}

// undo takes back a batch of which nothing was written.
func (a *Admission) undo(s *settledBatch) {
	for j, claim := range s.claims {
		a.takeBack(s.of[s.slots[j]], s.batch, claim.ID)
		s.answers[s.slots[j]] = busy(retryReloadMS)
	}
}

// takeBack forgets a claim of a batch that was not written. Where the campaign has been read back since, the record is
// gone or that of a later try.
func (a *Admission) takeBack(c *campaign, t *batch, id sluice.ClaimID) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	if c.book.pending[id] != t {
		return
	}
	units := c.book.forget(id)
	if c.known { // else the units are counted anew
		c.available += units
		c.queued -= units
		c.mark(sluice.MillisOf(a.cfg.Now()))
	}
}

// findOut answers a batch in doubt from what the ledger turns out to hold.
func (a *Admission) findOut(s *settledBatch) {
	defer a.done.Done()
	defer a.commit.close(s)
	for j, claim := range s.claims {
		i := s.slots[j]
		c := s.of[i]
		if !c.await(a.ctx) {
			a.takeBack(c, s.batch, claim.ID) // nobody may wait for this batch again
			s.answers[i] = a.unavailable(c, claim)
			continue
		}
		c.book.mu.RLock()
		r := c.book.find(claim.ID)
		d := busy(retryReloadMS)
		if r != nil && !r.pending {
			d = c.recorded(r, claim.Quantity)
			d.Replayed, d.CouponCodes = false, claim.CouponCodes
		}
		c.book.mu.RUnlock()
		s.answers[i] = d
	}
}
