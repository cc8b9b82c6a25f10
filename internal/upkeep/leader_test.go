package upkeep_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// ballot is a leader election by this process's clock, which may be away. mu guards all fields.
type ballot struct {
	mu     sync.Mutex
	holder string
	token  int64
	until  time.Time
	away   error
	asked  int
}

func (b *ballot) Lead(_ context.Context, _, node string, term time.Duration) (int64, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	switch now := time.Now(); {
	case b.away != nil:
		return 0, false, b.away
	case b.holder != node && now.Before(b.until):
		return 0, false, nil
	case b.holder != node || !now.Before(b.until):
		b.token++
		fallthrough
	default:
		b.holder, b.until = node, now.Add(term)
	}
	return b.token, true, nil
}

func (b *ballot) Resign(_ context.Context, _, node string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder == node {
		b.until = time.Time{}
	}
	return b.away
}

func (b *ballot) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// TestOneNodeLeads: the job is done on one node, and passes to the other when that one stops or dies.
func TestOneNodeLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ballot{}
		shelves, agents := [2]*shelf{{}, {}}, [2]*upkeep.Expirer{}
		for i := range agents {
			agents[i] = upkeep.NewExpirer(upkeep.Config{
				Leader: b, Node: []string{"a", "b"}[i], Term: 4 * time.Second, Every: 500 * time.Millisecond,
			}, shelves[i])
		}
		agents[0].Start()
		synctest.Wait()
		agents[1].Start()
		pass(10 * time.Second)
		if n, m := shelves[0].look().calls, shelves[1].look().calls; n < 15 || m != 0 {
			t.Errorf("the leader worked %d times, the other one %d times", n, m)
		}
		agents[0].Stop() // and resigns
		pass(time.Second)
		if shelves[1].look().calls == 0 {
			t.Error("nobody took over from one that stopped")
		}
		was := shelves[1].look().calls
		b.set(func() { // another one leads, and dies at once, in an office of 4 s
			b.holder, b.until, b.token = "c", time.Now().Add(4*time.Second), b.token+1
		})
		pass(3 * time.Second)
		if n := shelves[1].look().calls - was; n > 6 {
			t.Errorf("a deposed leader went on for %d pieces", n)
		}
		was = shelves[1].look().calls
		pass(3 * time.Second)
		if shelves[1].look().calls == was {
			t.Error("nobody took over from one that died")
		}
		agents[1].Stop()
	})
}

// TestTheElectionIsAway: a leader works on to the end of its term and no longer; nobody begins one.
func TestTheElectionIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := &ballot{}, &shelf{}
		var failed atomic.Int64
		e := upkeep.NewExpirer(upkeep.Config{
			Leader: b, Node: "a", Term: 4 * time.Second, Every: 100 * time.Millisecond,
			OnPiece: func(_ sluice.Sweep, err error) {
				if err != nil {
					failed.Add(1)
				}
			},
		}, s)
		e.Start()
		pass(time.Second)
		b.set(func() {
			if b.asked != 1 {
				t.Errorf("asked %d times in a quarter of a term", b.asked)
			}
			b.away = sluice.ErrUnavailable
		})
		pass(2900 * time.Millisecond)
		if failed.Load() != 0 {
			t.Errorf("%d pieces failed within the term", failed.Load())
		}
		pass(time.Second)
		was := s.look().calls
		pass(10 * time.Second)
		if s.look().calls != was || failed.Load() == 0 {
			t.Errorf("%d pieces after the term, %d failed", s.look().calls-was, failed.Load())
		}
		b.set(func() { b.away = nil })
		pass(time.Second)
		if s.look().calls == was {
			t.Error("it did not begin again")
		}
		e.Stop()
	})
}

// late is a store whose transaction waits until another leader is elected.
type late struct {
	db    *sqldb.DB
	begun func()
	err   error
}

func (l *late) CloseDue(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error) {
	l.begun()
	w, err := l.db.CloseDue(ctx, now, most)
	l.err = err
	return w, err
}

// TestADeposedLeaderIsRefusedByItsToken: it began its piece while it led, and another node leads when it writes.
func TestADeposedLeaderIsRefusedByItsToken(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), CacheMB: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	l := &late{db: db, begun: func() {}}
	slow := upkeep.NewExpirer(upkeep.Config{Leader: db, Node: "slow", Term: 20 * time.Millisecond}, l)
	if _, err := slow.RunOnce(t.Context()); err != nil || l.err != nil {
		t.Fatal(err)
	}
	other := &shelf{}
	next := upkeep.NewExpirer(upkeep.Config{Leader: db, Node: "next", Term: time.Minute}, other)
	l.begun = func() {
		for tick := time.NewTicker(time.Millisecond); other.look().calls == 0; <-tick.C {
			if _, err := next.RunOnce(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	}
	_, err = slow.RunOnce(t.Context())
	if !errors.Is(err, sluice.ErrConflict) || !errors.Is(l.err, sluice.ErrConflict) {
		t.Errorf("a deposed leader wrote: %v", err)
	}
	l.begun = func() { t.Error("it works while another node leads") }
	if _, err := slow.RunOnce(t.Context()); err != nil {
		t.Error(err)
	}
	next.Stop()
	l.begun = func() {}
	if _, err := slow.RunOnce(t.Context()); err != nil {
		t.Errorf("after the other one resigned: %v", err)
	}
}
