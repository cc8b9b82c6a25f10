package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// fakeGates are one shard's gates in memory, as far as these tests look at them.
type fakeGates struct {
	mu        sync.Mutex
	epoch     int64
	available int64
	live      map[sluice.ClaimID]bool
	users     []sluice.UserKey
	leased    bool                                   // what SoldOut answers
	asked     int                                    // how often it was
	answering func(n int, r *redis.AdmitReply) error // runs when the n-th reply is on its way back
	refusing  func(n int) error                      // runs before anything is done
	calls     int
	short     bool  // no replica has anything
	pulled    int64 // what Pull brings each time
	last      sluice.Millis
	looks     int
	looking   func(n int) // runs when the n-th state is on its way back
}

func (f *fakeGates) Admit(_ context.Context, call redis.AdmitCall) (redis.AdmitReply, error) {
	f.mu.Lock()
	r := redis.AdmitReply{Status: redis.GateOK, Epoch: f.epoch, Now: sluice.MillisOf(time.Now())}
	f.calls++
	n, answering := f.calls, f.answering
	if f.refusing != nil {
		if err := f.refusing(n); err != nil {
			f.mu.Unlock()
			return redis.AdmitReply{}, err
		}
	}
	if call.Campaign.Epoch != f.epoch {
		r.Status = redis.GateEpoch
		f.mu.Unlock()
		return r, nil
	}
	for _, c := range call.Claims {
		v := redis.VerdictAdmitted
		switch {
		case f.live[c.ID]:
			v = redis.VerdictQueued
		case f.available < 1:
			v = redis.VerdictDry
		default:
			f.available--
			f.live[c.ID] = true
			f.users = append(f.users, c.ID.User())
		}
		r.Claims = append(r.Claims, redis.ClaimReply{Verdict: v})
	}
	r.Available = f.available
	f.mu.Unlock()
	if answering != nil {
		if err := answering(n, &r); err != nil {
			return redis.AdmitReply{}, err
		}
	}
	return r, nil
}

func (f *fakeGates) Pull(context.Context, *sluice.Campaign, int, int64) (int64, error) {
	return f.pulled, nil
}

func (f *fakeGates) Complete(context.Context, sluice.Campaign) error { return nil }

func (f *fakeGates) SameServer(context.Context, *sluice.Campaign, int) (bool, error) {
	return true, nil
}

func (f *fakeGates) Replicated(context.Context, *sluice.Campaign, int, int) error {
	if f.short {
		return fmt.Errorf("no replica: %w", sluice.ErrUnavailable)
	}
	return nil
}

func (f *fakeGates) SoldOut(context.Context, *sluice.Campaign, int) (redis.SoldOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if !f.leased {
		return redis.SoldOut{}, nil
	}
	return redis.SoldOut{SoldOut: true, Until: time.Now().Add(time.Second)}, nil
}

func (f *fakeGates) Holders(_ context.Context, _ *sluice.Campaign, _ int, from int64) (redis.Holders, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := int64(10 * len(f.users))
	h := redis.Holders{Status: redis.GateOK, Epoch: f.epoch, Total: total, Next: total}
	if from < total {
		h.Keys = f.users[from/10:]
	}
	return h, nil
}

func (f *fakeGates) Find(
	_ context.Context, all []sluice.Campaign, id sluice.ClaimID,
) (sluice.Claim, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sluice.Claim{ID: id, Campaign: all[0].ID, Quantity: 1, Epoch: f.epoch}, f.live[id], nil
}

func (f *fakeGates) State(context.Context, sluice.Campaign) ([]sluice.ShardState, error) {
	f.mu.Lock()
	f.looks++
	n, looking := f.looks, f.looking
	state := []sluice.ShardState{{
		Armed: f.epoch > 0, Open: true, Epoch: f.epoch, Available: f.available, Live: int64(len(f.live)), LastAt: f.last,
	}}
	f.mu.Unlock()
	if looking != nil {
		looking(n)
	}
	return state, nil
}

func (f *fakeGates) Apply(_ context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error) {
	return make([]sluice.PermitResult, len(ops)), nil
}

func (f *fakeGates) Identity(context.Context) (map[string]string, error) {
	return map[string]string{"here": "a run"}, nil
}

func newFake(available int64) *fakeGates {
	return &fakeGates{epoch: 1, available: available, live: map[sluice.ClaimID]bool{}}
}

