package settle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// helperEnv has a test binary be a settler that is there to be killed: "redis URL|ledger URL|name".
const helperEnv = "SLUICE_TEST_SETTLER"

func TestMain(m *testing.M) {
	if spec := os.Getenv(helperEnv); spec != "" {
		helper(spec)
		return
	}
	servers.Main(m)
}

// helper settles until it is killed.
func helper(spec string) {
	part := strings.Split(spec, "|")
	ctx := context.Background()
	client, err := redis.Open(ctx, redis.Config{URL: part[0]})
	if err != nil {
		panic(err)
	}
	ledger, err := sqldb.OpenMySQL(ctx, sqldb.MySQLConfig{URL: part[1], Remote: true})
	if err != nil {
		panic(err)
	}
	s, err := newSettler(ctx, client, ledger, part[2], settle.Config{MaxBatch: 200})
	if err != nil {
		panic(err)
	}
	s.Start()
	fmt.Println("settling")
	select {}
}

// newSettler puts a settler of the outboxes of all campaigns of a ledger together.
func newSettler(
	ctx context.Context, client *redis.Client, ledger *sqldb.DB, name string, cfg settle.Config,
) (*settle.Settler, error) {
	box, gates, err := newOutbox(ctx, client, ledger, name)
	if err != nil {
		return nil, err
	}
	return settle.New(cfg, settle.Ports{
		Consumer: box, Ledger: ledger, Gate: gates, Kinds: kinds{ledger}, Announcer: client,
	})
}

func newOutbox(
	ctx context.Context, client *redis.Client, ledger *sqldb.DB, name string,
) (*redis.Outbox, *redis.Gates, error) {
	campaigns, err := ledger.Campaigns(ctx)
	if err != nil {
		return nil, nil, err
	}
	byID := map[string]sluice.Campaign{}
	for _, c := range campaigns {
		byID[c.ID] = c
	}
	gates := redis.NewGates(client, func(id string) (sluice.Campaign, bool) { c, ok := byID[id]; return c, ok })
	box, err := redis.NewOutbox(client, redis.OutboxConfig{Name: name, Abandoned: time.Second})
	if err != nil {
		return nil, nil, err
	}
	box.Follow(campaigns)
	return box, gates, nil
}

// kinds asks the ledger what a campaign sells.
type kinds struct{ ledger *sqldb.DB }

// KindOf is of settle.Kinds.
func (k kinds) KindOf(ctx context.Context, id string) (sluice.Kind, error) {
	c, err := k.ledger.Campaign(ctx, id)
	return c.Kind, err
}

// world is one campaign with its gate on a real Redis and its ledger on a real MariaDB.
type world struct {
	t        testing.TB
	server   *servers.RedisServer
	client   *redis.Client
	gates    *redis.Gates
	ledger   *sqldb.DB
	url      string // of the ledger
	campaign sluice.Campaign
	settlers int
	admitted []sluice.Claim
}

