package redis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
)

// lane is a node's way to one shard: the claims of its users travel in common calls.
type lane struct {
	c        *campaign
	shard    int
	claims   gather[sluice.Claim, answer]
	verdicts gather[int, verdict] // a request is the units that a claim wants; 0 wants to know only
	breaker  breaker
}

func newLane(c *campaign, shard int) *lane {
	cfg := &c.a.cfg
	l := &lane{c: c, shard: shard, breaker: breaker{mono: c.a.mono}}
	l.claims = gather[sluice.Claim, answer]{
		call: l.call, max: cfg.MaxBatch, flights: cfg.Flights, wait: cfg.MaxWait,
		reuse: true, lent: lentByClaim, lend: lendToClaims,
	}
	l.verdicts = gather[int, verdict]{call: l.judge, max: cfg.MaxWaiting, flights: 1, wait: cfg.MaxWait}
	return l
}

// lentByClaim and lendToClaims copy request ids: they may point into a connection's buffer.
func lentByClaim(text []byte, c *sluice.Claim) []byte { return append(text, c.RequestID...) }

func lendToClaims(claims []sluice.Claim, text string) {
	for i := range claims {
		n := len(claims[i].RequestID)
		claims[i].RequestID, text = text[:n], text[n:]
	}
}

// callStatus says what is known of a call that carried a claim.
type callStatus uint8

const (
	callDone    callStatus = iota
	callRefused            // nothing was done
	callUnknown            // it may have been
)

// answer is what a claim comes back with. It is small, since there is one a claim.
type answer struct {
	status  callStatus
	verdict Verdict
	call    *inCommon
	own     *inOwn // nil where there is nothing
}

// inCommon is what the claims of one call have in common.
type inCommon struct {
	retry     int64 // ms, with callRefused
	again     bool  // the call was sent more than once, so that a replay may be its own
	available int64
	now       sluice.Millis
	epoch     int64 // of the gate that answered
}

// inOwn is what few claims have.
type inOwn struct {
	claims []sluice.ClaimID // of the user, with VerdictLimit
	late   *sluice.Decision // the ledger's word, where the claim's epoch was over when the answer came
}

// resend is the pause before a call is sent again; it doubles.
const resend = 10 * time.Millisecond

// call has the script decide claims. A call whose fate is not known is sent again: the script knows by the claim ids
// what it has done. No lock is held.
func (l *lane) call(claims []sluice.Claim, rs []answer) {
	a := l.c.a
	if !l.breaker.allow() {
		refuse(rs, callRefused, retryReloadMS)
		return
	}
	began := a.mono()
	unknown := false
	for pause := resend; ; pause *= 2 {
		set := l.c.set.Load()
		reply, err := l.send(set, claims)
		answered := err == nil
		if changed := l.breaker.done(answered); changed {
			a.cfg.Log.Warn("breaker", "campaign", l.c.id, "shard", l.shard, "closed", answered, "err", err)
		}
		switch {
		case answered && reply.Status == GateEpoch && reply.Epoch > set.Epoch:
			a.SetEpoch(l.c.id, reply.Epoch) // armed for an epoch that this node has not heard of
		case answered:
			a.cfg.BatchDone(len(claims), a.mono()-began)
			l.answer(set, claims, reply, rs, unknown)
			return
		case !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrInvalid):
			unknown = true
		}
		open, _ := l.breaker.standing()
		if open || errors.Is(err, sluice.ErrInvalid) || // nothing was done, nor will it be: they are at home elsewhere, say
			a.mono()-began+pause > a.cfg.MaxWait || !a.rest(pause) {
			break
		}
	}
	if unknown {
		refuse(rs, callUnknown, 0)
	} else {
		refuse(rs, callRefused, retryReloadMS)
	}
}

func (l *lane) send(set *sluice.Campaign, claims []sluice.Claim) (AdmitReply, error) {
	a := l.c.a
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), a.cfg.CallTime)
	defer cancel()
	return a.gates.Admit(ctx, AdmitCall{Campaign: set, Peers: *l.c.peers.Load(), Shard: l.shard, Claims: claims})
}

