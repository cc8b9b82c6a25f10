package memory_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

// A claim that was still gathering when its campaign fell into doubt is BUSY, and so is its replay: at once, and not
// by waiting for a batch that has long been answered.
func TestAReplayOfADroppedClaimIsBusy(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	syncing, fail, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.fake.before = func(n int) error {
		if n == 0 {
			close(syncing)
			<-fail
			return errLost
		}
		return nil
	}
	b.fake.loading = func(n int) error {
		if n > 1 {
			<-goOn
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { b.want(t, "a", "u", sluice.ReasonBusy) })
	<-syncing
	dropped := make(chan struct{})
	all.Go(func() { b.want(t, "a", "v", sluice.ReasonBusy); close(dropped) })
	for b.Waiting() != 2 {
	}
	close(fail)
	<-dropped
	d, known := b.Replay(t.Context(), "a", claimOf("a", "v", "r").ID, 1)
	if !known || d.Reason != sluice.ReasonBusy || d.RetryAfterMS <= 0 {
		t.Errorf("replay while the campaign is read back: %+v (%v)", d, known)
	}
	close(goOn)
	all.Wait()
}

// Whether a claim exists comes before every rule, so that what is not known yet is BUSY, not ENDED or a new claim.
func TestNoReplayIsMissedWhileACampaignIsReadBack(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	b.want(t, "a", "u", sluice.ReasonConfirmed)
	b.fake.begun = func(int) {
		d, known := b.Replay(t.Context(), "a", claimOf("a", "u", "r").ID, 1)
		if !known || d.Reason != sluice.ReasonBusy {
			t.Errorf("replay while the campaign is read back: %+v (%v)", d, known)
		}
	}
	if err := b.ReadBack(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if d := b.claim("a", "u"); d.Reason != sluice.ReasonConfirmed || !d.Replayed {
		t.Errorf("replay after it: %+v", d)
	}
}

// The limit of a group is not known while one of its campaigns is being read: the others wait for it.
func TestALimitGroupWaitsForTheCampaignThatIsReadBack(t *testing.T) {
	x, y := goods("x", 10), goods("y", 10)
	x.LimitGroup, y.LimitGroup, x.PerUserLimit, y.PerUserLimit = "g", "g", 1, 1
	b := open(t, memory.Config{}, x, y)
	b.want(t, "y", "u", sluice.ReasonConfirmed)
	b.fake.begun = func(int) {
		if d := b.Admit(t.Context(), claimOf("x", "u", "r")); d.Reason != sluice.ReasonBusy {
			t.Errorf("a claim of a user whose other claims are not read yet: %v", d.Reason)
		}
	}
	if err := b.ReadBack(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	b.want(t, "x", "u", sluice.ReasonLimitReached)
	b.want(t, "x", "v", sluice.ReasonConfirmed)
}

// At the start, too, no campaign of a group may admit before all of them are read.
func TestALimitGroupIsArmedAsAWhole(t *testing.T) {
	x, y := goods("x", 10), goods("y", 10)
	x.LimitGroup, y.LimitGroup = "g", "g"
	b := &bench{fake: newFake(x, y), doubt: make(chan string, 16)}
	b.Admission = memory.New(memory.Config{}, b.fake)
	b.fake.adm = b.Admission
	t.Cleanup(b.Close)
	b.fake.loading = func(n int) error {
		if n == 2 { // x is read, y is not
			b.want(t, "x", "u", sluice.ReasonBusy)
		}
		return nil
	}
	if err := b.Arm(t.Context(), []sluice.Campaign{x, y}, nil); err != nil {
		t.Fatal(err)
	}
	b.want(t, "x", "u", sluice.ReasonConfirmed)
}

// A store that refuses for hours, as on a full disk, must not fill the memory with what never came to be.
func TestRefusedClaimsLeaveNothingBehind(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	b.want(t, "a", "holder", sluice.ReasonConfirmed)
	b.fake.before = func(int) error { return errRefused }
	for i := range 100 {
		b.want(t, "a", fmt.Sprint("u", i), sluice.ReasonBusy)
		b.want(t, "a", "holder2", sluice.ReasonBusy)
	}
	if n := b.Records("a"); n > 2 {
		t.Errorf("%d records for one claim that came to be", n)
	}
	b.fake.before = nil
	for i := range 2 { // in the user's list as if it had never been refused
		if d := b.Admit(t.Context(), claimOf("a", "holder", fmt.Sprint("more", i))); d.Reason != sluice.ReasonConfirmed {
			t.Fatalf("within the limit: %v", d.Reason)
		}
	}
	d := b.Admit(t.Context(), claimOf("a", "holder", "above"))
	if d.Reason != sluice.ReasonLimitReached || len(d.Claims) != 3 {
		t.Errorf("above the limit: %v with %d claims", d.Reason, len(d.Claims))
	}
	b.left(t, "a", 2)
}

// A claim that gathers behind a store that hangs waits no longer than one whose own commit hangs.
func TestAClaimBehindASlowCommitIsNotKeptWaiting(t *testing.T) {
	b := open(t, memory.Config{MaxWait: 20 * time.Millisecond}, goods("a", 5))
	syncing, goOn := make(chan struct{}), make(chan struct{})
	b.fake.before = func(n int) error {
		if n == 0 {
			close(syncing)
			<-goOn
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { b.claim("a", "u") })
	<-syncing
	b.want(t, "a", "v", sluice.ReasonUnavailable)
	close(goOn)
	all.Wait()
}

// On a full disk every commit fails and every read back works. To go round at full speed would keep a core busy,
// read millions of rows again and again, and fill what is left of the disk with the log.
func TestReadingBackSlowsDownWhileNothingIsCommitted(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	b.fake.before = func(int) error { return errLost }
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		b.want(t, "a", "u", sluice.ReasonBusy)
	}
	if n := b.fake.settled(); n > 20 {
		t.Errorf("%d commits were tried in 200 ms", n)
	}
	b.fake.before = nil
	for b.claim("a", "v").Reason == sluice.ReasonBusy {
	}
	b.fake.after = once(b.fake.settled(), errLost) // one that fails alone is made good at once
	began := time.Now()
	b.want(t, "a", "w", sluice.ReasonConfirmed)
	if took := time.Since(began); took > time.Second {
		t.Errorf("a commit that failed alone took %v", took)
	}
	b.left(t, "a", 3)
}