// newWorld makes one; change may alter the campaign. dbURL is of an empty database.
func newWorld(t testing.TB, dbURL string, change func(*sluice.Campaign)) *world {
	t.Helper()
	w := &world{t: t, server: servers.Redis(t), url: dbURL}
	var err error
	if w.client, err = redis.Open(t.Context(), redis.Config{URL: w.server.URL()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	w.ledger = w.open(dbURL, 0)
	now := sluice.MillisOf(time.Now())
	c := sluice.Campaign{
		ID: "spring", Kind: sluice.KindGoods, Title: "Spring", Stock: sluice.Stock{Total: 10_000}, PerUserLimit: 3,
		StartsAt: now - 60_000, EndsAt: now + 3_600_000, Control: sluice.ControlOpen,
		Goods: sluice.Goods{SKU: "s", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
	}
	if change != nil {
		change(&c)
	}
	if w.campaign, err = w.ledger.CreateCampaign(t.Context(), c, sluice.Actor{Name: "test"}, now); err != nil {
		t.Fatal(err)
	}
	w.gates = redis.NewGates(w.client, func(string) (sluice.Campaign, bool) { return w.campaign, true })
	w.arm()
	return w
}

// open opens the ledger once more, as another node does.
func (w *world) open(url string, read time.Duration) *sqldb.DB {
	w.t.Helper()
	db, err := sqldb.OpenMySQL(w.t.Context(), sqldb.MySQLConfig{
		URL: url, Remote: true, Read: read, Write: read, Dial: read,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (w *world) arm() {
	w.t.Helper()
	ctx, c := w.t.Context(), w.campaign
	shards := max(c.Shards, 1)
	if _, err := w.gates.Seal(ctx, c, c.Epoch); err != nil {
		w.t.Fatal(err)
	}
	for shard := range shards {
		share := c.Stock.Total / int64(shards)
		if shard == 0 {
			share += c.Stock.Total % int64(shards)
		}
		if err := errors.Join(w.gates.Join(ctx, c, shard, nil), w.gates.Arm(ctx, c, shard, share)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// claims makes n claims, each of another user.
func (w *world) claims(from, n int) []sluice.Claim {
	all := make([]sluice.Claim, n)
	for i := range all {
		user := fmt.Sprintf("user-%d", from+i)
		all[i] = sluice.Claim{
			ID: sluice.NewClaimID(w.campaign.ID, user, sluice.SourceClaim, "r"), Campaign: w.campaign.ID, User: user,
			RequestID: "r", Quantity: 1, At: sluice.MillisOf(time.Now()), Epoch: w.campaign.Epoch,
		}
	}
	return all
}

// admit takes claims through the gate, in calls of size claims each, and fails where one is not admitted.
func (w *world) admit(claims []sluice.Claim, size int) {
	w.t.Helper()
	byShard := map[int][]sluice.Claim{}
	for _, c := range claims {
		shard := redis.HomeShard(&w.campaign, c.ID.User())
		byShard[shard] = append(byShard[shard], c)
	}
	for shard, all := range byShard {
		for len(all) > 0 {
			n := min(size, len(all))
			reply, err := w.gates.Admit(w.t.Context(), redis.AdmitCall{Campaign: &w.campaign, Shard: shard, Claims: all[:n]})
			if err != nil || reply.Status != redis.GateOK {
				w.t.Fatalf("admit: status %d, %v", reply.Status, err)
			}
			for i := range reply.Claims {
				if reply.Claims[i].Verdict != redis.VerdictAdmitted {
					w.t.Fatalf("%s: verdict %d", all[i].User, reply.Claims[i].Verdict)
				}
			}
			all = all[n:]
		}
	}
	w.admitted = append(w.admitted, claims...)
}

// settler starts one more settler of the world, which ends with the test.
func (w *world) settler(ledger *sqldb.DB, cfg settle.Config) *settle.Settler {
	w.t.Helper()
	w.settlers++
	s, err := newSettler(w.t.Context(), w.client, ledger, fmt.Sprintf("settler %d", w.settlers), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	s.Start()
	w.t.Cleanup(s.Stop)
	return s
}

// figures gives the sums of the gate over its shards.
func (w *world) figures() (sum sluice.ShardState) {
	w.t.Helper()
	all, err := w.gates.State(w.t.Context(), w.campaign)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range all {
		sum.Available, sum.Queued, sum.Live = sum.Available+s.Available, sum.Queued+s.Queued, sum.Live+s.Live
		sum.Backlog += s.Backlog
		sum.Returning += s.Returning
	}
	return sum
}

// quiet waits until nothing is on its way, and checks that each of the claims that were admitted has its one row, and
// that gate and ledger say the same. live are the units that are to be live.
func (w *world) quiet(live int64) {
	w.t.Helper()
	wait(w.t, "everything is settled", 60*time.Second, func() bool {
		s := w.figures()
		return s.Queued == 0 && s.Backlog == 0
	})
	if n := w.server.Do("XLEN", w.client.OutboxKey(&w.campaign, 0)); n != "0" {
		w.t.Errorf("the outbox has %s entries", n)
	}
	s := w.figures()
	v, err := w.ledger.Verify(w.t.Context(), w.campaign.ID, func() sluice.Permit {
		return sluice.Permit{Available: s.Available + s.Returning, Queued: s.Queued}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if !v.OK || v.Drift != 0 || v.Held+v.Sold != live || s.Live != live {
		w.t.Errorf("live units: ledger %d, gate %d, want %d; %+v", v.Held+v.Sold, s.Live, live, v)
	}
}

// eachOnce checks that every claim that was admitted is in the ledger, once.
func (w *world) eachOnce(claims []sluice.Claim) {
	w.t.Helper()
	ids := make([]sluice.ClaimID, len(claims))
	for i := range claims {
		ids[i] = claims[i].ID
	}
	found, err := w.ledger.ClaimRecords(w.t.Context(), ids)
	if err != nil {
		w.t.Fatal(err)
	}
	missing := 0
	for _, id := range ids {
		if r, ok := found[id]; !ok || r.State != sluice.ClaimConfirmed {
			missing++
		}
	}
	if missing > 0 {
		w.t.Errorf("%d of %d claims that were promised are not confirmed", missing, len(ids))
	}
}

// wait polls until ok.
func wait(t testing.TB, what string, patience time.Duration, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// tally sums what a settler's batches came to.
type tally struct{ batches, claims, confirmed, replayed, rejected, failed atomic.Int64 }

func (y *tally) add(b settle.Batch) {
	y.batches.Add(1)
	y.claims.Add(int64(b.Claims))
	y.confirmed.Add(int64(b.Confirmed))
	y.replayed.Add(int64(b.Replayed))
	y.rejected.Add(int64(b.Rejected))
	y.failed.Add(int64(b.Failed))
}
