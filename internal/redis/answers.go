package redis

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// Retry hints, in milliseconds.
const (
	retryReloadMS = 500
	retrySealedMS = 500
	retryFullMS   = 250
)

func busy(ms int64) sluice.Decision {
	return sluice.Decision{Reason: sluice.ReasonBusy, RetryAfterMS: ms}
}

// unknown is the answer where nobody can say whether a claim came to be: its id says what to ask for.
func unknown(c *campaign, id sluice.ClaimID, quantity int) sluice.Decision {
	return sluice.Decision{
		Reason: sluice.ReasonUnavailable, HasID: true, ID: id, Kind: c.set.Load().Kind, Quantity: quantity,
	}
}

func queuedNow(kind sluice.Kind, id sluice.ClaimID, quantity int, epoch int64, replayed bool) sluice.Decision {
	return sluice.Decision{
		Reason: sluice.ReasonQueued, State: sluice.ClaimQueued, Replayed: replayed, HasID: true, ID: id, Kind: kind,
		Quantity: quantity, Epoch: epoch,
	}
}

// recorded is the answer of a claim that has its row.
func recorded(kind sluice.Kind, rec *sluice.ClaimRecord, quantity int) sluice.Decision {
	if rec.Quantity != quantity {
		return sluice.Refuse(sluice.ReasonRequestIDReused)
	}
	d := sluice.Decision{
		Reason: rec.Code, State: rec.State, Replayed: true, HasID: true, ID: rec.ID, Kind: kind, Quantity: rec.Quantity,
		CouponCodes: rec.CouponCodes, Closed: rec.Closed,
	}
	return d
}

// found is what the ledger says of one claim.
type found struct {
	rec sluice.ClaimRecord
	ok  bool
	err error
}

// lookUp asks the ledger for many claims at once.
func (a *Admission) lookUp(ids []sluice.ClaimID, rs []found) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), a.cfg.MaxWait)
	defer cancel()
	all, err := a.deps.Ledger.ClaimRecords(ctx, ids)
	for i, id := range ids {
		rec, ok := all[id]
		rs[i] = found{rec: rec, ok: ok && err == nil, err: err}
	}
}

// settled answers a claim that has left the outbox: by its row. While the ledger cannot be asked, a live claim is
// answered QUEUED again, which stays true as a promise.
func (a *Admission) settled(c *campaign, id sluice.ClaimID, quantity int, live bool) sluice.Decision {
	f, ok := a.records.do(&id)
	switch {
	case ok && f.ok:
		a.promised.drop([]sluice.ClaimID{id}) // a copy that came while it was being settled may have promised it again
		return recorded(c.set.Load().Kind, &f.rec, quantity)
	case live:
		return queuedNow(c.set.Load().Kind, id, quantity, 0, true)
	}
	return unknown(c, id, quantity)
}

// Replay gives the recorded answer of a claim of a user who holds one, whatever window, stock, marker and limit say
// now. For a user who holds none it answers false, without I/O and without allocating. Who holds a claim is known
// from the gates' own lists: those of this node at once, those of others within a poll, and all of them before a
// marker stands.
func (a *Admission) Replay(
	ctx context.Context, id string, claim sluice.ClaimID, quantity int,
) (sluice.Decision, bool) {
	c := a.find(id)
	if c == nil || !c.holders.has(claim.User()) && !c.retired.Load() {
		return sluice.Decision{}, false
	}
	if own, ok := a.promised.find(claim); ok {
		if own.Quantity != quantity {
			return sluice.Refuse(sluice.ReasonRequestIDReused), true
		}
		return a.assured(ctx, c, own.Source, queuedNow(c.set.Load().Kind, claim, quantity, own.Epoch, true)), true
	}
	select {
	case a.looks <- struct{}{}:
		defer func() { <-a.looks }()
	default:
		return busy(retryFullMS), true
	}
	return a.recall(ctx, c, claim, quantity)
}

// recall asks the gate for a claim that is not settled, then the ledger; false where neither knows it. In this order: a
// claim leaves the gate's list only after its row is committed.
func (a *Admission) recall(
	ctx context.Context, c *campaign, id sluice.ClaimID, quantity int,
) (sluice.Decision, bool) {
	set := c.set.Load()
	call, cancel := context.WithTimeout(ctx, a.cfg.CallTime)
	pending, there, err := a.gates.Find(call, []sluice.Campaign{*set}, id)
	cancel()
	if there {
		if pending.Quantity != quantity {
			return sluice.Refuse(sluice.ReasonRequestIDReused), true
		}
		claims := []sluice.Claim{pending}
		if missed := a.promised.keep(claims, textOf(claims), a.mono()); len(missed) > 0 {
			return a.offer(c, claims)[0], true
		}
		return a.assured(ctx, c, pending.Source, queuedNow(set.Kind, id, quantity, pending.Epoch, true)), true
	}
	f, ok := a.records.do(&id)
	switch {
	case ok && f.ok:
		return recorded(set.Kind, &f.rec, quantity), true
	case !ok || f.err != nil || err != nil:
		return unknown(c, id, quantity), true
	}
	return sluice.Decision{}, false
}

