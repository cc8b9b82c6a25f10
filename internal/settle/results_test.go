package settle_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/settle"
)

// records is a ledger of rows. mu guards all of it.
type records struct {
	mu    sync.Mutex
	rows  map[sluice.ClaimID]sluice.ClaimRecord
	err   error
	slow  time.Duration
	calls int
	most  int // ids of one call
}

func (r *records) put(id sluice.ClaimID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[sluice.ClaimID]sluice.ClaimRecord{}
	}
	r.rows[id] = sluice.ClaimRecord{
		Claim: sluice.Claim{ID: id}, State: sluice.ClaimConfirmed, Code: sluice.ReasonConfirmed,
	}
}

// ClaimRecords is of settle.Records.
func (r *records) ClaimRecords(
	_ context.Context, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.ClaimRecord, error) {
	<-time.After(r.slow)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	r.most = max(r.most, len(ids))
	found := map[sluice.ClaimID]sluice.ClaimRecord{}
	for _, id := range ids {
		if row, ok := r.rows[id]; ok {
			found[id] = row
		}
	}
	return found, r.err
}

// UserClaims is of settle.Records.
func (r *records) UserClaims(context.Context, string, string) ([]sluice.ClaimRecord, error) {
	return nil, nil
}

// found answers Find; meanwhile runs before it does.
type found struct {
	ok        bool
	err       error
	meanwhile func()
}

// Find is of settle.Finder.
func (f found) Find(_ context.Context, id sluice.ClaimID) (sluice.Claim, bool, error) {
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return sluice.Claim{ID: id, User: "u", Quantity: 2}, f.ok, f.err
}

func aClaim(user string) sluice.ClaimID {
	return sluice.NewClaimID("spring", user, sluice.SourceClaim, "r")
}

// TestWaitersAreWoken: an announcement wakes at once; where it is lost, and the write-back of a result with it (pitfall
// 27), the waiter finds the row by himself within a second.
func TestWaitersAreWoken(t *testing.T) {
	for _, tt := range []struct {
		name      string
		announced bool
		late      time.Duration
	}{{"announced", true, 0}, {"announcement lost", false, time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger := &records{}
				r := settle.NewResults(settle.ResultsConfig{}, ledger, found{ok: true})
				id := aClaim("u")
				time.AfterFunc(3333*time.Millisecond, func() {
					ledger.put(id)
					if tt.announced {
						r.Announced([]sluice.Announcement{{ID: aClaim("another")}, {ID: id}})
					}
				})
				began := time.Now()
				record, err := r.Await(t.Context(), id, 30*time.Second)
				took := time.Since(began) - 3333*time.Millisecond
				if err != nil || record.State != sluice.ClaimConfirmed || took < 0 || took > tt.late {
					t.Errorf("%+v, %v, %v after the commit", record, err, took)
				}
				if r.Waiting() != 0 {
					t.Errorf("%d still wait", r.Waiting())
				}
			})
		})
	}
}

// TestWhoWillBeToldDoesNotLook: where this process promised the claim itself the ledger is not asked before there is
// news of it, or a second is over.
func TestWhoWillBeToldDoesNotLook(t *testing.T) {
	for _, tt := range []struct {
		name      string
		announced bool
		took      time.Duration
		looks     int
	}{{"announced", true, 700 * time.Millisecond, 1}, {"announcement lost", false, time.Second, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger := &records{}
				promised := func(sluice.ClaimID) bool { return true }
				r := settle.NewResults(settle.ResultsConfig{Promised: promised}, ledger, found{ok: true})
				id := aClaim("u")
				time.AfterFunc(700*time.Millisecond, func() {
					ledger.put(id)
					if tt.announced {
						r.Announced([]sluice.Announcement{{ID: id}})
					}
				})
				began := time.Now()
				record, err := r.Await(t.Context(), id, 30*time.Second)
				took := time.Since(began)
				if err != nil || record.State != sluice.ClaimConfirmed || took != tt.took || ledger.calls != tt.looks {
					t.Errorf("%+v, %v after %v and %d looks", record, err, took, ledger.calls)
				}
			})
		})
	}
}