// over starts an admission over fakes, with the campaign c of epoch 1. Claims are settled on paper.
func over(t *testing.T, f *fakeGates, change func(*redis.AdmissionConfig, *redis.AdmissionDeps)) *redis.Admission {
	t.Helper()
	cfg, deps := redis.AdmissionConfig{}, redis.AdmissionDeps{Ledger: paper{}}
	if change != nil {
		change(&cfg, &deps)
	}
	a := redis.NewAdmissionOver(cfg, deps, f)
	c := aSale("c", 1)
	c.Epoch = 1
	if err := a.Put(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheMarkerEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.leased = true
		a := over(t, f, nil)
		defer a.Close()
		if a.SoldOut("c") {
			t.Fatal("a marker before any verdict")
		}
		if d := a.Admit(t.Context(), claimOf("c", "u", "r", 1)); d.Reason != sluice.ReasonSoldOut {
			t.Fatal(d.Reason)
		}
		synctest.Wait()
		if !a.SoldOut("c") {
			t.Fatal("no marker after the verdict")
		}
		for range 50 { // while it is asked for it is renewed
			<-time.After(100 * time.Millisecond)
			if !a.SoldOut("c") {
				t.Fatal("the marker has gone although it is asked for")
			}
		}
		if f.asked > 15 {
			t.Errorf("%d verdicts in five seconds", f.asked)
		}
		f.mu.Lock()
		f.leased = false // a unit came back
		f.mu.Unlock()
		<-time.After(time.Second)
		if a.SoldOut("c") {
			t.Error("the marker outlives its lease")
		}
	})
}

func TestAMarkerThatNobodyAsksForIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.leased = true
		a := over(t, f, nil)
		defer a.Close()
		a.Admit(t.Context(), claimOf("c", "u", "r", 1))
		<-time.After(10 * time.Second)
		if a.SoldOut("c") || f.asked > 1 {
			t.Errorf("after ten quiet seconds it stands: %v, %d verdicts", a.SoldOut("c"), f.asked)
		}
	})
}

func TestANewEpochEndsTheMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.leased = true
		a := over(t, f, nil)
		defer a.Close()
		a.Admit(t.Context(), claimOf("c", "u", "r", 1))
		synctest.Wait()
		a.SetEpoch("c", 2)
		if a.SoldOut("c") {
			t.Error("the marker stands by leases of an epoch that is over")
		}
	})
}

// TestAReplyThatComesAfterItsEpochIsNotPromised: the node has said that it holds no promise of that epoch. The ledger
// answers instead.
func TestAReplyThatComesAfterItsEpochIsNotPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5)
		a := over(t, f, nil)
		defer a.Close()
		f.answering = func(int, *redis.AdmitReply) error {
			a.SetEpoch("c", 2)
			<-time.After(100 * time.Millisecond)
			if got := a.Flushed()["c"]; got != 2 {
				t.Errorf("flushed up to epoch %d", got)
			}
			return nil
		}
		d := a.Admit(t.Context(), claimOf("c", "u", "r", 1))
		if d.Reason != sluice.ReasonConfirmed || a.PromisedCount() != 0 {
			t.Errorf("%v, with %d promised", d.Reason, a.PromisedCount())
		}
	})
}

// TestStanding: a node tells the epochs that it admits in, and the campaigns whose breaker is open.
func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5)
		a := over(t, f, nil)
		defer a.Close()
		if s := a.Standing(); len(s.Epochs) != 1 || s.Epochs["c"] != 1 || s.Cut != nil {
			t.Errorf("at rest: %+v", s)
		}
		f.mu.Lock()
		f.answering = func(int, *redis.AdmitReply) error { return sluice.ErrUnavailable }
		f.mu.Unlock()
		for i := range 3 {
			a.Admit(t.Context(), claimOf("c", fmt.Sprint(i), "r", 1))
		}
		if s := a.Standing(); !slices.Equal(s.Cut, []string{"c"}) {
			t.Errorf("nobody answers: %+v", s)
		}
	})
}

// stubborn is a ledger that is away for a while.
type stubborn struct {
	paper
	mu      sync.Mutex
	away    bool
	settled []sluice.Claim
}

func (s *stubborn) Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, sluice.ErrUnavailable
	}
	s.settled = append(s.settled, claims...)
	return s.paper.Settle(ctx, claims)
}

func (s *stubborn) ClaimRecords(
	context.Context, []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.ClaimRecord, error) {
	return nil, nil
}

