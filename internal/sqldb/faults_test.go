package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/fault"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// broken is a ledger on a store that can be broken, with two campaigns.
type broken struct {
	*sqldb.DB
	store fault.Store
	told  ops
	path  string
}

func openBroken(t *testing.T, cfg sqldb.Config) *broken {
	t.Helper()
	b := &broken{path: filepath.Join(t.TempDir(), "ledger.db")}
	cfg.Path, cfg.CacheMB, cfg.Around = b.path, 8, b.store.Around
	b.DB = openAt(t, cfg)
	for _, id := range []string{"g", "h"} {
		create(t, b.DB, sluice.Campaign{
			ID: id, Stock: sluice.Stock{Total: 1000}, PerUserLimit: 5, Goods: sluice.Goods{PriceMinor: 100},
		})
	}
	b.SetPermit(&b.told)
	return b
}

func goods(campaign, user, request string) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
		RequestID: request, Quantity: 1, At: 5000,
	}
}

// whole checks that the ledger holds what it should and that nothing is half done.
func (b *broken) whole(t *testing.T, campaign string, held int64) {
	t.Helper()
	v, err := b.Verify(t.Context(), campaign, nil)
	if err != nil || !v.OK || v.Held != held {
		t.Fatalf("%s: %+v %v, want %d held", campaign, v, err, held)
	}
	feed, err := b.Events(t.Context(), sluice.EventID{Index: -1}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	created := int64(0)
	for _, e := range feed {
		if e.Type == "order.created" && e.Campaign == campaign {
			created++
		}
	}
	if created != held {
		t.Fatalf("%d events for %d orders of %s", created, held, campaign)
	}
}

// well checks that the next writes go through.
func (b *broken) well(t *testing.T, request string) {
	t.Helper()
	for _, id := range []string{"g", "h"} {
		out, err := b.Settle(t.Context(), []sluice.Claim{goods(id, "well", request)})
		if err != nil || out[0].Reason != sluice.ReasonConfirmed || out[0].Replayed {
			t.Fatalf("after the fault: %+v %v", out, err)
		}
	}
}

// TestStoreFaults is the matrix: what each fault on the way to the store must mean to whoever settled, to the
// rows, and to the permit.
func TestStoreFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		harm  func(*testing.T, *broken)
		mend  func(*testing.T, *broken)
		err   error
		done  bool // the rows are there
		doubt bool // the permit is told to read again
	}{
		{"begin refused", next(sqldb.StepBegin, fault.Refuse), nil, sluice.ErrUnavailable, false, false},
		{"begin done, answer lost", next(sqldb.StepBegin, fault.Lose), nil, sluice.ErrUnavailable, false, false},
		{"commit refused", next(sqldb.StepCommit, fault.Refuse), nil, sluice.ErrUncertain, false, true},
		{"commit done, answer lost", next(sqldb.StepCommit, fault.Lose), nil, sluice.ErrUncertain, true, true},
		{"disk full", full, func(t *testing.T, b *broken) { mustTune(t, b.SetMaxPages(t.Context(), 1<<30)) },
			sluice.ErrUnavailable, false, false},
		{"read-only", readOnly(true), readOnly(false), sluice.ErrUnavailable, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := openBroken(t, sqldb.Config{})
			first := goods("g", "first", "1")
			if _, err := b.Settle(t.Context(), []sluice.Claim{first}); err != nil {
				t.Fatal(err)
			}
			tc.harm(t, b)
			told := len(b.told.told())
			var batch []sluice.Claim
			for i := range 600 {
				batch = append(batch, goods("g", fmt.Sprintf("user-%d", i), strings.Repeat("r", 100)))
			}
			out, err := b.Settle(t.Context(), batch)
			if !errors.Is(err, tc.err) || out != nil {
				t.Fatalf("settle: %v %v, want %v", out, err, tc.err)
			}
			if now := b.told.told(); len(now) != told {
				t.Errorf("the permit was told %+v", now[told:])
			}
			if doubt := slices.Equal(b.told.uncertain, []string{"g"}); doubt != tc.doubt {
				t.Errorf("in doubt: %v", b.told.uncertain)
			}
			if r, err := b.ClaimRecord(t.Context(), first.ID); err != nil || r.State != sluice.ClaimConfirmed {
				t.Errorf("reading what was there: %+v %v", r, err)
			}
			if tc.mend != nil {
				tc.mend(t, b)
			}
			held := int64(1)
			if tc.done {
				held += 600
			}
			b.whole(t, "g", held)
			b.whole(t, "h", 0)
			b.well(t, "after")
			out, err = b.Settle(t.Context(), batch) // the retry that ErrUnavailable and ErrUncertain allow
			for _, o := range out {
				if o.Reason != sluice.ReasonConfirmed || o.Replayed != tc.done {
					t.Fatalf("retry: %+v", o)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			b.whole(t, "g", 602)
			b.whole(t, "h", 1)
		})
	}
}

func next(step string, kind fault.Kind) func(*testing.T, *broken) {
	return func(_ *testing.T, b *broken) { b.store.Next(step, kind) }
}

func full(t *testing.T, b *broken) { mustTune(t, b.SetMaxPages(t.Context(), 1)) } // comes to the present size

func readOnly(on bool) func(*testing.T, *broken) {
	return func(t *testing.T, b *broken) { mustTune(t, b.SetReadOnly(t.Context(), on)) }
}

