package direct

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/sluice-sale/sluice"
)

// Retry hints, in milliseconds.
const (
	retryAwayMS = 500
	retryFullMS = 250
)

// Waits between two tries of a batch of which it is not known whether it was written.
const (
	minAgain = 20 * time.Millisecond
	maxAgain = time.Second
)

// flight is a claim on its way to the ledger. Its fields are written by its lane before done is closed.
type flight struct {
	claim  sluice.Claim
	born   time.Duration
	done   chan struct{}
	answer sluice.Decision
}

func busy(ms int64) sluice.Decision {
	return sluice.Decision{Reason: sluice.ReasonBusy, RetryAfterMS: ms}
}

// Admit has the ledger decide a claim. It blocks for a transaction or two, bounded by MaxWait, not by ctx: after that
// the answer is UNAVAILABLE and the claim goes on. It may be repeated with the same claim id, on any node. Grants
// pass the window and the pause of their campaign, not its end, nor a freeze.
func (a *Admission) Admit(ctx context.Context, claim sluice.Claim) sluice.Decision {
	c := a.find(claim.Campaign)
	if c == nil {
		return sluice.Refuse(sluice.ReasonUnknownCampaign)
	}
	a.claimed.Store(int64(a.mono()))
	for {
		f, own, refused := a.join(c, &claim)
		switch {
		case f == nil && (a.mayHold(c, claim.ID) || a.cfg.Spare) && refused.Reason != sluice.ReasonBusy:
			if d, found := a.lookUp(ctx, c, claim.ID, claim.Quantity); found {
				return d
			}
			return refused
		case f == nil:
			return refused
		case !a.await(f):
			return a.unavailable(c, claim.ID, claim.Quantity)
		case own:
			return a.complete(ctx, f.answer)
		case f.claim.Quantity == claim.Quantity && f.claim.User == claim.User:
			return a.complete(ctx, copyOf(f.answer))
		}
		// Another body under the same id: the ledger has the first one now, and says so.
	}
}

// copyOf is the answer to a copy of a claim that was in flight.
func copyOf(d sluice.Decision) sluice.Decision {
	d.Replayed = d.Reason == sluice.ReasonConfirmed || d.Replayed
	return d
}

// join finds the claim in flight or puts it there; where it neither is nor goes there the answer is refused.
func (a *Admission) join(c *campaign, claim *sluice.Claim) (f *flight, own bool, refused sluice.Decision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flights[claim.ID]; f != nil {
		return f, false, refused
	}
	if d, out := c.set.Refuses(claim, sluice.MillisOf(a.cfg.Now())); out {
		return nil, false, d
	}
	if claim.Source != sluice.SourceGrant && c.marked(a.mono()) && !c.holders.has(claim.ID.User()) {
		return nil, false, sluice.Refuse(sluice.ReasonSoldOut)
	}
	a.gate.RLock()
	defer a.gate.RUnlock()
	if a.closing || a.waiting.Load() >= int64(a.cfg.MaxWaiting) {
		return nil, false, busy(retryFullMS)
	}
	f = &flight{claim: c.set.Keep(claim), born: a.mono(), done: make(chan struct{})}
	f.claim.Epoch = 0 // no permit has admitted it
	c.flights[f.claim.ID] = f
	c.queue = append(c.queue, f)
	a.waiting.Add(1)
	if !c.running {
		c.running = true
		a.done.Add(1)
		go a.run(c)
	}
	return f, true, refused
}

// await waits for an answer; false where it takes longer than MaxWait.
func (a *Admission) await(f *flight) bool {
	late := time.NewTimer(a.cfg.MaxWait)
	defer late.Stop()
	select {
	case <-f.done:
		return true
	case <-late.C:
		return false
	}
}

