package upkeep_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

func TestMain(m *testing.M) { servers.Main(m) }

// permit is the gates of a world, in memory or in Redis.
type permit interface {
	upkeep.Gates
	upkeep.Repairs
	upkeep.Armory
	// admit takes one claim, as a node does that knows c.
	admit(c sluice.Campaign, claim sluice.Claim) sluice.Reason
	flushAll()
	snapshot() (restore func())
}

// world is one campaign on a ledger and gates, with the agents between them. The nodes that sell are the test's.
type world struct {
	t    *testing.T
	db   *sqldb.DB
	sql  func(statement string) // by hand, behind everybody's back
	gate permit
	id   string

	rearmer    *upkeep.Rearmer
	reconciler *upkeep.Reconciler
	frozen     frozen
}

// frozen keeps why campaigns were frozen. mu guards why.
type frozen struct {
	mu  sync.Mutex
	why []string
}

func (f *frozen) Freeze(campaign, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = append(f.why, campaign+": "+why)
}

func (f *frozen) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.why...)
}

// total is what every world has on sale.
const total = 10

var operator = sluice.Actor{Name: "test", Role: sluice.RoleAdmin}

// eachWorld runs a test with gates in memory and in Redis, on MariaDB both times.
func eachWorld(t *testing.T, run func(t *testing.T, w *world)) {
	t.Run("memory", func(t *testing.T) { run(t, newWorld(t, sluice.Campaign{}, memoryGates)) })
	t.Run("redis", func(t *testing.T) { run(t, newWorld(t, sluice.Campaign{}, redisGates)) })
}

func memoryGates(*testing.T, *world) permit { return newGates() }

func redisGates(t *testing.T, w *world) permit {
	server := servers.Redis(t)
	r := onRedis(t, w, server.URL(), server.FlushAll, func() func() {
		dir := server.Snapshot()
		return func() {
			server.Kill9()
			server.Restore(dir)
			server.Start()
		}
	})
	r.do = server.Do
	return r
}

// newWorld makes a campaign that is live, and arms it.
func newWorld(t *testing.T, c sluice.Campaign, gates func(*testing.T, *world) permit) *world {
	t.Helper()
	maria := servers.MariaDB(t)
	db, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: maria.URL, Remote: true, LostGrace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, sql: func(s string) { maria.Do(s) }, id: "spring"}
	now := sluice.MillisOf(time.Now())
	c.ID, c.Title, c.Control, c.StartsAt, c.EndsAt = w.id, "Spring", sluice.ControlOpen, now-1000, now.Add(time.Hour)
	c.PerUserLimit, c.Stock.Total, c.Created = 3, total, total
	if c.Kind == "" {
		c.Kind = sluice.KindGoods
		c.Goods = sluice.Goods{PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true}
	}
	if _, err := db.CreateCampaign(t.Context(), c, operator, now); err != nil {
		t.Fatal(err)
	}
	w.gate = gates(t, w)
	w.rearmer, w.reconciler = w.agents(upkeep.Config{})
	w.rearm(sluice.EpochPlanned)
	return w
}

// agents makes a re-armer and a reconciler of one more node.
func (w *world) agents(cfg upkeep.Config) (*upkeep.Rearmer, *upkeep.Reconciler) {
	rearmer := upkeep.NewRearmer(upkeep.RearmConfig{Config: cfg, Poll: time.Millisecond}, upkeep.RearmDeps{
		Campaigns: w.db, Epochs: w.db, Rows: w.db, Armory: w.gate, Gates: w.gate, Repairs: w.gate, Settler: w.db,
	})
	reconciler := upkeep.NewReconciler(
		upkeep.ReconcilerConfig{Config: cfg, Between: 5 * time.Millisecond, Stuck: time.Minute},
		upkeep.ReconcilerDeps{
			Campaigns: w.db, Rows: w.db, Runs: w.db, Freezer: &w.frozen, Gates: w.gate, Repairs: w.gate, Settler: w.db,
			Letters: w.db, Doubt: rearmer.Doubt, Rearm: rearmer.Ask,
		})
	return rearmer, reconciler
}

