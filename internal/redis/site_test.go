package redis_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

func TestMain(m *testing.M) { servers.Main(m) }

var operator = sluice.Actor{KeyID: "k", Name: "test", Role: sluice.RoleAdmin}

func now() sluice.Millis { return sluice.MillisOf(time.Now()) }

// site is a ledger and a Redis that several nodes share.
type site struct {
	maria  *servers.MariaDatabase
	redis  string // its URL
	shards int
	nodes  []*node
}

// node is one server's part of it: admission, and what runs behind it.
type node struct {
	*redis.Admission
	t      testing.TB
	id     string
	db     ledger
	client *redis.Client
	gates  *redis.Gates
	rearm  *upkeep.Rearmer
	cancel context.CancelFunc
	done   sync.WaitGroup
	silent bool // it does not settle

	mu     sync.Mutex
	doubts []string
}

// ledger is the ledger with a number of shards for every campaign.
type ledger struct {
	*sqldb.DB
	shards int
}

func (l ledger) Campaign(ctx context.Context, id string) (sluice.Campaign, error) {
	c, err := l.DB.Campaign(ctx, id)
	c.Shards = l.shards
	return c, err
}

func (l ledger) Campaigns(ctx context.Context) ([]sluice.Campaign, error) {
	all, err := l.DB.Campaigns(ctx)
	for i := range all {
		all[i].Shards = l.shards
	}
	return all, err
}

func (l ledger) Load(
	ctx context.Context, id string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error,
) error {
	return l.DB.Load(ctx, id, func(c sluice.Campaign) { c.Shards = l.shards; begin(c) }, each)
}

func newSite(t testing.TB, url string, shards int) *site {
	return &site{maria: servers.MariaDB(t), redis: url, shards: shards}
}

// open starts a node that is a part of the site for as long as the test runs, or until stop.
func (s *site) open(t testing.TB, id string, change func(*redis.AdmissionConfig, *redis.AdmissionDeps)) *node {
	t.Helper()
	n := &node{t: t, id: id, db: ledger{shards: s.shards}}
	var err error
	if n.db.DB, err = sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{
		URL: s.maria.URL, Remote: true, Read: 5 * time.Second, Claims: 2, Readers: 4,
	}); err != nil {
		t.Fatal(err)
	}
	if n.client, err = redis.Open(t.Context(), redis.Config{URL: s.redis}); err != nil {
		t.Fatal(err)
	}
	n.gates = redis.NewGates(n.client, func(id string) (sluice.Campaign, bool) { return n.Campaign(id) })
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.rearm = upkeep.NewRearmer(upkeep.RearmConfig{Config: upkeep.Config{Leader: n.db, Node: id}}, upkeep.RearmDeps{
		Campaigns: n.db, Epochs: n.db, Rows: n.db, Armory: n.gates, Gates: n.gates, Repairs: n.gates, Settler: n.db,
	})
	cfg := redis.AdmissionConfig{Node: id, Poll: 50 * time.Millisecond, Log: logTo(t)}
	deps := redis.AdmissionDeps{Gates: n.gates, Client: n.client, Ledger: n.db, Adjustments: n.db, Fleet: n.db}
	cfg.Doubt = func(campaign string, epoch int64, why string) {
		n.mu.Lock()
		n.doubts = append(n.doubts, why)
		n.mu.Unlock()
		n.rearm.Doubt(campaign, epoch)
	}
	if change != nil {
		change(&cfg, &deps)
	}
	n.Admission = redis.NewAdmission(cfg, deps)
	n.db.SetPermit(n.Admission)
	all, err := n.db.Campaigns(t.Context())
	if err == nil {
		err = n.Arm(t.Context(), all, nil)
	}
	if err == nil {
		err = n.beat(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	n.rearm.Start()
	n.every(ctx, 50*time.Millisecond, func() { _ = n.beat(ctx); n.news(ctx) })
	n.every(ctx, 5*time.Millisecond, func() { n.settle(ctx) })
	releaser := upkeep.NewReleaser(upkeep.ReleaserConfig{Config: upkeep.Config{Leader: n.db, Node: id}},
		upkeep.ReleaserDeps{Ops: n.db, Campaigns: n.db, Gates: n.gates, Repairs: n.gates})
	releaser.Start()
	n.done.Go(func() { <-ctx.Done(); releaser.Stop() })
	s.nodes = append(s.nodes, n)
	t.Cleanup(n.stop)
	return n
}

// logTo tells of trouble only where a test fails.
func logTo(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (n *node) every(ctx context.Context, pause time.Duration, do func()) {
	n.done.Go(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do()
			}
		}
	})
}

// beat tells the others what this node has flushed.
func (n *node) beat(ctx context.Context) error {
	return n.db.Beat(ctx, sluice.Node{ID: n.id, Flushed: n.Flushed()})
}

// news takes over what the ledger has of campaigns.
func (n *node) news(ctx context.Context) {
	all, err := n.db.Campaigns(ctx)
	if err != nil {
		return
	}
	for _, c := range all {
		if _, known := n.Campaign(c.ID); !known {
			_ = n.Put(ctx, c)
		}
		n.SetEpoch(c.ID, c.Epoch)
	}
}

