package fleet_test

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
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/fleet"
)

// store is a ledger or a Redis that several nodes share, and that can be away or hang. mu guards it.
type store struct {
	mu       sync.Mutex
	away     bool
	hangs    bool
	rev      int64
	nodes    map[string]sluice.Node
	seen     map[string]time.Time
	switches map[string]sluice.SwitchSetting
	acts     []string // what the audit log has
	pending  map[string]sluice.PendingSwitch
	replaced []sluice.PendingSwitch
	leader   string
	stuck    map[string]bool // calls that hang by themselves, by their names
}

func newStore() *store {
	return &store{nodes: map[string]sluice.Node{}, seen: map[string]time.Time{}, rev: 1,
		switches: map[string]sluice.SwitchSetting{}, pending: map[string]sluice.PendingSwitch{}}
}

func (s *store) set(away, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = away, hangs
}

// stick has single calls hang.
func (s *store) stick(calls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = map[string]bool{}
	for _, c := range calls {
		s.stuck[c] = true
	}
}

// enter takes the lock, or says that the store is away.
func (s *store) enter(ctx context.Context, call string) error {
	s.mu.Lock()
	if s.hangs || s.stuck[call] {
		s.mu.Unlock()
		<-ctx.Done()
		return fmt.Errorf("%w: %w", sluice.ErrUncertain, ctx.Err())
	}
	if s.away {
		s.mu.Unlock()
		return sluice.ErrUnavailable
	}
	return nil
}

func key(x sluice.SwitchSetting) string { return x.Name + "/" + x.Campaign }