func TestPromisesOfAnEpochThatIsOverAreSettledBeforeTheNodeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ledger := newFake(5), &stubborn{away: true}
		a := over(t, f, func(_ *redis.AdmissionConfig, d *redis.AdmissionDeps) { d.Ledger = ledger })
		defer a.Close()
		for i := range 3 {
			if d := a.Admit(t.Context(), claimOf("c", fmt.Sprint(i), "r", 1)); d.Reason != sluice.ReasonQueued {
				t.Fatal(d.Reason)
			}
		}
		if n := len(a.Promised("c", 2)); n != 3 {
			t.Fatalf("%d promised", n)
		}
		a.SetEpoch("c", 2)
		<-time.After(5 * time.Second)
		if got := a.Flushed()["c"]; got != 1 {
			t.Errorf("with the ledger away it says flushed up to %d", got)
		}
		ledger.mu.Lock()
		ledger.away = false
		ledger.mu.Unlock()
		<-time.After(time.Second)
		if got := a.Flushed()["c"]; got != 2 || len(ledger.settled) != 3 || a.PromisedCount() != 0 {
			t.Errorf("flushed up to %d, %d settled, %d promised", got, len(ledger.settled), a.PromisedCount())
		}
	})
}

func TestTheListOfPromisesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		a := over(t, f, func(c *redis.AdmissionConfig, d *redis.AdmissionDeps) {
			c.MaxPromised, d.Ledger = 3, &stubborn{}
		})
		defer a.Close()
		count := map[sluice.Reason]int{}
		for i := range 10 {
			count[a.Admit(t.Context(), claimOf("c", fmt.Sprint(i), "r", 1)).Reason]++
		}
		if count[sluice.ReasonQueued] != 3 || count[sluice.ReasonBusy] != 7 {
			t.Errorf("%v", count)
		}
		a.Settled([]sluice.ClaimID{claimOf("c", "0", "r", 1).ID})
		if d := a.Admit(t.Context(), claimOf("c", "11", "r", 1)); d.Reason != sluice.ReasonQueued {
			t.Errorf("with room again: %v", d.Reason)
		}
	})
}

// TestACallWhoseReplyIsLostIsSentAgain: the script knows by the claim's id that it was done.
func TestACallWhoseReplyIsLostIsSentAgain(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		lost int // replies
		want sluice.Reason
		left int64
	}{
		{"not done, twice", sluice.ErrUnavailable, 2, sluice.ReasonQueued, 4},
		{"unknown, twice", sluice.ErrUncertain, 2, sluice.ReasonQueued, 4},
		{"unknown, for good", sluice.ErrUncertain, 1000, sluice.ReasonUnavailable, 4},
		{"not done, for good", sluice.ErrUnavailable, 1000, sluice.ReasonBusy, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(5)
				lose := func(n int) error {
					if n <= tc.lost {
						return tc.err
					}
					return nil
				}
				if errors.Is(tc.err, sluice.ErrUnavailable) {
					f.refusing = lose
				} else {
					f.answering = func(n int, _ *redis.AdmitReply) error { return lose(n) }
				}
				a := over(t, f, nil)
				defer a.Close()
				claim := claimOf("c", "u", "r", 1)
				d := a.Admit(t.Context(), claim)
				if d.Reason != tc.want || d.Replayed {
					t.Fatalf("%+v", d)
				}
				if d.Reason == sluice.ReasonUnavailable && (!d.HasID || d.ID != claim.ID) {
					t.Errorf("nobody can ask for it: %+v", d)
				}
				if f.available != tc.left {
					t.Errorf("%d units left of 5, want %d", f.available, tc.left)
				}
			})
		})
	}
}

func TestARetiredCampaignIsAnsweredFromTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5)
		a := over(t, f, nil)
		defer a.Close()
		claim := claimOf("c", "u", "r", 1)
		a.Admit(t.Context(), claim)
		a.Settled([]sluice.ClaimID{claim.ID})
		if n := a.Retire(); n != 0 {
			t.Fatalf("%d campaigns retired during their sale", n)
		}
		f.mu.Lock()
		clear(f.live)
		f.mu.Unlock()
		<-time.After(80 * time.Hour)
		if n := a.Retire(); n != 1 || a.Retire() != 0 {
			t.Errorf("%d campaigns retired", n)
		}
		if d := a.Admit(t.Context(), claim); d.Reason != sluice.ReasonConfirmed || !d.Replayed {
			t.Errorf("a replay: %+v", d)
		}
	})
}