// TestLookUpsAreJoined: a thousand who are woken at once ask the ledger a few times.
func TestLookUpsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &records{slow: 5 * time.Millisecond}
		r := settle.NewResults(settle.ResultsConfig{FirstLook: time.Hour, LaterLook: time.Hour}, ledger, nil)
		news := make([]sluice.Announcement, 1000)
		var all sync.WaitGroup
		for i := range news {
			news[i].ID = aClaim(fmt.Sprint("u", i))
			for range 2 { // two tabs of one buyer
				all.Go(func() {
					if record, err := r.Await(t.Context(), news[i].ID, time.Minute); err != nil || record.ID != news[i].ID {
						t.Errorf("%+v, %v", record, err)
					}
				})
			}
		}
		synctest.Wait()
		<-time.After(time.Second)
		ledger.mu.Lock()
		first := ledger.calls
		ledger.mu.Unlock()
		for i := range news {
			ledger.put(news[i].ID)
		}
		r.Announced(news)
		all.Wait()
		ledger.mu.Lock()
		defer ledger.mu.Unlock()
		if more := ledger.calls - first; more > 20 || first > 20 {
			t.Errorf("%d and then %d calls for 2,000 waiters", first, more)
		}
		if ledger.most > settle.MaxLook {
			t.Errorf("one call for %d claims", ledger.most)
		}
	})
}

// TestWhatIsKnownOfAClaim is the table of ledger and gate.
func TestWhatIsKnownOfAClaim(t *testing.T) {
	id := aClaim("u")
	for _, tt := range []struct {
		name   string
		row    bool
		ledger error
		finder settle.Finder
		state  sluice.ClaimState
		err    error
	}{
		{"row", true, nil, found{ok: true}, sluice.ClaimConfirmed, nil},
		{"on its way", false, nil, found{ok: true}, sluice.ClaimQueued, nil},
		{"on its way, no ledger", false, sluice.ErrUnavailable, found{ok: true}, sluice.ClaimQueued, nil},
		{"nowhere", false, nil, found{}, 0, sluice.ErrNotFound},
		{"nowhere, and nothing is ever on its way", false, nil, nil, 0, sluice.ErrNotFound},
		{"no row, no gate", false, nil, found{err: sluice.ErrUnavailable}, 0, sluice.ErrUnavailable},
		{"no ledger, not in the gate", false, sluice.ErrUnavailable, found{}, 0, sluice.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			ledger := &records{err: tt.ledger}
			if tt.row {
				ledger.put(id)
			}
			r := settle.NewResults(settle.ResultsConfig{}, ledger, tt.finder)
			for _, wait := range []time.Duration{0, 2 * time.Second} {
				record, err := r.Await(t.Context(), id, wait)
				if record.State != tt.state || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
					t.Errorf("%s, wait %v: %+v, %v", tt.name, wait, record, err)
				}
				if tt.err != nil && !errors.Is(tt.err, sluice.ErrNotFound) && errors.Is(err, sluice.ErrNotFound) {
					t.Errorf("%s: it is said that there is no such claim, and nobody knows", tt.name)
				}
				if tt.state == sluice.ClaimQueued && (record.Code != sluice.ReasonQueued || record.User != "u") {
					t.Errorf("%s: %+v", tt.name, record)
				}
			}
		})
	}
}

// TestSettledBetweenTwoLooks: the ledger had no row yet, the gate has no message any more.
func TestSettledBetweenTwoLooks(t *testing.T) {
	ledger, id := &records{}, aClaim("u")
	r := settle.NewResults(settle.ResultsConfig{}, ledger, found{meanwhile: func() { ledger.put(id) }})
	if record, err := r.ClaimRecord(t.Context(), id); err != nil || record.State != sluice.ClaimConfirmed {
		t.Errorf("%+v, %v", record, err)
	}
}

// TestWaitersAreBounded: one too many is answered at once, and one whose request ends waits no more.
func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := settle.NewResults(settle.ResultsConfig{MaxWaiting: 1}, &records{}, found{ok: true})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := r.Await(ctx, aClaim("u"), time.Minute)
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		record, err := r.Await(t.Context(), aClaim("v"), time.Minute)
		if err != nil || record.State != sluice.ClaimQueued || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %v", record, err, time.Since(began))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if r.Waiting() != 0 {
			t.Errorf("%d still wait", r.Waiting())
		}
	})
}