// pollOutcome is the pause between two looks at the ledger where nobody tells of outcomes.
const pollOutcome = 20 * time.Millisecond

// assured waits for the outcome of a claim where its answer has to rest on the ledger; after the bound it stays QUEUED.
func (a *Admission) assured(
	ctx context.Context, c *campaign, source sluice.Source, d sluice.Decision,
) sluice.Decision {
	if d.Reason != sluice.ReasonQueued || a.cfg.Ack != sluice.AckLedger && source != sluice.SourceGrant {
		return d
	}
	rec, ok := a.outcome(ctx, d.ID)
	if !ok {
		return d
	}
	a.promised.drop([]sluice.ClaimID{d.ID})
	is := recorded(c.set.Load().Kind, &rec, d.Quantity)
	is.Replayed = d.Replayed
	return is
}

func (a *Admission) outcome(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, bool) {
	if a.deps.Outcomes != nil {
		rec, err := a.deps.Outcomes.Await(ctx, id, a.cfg.LedgerWait)
		return rec, err == nil && rec.State != sluice.ClaimQueued
	}
	for end := a.mono() + a.cfg.LedgerWait; a.mono() < end; {
		if f, ok := a.records.do(&id); ok && f.ok {
			return f.rec, true
		}
		t := time.NewTimer(pollOutcome)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return sluice.ClaimRecord{}, false
		}
	}
	return sluice.ClaimRecord{}, false
}

// Find gives a claim that is admitted and not settled: one of this node's own, or one that a gate has.
func (a *Admission) Find(ctx context.Context, id sluice.ClaimID) (sluice.Claim, bool, error) {
	if own, ok := a.promised.find(id); ok {
		return own, true, nil
	}
	now := sluice.MillisOf(a.cfg.Now())
	var all []sluice.Campaign
	for _, c := range *a.byID.Load() {
		if set := c.set.Load(); c.holders.has(id.User()) || active(set, now) {
			all = append(all, *set)
		}
	}
	if len(all) == 0 {
		return sluice.Claim{}, false, nil
	}
	return a.gates.Find(ctx, all, id)
}

// offer settles claims in the ledger itself and gives their answers. It is for claims that must not be promised any
// more, since their epoch is over.
func (a *Admission) offer(c *campaign, claims []sluice.Claim) []sluice.Decision {
	answers := make([]sluice.Decision, len(claims))
	for at := 0; at < len(claims); at += maxAsk {
		part := claims[at:min(at+maxAsk, len(claims))]
		outcomes, err := a.settle(c, part)
		for i := range part {
			if err != nil {
				answers[at+i] = unknown(c, part[i].ID, part[i].Quantity)
				continue
			}
			answers[at+i] = concluded(c, &part[i], &outcomes[i])
		}
	}
	return answers
}

func concluded(c *campaign, claim *sluice.Claim, o *sluice.Outcome) sluice.Decision {
	if !ended(o) {
		return unknown(c, claim.ID, claim.Quantity)
	}
	return sluice.Decision{
		Reason: o.Reason, State: o.State, Replayed: o.Replayed, HasID: true, ID: claim.ID, Kind: c.set.Load().Kind,
		Quantity: claim.Quantity, CouponCodes: o.CouponCodes,
	}
}

// ended says whether an outcome is one: the ledger refuses a row that can never be written by an answer as well.
func ended(o *sluice.Outcome) bool {
	return o.State != sluice.ClaimNone || o.Reason == sluice.ReasonRequestIDReused
}

// settle writes claims to the ledger. Coupons get codes; a row that is there keeps its own.
func (a *Admission) settle(c *campaign, claims []sluice.Claim) ([]sluice.Outcome, error) {
	if c.set.Load().Kind == sluice.KindCoupon {
		for i := range claims {
			claims[i].CouponCodes = make([]string, claims[i].Quantity)
			for n := range claims[i].CouponCodes {
				claims[i].CouponCodes[n] = sluice.NewCouponCode()
			}
		}
	}
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.MaxWait)
	defer cancel()
	outcomes, err := a.deps.Ledger.Settle(ctx, claims)
	if err == nil && len(outcomes) != len(claims) {
		err = errors.New("redis: the ledger gave other outcomes than it was asked for")
	}
	return outcomes, err
}
