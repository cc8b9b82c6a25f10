package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

func now() sluice.Millis { return sluice.MillisOf(time.Now()) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func goods(id string, total int64) sluice.Campaign {
	at := time.Now()
	return sluice.Campaign{
		ID: id, Kind: sluice.KindGoods, Stock: sluice.Stock{Total: total}, Created: total, PerUserLimit: 3,
		StartsAt: sluice.MillisOf(at.Add(-time.Hour)), EndsAt: sluice.MillisOf(at.Add(time.Hour)),
		Control: sluice.ControlOpen,
	}
}

func claimOf(campaign, user, request string) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
		RequestID: request, Quantity: 1, At: now(),
	}
}

// bench is an admission over a fake ledger.
type bench struct {
	*memory.Admission
	fake  *fakeLedger
	doubt chan string
}

func open(t *testing.T, cfg memory.Config, campaigns ...sluice.Campaign) *bench {
	t.Helper()
	b := &bench{fake: newFake(campaigns...), doubt: make(chan string, 16)}
	cfg.Doubt = func(c, note string) { b.doubt <- c + ": " + note }
	b.Admission = memory.New(cfg, b.fake)
	b.fake.adm = b.Admission
	if err := b.Arm(t.Context(), campaigns, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func (b *bench) claim(campaign, user string) sluice.Decision {
	return b.Admit(context.Background(), claimOf(campaign, user, "r"))
}

func (b *bench) want(t *testing.T, campaign, user string, r sluice.Reason) {
	t.Helper()
	if d := b.claim(campaign, user); d.Reason != r {
		t.Fatalf("claim of %s on %s: %v, want %v", user, campaign, d.Reason, r)
	}
}

func (b *bench) left(t *testing.T, campaign string, available int64) {
	t.Helper()
	if p, _, ok := b.Permit(campaign); !ok || p.Available != available || p.Queued != 0 {
		t.Fatalf("permit of %s: %+v (%v), want %d available", campaign, p, ok, available)
	}
}

// once gives a function that fails the n-th time only.
func once(n int, err error) func(int) error {
	return func(batch int) error {
		if batch == n {
			return err
		}
		return nil
	}
}

func TestCommitRefused(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 1))
	b.fake.before = once(0, errRefused)
	b.want(t, "a", "u", sluice.ReasonBusy)
	b.left(t, "a", 1)
	b.want(t, "a", "v", sluice.ReasonConfirmed)
	b.want(t, "a", "u", sluice.ReasonSoldOut)
	b.left(t, "a", 0)
}

func TestCommitLostBeforeItWasDone(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 1))
	b.fake.before = once(0, errLost)
	b.want(t, "a", "u", sluice.ReasonBusy) // read back: it is not there
	b.left(t, "a", 1)
	b.want(t, "a", "u", sluice.ReasonConfirmed)
}

func TestCommitDoneButTheAnswerLost(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 1))
	b.fake.after = once(0, errLost)
	d := b.claim("a", "u")
	if d.Reason != sluice.ReasonConfirmed || d.Replayed {
		t.Fatalf("%+v: the row is there, and it is the first answer", d)
	}
	b.left(t, "a", 0)
	if d = b.claim("a", "u"); d.Reason != sluice.ReasonConfirmed || !d.Replayed {
		t.Fatalf("again: %+v", d)
	}
	b.want(t, "a", "v", sluice.ReasonSoldOut)
}

func TestAFailedCommitFreezesItsCampaignOnly(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 10), goods("b", 10))
	loading, goOn := make(chan struct{}), make(chan struct{})
	first := true
	b.fake.after = once(0, errLost)
	b.fake.loading = func(n int) error {
		if n == 3 { // the third load is the first reload
			if first {
				first = false
				close(loading)
			}
			<-goOn
		}
		return nil
	}
	answer := make(chan sluice.Decision)
	go func() { answer <- b.claim("a", "u") }()
	<-loading
	b.want(t, "a", "v", sluice.ReasonBusy)
	if b.SoldOut("a") {
		t.Error("a campaign in doubt is not sold out")
	}
	b.want(t, "b", "v", sluice.ReasonConfirmed)
	close(goOn)
	if d := <-answer; d.Reason != sluice.ReasonConfirmed {
		t.Fatalf("the claim in doubt: %v", d.Reason)
	}
	b.want(t, "a", "v", sluice.ReasonConfirmed)
	b.left(t, "a", 8)
	b.left(t, "b", 9)
}

func TestReadingBackIsTriedUntilItWorks(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	b.fake.after = once(0, errLost)
	b.fake.loading = func(n int) error {
		if n < 5 {
			return errRefused
		}
		return nil
	}
	b.want(t, "a", "u", sluice.ReasonConfirmed)
	b.left(t, "a", 4)
}