// run decides what waits of a campaign, one batch after the other: what comes meanwhile is the next one.
func (a *Admission) run(c *campaign) {
	defer a.done.Done()
	for {
		runtime.Gosched() // those who are about to come come along
		c.mu.Lock()
		n := min(len(c.queue), a.cfg.MaxBatch)
		if n == 0 {
			c.queue, c.running = nil, false
			c.mu.Unlock()
			return
		}
		flights := c.queue[:n:n]
		c.queue = c.queue[n:]
		c.mu.Unlock()
		a.decide(c, flights)
		c.mu.Lock()
		for _, f := range flights {
			delete(c.flights, f.claim.ID)
		}
		c.mu.Unlock()
		a.waiting.Add(-int64(n))
		for _, f := range flights {
			close(f.done)
		}
		if a.cfg.BatchDone != nil {
			a.cfg.BatchDone(n, a.mono()-flights[0].born)
		}
	}
}

// decide asks the ledger and prepares the answers of a batch.
func (a *Admission) decide(c *campaign, flights []*flight) {
	claims := make([]sluice.Claim, len(flights))
	for i, f := range flights {
		claims[i] = f.claim
	}
	outcomes, err := a.ask(c, claims, flights[0].born)
	switch {
	case errors.Is(err, sluice.ErrUnavailable):
		for _, f := range flights {
			f.answer = busy(retryAwayMS)
		}
		return
	case err != nil:
		for _, f := range flights {
			f.answer = a.unavailable(c, f.claim.ID, f.claim.Quantity)
		}
		return
	}
	kind := c.kind()
	soldOut := false
	var limited []string
	for i, o := range outcomes {
		flights[i].answer = answer(&claims[i], o, kind)
		if o.State != sluice.ClaimNone {
			c.holders.add(claims[i].ID.User())
		}
		switch {
		case o.State == sluice.ClaimNone && o.Reason == sluice.ReasonSoldOut:
			soldOut = true
		case o.State == sluice.ClaimNone && o.Reason == sluice.ReasonLimitReached:
			limited = append(limited, claims[i].User)
		}
	}
	if soldOut {
		a.nudge(c)
	}
	a.listClaims(c, flights, limited)
}

// ask has the ledger decide, again where it is not known whether it did. ErrUnavailable: it wrote nothing.
func (a *Admission) ask(c *campaign, claims []sluice.Claim, born time.Duration) ([]sluice.Outcome, error) {
	uncertain := false
	for wait := minAgain; ; wait = min(2*wait, maxAgain) {
		outcomes, err := a.ledger.Admit(context.WithoutCancel(a.ctx), claims)
		switch {
		case err == nil:
			return outcomes, nil
		case !errors.Is(err, sluice.ErrUnavailable):
			uncertain = true
		case !uncertain:
			a.cfg.Log.Warn("batch refused by the ledger", "campaign", c.id, "claims", len(claims), "err", err)
			return nil, err
		}
		if a.mono()-born > a.cfg.MaxWait || !a.rest(wait) {
			a.cfg.Log.Error("batch in doubt", "campaign", c.id, "claims", len(claims), "err", err)
			return nil, sluice.ErrUncertain // and not what the last try says
		}
	}
}

// rest waits; false where the admission is closed meanwhile.
func (a *Admission) rest(wait time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// answer makes a decision of what the ledger said.
func answer(claim *sluice.Claim, o sluice.Outcome, kind sluice.Kind) sluice.Decision {
	if o.State == sluice.ClaimNone && o.Reason != sluice.ReasonUnavailable {
		return sluice.Refuse(o.Reason)
	}
	return sluice.Decision{
		Reason: o.Reason, State: o.State, Replayed: o.Replayed, HasID: true, ID: claim.ID, Kind: kind,
		Quantity: claim.Quantity, CouponCodes: o.CouponCodes,
	}
}

// listClaims adds to answers LIMIT_REACHED the claims that take up the limit. An answer without them is right as well.
func (a *Admission) listClaims(c *campaign, flights []*flight, users []string) {
	if len(users) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), maxLook)
	defer cancel()
	known := map[string]bool{}
	once := users[:0]
	for _, u := range users {
		if !known[u] {
			known[u] = true
			once = append(once, u)
		}
	}
	lists, err := a.losers.LimitClaims(ctx, c.id, once)
	if err != nil {
		a.cfg.Log.Warn("cannot list the claims of users", "campaign", c.id, "err", err)
		return
	}
	for _, f := range flights {
		if f.answer.Reason == sluice.ReasonLimitReached && f.answer.State == sluice.ClaimNone {
			f.answer.Claims = lists[f.claim.User]
		}
	}
}