func refuse(rs []answer, status callStatus, retry int64) {
	call := &inCommon{retry: retry}
	for i := range rs {
		rs[i] = answer{status: status, call: call}
	}
}

// answer hands a reply out, and has the node remember whoever will hear QUEUED before anybody does.
func (l *lane) answer(set *sluice.Campaign, claims []sluice.Claim, reply AdmitReply, rs []answer, again bool) {
	a := l.c.a
	if len(reply.Claims) != len(claims) {
		switch reply.Status {
		case GateNone:
			a.doubt(l.c, set.Epoch, "there is no gate", false)
		case GateEpoch:
			a.doubt(l.c, set.Epoch, "the gate is of an earlier epoch", false)
		}
		status := callRefused
		if again { // an earlier call may have admitted them, and the gate has gone since
			status = callUnknown
		}
		refuse(rs, status, retrySealedMS)
		return
	}
	call := &inCommon{again: again, available: reply.Available, now: reply.Now, epoch: reply.Epoch}
	won := 0
	for i := range reply.Claims {
		r := &reply.Claims[i]
		rs[i] = answer{verdict: r.Verdict, call: call}
		switch r.Verdict {
		case VerdictAdmitted, VerdictQueued:
			won++
		case VerdictLive, VerdictEnded:
			l.c.holders.add(claims[i].ID.User())
		case VerdictLimit:
			rs[i].own = &inOwn{claims: r.Claims}
		}
	}
	if won > 0 {
		winners, slots := winnersOf(claims, reply, won)
		text := reply.Sent
		if text == nil || slots != nil {
			text = textOf(winners)
		}
		l.promise(set, winners, text, slots, rs)
	}
}

// winnersOf gives the claims that hear QUEUED, and their places; no places where all do.
func winnersOf(claims []sluice.Claim, reply AdmitReply, won int) (winners []sluice.Claim, slots []int) {
	if winners = claims; won < len(claims) {
		winners, slots = make([]sluice.Claim, 0, won), make([]int, 0, won)
		for i := range claims {
			if v := reply.Claims[i].Verdict; v == VerdictAdmitted || v == VerdictQueued {
				winners, slots = append(winners, claims[i]), append(slots, i)
			}
		}
	}
	for i := range winners {
		winners[i].Epoch = reply.Epoch
	}
	return winners, slots
}

// promise keeps the winners, whose messages are text, and brings about what the level of their answer asks for. slots
// are their places among rs; nil: all, in their order.
func (l *lane) promise(set *sluice.Campaign, winners []sluice.Claim, text []byte, slots []int, rs []answer) {
	a := l.c.a
	place := func(i int) *answer {
		if slots != nil {
			i = slots[i]
		}
		return &rs[i]
	}
	l.c.holders.addClaims(winners)
	if missed := a.promised.keep(winners, text, a.mono()); len(missed) > 0 {
		late := make([]sluice.Claim, len(missed))
		for k, i := range missed {
			late[k] = winners[i]
		}
		for k, d := range a.offer(l.c, late) {
			place(missed[k]).own = &inOwn{late: &d}
		}
	}
	err := l.secure(set, winners)
	if err == nil {
		return
	}
	// They are admitted and go on, but are not as safe as the answer QUEUED would say.
	a.cfg.Log.Warn("claims are not as safe as was asked for", "campaign", l.c.id, "claims", len(winners), "err", err)
	for i := range winners {
		if r := place(i); r.own == nil {
			r.status = callUnknown
		}
	}
}

// secure brings about what an answer QUEUED rests on beyond the permit.
func (l *lane) secure(set *sluice.Campaign, winners []sluice.Claim) error {
	a := l.c.a
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), a.cfg.MaxWait)
	defer cancel()
	switch {
	case a.cfg.Ack == sluice.AckReplica:
		return a.look.Replicated(ctx, set, l.shard, a.cfg.Replicas)
	case a.cfg.Ack == sluice.AckBroker && a.deps.Publisher != nil:
		return a.deps.Publisher.Publish(ctx, slices.Clone(winners)) // it may go on when it has given up
	}
	return nil
}

// rest waits; false where the admission is closed meanwhile.
func (a *Admission) rest(wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-a.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
