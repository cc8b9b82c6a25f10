package settle

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// settle brings items of distinct bodies to their end: one transaction, or several where one of the items spoils it.
// The turn ends with the transaction: what follows it is not waited for.
func (s *Settler) settle(items []item, t *turn) {
	began := s.cfg.Now()
	claims, of := unique(items)
	out, err := s.write(claims)
	t.end()
	switch {
	case err == nil:
		s.finish(items, claims, of, out, began)
	case s.ctx.Err() != nil:
		s.in.giveBack(items)
	case len(claims) == 1:
		s.fail(items, map[string][]sluice.Claim{err.Error(): claims})
	default:
		// One of them spoils the transaction: it is found by halves, and the others go through.
		half := items[:0:0]
		rest := items[:0:0]
		for i, it := range items {
			if of[i] < len(claims)/2 {
				half = append(half, it)
			} else {
				rest = append(rest, it)
			}
		}
		s.settle(half, t)
		s.settle(rest, t)
	}
}

// unique gives the claims of items, each once, and for each item the index of its claim.
func unique(items []item) (claims []sluice.Claim, of []int) {
	at := make(map[sluice.ClaimID]int, len(items))
	claims, of = make([]sluice.Claim, 0, len(items)), make([]int, len(items))
	for i := range items {
		n, ok := at[items[i].Claim.ID]
		if !ok {
			n = len(claims)
			at[items[i].Claim.ID] = n
			claims = append(claims, items[i].Claim)
		}
		of[i] = n
	}
	return claims, of
}

// write is one transaction.
func (s *Settler) write(claims []sluice.Claim) (out []sluice.Outcome, err error) {
	err = s.patiently(func(ctx context.Context) error {
		for i := range claims {
			// A campaign that nobody knows is for the ledger to judge.
			if err := s.drawCodes(ctx, &claims[i]); err != nil && !errors.Is(err, sluice.ErrNotFound) {
				return err
			}
		}
		out, err = s.ports.Ledger.Settle(ctx, claims)
		return err
	})
	return out, err
}

// finish is what follows the commit, in this order: those who wait, the gate, the queue.
func (s *Settler) finish(items []item, claims []sluice.Claim, of []int, out []sluice.Outcome, began time.Time) {
	b := Batch{Claims: len(claims)}
	settled := make([]sluice.Claim, 0, len(claims))
	news := make([]sluice.Announcement, 0, len(claims))
	failed := map[string][]sluice.Claim{}
	first := claims[0].At
	for i := range out {
		first = min(first, claims[i].At)
		if why := fault(out[i].Reason); why != "" {
			b.Failed++
			failed[why] = append(failed[why], claims[i])
			continue
		}
		switch {
		case out[i].Replayed:
			b.Replayed++
		case out[i].Reason == sluice.ReasonConfirmed:
			b.Confirmed++
		default:
			b.Rejected++
		}
		settled = append(settled, claims[i])
		news = append(news, sluice.Announcement{ID: claims[i].ID, Reason: out[i].Reason})
	}
	var done []sluice.Delivery
	var bad []item
	for i, it := range items {
		if fault(out[of[i]].Reason) == "" {
			done = append(done, it.Delivery)
		} else {
			bad = append(bad, it)
		}
	}
	now := s.cfg.Now()
	b.Took, b.Oldest = now.Sub(began), time.Duration(sluice.MillisOf(now)-first)*time.Millisecond
	s.learn(claims, out, sluice.MillisOf(now))
	s.tell(settled, news, done)
	if s.cfg.OnBatch != nil {
		s.cfg.OnBatch(b)
	}
	if len(bad) > 0 {
		s.fail(bad, failed)
	}
}

// fault gives why a claim failed by itself, empty where it has its outcome.
func fault(r sluice.Reason) string {
	switch r {
	case sluice.ReasonUnavailable:
		return "the ledger refuses the row itself"
	case sluice.ReasonUnknownCampaign:
		return "the ledger does not know the campaign"
	case sluice.ReasonRequestIDReused:
		return "the ledger has this claim with another user or quantity"
	}
	return ""
}

// tell ends what was settled, among those who wait, at the gate and on the queue. The commit stands whatever fails
// here: a gate that is not told is told by the sweep, a message that is not acknowledged comes again, and whoever is
// not woken looks by himself.
func (s *Settler) tell(settled []sluice.Claim, news []sluice.Announcement, done []sluice.Delivery) {
	if len(settled) == 0 {
		return
	}
	if s.cfg.OnSettled != nil {
		s.cfg.OnSettled(news)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), callTimeout)
	defer cancel()
	if s.ports.Announcer != nil {
		if err := s.ports.Announcer.Announce(ctx, news); err != nil {
			s.cfg.Log.Debug("outcomes were not announced", "claims", len(news), "err", err)
		}
	}
	if err := s.ports.Gate.Settled(ctx, settled); err != nil {
		s.cfg.Log.Warn("the gate was not told of settled claims; the sweep tells it", "claims", len(settled), "err", err)
	}
	s.ack(done)
	s.in.finished(len(done))
}

// fail counts a try of claims that failed by themselves. Those with no tries left are dead letters now and
// acknowledged; the others are tried again. The count is the ledger's, so that it survives a redelivery; counting is
// also the proof that the ledger can be written, so that it was indeed the claim's own fault.
func (s *Settler) fail(items []item, failed map[string][]sluice.Claim) {
	dead := map[sluice.ClaimID]bool{}
	for why, claims := range failed {
		err := s.patiently(func(ctx context.Context) error {
			ids, err := s.ports.Ledger.FailTries(ctx, claims, why)
			for _, id := range ids {
				dead[id] = true
			}
			return err
		})
		if s.ctx.Err() != nil && err != nil {
			s.in.giveBack(items)
			return
		}
		if err != nil {
			s.cfg.Log.Error("a failed try could not be counted; it is made again", "claims", len(claims), "err", err)
			continue
		}
		s.cfg.Log.Error("claims failed by themselves", "claims", len(claims), "first", claims[0].ID.String(),
			"campaign", claims[0].Campaign, "why", why)
	}
	var done []sluice.Delivery
	var again []item
	for _, it := range items {
		if dead[it.Claim.ID] {
			done = append(done, it.Delivery)
			s.cfg.Log.Error("a claim is a dead letter now", "claim", it.Claim.ID.String(), "campaign", it.Claim.Campaign)
		} else {
			again = append(again, it)
		}
	}
	s.ack(done)
	s.in.finished(len(done))
	s.in.park(again)
}

// learnWeight is how much of the typical wait a batch replaces.
const learnWeight = 0.2

// learn takes what the claims of a batch waited for into what is typical.
func (s *Settler) learn(claims []sluice.Claim, out []sluice.Outcome, now sluice.Millis) {
	var sum, n int64
	for i := range claims {
		if !out[i].Replayed && claims[i].At > 0 {
			sum += max(0, int64(now-claims[i].At))
			n++
		}
	}
	if n == 0 {
		return
	}
	mean := time.Duration(sum/n) * time.Millisecond
	for {
		was := s.typical.Load()
		is := int64(mean)
		if was != 0 {
			is = was + int64(learnWeight*float64(is-was))
		}
		if s.typical.CompareAndSwap(was, max(is, int64(time.Millisecond))) {
			return
		}
	}
}
