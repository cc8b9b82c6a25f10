package redis_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// TestLooksThatOverlapAreNoStepBack: settings come in while the watch looks; the look that began first and ends last
// knows less than the other, and that is no gate that has forgotten.
func TestLooksThatOverlapAreNoStepBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var doubts []string
		f := newFake(10)
		f.last = 1
		a := over(t, f, func(cfg *redis.AdmissionConfig, _ *redis.AdmissionDeps) {
			cfg.Poll = time.Hour
			cfg.Doubt = func(_ string, _ int64, why string) { doubts = append(doubts, why) }
		})
		defer a.Close()
		late, over := make(chan struct{}), make(chan error, 1)
		f.mu.Lock()
		before := f.looks
		f.looking = func(n int) {
			if n == before+1 {
				<-late
			}
		}
		f.mu.Unlock()
		go func() { over <- a.Refresh(context.Background(), "c") }()
		<-time.After(time.Millisecond)
		f.mu.Lock()
		f.last += 5 // a claim came
		f.mu.Unlock()
		if err := a.Refresh(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		close(late)
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		if len(doubts) > 0 {
			t.Errorf("doubts: %q", doubts)
		}
		if d := a.Admit(t.Context(), claimOf("c", "u", "r", 1)); d.Reason != sluice.ReasonQueued {
			t.Errorf("the answer is %s", d.Reason)
		}
		<-time.After(time.Millisecond)
		f.mu.Lock()
		f.last = 2 // this is one
		f.mu.Unlock()
		if err := a.Refresh(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if len(doubts) == 0 {
			t.Error("a gate that has gone back is believed")
		}
	})
}

// TestAClaimThatMayHaveBeenAdmittedIsNotCalledRefused: the answer of the first call was lost, and the second one finds
// no gate: nobody can say that nothing was done.
func TestAClaimThatMayHaveBeenAdmittedIsNotCalledRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		a := over(t, f, func(cfg *redis.AdmissionConfig, _ *redis.AdmissionDeps) { cfg.Poll = time.Hour })
		defer a.Close()
		f.answering = func(n int, r *redis.AdmitReply) error {
			if n == 1 {
				return fmt.Errorf("the answer was lost: %w", sluice.ErrUncertain)
			}
			*r = redis.AdmitReply{Status: redis.GateNone}
			return nil
		}
		d := a.Admit(t.Context(), claimOf("c", "u", "r", 1))
		if d.Reason != sluice.ReasonUnavailable || !d.HasID {
			t.Errorf("a claim that was admitted is answered %s", d.Reason)
		}
		if d := a.Admit(t.Context(), claimOf("c", "u", "s", 1)); d.Reason != sluice.ReasonBusy {
			t.Errorf("a claim that no gate has seen is answered %s", d.Reason)
		}
	})
}

// TestUnitsThatOthersTookAreNotTheLast: units come from other shards and are taken by others before the claim asks
// again. That the shard has as many as before says nothing of what the other shards have.
func TestUnitsThatOthersTookAreNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		a := over(t, f, func(cfg *redis.AdmissionConfig, _ *redis.AdmissionDeps) { cfg.Poll = time.Hour })
		defer a.Close()
		set := aSale("two", 2)
		set.Epoch, set.Shards, set.PerUserLimit = 1, 2, 2
		if err := a.Put(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		f.pulled = 2
		f.answering = func(n int, r *redis.AdmitReply) error {
			r.Available = 1
			if n > 2 {
				r.Claims[0].Verdict = redis.VerdictAdmitted
			}
			return nil
		}
		if d := a.Admit(t.Context(), claimOf("two", "u", "r", 2)); d.Reason != sluice.ReasonQueued {
			t.Errorf("the answer is %s while other shards have units", d.Reason)
		}
		f.calls, f.pulled = 0, 0
		if d := a.Admit(t.Context(), claimOf("two", "v", "r", 2)); d.Reason != sluice.ReasonSoldOut {
			t.Errorf("the answer is %s where nothing comes", d.Reason)
		}
	})
}

// TestACallThatCannotBeRightIsNotSentAgain: the number of shards has changed while claims waited, so that they are at
// home elsewhere. Nothing was done, and that is what they hear, at once.
func TestACallThatCannotBeRightIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		a := over(t, f, func(cfg *redis.AdmissionConfig, _ *redis.AdmissionDeps) { cfg.Poll = time.Hour })
		defer a.Close()
		f.refusing = func(int) error { return fmt.Errorf("at home elsewhere: %w", sluice.ErrInvalid) }
		began := time.Now()
		d := a.Admit(t.Context(), claimOf("c", "u", "r", 1))
		if d.Reason != sluice.ReasonBusy || time.Since(began) > 100*time.Millisecond {
			t.Errorf("after %v the answer is %s", time.Since(began), d.Reason)
		}
		f.refusing = func(n int) error {
			if n%2 == 0 {
				return fmt.Errorf("the answer was lost: %w", sluice.ErrUncertain)
			}
			return fmt.Errorf("at home elsewhere: %w", sluice.ErrInvalid)
		}
		if d := a.Admit(t.Context(), claimOf("c", "u", "s", 1)); d.Reason != sluice.ReasonUnavailable {
			t.Errorf("a claim that may have been admitted is answered %s", d.Reason)
		}
	})
}