func (w *world) campaign() sluice.Campaign {
	w.t.Helper()
	c, err := w.db.Campaign(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// rearm opens and arms the next epoch. A server that was started anew may not answer at once.
func (w *world) rearm(cause sluice.EpochCause) {
	w.t.Helper()
	from := w.campaign().Epoch
	w.until(func() error {
		_, err := w.rearmer.Rearm(w.t.Context(), w.id, from, cause)
		return err
	})
}

// until tries again until there is no error, or it has taken too long.
func (w *world) until(try func() error) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			w.t.Fatal(err)
		case <-tick.C:
		}
	}
}

// claim makes a claim of a user for q units under the present epoch.
func (w *world) claim(user string, q int) sluice.Claim {
	w.t.Helper()
	return sluice.Claim{
		ID: sluice.NewClaimID(w.id, user, sluice.SourceClaim, "r"), Campaign: w.id, User: user, RequestID: "r", Quantity: q,
		At: sluice.MillisOf(time.Now()), Epoch: w.campaign().Epoch,
	}
}

// queue has the gate admit a claim of one unit for each user.
func (w *world) queue(users ...string) (claims []sluice.Claim) {
	w.t.Helper()
	c := w.campaign()
	for _, user := range users {
		claim := w.claim(user, 1)
		if r := w.gate.admit(c, claim); r != sluice.ReasonQueued {
			w.t.Fatalf("%s is answered %s", user, r)
		}
		claims = append(claims, claim)
	}
	return claims
}

