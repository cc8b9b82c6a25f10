package upkeep_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// shelf is a store in memory of things that fall due. mu guards all fields.
type shelf struct {
	mu      sync.Mutex
	due     []sluice.Millis
	stopped bool
	err     error
	calls   int
	ended   []sluice.Millis // when each was ended
	most    int             // ended in one call, at most
}

func (s *shelf) CloseDue(_ context.Context, now sluice.Millis, most int) (w sluice.Sweep, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.err != nil {
		return w, s.err
	}
	if s.stopped {
		return sluice.Sweep{Stopped: true}, nil
	}
	slices.Sort(s.due)
	for len(s.due) > 0 && s.due[0] <= now && w.Done < most {
		if w.Done++; w.Done == 1 {
			w.Lag = now - s.due[0]
		}
		s.due, s.ended = s.due[1:], append(s.ended, now)
	}
	s.most = max(s.most, w.Done)
	if len(s.due) > 0 {
		w.Next = s.due[0]
	}
	return w, nil
}

func (s *shelf) set(change func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *shelf) look() shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shelf{due: slices.Clone(s.due), calls: s.calls, ended: slices.Clone(s.ended), most: s.most}
}

func at(d time.Duration) sluice.Millis { return sluice.MillisOf(time.Now().Add(d)) }

// pass lets d go by on the bubble's clock, and everything that falls into it happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestExpirerWorksAtTheDueMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{due: []sluice.Millis{at(300 * time.Millisecond), at(5 * time.Second)}}
		first, second := s.due[0], s.due[1]
		e := upkeep.NewExpirer(upkeep.Config{}, s)
		e.Start()
		e.Start()
		pass(10 * time.Second)
		e.Stop()
		e.Stop()
		if got := s.look(); !slices.Equal(got.ended, []sluice.Millis{first, second}) || got.calls > 10 {
			t.Errorf("ended at %v in %d calls, want %d and %d", got.ended, got.calls, first, second)
		}
	})
}

func TestExpirerIsWokenByAnEarlierOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{due: []sluice.Millis{at(time.Hour)}}
		e := upkeep.NewExpirer(upkeep.Config{Every: time.Minute}, s)
		e.Start()
		synctest.Wait()
		soon := at(700 * time.Millisecond)
		s.set(func(s *shelf) { s.due = append(s.due, soon) })
		for range 100 {
			e.Wake(soon)
			e.Wake(at(2 * time.Hour)) // later than what it waits for: no reason to wake
		}
		pass(time.Second)
		e.Stop()
		if got := s.look(); !slices.Equal(got.ended, []sluice.Millis{soon}) || got.calls > 4 {
			t.Errorf("ended at %v in %d calls, want %d", got.ended, got.calls, soon)
		}
	})
}

// TestTheSureRoad finds what nobody told of, and goes on after errors and while the payment clock stands.
func TestTheSureRoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("down")
		s := &shelf{}
		var failed, pieces int
		e := upkeep.NewExpirer(upkeep.Config{OnPiece: func(_ sluice.Sweep, err error) {
			pieces++
			if errors.Is(err, broken) {
				failed++
			}
		}}, s)
		e.Start()
		synctest.Wait()
		s.set(func(s *shelf) { s.due = append(s.due, at(100*time.Millisecond)) })
		pass(2100 * time.Millisecond)
		if got := s.look(); len(got.ended) != 1 {
			t.Errorf("not found by the sure road: %+v", got.due)
		}
		s.set(func(s *shelf) { s.err, s.due = broken, append(s.due, at(0)) })
		pass(5 * time.Second)
		s.set(func(s *shelf) { s.err, s.stopped = nil, true })
		pass(time.Hour)
		if got := s.look(); len(got.ended) != 1 || got.calls > 1900 {
			t.Errorf("while the clock stands: %d ended, %d calls", len(got.ended), got.calls)
		}
		s.set(func(s *shelf) { s.stopped = false })
		pass(2 * time.Second)
		e.Stop()
		if got := s.look(); len(got.ended) != 2 || failed < 2 || pieces != got.calls {
			t.Errorf("%d ended, %d failed of %d pieces, %d calls", len(got.ended), failed, pieces, got.calls)
		}
	})
}

func TestManyDueAtOnceGoPieceByPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		for range 10_000 {
			s.due = append(s.due, at(time.Second))
		}
		due := s.due[0]
		e := upkeep.NewExpirer(upkeep.Config{}, s)
		e.Start()
		pass(time.Second)
		e.Stop()
		got := s.look()
		if len(got.ended) != 10_000 || got.ended[9_999] != due || got.most != 256 || got.calls > 45 {
			t.Errorf("%d ended, %d a piece, %d calls", len(got.ended), got.most, got.calls)
		}
	})
}

// TestAWallClockThatJumps moves Now while the timers go on: nothing runs hot, nothing is lost.
func TestAWallClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var shift time.Duration
		jump := func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			shift = d
		}
		s := &shelf{due: []sluice.Millis{at(time.Hour)}}
		e := upkeep.NewExpirer(upkeep.Config{Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(shift)
		}}, s)
		e.Start()
		for _, d := range []time.Duration{-24 * time.Hour, 59 * time.Minute, -time.Hour, 2 * time.Hour, -24 * time.Hour} {
			jump(d)
			pass(5 * time.Second)
		}
		e.Stop()
		if got := s.look(); len(got.ended) != 1 || got.calls > 20 {
			t.Errorf("%d ended in %d calls", len(got.ended), got.calls)
		}
	})
}

func TestStopBeforeStart(t *testing.T) {
	s := &shelf{due: []sluice.Millis{1}}
	e := upkeep.NewExpirer(upkeep.Config{}, s)
	e.Stop()
	e.Start()
	e.Stop()
	if s.look().calls != 0 {
		t.Error("it worked after it was stopped")
	}
	if w, err := e.RunOnce(t.Context()); err != nil || w.Done != 1 {
		t.Errorf("once by hand: %+v %v", w, err)
	}
}

// attic is the cleaner's store: so many rows of each kind are left, in the order of its methods. mu guards all fields.
type attic struct {
	mu     sync.Mutex
	left   [5]int64
	before [4]sluice.Millis
	silent time.Duration
}

func (a *attic) take(kind int, before sluice.Millis, limit int) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before[kind] = before
	n := min(a.left[kind], int64(limit))
	a.left[kind] -= n
	return n, nil
}

func (a *attic) DropBuckets(_ context.Context, before sluice.Millis, limit int) (int64, error) {
	return a.take(0, before, limit)
}

func (a *attic) DropExpiredBlocks(_ context.Context, before sluice.Millis, limit int) (int64, error) {
	return a.take(1, before, limit)
}

func (a *attic) DropDeadLetters(_ context.Context, before sluice.Millis, limit int) (int64, error) {
	return a.take(2, before, limit)
}

func (a *attic) DropRuns(_ context.Context, before sluice.Millis, limit int) (int64, error) {
	return a.take(3, before, limit)
}

func (a *attic) DropNodes(_ context.Context, silent time.Duration) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.left[4]
	a.left[4], a.silent = 0, silent
	return n, nil
}

func TestCleaner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &attic{left: [5]int64{1000, 10, 700, 900, 3}}
		c := upkeep.NewCleaner(upkeep.CleanerConfig{
			KeepBuckets: time.Hour, KeepBlocks: time.Minute, KeepLetters: 2 * time.Minute, KeepRuns: 3 * time.Minute,
			KeepNodes: 4 * time.Minute,
		}, a)
		began := at(0)
		c.Start()
		synctest.Wait()
		c.Stop()
		before := [4]sluice.Millis{began - 3_600_000, began - 60_000, began - 120_000, began - 180_000}
		if a.left != [5]int64{} || a.before != before || a.silent != 4*time.Minute {
			t.Errorf("%v are left, before %v, nodes silent for %s", a.left, a.before, a.silent)
		}
	})
}

func (s *shelf) ExpireCoupons(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error) {
	return s.CloseDue(ctx, now, most)
}

func TestCouponExpirer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{due: []sluice.Millis{at(0), at(3 * time.Second)}}
		c := upkeep.NewCouponExpirer(upkeep.Config{}, s)
		c.Start()
		pass(4 * time.Second)
		c.Stop()
		if got := s.look(); len(got.ended) != 2 {
			t.Errorf("%d ended", len(got.ended))
		}
	})
}
