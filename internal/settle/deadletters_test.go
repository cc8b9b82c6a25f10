package settle_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
)

// poison makes n claims that no ledger can write: their ids are not of their users.
func (w *world) poison(n int) []sluice.Claim {
	all := w.claims(1_000_000, n)
	for i := range all {
		all[i].User += " of another name"
	}
	return all
}

// carry does what the releaser does: it applies to the gates what the ledger has for them.
func (w *world) carry() int {
	w.t.Helper()
	ops, err := w.ledger.PermitOps(w.t.Context(), "", 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	results, err := w.gates.Apply(w.t.Context(), ops)
	if err != nil {
		w.t.Fatal(err)
	}
	var done []int64
	for i, r := range results {
		if r.Verdict != sluice.PermitKept {
			done = append(done, ops[i].Seq)
		}
	}
	if err := w.ledger.DonePermitOps(w.t.Context(), done); err != nil {
		w.t.Fatal(err)
	}
	return len(ops)
}

func (w *world) desk(s *settle.Settler) *admin.DeadLetters {
	return admin.NewDeadLetters(admin.DeadLettersConfig{
		Ledger: w.ledger, Driver: s, Rate: 1000,
		Decode: func(raw []byte) (sluice.Claim, error) { c, _, _, err := redis.DecodeMessage(raw); return c, err },
	})
}

func (w *world) kept(n int) []sluice.DeadLetter {
	w.t.Helper()
	var page sluice.Page[sluice.DeadLetter]
	wait(w.t, "dead letters", 30*time.Second, func() bool {
		var err error
		page, err = w.ledger.DeadLetters(w.t.Context(), sluice.DeadLetterQuery{State: sluice.DeadLetterKept, Limit: 1000})
		if err != nil {
			w.t.Fatal(err)
		}
		return len(page.Items) == n
	})
	return page.Items
}

// TestTenPoisonedAmongAThousand is pitfall 8: they fail alone, each has its three tries, then a person has them; their
// units are nobody's until he gives them up, and then come back once.
func TestTenPoisonedAmongAThousand(t *testing.T) {
	w := newWorld(t, servers.MariaDB(t).URL, func(c *sluice.Campaign) { c.Stock.Total = 1000 })
	good, bad := w.claims(0, 990), w.poison(10)
	all := append([]sluice.Claim(nil), good...)
	for i := range bad { // spread among the others
		all = append(all, all[i*97])
		all[i*97] = bad[i]
	}
	w.admit(all, 50)
	raw := "\x09 garbage that says nothing"
	w.server.Do("XADD", w.client.OutboxKey(&w.campaign, 0), "*", redis.OutboxField, raw)
	s := w.settler(w.ledger, settle.Config{})
	letters := w.kept(11)
	w.eachOnce(good)
	for _, l := range letters {
		switch {
		case l.Claim.User == "" && string(l.Raw) != raw:
			t.Errorf("the message that cannot be read is kept as %q", l.Raw)
		case l.Claim.User != "" && (l.Tries != 3 || l.Error == "" || l.Claim.Quantity != 1 || l.Claim.Epoch != 1):
			t.Errorf("%+v", l)
		}
	}
	wait(t, "the outbox is empty", 10*time.Second, func() bool {
		return w.server.Do("XLEN", w.client.OutboxKey(&w.campaign, 0)) == "0"
	})
	if f := w.figures(); f.Available != 0 || f.Queued != 10 || f.Live != 1000 || w.carry() != 0 {
		t.Errorf("the units of dead letters are somebody's: %+v", f)
	}

	desk, by := w.desk(s), sluice.Actor{Name: "ann", Role: sluice.RoleOperator}
	run, err := desk.Replay(t.Context(), sluice.DeadLetterQuery{AsOf: sluice.MillisOf(time.Now())}, by)
	if err != nil || run.Done != 11 || run.Failed != 1 || run.More {
		t.Fatalf("replay: %+v, %v", run, err)
	}
	letters = w.kept(11) // they fail again, and are kept again with three tries
	for _, l := range letters {
		if l.Claim.User != "" && l.Tries != 3 {
			t.Errorf("after a replay: %+v", l)
		}
	}
	for range 2 { // the second time there is nothing to discard
		if _, err = desk.Discard(t.Context(), sluice.DeadLetterQuery{AsOf: sluice.MillisOf(time.Now())}, by); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.carry(); n != 10 {
		t.Errorf("%d releases, want 10", n)
	}
	for i := range bad {
		r, err := w.ledger.ClaimRecord(t.Context(), bad[i].ID)
		if err != nil || r.State != sluice.ClaimRejected || r.Code != sluice.ReasonDiscarded {
			t.Errorf("a discarded claim: %+v, %v", r, err)
		}
	}
	// What comes late of a discarded claim takes nothing.
	if err := s.Drive(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	w.quiet(990)
	if f := w.figures(); f.Available != 10 {
		t.Errorf("%d units came back, want 10", f.Available)
	}
}

// TestDiscardAgainstAReplay is pitfall 9, units given back by guess: while dead letters are discarded, settlers settle
// the same claims. Each ends either confirmed or rejected with its unit returned, never both.
func TestDiscardAgainstAReplay(t *testing.T) {
	const n = 60
	w := newWorld(t, servers.MariaDB(t).URL, func(c *sluice.Campaign) { c.Stock.Total = n })
	claims := w.claims(0, n)
	w.admit(claims, n)
	for range 3 { // as if they had failed
		if _, err := w.ledger.FailTries(t.Context(), claims, "a fault that has been repaired"); err != nil {
			t.Fatal(err)
		}
	}
	letters := w.kept(n)
	desk := w.desk(nil)
	var both sync.WaitGroup
	both.Go(func() { // the last ones first: the settler comes from the other side
		for _, l := range letters {
			if _, err := desk.Discard(t.Context(), sluice.DeadLetterQuery{IDs: []int64{l.ID}}, sluice.Actor{}); err != nil {
				t.Errorf("discard: %v", err)
			}
		}
	})
	both.Go(func() {
		for i := range claims {
			if _, err := w.ledger.Settle(t.Context(), claims[i:i+1]); err != nil {
				t.Errorf("settle: %v", err)
			}
		}
	})
	both.Wait()
	w.settler(w.ledger, settle.Config{}) // and once more, by the queue
	wait(t, "everything is settled", 30*time.Second, func() bool {
		f := w.figures()
		return f.Queued == 0 && f.Backlog == 0
	})
	released := w.carry()
	confirmed := 0
	for i := range claims {
		r, err := w.ledger.ClaimRecord(t.Context(), claims[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.State == sluice.ClaimConfirmed {
			confirmed++
		} else if r.State != sluice.ClaimRejected || r.Code != sluice.ReasonDiscarded {
			t.Errorf("%+v", r)
		}
	}
	if confirmed+released != n || confirmed == 0 || released == 0 {
		t.Errorf("%d confirmed and %d released, of %d", confirmed, released, n)
	}
	t.Logf("%d confirmed, %d discarded", confirmed, released)
	w.quiet(int64(confirmed))
}