func (c *campaign) kind() sluice.Kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set.Kind
}

func (a *Admission) unavailable(c *campaign, id sluice.ClaimID, quantity int) sluice.Decision {
	return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: id, Kind: c.kind(), Quantity: quantity}
}

// complete adds how a released claim's order ended.
func (a *Admission) complete(ctx context.Context, d sluice.Decision) sluice.Decision {
	if d.State != sluice.ClaimReleased {
		return d
	}
	rec, err := a.ledger.ClaimRecord(ctx, d.ID)
	if err != nil {
		a.cfg.Log.Warn("cannot read the row of a claim", "claim", d.ID.String(), "err", err)
		return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: d.ID, Kind: d.Kind, Quantity: d.Quantity}
	}
	d.Closed = rec.Closed
	return d
}

func (a *Admission) mayHold(c *campaign, id sluice.ClaimID) bool {
	return c.retired.Load() || c.holders.has(id.User())
}

// Replay gives the recorded answer of a claim that is known, whatever window, stock and limit say now; it joins a copy
// that is in flight. For a user who holds no claim that this node knows of it answers false, without I/O and without
// allocating. While the campaign is sold out, and after its sale was closed, it knows of all of them; while claims are
// sold on other nodes Admit recognises what Replay does not.
func (a *Admission) Replay(ctx context.Context, id string, claim sluice.ClaimID, quantity int) (sluice.Decision, bool) {
	c := a.find(id)
	if c == nil {
		return sluice.Decision{}, false
	}
	c.mu.Lock()
	f := c.flights[claim]
	c.mu.Unlock()
	if f != nil && f.claim.Quantity == quantity {
		if !a.await(f) {
			return a.unavailable(c, claim, quantity), true
		}
		if f.answer.HasID {
			return a.complete(ctx, copyOf(f.answer)), true
		}
		return sluice.Decision{}, false
	}
	if !a.mayHold(c, claim) {
		return sluice.Decision{}, false
	}
	return a.lookUp(ctx, c, claim, quantity)
}

// turn waits for a place among those who look claims up; false where none is free in time.
func (a *Admission) turn(ctx context.Context) bool {
	select {
	case a.lookups <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(lookupWait)
	defer late.Stop()
	select {
	case a.lookups <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	case <-late.C:
		return false
	}
}

// lookUp answers a claim from its row; false where there is none.
func (a *Admission) lookUp(
	ctx context.Context, c *campaign, id sluice.ClaimID, quantity int,
) (sluice.Decision, bool) {
	if !a.turn(ctx) {
		return busy(retryFullMS), true
	}
	defer func() { <-a.lookups }()
	rec, err := a.ledger.ClaimRecord(ctx, id)
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return sluice.Decision{}, false
	case err != nil:
		a.cfg.Log.Warn("cannot read the row of a claim", "claim", id.String(), "err", err)
		return a.unavailable(c, id, quantity), true
	case rec.Quantity != quantity || rec.Campaign != c.id:
		return sluice.Refuse(sluice.ReasonRequestIDReused), true
	}
	return sluice.Decision{
		Reason: rec.Code, State: rec.State, Replayed: true, HasID: true, ID: id, Kind: c.kind(), Quantity: quantity,
		CouponCodes: rec.CouponCodes, Closed: rec.Closed,
	}, true
}