func (s *store) Beat(ctx context.Context, n sluice.Node) error {
	if err := s.enter(ctx, "Beat"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.nodes[n.ID], s.seen[n.ID] = n, time.Now()
	return nil
}

func (s *store) Leave(ctx context.Context, id string) error {
	if err := s.enter(ctx, "Leave"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.nodes, id)
	return nil
}

func (s *store) list() (all []sluice.Node) {
	for id, n := range s.nodes {
		n.AgeMS = time.Since(s.seen[id]).Milliseconds()
		all = append(all, n)
	}
	return all
}

func (s *store) Nodes(ctx context.Context) ([]sluice.Node, error) {
	if err := s.enter(ctx, "Nodes"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.list(), nil
}

func (s *store) SettingsRev(ctx context.Context) (int64, error) {
	if err := s.enter(ctx, "SettingsRev"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.rev, nil
}

func (s *store) Clock(ctx context.Context) (sluice.Millis, error) {
	if err := s.enter(ctx, "Clock"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return sluice.MillisOf(time.Now()) - 7000, nil
}

func (s *store) Switches(ctx context.Context) ([]sluice.SwitchSetting, error) {
	if err := s.enter(ctx, "Switches"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var all []sluice.SwitchSetting
	for _, x := range s.switches {
		all = append(all, x)
	}
	return all, nil
}

// view is the ledger as one node reaches it.
type view struct {
	*store
	node string
}

// Switches hangs for a single node where its name is stuck.
func (v view) Switches(ctx context.Context) ([]sluice.SwitchSetting, error) {
	if err := v.enter(ctx, v.node); err != nil {
		return nil, err
	}
	v.mu.Unlock()
	return v.store.Switches(ctx)
}

func (s *store) SetSwitch(
	ctx context.Context, x sluice.SwitchSetting, a sluice.Actor,
) (before sluice.SwitchSetting, err error) {
	if err := s.enter(ctx, "SetSwitch"); err != nil {
		return before, err
	}
	defer s.mu.Unlock()
	before = s.switches[key(x)]
	if !x.Set && !before.Set {
		return before, nil
	}
	if x.Set {
		s.switches[key(x)] = x
	} else {
		delete(s.switches, key(x))
	}
	s.rev++
	s.acts = append(s.acts, fmt.Sprintf("%s %s %v", a.Name, x.Name, x.Value))
	return before, nil
}

func (s *store) NoteSwitch(ctx context.Context, p sluice.PendingSwitch) error {
	if err := s.enter(ctx, "NoteSwitch"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.acts = append(s.acts, fmt.Sprintf("%s %s %v", p.Actor.Name, p.Setting.Name, p.Setting.Value))
	return nil
}

func (s *store) Lead(ctx context.Context, _, node string, _ time.Duration) (int64, bool, error) {
	if err := s.enter(ctx, "Lead"); err != nil {
		return 0, false, err
	}
	defer s.mu.Unlock()
	if s.leader == "" {
		s.leader = node
	}
	return 1, s.leader == node, nil
}

func (s *store) Meet(ctx context.Context, n sluice.Node) ([]sluice.Node, int64, error) {
	if err := s.enter(ctx, "Meet"); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	s.nodes[n.ID], s.seen[n.ID] = n, time.Now()
	return s.list(), s.rev, nil
}

func (s *store) Part(ctx context.Context, id string) error { return s.Leave(ctx, id) }

func (s *store) Pending(ctx context.Context) (all []sluice.PendingSwitch, rev int64, err error) {
	if err := s.enter(ctx, "Pending"); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	for _, p := range s.pending {
		all = append(all, p)
	}
	return all, s.rev, nil
}

func (s *store) Keep(ctx context.Context, p sluice.PendingSwitch) (int64, error) {
	if err := s.enter(ctx, "Keep"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if old, has := s.pending[key(p.Setting)]; has && old != p && !old.Noted {
		s.replaced = append(s.replaced, old)
	}
	s.pending[key(p.Setting)] = p
	s.rev++
	return s.rev, nil
}

func (s *store) Shift(ctx context.Context, p sluice.PendingSwitch) error {
	if err := s.enter(ctx, "Shift"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.pending[key(p.Setting)] == p {
		delete(s.pending, key(p.Setting))
		s.replaced = append(s.replaced, p)
		s.rev++
	}
	return nil
}

func (s *store) Acts(ctx context.Context) ([]sluice.PendingSwitch, error) {
	if err := s.enter(ctx, "Acts"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return slices.Clone(s.replaced), nil
}

func (s *store) Noted(ctx context.Context, p sluice.PendingSwitch) error {
	if err := s.enter(ctx, "Noted"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.replaced = slices.DeleteFunc(s.replaced, func(o sluice.PendingSwitch) bool { return o == p })
	return nil
}

func (s *store) Drop(ctx context.Context, p sluice.PendingSwitch) error {
	if err := s.enter(ctx, "Drop"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.pending[key(p.Setting)] == p {
		delete(s.pending, key(p.Setting))
		s.rev++
	}
	return nil
}

// board is what a node has in force.
type board struct {
	mu  sync.Mutex
	all []sluice.SwitchSetting
}

func (b *board) SetSwitches(all []sluice.SwitchSetting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = all
}

func (b *board) value(name string) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.all {
		if x.Name == name && x.Set {
			return x.Value
		}
	}
	return -1
}

type node struct {
	fleet *fleet.Fleet
	desk  *admin.Switches
	board *board
}

// start makes n nodes on one ledger and, where redis is given, one Redis.
func start(t *testing.T, n int, ledger, redis *store) (all []*node) {
	t.Helper()
	for i := range n {
		x := &node{board: &board{}}
		id := fmt.Sprintf("node-%d", i)
		sc := fleet.SwitchesConfig{Ledger: view{ledger, id}, Node: id,
			Apply: func(ctx context.Context) error { return x.desk.Load(ctx) }}
		fc := fleet.Config{Node: sluice.Node{ID: id, Name: id}, Registry: ledger}
		if redis != nil {
			sc.Control, fc.Control = redis, redis
		}
		fc.Switches = fleet.NewSwitches(sc)
		fc.Fast = []fleet.Loader{{What: "switches", Load: sc.Apply}}
		x.fleet = fleet.New(fc)
		x.desk = admin.NewSwitches(admin.SwitchesConfig{Ledger: fc.Switches, Board: x.board, Fleet: x.fleet})
		if err := x.fleet.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

func stop(all []*node) {
	for _, x := range all {
		x.fleet.Stop()
	}
}

var (
	operator = sluice.Actor{Name: "ann", Role: sluice.RoleOperator}
	closed   = sluice.SwitchSetting{Name: sluice.SwitchClosed, Value: 1, Set: true}
)

// TestSwitchInForceEverywhere sets a switch on one of three nodes, with each store in turn whole, away or hanging: it
// is in force on 3 of 3 within 3 s, and on the boards themselves.
func TestSwitchInForceEverywhere(t *testing.T) {
	tests := []struct {
		name                    string
		redis                   bool
		ledgerAway, ledgerHangs bool
		redisAway, redisHangs   bool
		acts                    int // rows of the audit log at once
	}{
		{name: "ledger alone", acts: 1},
		{name: "both there", redis: true, acts: 1},
		{name: "Redis away", redis: true, redisAway: true, acts: 1},
		{name: "Redis hangs", redis: true, redisHangs: true, acts: 1},
		{name: "ledger away", redis: true, ledgerAway: true},
		{name: "ledger hangs", redis: true, ledgerHangs: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger, redis := newStore(), newStore()
				if !tt.redis {
					redis = nil
				}
				all := start(t, 3, ledger, redis)
				defer stop(all)
				<-time.After(2 * time.Second)
				ledger.set(tt.ledgerAway, tt.ledgerHangs)
				if redis != nil {
					redis.set(tt.redisAway, tt.redisHangs)
				}
				began := time.Now()
				r, err := all[1].desk.Set(t.Context(), closed, operator)
				if err != nil || r.Nodes != 3 || r.InForce != 3 || time.Since(began) > 3*time.Second {
					t.Errorf("%+v, %v after %s", r, err, time.Since(began))
				}
				for i, x := range all {
					if x.board.value(sluice.SwitchClosed) != 1 {
						t.Errorf("node %d does not have it in force", i)
					}
				}
				if len(ledger.acts) != tt.acts {
					t.Errorf("the audit log has %v", ledger.acts)
				}
				ledger.set(false, false)
				<-time.After(30 * time.Second)
				if !slices.Equal(ledger.acts, []string{"ann closed 1"}) {
					t.Errorf("in the end the audit log has %v", ledger.acts)
				}
				if redis != nil && len(redis.pending) != 0 {
					t.Errorf("still pending: %v", redis.pending)
				}
				for i, x := range all {
					if x.board.value(sluice.SwitchClosed) != 1 {
						t.Errorf("node %d has lost it", i)
					}
				}
			})
		})
	}
}

// TestBothStoresAway: nothing can be recorded, so nothing is changed; what is in force stays, and its age is told.
func TestBothStoresAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, redis := newStore(), newStore()
		all := start(t, 2, ledger, redis)
		defer stop(all)
		if _, err := all[0].desk.Set(t.Context(), closed, operator); err != nil {
			t.Fatal(err)
		}
		if s := all[1].fleet.State(t.Context()); s.SettingsAge > time.Second || s.Alive != 2 || s.Skew != 7*time.Second {
			t.Errorf("while all is well: %+v", s)
		}
		ledger.set(true, false)
		redis.set(true, false)
		<-time.After(time.Minute)
		off := closed
		off.Value = 0
		if _, err := all[0].desk.Set(t.Context(), off, operator); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if all[0].board.value(sluice.SwitchClosed) != 1 || all[1].board.value(sluice.SwitchClosed) != 1 {
			t.Error("the switch has moved")
		}
		s := all[1].fleet.State(t.Context())
		if s.SettingsAge < time.Minute || s.SettingsAge > 62*time.Second || s.LedgerAnswers || s.RedisAnswers {
			t.Errorf("after a minute: %+v", s)
		}
	})
}

// TestNodesThatDoNotFollow: a dead node is not waited for, one that lives and does not take over is told of.
func TestNodesThatDoNotFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newStore()
		all := start(t, 1, ledger, nil)
		defer stop(all)
		beat := func() { _ = ledger.Beat(t.Context(), sluice.Node{ID: "deaf", Name: "deaf", Settings: 1}) }
		beat()
		r, err := all[0].desk.Set(t.Context(), closed, operator)
		if err != nil || r.Nodes != 2 || r.InForce != 1 || r.TookMS < 2900 || r.TookMS > 3100 {
			t.Errorf("beside a deaf one: %+v, %v", r, err)
		}
		<-time.After(sluice.NodeAlive * time.Millisecond)
		r, err = all[0].desk.Set(t.Context(), closed, operator)
		if err != nil || r.Nodes != 1 || r.InForce != 1 || r.TookMS > 100 {
			t.Errorf("beside a dead one: %+v, %v", r, err)
		}
		nodes, err := all[0].fleet.Nodes(t.Context())
		if err != nil || len(nodes) != 2 || nodes[0].Name != "deaf" || nodes[0].Alive() {
			t.Errorf("listed: %+v, %v", nodes, err)
		}
	})
}

// TestLaterSettingInTheLedgerWins: what is pending in Redis does not come back over a setting that was made after it.
func TestLaterSettingInTheLedgerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, redis := newStore(), newStore()
		all := start(t, 2, ledger, redis)
		defer stop(all)
		ledger.set(true, false)
		<-time.After(time.Second)
		if _, err := all[0].desk.Set(t.Context(), closed, operator); err != nil {
			t.Fatal(err)
		}
		ledger.mu.Lock()
		ledger.leader = "nobody" // so that it is not recorded by itself
		ledger.mu.Unlock()
		ledger.set(false, false)
		<-time.After(time.Second)
		off := closed
		off.Set, off.Value = false, 0
		if r, err := all[1].desk.Set(t.Context(), off, operator); err != nil || r.InForce != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		ledger.mu.Lock()
		ledger.leader = ""
		ledger.mu.Unlock()
		<-time.After(10 * time.Second)
		for i, x := range all {
			if v := x.board.value(sluice.SwitchClosed); v != -1 {
				t.Errorf("node %d: it came back: %v", i, v)
			}
		}
		if len(redis.pending) != 0 {
			t.Errorf("pending: %v", redis.pending)
		}
	})
}
