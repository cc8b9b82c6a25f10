package redis_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// broker confirms, or does not.
type broker struct{ err error }

func (b broker) Publish(context.Context, []sluice.Claim) error { return b.err }

// outcomes tells of a claim at once, or never.
type outcomes struct{ state sluice.ClaimState }

func (o outcomes) Await(_ context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error) {
	rec := sluice.ClaimRecord{Claim: sluice.Claim{ID: id, Quantity: 1}, State: o.state, Code: sluice.ReasonConfirmed}
	switch o.state {
	case sluice.ClaimQueued:
		<-time.After(wait)
	case sluice.ClaimRejected:
		rec.Code = sluice.ReasonSoldOut
	}
	return rec, nil
}

func TestWhatAnAnswerRestsOn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		level  sluice.AckLevel
		short  bool
		broker error
		state  sluice.ClaimState
		source sluice.Source
		want   sluice.Reason
	}{
		{name: "permit", level: sluice.AckPermit, short: true, broker: errLost, want: sluice.ReasonQueued},
		{name: "replica has it", level: sluice.AckReplica, want: sluice.ReasonQueued},
		{name: "no replica has it", level: sluice.AckReplica, short: true, want: sluice.ReasonUnavailable},
		{name: "broker confirms", level: sluice.AckBroker, want: sluice.ReasonQueued},
		{name: "broker does not confirm", level: sluice.AckBroker, broker: errLost, want: sluice.ReasonUnavailable},
		{name: "ledger commits", level: sluice.AckLedger, state: sluice.ClaimConfirmed, want: sluice.ReasonConfirmed},
		{name: "ledger rejects", level: sluice.AckLedger, state: sluice.ClaimRejected, want: sluice.ReasonSoldOut},
		{name: "ledger takes too long", level: sluice.AckLedger, state: sluice.ClaimQueued, want: sluice.ReasonQueued},
		{name: "a grant waits too", level: sluice.AckPermit, source: sluice.SourceGrant, state: sluice.ClaimConfirmed,
			want: sluice.ReasonConfirmed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(5)
			f.short = tc.short
			a := over(t, f, func(c *redis.AdmissionConfig, d *redis.AdmissionDeps) {
				c.Ack, c.LedgerWait = tc.level, 50*time.Millisecond
				d.Publisher, d.Outcomes = broker{tc.broker}, outcomes{tc.state}
			})
			defer a.Close()
			claim := claimOf("c", "u", "r", 1)
			claim.Source = tc.source
			d := a.Admit(t.Context(), claim)
			if d.Reason != tc.want || !d.HasID || d.ID != claim.ID {
				t.Errorf("%+v", d)
			}
			if f.available != 4 {
				t.Error("the claim does not go on")
			}
		})
	}
}

var errLost = errors.New("lost")

// atOnceInLedger admits claims one by one in the ledger, as internal/direct does in batches.
type atOnceInLedger struct{ db ledger }

func (l atOnceInLedger) Admit(ctx context.Context, claim sluice.Claim) sluice.Decision {
	out, err := l.db.Admit(ctx, []sluice.Claim{claim})
	if err != nil {
		return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: claim.ID}
	}
	return sluice.Decision{
		Reason: out[0].Reason, State: out[0].State, HasID: true, ID: claim.ID, Quantity: claim.Quantity,
	}
}

// TestDegradedAdmission takes Redis away from two nodes that may sell by the ledger alone, with claims that are
// promised and not settled. No unit of theirs is sold to somebody else, neither before Redis is back nor after.
func TestDegradedAdmission(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 1)
	nodes := make([]*node, 2)
	for i, id := range []string{"a", "b"} {
		nodes[i] = s.open(t, id, func(c *redis.AdmissionConfig, d *redis.AdmissionDeps) {
			hasty(c, d)
			c.Policy, c.DegradeAfter = redis.PolicyLedger, 200*time.Millisecond
			d.Direct = atOnceInLedger{d.Ledger.(ledger)}
		})
	}
	a, b := nodes[0], nodes[1]
	a.create(t, goods("c", 10, 1))
	if !eventually(5*time.Second, func() bool { _, ok := b.Campaign("c"); return ok }) {
		t.Fatal("the other node does not know the campaign")
	}
	a.hush(true)
	b.hush(true)
	answers := map[string]sluice.Decision{}
	for i, u := range []string{"u0", "u1", "u2", "u3"} {
		if answers[u] = insist(nodes[i%2], claimOf("c", u, "r", 1), 5*time.Second); !answers[u].Reason.Admitted() {
			t.Fatalf("%s: %v", u, answers[u].Reason)
		}
	}
	server.Kill9()
	for i, u := range []string{"u4", "u5", "u6"} {
		d := insist(nodes[i%2], claimOf("c", u, "r", 1), 15*time.Second)
		if answers[u] = d; d.Reason != sluice.ReasonConfirmed {
			t.Fatalf("%s while Redis is away: %v", u, d.Reason)
		}
	}
	if !a.Degraded("c") {
		t.Error("it is not degraded")
	}
	server.Start()
	if !eventually(20*time.Second, func() bool {
		is, _ := a.Campaign("c")
		armed, err := a.rearm.Armed(t.Context(), is)
		return err == nil && armed && !a.Degraded("c") && !b.Degraded("c")
	}) {
		t.Fatal("it does not come back to Redis")
	}
	a.hush(false)
	b.hush(false)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, u := range []string{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11"} {
		all.Go(func() {
			d := insist(nodes[i%2], claimOf("c", u, "r", 1), 20*time.Second)
			mu.Lock()
			answers[u] = d
			mu.Unlock()
		})
	}
	all.Wait()
	holds(t, a, "c", answers, 10)
}
