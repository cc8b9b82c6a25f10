package sim_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// The simulation of several nodes: the real scripts on a real Redis, the real ledger on a real MariaDB, and everybody
// between them played one step at a time, in an order drawn from a seed. Whoever does something may die after any of
// its steps, what is on its way may come twice, late and in any order, and a gate may be emptied or come back as an
// old copy of itself.

var (
	fleetSeeds = flag.Int("fleet-seeds", 120, "how many histories of several nodes to play")
	fleetSeed  = flag.Uint64("fleet-seed", 0, "play this one history of several nodes only")
)

func TestMain(m *testing.M) { servers.Main(m) }

// Sizes of one history.
const (
	fleetSteps = 70
	fleetUsers = 6
	fleetNodes = 2
)

// stores are what histories are played on, one after the other.
type stores struct {
	db     *sqldb.DB
	client *redis.Client
	raw    rueidis.Client // the test's own way to the keys: to lose them, and to put old ones back
}

func openStores(t *testing.T) *stores {
	t.Helper()
	// A history never loses the ledger, so that it need not wait for the disk.
	maria := servers.OwnMariaDB(t, "", "--innodb-flush-log-at-trx-commit=0")
	db, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: maria.URL, Remote: true, LostGrace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	server := servers.Redis(t, servers.With("appendonly", "no"))
	client, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return &stores{db, client, raw}
}

// TestFleetHistories plays seeded histories of several nodes. A failing one prints its seed; play it again with
// -fleet-seed.
func TestFleetHistories(t *testing.T) {
	first, count := uint64(time.Now().UnixNano())&0xffff_ffff, *fleetSeeds
	if *fleetSeed != 0 {
		first, count = *fleetSeed, 1
	}
	t.Logf("seeds from %d", first)
	s := openStores(t)
	tally := map[string]int{}
	// What is rare by nature (a promise that must be rejected) may need more histories than were asked for.
	for i := uint64(0); i < uint64(count) || i < 20*uint64(count) && count > 50 && len(missing(tally)) > 0; i++ {
		w := newFleet(s, first+i)
		if err := w.run(t.Context()); err != nil {
			t.Fatalf("seed %d: %v\nsteps:\n  %s\nplay it again: go test ./internal/sim -run TestFleetHistories -fleet-seed %d",
				w.seed, err, strings.Join(w.trace, "\n  "), w.seed)
		}
		for what, n := range w.tally {
			tally[what] += n
		}
	}
	t.Logf("what happened in all of them: %v", tally)
	if count > 50 && len(missing(tally)) > 0 {
		t.Errorf("never happened, so that the histories do not look at it: %v", missing(tally))
	}
}

// missing lists what histories are there to look at and have not met.
func missing(tally map[string]int) (never []string) {
	for _, what := range []string{
		"admitted", "confirmed", "rejected", "released", "transfer", "adjusted", "re-armed", "emptied", "old copy",
		"degraded", "discarded", "swept", "died",
	} {
		if tally[what] == 0 {
			never = append(never, what)
		}
	}
	return never
}

// promise is a claim that a node answered QUEUED.
type promise struct {
	claim sluice.Claim
	node  int
	kept  bool // the node still has it on its list
}

// fleet is one history.
type fleet struct {
	*stores
	seed  uint64
	rng   *rand.Rand
	id    string
	gates *redis.Gates
	// The adjuster, and whether it asks for a new epoch.
	adjuster *upkeep.Adjuster
	asks     bool

	knows     [fleetNodes]int64 // the epoch each node believes in
	promises  map[sluice.ClaimID]*promise
	broker    []sluice.Claim
	late      []sluice.PermitOp // operations that somebody still holds
	transfers []redis.Transfer  // that somebody has begun or still holds
	copies    map[string]string // keys of one shard as they were once
	copied    int               // the shard; -1: there is no copy
	changes   int
	lost      bool // some gate has forgotten something and is not armed since
	everLost  bool
	degraded  bool // nodes sell in the ledger
	everSQL   bool
	deaths    int
	immortal  bool // nobody dies any more
	tally     map[string]int
	trace     []string
}

func newFleet(s *stores, seed uint64) *fleet {
	w := &fleet{
		stores: s, seed: seed, rng: rand.New(rand.NewPCG(seed, 0xf1ee7)), id: fmt.Sprintf("fleet-%d", seed),
		promises: map[sluice.ClaimID]*promise{}, copied: -1, tally: map[string]int{},
	}
	w.gates = redis.NewGates(s.client, func(id string) (sluice.Campaign, bool) {
		c, err := s.db.Campaign(context.Background(), id)
		return c, err == nil && id == w.id
	})
	w.adjuster = upkeep.NewAdjuster(upkeep.AdjusterConfig{
		Stuck: time.Millisecond, Rearm: func(string, int64) { w.asks = true },
	}, s.db, w.gates)
	return w
}

func (w *fleet) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *fleet) count(what string) { w.tally[what]++ }

