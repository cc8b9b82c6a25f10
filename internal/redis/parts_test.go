package redis_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

func TestRequestsGatherWhileCallsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, largest atomic.Int64
		g := redis.NewGather(50, 2, time.Minute, func(qs, rs []int) {
			calls.Add(1)
			largest.Store(max(largest.Load(), int64(len(qs))))
			for i, q := range qs {
				rs[i] = 2 * q
			}
			<-time.After(time.Second) // the bubble's clock
		})
		var all sync.WaitGroup
		for i := range 120 {
			all.Go(func() {
				if r, ok := g.Do(i); !ok || r != 2*i {
					t.Errorf("%d: %d, %v", i, r, ok)
				}
			})
		}
		all.Wait()
		g.Drain()
		if calls.Load() > 5 || largest.Load() > 50 {
			t.Errorf("120 requests took %d calls of up to %d", calls.Load(), largest.Load())
		}
	})
}

// TestCallsShareWhatWaits: of many requests that come again as soon as they are answered no call carries nearly all.
func TestCallsShareWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const atOnce, rounds = 300, 20
		var calls, largest atomic.Int64
		g := redis.NewGather(512, 2, time.Minute, func(qs, _ []int) {
			if n := int64(len(qs)); calls.Add(1) > 6 { // it takes some until they are in step
				largest.Store(max(largest.Load(), n))
			}
			<-time.After(time.Duration(len(qs)) * time.Microsecond) // the bubble's clock
		})
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for range rounds {
					if _, ok := g.Do(1); !ok {
						t.Error("no answer")
					}
				}
			})
		}
		all.Wait()
		g.Drain()
		if n := largest.Load(); n > atOnce/2 {
			t.Errorf("a call of %d, of %d at once", n, atOnce)
		}
		if n := calls.Load(); n > 3*2*rounds {
			t.Errorf("%d calls", n)
		}
	})
}

func TestARequestThatTakesTooLongIsGivenUpAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		g := redis.NewGather(10, 1, time.Second, func(qs, _ []int) {
			<-time.After(3 * time.Second)
			if qs[0] == 2 {
				close(done)
			}
		})
		began := time.Now()
		var all sync.WaitGroup
		for q := range 2 {
			all.Go(func() {
				if _, ok := g.Do(q + 1); ok {
					t.Error("it was answered in time")
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if d := time.Since(began); d != time.Second {
			t.Errorf("given up after %v", d)
		}
		<-done
		g.Drain()
	})
}

func TestBreaker(t *testing.T) {
	now := time.Duration(0)
	b := redis.NewBreaker(func() time.Duration { return now })
	step := func(after time.Duration, allow, ok, open bool) {
		t.Helper()
		now += after
		if got := b.Allow(); got != allow {
			t.Fatalf("at %v: allowed %v", now, got)
		}
		if allow {
			b.Done(ok)
		}
		if got, _ := b.Standing(); got != open {
			t.Fatalf("at %v: open %v", now, got)
		}
	}
	for range 4 {
		step(10*time.Millisecond, true, false, false)
	}
	step(0, true, true, false) // a success forgets them
	for range 4 {
		step(10*time.Millisecond, true, false, false)
	}
	step(0, true, false, true) // the fifth in a row
	step(100*time.Millisecond, false, false, true)
	step(400*time.Millisecond, true, false, true) // a probe that fails
	step(400*time.Millisecond, false, false, true)
	step(100*time.Millisecond, true, true, true) // one that does not
	step(0, true, true, false)                   // and a second one
	step(0, true, false, false)
	step(time.Second, true, false, true) // two that span a second
}

func TestHoldersAreReadWhileTheyGrow(t *testing.T) {
	var h redis.HolderSet
	key := func(i int) sluice.UserKey { return sluice.UserKeyOf(fmt.Sprint(i)) }
	if h.Has(key(0)) {
		t.Error("an empty set has a user")
	}
	const n = 10_000
	var upTo atomic.Int64
	upTo.Store(-1)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range n {
			h.Add(key(i), key(i))
			upTo.Store(int64(i))
		}
	})
	all.Go(func() {
		for at := int64(0); at < n-1; {
			if at = upTo.Load(); at >= 0 && !h.Has(key(int(at))) {
				t.Errorf("user %d was added and is not there", at)
				return
			}
		}
	})
	all.Wait()
	for i := range n {
		if !h.Has(key(i)) || h.Has(key(n+i)) {
			t.Fatalf("user %d: %v, a stranger: %v", i, h.Has(key(i)), h.Has(key(n+i)))
		}
	}
}

// TestHoldersMove admits users while others look for them and a third moves them from the small table to the large one:
// nobody who was admitted is missed at any time.
func TestHoldersMove(t *testing.T) {
	var h redis.HolderSet
	const n = 20_000
	claims := make([]sluice.Claim, n)
	for i := range claims {
		claims[i].ID = sluice.NewClaimID("c", fmt.Sprint(i), sluice.SourceClaim, "r")
	}
	var upTo atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; i < n; i += 50 {
			h.AddClaims(claims[i : i+50])
			upTo.Store(int64(i + 50))
		}
	})
	all.Go(func() {
		for upTo.Load() < n {
			h.SettleDown()
		}
	})
	all.Go(func() {
		for at := int64(0); at < n; {
			at = upTo.Load()
			for i := max(0, at-100); i < at; i++ {
				if !h.Has(claims[i].ID.User()) {
					t.Errorf("user %d was admitted and is not there", i)
					return
				}
			}
		}
	})
	all.Wait()
	h.SettleDown()
	for i := range claims {
		if !h.Has(claims[i].ID.User()) {
			t.Fatalf("user %d is gone", i)
		}
	}
}

// TestPromisesAreASet compares the list with a map, by random keeps and drops of ids that crowd the same places.
func TestPromisesAreASet(t *testing.T) {
	p := redis.NewPromises(1 << 20)
	want := map[sluice.ClaimID]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	id := func(n int) (id sluice.ClaimID) {
		binary.LittleEndian.PutUint64(id[10:], uint64(n%97)*31|uint64(n%5)<<20)
		binary.LittleEndian.PutUint32(id[:], uint32(n))
		return id
	}
	for step := range 30_000 {
		if random.IntN(3) > 0 {
			claims := make([]sluice.Claim, 1+random.IntN(3))
			for i := range claims {
				claims[i].ID = id(random.IntN(3000))
				want[claims[i].ID] = true
			}
			p.Keep(claims, 0)
		} else {
			gone := id(random.IntN(3000))
			delete(want, gone)
			p.Drop(gone)
		}
		probe := id(random.IntN(3000))
		if p.Holds(probe) != want[probe] || p.Size() != len(want) {
			t.Fatalf("step %d: holds %v, want %v; %d of %d", step, p.Holds(probe), want[probe], p.Size(), len(want))
		}
	}
	for n := range 3000 {
		if p.Holds(id(n)) != want[id(n)] {
			t.Fatalf("%d at the end: %v", n, p.Holds(id(n)))
		}
	}
	seen := map[sluice.ClaimID]bool{}
	for ids := p.Overdue(time.Hour); len(ids) > 0; ids = p.Overdue(time.Hour) {
		for _, id := range ids {
			seen[id] = true
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d of %d are looked up", len(seen), len(want))
	}
}

func BenchmarkHolders(b *testing.B) {
	var h redis.HolderSet
	for i := range 1_000_000 {
		h.Add(sluice.UserKeyOf(fmt.Sprint(i)))
	}
	k := sluice.UserKeyOf("a stranger")
	b.ReportAllocs()
	for b.Loop() {
		if h.Has(k) {
			b.Fatal()
		}
	}
}