func TestSlowStore(t *testing.T) {
	b := open(t, memory.Config{MaxWait: time.Millisecond}, goods("a", 5))
	goOn := make(chan struct{})
	b.fake.before = func(int) error { <-goOn; return nil }
	d := b.claim("a", "u")
	if d.Reason != sluice.ReasonUnavailable || !d.HasID || d.ID != claimOf("a", "u", "r").ID {
		t.Fatalf("a claim that waits too long: %+v", d)
	}
	close(goOn)
	for {
		d = b.claim("a", "u")
		if d.Reason != sluice.ReasonUnavailable {
			break
		}
	}
	if d.Reason != sluice.ReasonConfirmed || !d.Replayed {
		t.Fatalf("asked again: %+v", d)
	}
	b.left(t, "a", 4)
}

func TestTheNextBatchGathersWhileTheLastOneSyncs(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 100))
	syncing, goOn := make(chan struct{}), make(chan struct{})
	b.fake.before = func(n int) error {
		if n == 0 {
			close(syncing)
			<-goOn
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { b.want(t, "a", "first", sluice.ReasonConfirmed) })
	<-syncing
	for i := range 50 {
		all.Go(func() { b.want(t, "a", fmt.Sprint("u", i), sluice.ReasonConfirmed) })
	}
	for b.Waiting() != 51 { // each has been decided
	}
	close(goOn)
	all.Wait()
	if n := b.fake.settled(); n != 2 {
		t.Errorf("51 claims took %d transactions, want 2", n)
	}
}

func TestLosersNeverReachTheLedger(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 1))
	b.want(t, "a", "winner", sluice.ReasonConfirmed)
	for i := range 1000 {
		b.want(t, "a", fmt.Sprint("u", i), sluice.ReasonSoldOut)
	}
	if n := b.fake.settled(); n != 1 {
		t.Errorf("%d transactions for one winner", n)
	}
}

func TestBacklogIsBounded(t *testing.T) {
	b := open(t, memory.Config{MaxWaiting: 2}, goods("a", 10))
	goOn := make(chan struct{})
	b.fake.before = func(int) error { <-goOn; return nil }
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() { b.want(t, "a", fmt.Sprint("u", i), sluice.ReasonConfirmed) })
	}
	for b.Waiting() != 2 {
	}
	d := b.claim("a", "v")
	if d.Reason != sluice.ReasonBusy || d.RetryAfterMS <= 0 {
		t.Errorf("above the bound: %+v", d)
	}
	close(goOn)
	all.Wait()
	b.left(t, "a", 8)
}

func TestCloseCommitsWhatWaits(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 10))
	syncing, goOn := make(chan struct{}), make(chan struct{})
	b.fake.before = func(n int) error {
		if n == 0 {
			close(syncing)
			<-goOn
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { b.want(t, "a", "u", sluice.ReasonConfirmed) })
	<-syncing
	all.Go(func() { b.want(t, "a", "v", sluice.ReasonConfirmed) })
	for b.Waiting() != 2 {
	}
	all.Go(b.Close)
	close(goOn)
	all.Wait()
	b.want(t, "a", "w", sluice.ReasonBusy)
	b.Close()
}

func TestALedgerThatDisagreesIsBelievedAndReported(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 5))
	b.fake.outcome = func(k sluice.Claim) sluice.Reason {
		if k.User == "u" {
			return sluice.ReasonSoldOut
		}
		return sluice.ReasonConfirmed
	}
	d := b.claim("a", "u")
	if d.Reason != sluice.ReasonSoldOut || d.State != sluice.ClaimRejected {
		t.Fatalf("%+v", d)
	}
	if note := <-b.doubt; note == "" {
		t.Error("nobody was told")
	}
}

func TestAdjustmentInDoubt(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(*fakeLedger)
		left int64
	}{
		{"refused", func(f *fakeLedger) { f.before = once(-1, errRefused) }, 10},
		{"lost before", func(f *fakeLedger) { f.before = once(-1, errLost) }, 10},
		{"lost after", func(f *fakeLedger) { f.after = once(-1, errLost) }, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := open(t, memory.Config{}, goods("a", 10))
			tt.fail(b.fake)
			change := sluice.Adjustment{ChangeID: "x", Campaign: "a", Asked: -4}
			if _, err := b.Adjust(t.Context(), change, operator); err == nil {
				t.Fatal("the fault did not show")
			}
			b.fake.before, b.fake.after = nil, nil
			for b.claim("a", "u").Reason == sluice.ReasonBusy {
			}
			b.left(t, "a", tt.left-1)
			got, err := b.Adjust(t.Context(), change, operator)
			if err != nil || got.Applied != -4 || got.Total != 6 {
				t.Fatalf("again: %+v, %v", got, err)
			}
			b.left(t, "a", 5)
		})
	}
}

func TestRefusalsDoNotAllocate(t *testing.T) {
	b := open(t, memory.Config{}, goods("a", 1))
	b.want(t, "a", "winner", sluice.ReasonConfirmed)
	loser := claimOf("a", "loser", "r")
	ctx := context.Background()
	for name, call := range map[string]func(){
		"sold out": func() { b.Admit(ctx, loser) },
		"marker":   func() { b.SoldOut("a") },
		"unknown":  func() { b.Replay(ctx, "a", loser.ID, 1) },
	} {
		if n := testing.AllocsPerRun(200, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