// settle carries claims to the ledger as a settler does, the answer to the gate included.
func (w *world) settle(claims []sluice.Claim) (out []sluice.Outcome) {
	w.t.Helper()
	out, err := w.db.Settle(w.t.Context(), claims)
	if err == nil {
		err = w.gate.Settled(w.t.Context(), claims)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// buy is queue and settle.
func (w *world) buy(users ...string) []sluice.Claim {
	w.t.Helper()
	claims := w.queue(users...)
	w.settle(claims)
	return claims
}

// cancel ends an order.
func (w *world) cancel(claim sluice.Claim) {
	w.t.Helper()
	_, err := w.db.CloseOrder(w.t.Context(), claim.ID, sluice.CloseCancelled, operator, sluice.MillisOf(time.Now()))
	if err != nil {
		w.t.Fatal(err)
	}
}

// release has the releaser go once.
func (w *world) release() {
	w.t.Helper()
	r := upkeep.NewReleaser(upkeep.ReleaserConfig{}, upkeep.ReleaserDeps{
		Ops: w.db, Campaigns: w.db, Gates: w.gate, Repairs: w.gate,
	})
	if _, err := r.RunOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// loseOps ends what the ledger has to tell the gates without telling them.
func (w *world) loseOps() {
	w.t.Helper()
	ops, err := w.db.PermitOps(w.t.Context(), "", 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(ops) == 0 {
		w.t.Fatal("there is nothing to lose")
	}
	for _, op := range ops {
		if err := w.db.DonePermitOps(w.t.Context(), []int64{op.Seq}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// reconcile runs the reconciler and gives the run.
func (w *world) reconcile() sluice.ReconcileRun {
	w.t.Helper()
	run, err := w.reconciler.Reconcile(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// exact checks, from the claims and rows themselves, that every unit is where it has to be: it shares nothing with the
// reconciler.
func (w *world) exact() {
	w.t.Helper()
	ctx, c := w.t.Context(), w.campaign()
	rows := map[sluice.ClaimID]sluice.ClaimRow{}
	err := w.db.Load(ctx, w.id, func(sluice.Campaign) {}, func(batch []sluice.ClaimRow) error {
		for _, r := range batch {
			rows[r.ID] = r
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	states, err := w.gate.State(ctx, c)
	if err != nil {
		w.t.Fatal(err)
	}
	claims := map[sluice.ClaimID]sluice.GateClaim{}
	var sum int64
	for _, s := range states {
		if s.Epoch != c.Epoch || !s.Open {
			w.t.Errorf("shard %d is not open in epoch %d: %+v", s.Shard, c.Epoch, s)
		}
		sum += s.Available + s.Returning + s.Out
		err := w.gate.Claims(ctx, c, s.Shard, func(batch []sluice.GateClaim) error {
			for _, g := range batch {
				claims[g.ID] = g
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var held, inFlight int64
	for id, g := range claims {
		r, known := rows[id]
		sum += int64(g.LiveUnits)
		switch {
		case !known && g.Queued != nil:
			inFlight += int64(g.LiveUnits)
		case !known:
			w.t.Errorf("only the gate has %s: %+v", id, g)
		case g.LiveUnits != r.LiveUnits:
			w.t.Errorf("%s: %+v in the gate, %+v in the ledger", id, g, r)
		}
	}
	for id, r := range rows {
		held += int64(r.LiveUnits)
		if _, known := claims[id]; !known {
			w.t.Errorf("only the ledger has %s: %+v", id, r)
		}
	}
	if sum != c.Stock.Total || held != c.Stock.Held+c.Stock.Sold {
		w.t.Errorf("total %d: the gates come to %d, rows to %d, counters to %d + %d, in flight %d: %+v",
			c.Stock.Total, sum, held, c.Stock.Held, c.Stock.Sold, inFlight, states)
	}
}

// available gives what the gates would still sell.
func (w *world) available() (n int64) {
	w.t.Helper()
	states, err := w.gate.State(w.t.Context(), w.campaign())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range states {
		n += s.Available + s.Returning
	}
	return n
}

// finds checks that a run found one difference of a kind, and whether it was repaired.
func finds(t *testing.T, run sluice.ReconcileRun, kind sluice.DriftKind, units int64, repaired bool) {
	t.Helper()
	if len(run.Found) != 1 || run.Found[0].Kind != kind || run.Found[0].Units != units ||
		(run.Found[0].Repair != "") != repaired || run.OK != repaired || run.Drift != units || run.Error != "" {
		t.Errorf("want %s of %d units, repaired %t; the run is %+v", kind, units, repaired, run)
	}
}

// clean checks that a run found nothing.
func clean(t *testing.T, run sluice.ReconcileRun) {
	t.Helper()
	if !run.OK || len(run.Found) > 0 || run.Error != "" ||
		run.Total != run.Available+run.InTransfer+run.Queued+run.Held+run.Sold {
		t.Errorf("the run is %+v", run)
	}
}

// inRedis are gates in Redis.
type inRedis struct {
	*redis.Gates
	t       *testing.T
	client  *redis.Client
	flush   func()
	restore func() func()
	do      func(args ...string) string
	world   *world
	unread  bool // nobody reads the queue
}

func onRedis(t *testing.T, w *world, url string, flush func(), snapshot func() func()) *inRedis {
	t.Helper()
	client, err := redis.Open(t.Context(), redis.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &inRedis{t: t, world: w, client: client, flush: flush, restore: snapshot,
		Gates: redis.NewGates(client, func(id string) (sluice.Campaign, bool) {
			c, err := w.db.Campaign(context.Background(), id)
			return c, err == nil
		})}
}

// Drop comes after a settler that has read all there was.
func (r *inRedis) Drop(ctx context.Context, c sluice.Campaign, claims bool) (bool, error) {
	r.read(c)
	return r.Gates.Drop(ctx, c, claims)
}

func (r *inRedis) Settled(ctx context.Context, claims []sluice.Claim) error {
	if c, err := r.world.db.Campaign(ctx, r.world.id); err == nil && r.do != nil && !r.unread {
		r.read(c)
	}
	return r.Gates.Settled(ctx, claims)
}

// read is a settler that has read all there was of the queue.
func (r *inRedis) read(c sluice.Campaign) {
	for shard := range max(1, c.Shards) {
		r.do("DEL", r.client.OutboxKey(&c, shard))
	}
}

// keys counts what is in the server.
func (r *inRedis) keys() (n int) {
	_, _ = fmt.Sscan(r.do("DBSIZE"), &n)
	return n
}

func (r *inRedis) flushAll() { r.flush() }

func (r *inRedis) snapshot() func() { return r.restore() }

func (r *inRedis) admit(c sluice.Campaign, claim sluice.Claim) sluice.Reason {
	c.Epoch = claim.Epoch
	reply, err := r.Admit(context.Background(), redis.AdmitCall{
		Campaign: &c, Shard: r.Home(c, claim.ID.User()), Claims: []sluice.Claim{claim},
	})
	if err != nil || reply.Status != redis.GateOK {
		return sluice.ReasonUnavailable
	}
	switch reply.Claims[0].Verdict {
	case redis.VerdictAdmitted, redis.VerdictQueued, redis.VerdictLive:
		return sluice.ReasonQueued
	case redis.VerdictDry:
		return sluice.ReasonSoldOut
	case redis.VerdictLimit:
		return sluice.ReasonLimitReached
	}
	return sluice.ReasonUnavailable
}

func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i))
	}
	return all
}