func mustTune(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSharedTransaction holds a commit so that work gathers behind it, and then breaks the one transaction that
// takes it.
func TestSharedTransaction(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind fault.Kind
		want error // of the sound ones
	}{
		{"committed", fault.None, nil},
		{"refused", fault.Refuse, sluice.ErrUncertain}, {"lost", fault.Lose, sluice.ErrUncertain},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := openBroken(t, sqldb.Config{})
			// The revision that the next adjustment of g needs is taken: it fails when it has changed the total already.
			plant(t, b.path, `INSERT INTO adjustments (change_id, campaign_no, delta, applied, total, revision, state, at_ms)
				SELECT 'taken', no, 1, 0, 0, 2, 'done', 0 FROM campaigns WHERE id = 'g'`)
			held := b.store.Next(sqldb.StepCommit, fault.Hold)
			b.store.Next(sqldb.StepCommit, tc.kind)
			opening := make(chan error, 1)
			go func() {
				_, err := b.Settle(t.Context(), []sluice.Claim{goods("h", "a", "1")})
				opening <- err
			}()
			<-held.Entered()
			work := b.sharedWork(t)
			type answer struct {
				who string
				err error
			}
			answers := make(chan answer)
			for who, do := range work {
				go func() { answers <- answer{who, do()} }()
			}
			b.waiting(t, len(work))
			held.Release()
			if err := <-opening; err != nil {
				t.Fatal(err)
			}
			for range work {
				a := <-answers
				switch {
				case a.who == "unknown":
					if !errors.Is(a.err, sluice.ErrNotFound) || errors.Is(a.err, sluice.ErrUncertain) {
						t.Errorf("unknown: %v", a.err)
					}
				case a.who == "half":
					if a.err == nil || errors.Is(a.err, sluice.ErrUncertain) {
						t.Errorf("half: %v", a.err)
					}
				case a.who == "panic":
					if a.err == nil || errors.Is(a.err, sluice.ErrUncertain) || errors.Is(a.err, sluice.ErrUnavailable) {
						t.Errorf("panic: %v", a.err)
					}
				case !errors.Is(a.err, tc.want) || tc.want == nil && a.err != nil:
					t.Errorf("%s: %v, want %v", a.who, a.err, tc.want)
				}
			}
			claims := int64(1)
			if tc.kind == fault.Refuse {
				claims = 0
			}
			b.whole(t, "g", claims)
			b.whole(t, "h", 1)
			if doubt := slices.Equal(b.told.uncertain, []string{"g", "h"}); doubt != (tc.want != nil) {
				t.Errorf("in doubt: %v", b.told.uncertain)
			}
			b.well(t, "after")
		})
	}
}

// sharedWork is what gathers behind a held commit: two writes that are sound, and three that fail alone, one of them
// when it has written something already.
func (b *broken) sharedWork(t *testing.T) map[string]func() error {
	work := map[string]func() error{
		"claims": func() error {
			_, err := b.Settle(t.Context(), []sluice.Claim{goods("g", "a", "1")})
			return err
		},
		"adjustment": func() error {
			a := sluice.Adjustment{ChangeID: "c", Campaign: "h", Asked: 1}
			_, err := b.RecordAdjustment(t.Context(), a, sluice.Actor{})
			return err
		},
		"unknown": func() error {
			_, err := b.SetControl(t.Context(), "none", sluice.CommandPause, "", sluice.Actor{}, 1)
			return err
		},
		"panic": func() error {
			_, err := b.UpdateCampaign(t.Context(), sluice.Campaign{ID: "h", Kind: sluice.KindGoods},
				func(sluice.Campaign) error { panic("a check that is wrong") }, sluice.Actor{}, 1)
			return err
		},
	}
	work["half"] = func() error {
		a := sluice.Adjustment{ChangeID: "d", Campaign: "g", Asked: 1}
		_, err := b.RecordAdjustment(t.Context(), a, sluice.Actor{})
		return err
	}
	return work
}

// waiting returns when n writes wait.
func (b *broken) waiting(t *testing.T, n int) {
	t.Helper()
	for b.Waiting() != n {
		runtime.Gosched()
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBoundedQueue holds the store: what may wait waits, the next write is refused at once, and all that waited is
// done.
func TestBoundedQueue(t *testing.T) {
	b := openBroken(t, sqldb.Config{MaxWaiting: 3})
	held := b.store.Next(sqldb.StepCommit, fault.Hold)
	errs := make(chan error, 4)
	add := func(i int) {
		_, err := b.Settle(t.Context(), []sluice.Claim{goods("g", fmt.Sprint("u", i), "1")})
		errs <- err
	}
	go add(0)
	<-held.Entered()
	for i := range 3 {
		go add(i + 1)
	}
	b.waiting(t, 3)
	if _, err := b.Settle(t.Context(), []sluice.Claim{goods("g", "u9", "1")}); !errors.Is(err, sluice.ErrUnavailable) {
		t.Fatalf("one more than may wait: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Settle(done, []sluice.Claim{goods("g", "u9", "1")}); !errors.Is(err, sluice.ErrUnavailable) {
		t.Fatalf("a caller who has gone: %v", err)
	}
	held.Release()
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b.whole(t, "g", 4)
}

// TestCloseFinishes closes the ledger while writes wait: they are done, later ones are refused, and the rows are
// there.
func TestCloseFinishes(t *testing.T) {
	b := openBroken(t, sqldb.Config{})
	held := b.store.Next(sqldb.StepCommit, fault.Hold)
	errs := make(chan error, 5)
	for i := range 5 {
		go func() {
			_, err := b.Settle(t.Context(), []sluice.Claim{goods("g", fmt.Sprint("u", i), "1")})
			errs <- err
		}()
		if i == 0 {
			<-held.Entered()
		}
	}
	b.waiting(t, 4)
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	held.Release()
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if _, err := b.Settle(t.Context(), []sluice.Claim{goods("g", "u9", "1")}); !errors.Is(err, sluice.ErrUnavailable) {
		t.Fatalf("after the close: %v", err)
	}
	b.DB = openAt(t, sqldb.Config{Path: b.path})
	b.whole(t, "g", 5)
}