func (w *fleet) campaign(ctx context.Context) (sluice.Campaign, error) {
	return w.db.Campaign(ctx, w.id)
}

// run plays the history and judges it.
func (w *fleet) run(ctx context.Context) error {
	now := sluice.MillisOf(time.Now())
	c := sluice.Campaign{
		ID: w.id, Kind: sluice.KindGoods, Title: "simulated", PerUserLimit: 1 + w.rng.IntN(3), Shards: 1 + w.rng.IntN(2),
		Stock: sluice.Stock{Total: int64(1 + w.rng.IntN(12))}, StartsAt: now - 1000, EndsAt: now.Add(time.Hour),
		Control: sluice.ControlOpen, Goods: sluice.Goods{
			SKU: "sku", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: w.rng.IntN(2) == 0,
		},
	}
	if _, err := w.db.CreateCampaign(ctx, c, operator, now); err != nil {
		return err
	}
	w.note("%d units on %d shards, limit %d, limit back: %v", c.Stock.Total, c.Shards, c.PerUserLimit,
		c.Goods.LimitBackOnClose)
	if err := w.rearm(ctx, 0); err != nil {
		return fmt.Errorf("the first arm: %w", err)
	}
	for i := range fleetSteps {
		if err := w.step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if err := w.rest(ctx); err != nil {
		return fmt.Errorf("coming to rest: %w", err)
	}
	return w.judge(ctx)
}

var operator = sluice.Actor{Name: "sim", Role: sluice.RoleAdmin}

// step plays one step. How often each comes is its weight.
func (w *fleet) step(ctx context.Context) error {
	steps := []struct {
		weight int
		do     func(context.Context) error
	}{
		{24, w.claim}, {8, w.relay}, {14, w.settle}, {8, w.release}, {6, w.close}, {6, w.move}, {4, w.adjust},
		{4, w.finishAdjustments}, {5, w.plannedEpoch}, {3, w.lose}, {4, w.node}, {2, w.letter}, {3, w.sweep}, {1, w.degrade},
		{2, w.deliverLate},
	}
	sum := 0
	for _, s := range steps {
		sum += s.weight
	}
	n := w.rng.IntN(sum)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			return s.do(ctx)
		}
	}
	return nil
}

// chance is true in one of n cases.
func (w *fleet) chance(n int) bool { return w.rng.IntN(n) == 0 }

// dies says whether whoever is at work dies here.
func (w *fleet) dies(where string) bool {
	if w.immortal || !w.chance(8) {
		return false
	}
	w.note("  ... dies %s", where)
	w.count("died")
	return true
}

// mortal is an armory that dies after some calls.
type mortal struct {
	upkeep.Armory
	left *int
}

func (m mortal) die() error {
	if *m.left--; *m.left < 0 {
		return fmt.Errorf("sim: the re-armer dies: %w", sluice.ErrUncertain)
	}
	return nil
}

func (m mortal) Seal(ctx context.Context, c sluice.Campaign, epoch int64) ([]sluice.ShardState, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Armory.Seal(ctx, c, epoch)
}

func (m mortal) Join(ctx context.Context, c sluice.Campaign, shard int, rows []sluice.ClaimRow) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Armory.Join(ctx, c, shard, rows)
}

func (m mortal) Arm(ctx context.Context, c sluice.Campaign, shard int, share int64) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Armory.Arm(ctx, c, shard, share)
}

// reporting is the ledger's epochs, with nodes that have settled their promises by the time that they are asked.
type reporting struct {
	*sqldb.DB
	w *fleet
}

func (r reporting) Nodes(ctx context.Context) ([]sluice.Node, error) {
	c, err := r.w.campaign(ctx)
	if err != nil {
		return nil, err
	}
	var all []sluice.Node
	for n := range fleetNodes {
		if err := r.w.learn(ctx, n); err != nil {
			return nil, err
		}
		all = append(all, sluice.Node{ID: fmt.Sprint("node-", n), Flushed: map[string]int64{r.w.id: c.Epoch}})
	}
	return all, nil
}

// rearm lets a re-armer work that dies after so many calls; -1: it lives.
func (w *fleet) rearm(ctx context.Context, calls int) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	left := 1 << 30
	if calls > 0 {
		left = calls
	}
	cause := sluice.EpochPlanned
	if w.lost {
		cause = sluice.EpochLost
	}
	r := upkeep.NewRearmer(upkeep.RearmConfig{Poll: time.Millisecond}, upkeep.RearmDeps{
		Campaigns: w.db, Epochs: reporting{w.db, w}, Rows: w.db, Armory: mortal{w.gates, &left}, Gates: w.gates,
		Repairs: w.gates, Settler: w.db,
	})
	epoch, err := r.Rearm(ctx, w.id, c.Epoch, cause)
	if err != nil {
		w.note("re-arming epoch %d (%s) ends early: %v", c.Epoch, cause, err)
		return err
	}
	w.note("epoch %d is armed (%s)", epoch, cause)
	w.count("re-armed")
	w.lost, w.degraded, w.asks = false, false, false
	return nil
}