// settle brings what is admitted to the ledger, as a settler does.
func (n *node) settle(ctx context.Context) {
	n.mu.Lock()
	silent := n.silent
	n.mu.Unlock()
	all, err := n.db.Campaigns(ctx)
	if err != nil || silent {
		return
	}
	for _, c := range all {
		for shard := range max(1, c.Shards) {
			_ = n.gates.Pending(ctx, c, shard, func(claims []sluice.Claim) error {
				for i := range claims {
					if c.Kind == sluice.KindCoupon {
						for range claims[i].Quantity {
							claims[i].CouponCodes = append(claims[i].CouponCodes, sluice.NewCouponCode())
						}
					}
				}
				if len(claims) == 0 {
					return nil
				}
				if _, err := n.db.Settle(ctx, claims); err != nil {
					return err
				}
				ids := make([]sluice.ClaimID, len(claims))
				for i := range claims {
					ids[i] = claims[i].ID
				}
				n.Settled(ids)
				return n.gates.Settled(ctx, claims)
			})
		}
	}
}

func (n *node) hush(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = silent
}

func (n *node) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.doubts...)
}

func (n *node) stop() {
	n.cancel()
	n.done.Wait()
	n.rearm.Stop()
	n.Close()
	_ = n.db.Leave(context.Background(), n.id)
	n.client.Close()
	_ = n.db.Close()
}

// create makes a campaign and arms it.
func (n *node) create(t testing.TB, c sluice.Campaign) sluice.Campaign {
	t.Helper()
	made, err := n.db.CreateCampaign(t.Context(), c, operator, now())
	if made.Shards = n.db.shards; err == nil {
		err = n.Put(t.Context(), made)
	}
	if err == nil {
		err = n.arm(t.Context(), made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// arm asks for the campaign's next epoch and waits until its gates are open.
func (n *node) arm(ctx context.Context, c sluice.Campaign) error {
	n.rearm.Ask(c.ID, c.Epoch)
	if !eventually(20*time.Second, func() bool {
		is, err := n.db.Campaign(ctx, c.ID)
		if err != nil || is.Epoch == c.Epoch {
			return false
		}
		armed, err := n.rearm.Armed(ctx, is)
		n.SetEpoch(c.ID, is.Epoch)
		return armed && err == nil
	}) {
		return fmt.Errorf("%s is not armed: %w", c.ID, sluice.ErrUnavailable)
	}
	return n.Refresh(ctx, c.ID)
}

// verify recomputes the campaign from rows and from what the gates say now.
func (n *node) verify(t testing.TB, campaign string) sluice.Verification {
	t.Helper()
	ctx := context.Background()
	v, err := n.db.Verify(ctx, campaign, func() sluice.Permit {
		_ = n.Refresh(ctx, campaign)
		p, _, _ := n.Permit(campaign)
		return p
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// exact waits until nothing is on its way, and checks that the sum comes out with so many live units.
func (n *node) exact(t testing.TB, campaign string, live int64) {
	t.Helper()
	var v sluice.Verification
	if !eventually(10*time.Second, func() bool {
		v = n.verify(t, campaign)
		return v.OK && v.Drift == 0 && v.Queued == 0 && v.UsersOverLimit == 0 && v.UnitsOverTotal == 0 &&
			v.Held+v.Sold == live && v.Available+live == v.Total
	}) {
		t.Fatalf("verify %s: want %d live units: %+v", campaign, live, v)
	}
}

// eventually looks until ok says so.
func eventually(within time.Duration, ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; <-tick.C {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// bench hands a site of one node to the suite.
func bench(t *testing.T, url string, shards int) conformance.AdmissionBench {
	s := newSite(t, url, shards)
	n := s.open(t, "n1", nil)
	restarts := 1
	return conformance.AdmissionBench{
		Queues:    8 * time.Second,
		Admission: func() conformance.Admitter { return n.Admission },
		Create:    func(t *testing.T, c sluice.Campaign) { t.Helper(); n.create(t, c) },
		Update: func(t *testing.T, c sluice.Campaign) {
			t.Helper()
			got, err := n.db.UpdateCampaign(t.Context(), c, nil, operator, now())
			if err == nil && got.Control != c.Control {
				cmd := sluice.CommandResume
				if c.Control == sluice.ControlPaused {
					cmd = sluice.CommandPause
				}
				got, err = n.db.SetControl(t.Context(), c.ID, cmd, "", operator, now())
			}
			if got.Shards = shards; err == nil {
				err = n.Put(t.Context(), got)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		CloseOne: func(t *testing.T, id sluice.ClaimID) {
			t.Helper()
			if _, err := n.db.CloseOrder(t.Context(), id, sluice.CloseCancelled, operator, now()); err != nil {
				t.Fatal(err)
			}
		},
		Verify: func(t *testing.T, campaign string) sluice.Verification { t.Helper(); return n.verify(t, campaign) },
		Restart: func(t *testing.T) {
			t.Helper()
			n.stop()
			restarts++
			n = s.open(t, fmt.Sprint("n", restarts), nil)
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint("one Redis, shards ", shards), func(t *testing.T) {
			server := servers.Redis(t)
			conformance.Admission(t, func(t *testing.T) conformance.AdmissionBench {
				server.FlushAll()
				return bench(t, server.URL(), shards)
			})
		})
	}
}

func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	cluster := servers.RedisCluster(t)
	conformance.Admission(t, func(t *testing.T) conformance.AdmissionBench {
		cluster.FlushAll()
		return bench(t, cluster.URL(), 4)
	})
}
