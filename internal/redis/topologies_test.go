package redis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// acl are the rules that Sluice needs.
func acl() servers.RedisOption {
	return servers.User("sluice", "s3:cr@t/", "~sluice:*", "&sluice:*", "+@all", "-@dangerous", "+info")
}

func escaped(url string) string { return strings.ReplaceAll(url, "s3:cr@t/", "s3%3Acr%40t%2F") }

// open opens gates by a whole Config.
func open(t *testing.T, cfg redis.Config, c sluice.Campaign) *house {
	t.Helper()
	client, err := redis.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	h := &house{t: t, client: client, c: c, all: map[string]sluice.Campaign{c.ID: c}}
	h.Gates = redis.NewGates(client, func(id string) (sluice.Campaign, bool) { c, ok := h.all[id]; return c, ok })
	return h
}

// TestTopologies runs the life of a sale on every kind of Redis.
func TestTopologies(t *testing.T) {
	for _, tt := range []struct {
		name string
		open func(t *testing.T) redis.Config
	}{
		{"alone", func(t *testing.T) redis.Config { return redis.Config{URL: servers.Redis(t).URL()} }},
		{"TLS and a user", func(t *testing.T) redis.Config {
			s := servers.Redis(t, servers.TLS(), acl())
			return redis.Config{URL: escaped(s.URL()), TLS: servers.Trust(t, s.CA)}
		}},
		{"Sentinel", func(t *testing.T) redis.Config { return redis.Config{URL: servers.Sentinel(t).URL()} }},
		{"Cluster", func(t *testing.T) redis.Config { return redis.Config{URL: servers.RedisCluster(t).URL()} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := aSale("spring", 2)
			c.Shards = 3
			c.LimitGroup = "season"
			h := open(t, tt.open(t), c)
			h.life()
		})
	}
}

// TestRedisOfAStranger: a certificate that is not believed is refused at once, by the name of what is to be set.
func TestRedisOfAStranger(t *testing.T) {
	s := servers.Redis(t, servers.TLS())
	other, _, _ := servers.Strangers(t)
	for name, cfg := range map[string]*tls.Config{"another authority": servers.Trust(t, other), "the system's": nil} {
		_, err := redis.Open(t.Context(), redis.Config{URL: s.URL(), TLS: cfg})
		var f *sluice.Fault
		if !errors.As(err, &f) || f.Code != "REDIS_TLS" || !errors.Is(err, sluice.ErrInvalid) ||
			errors.Is(err, sluice.ErrUnavailable) || !strings.Contains(f.Detail, "redis.ca") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// life sells 30 units to 40 users over all shards, with replays, returns, a new epoch and deletion.
func (h *house) life() {
	h.t.Helper()
	ctx := h.t.Context()
	h.arm(1, 30)
	var won []sluice.Claim
	for i := range 40 {
		claim := h.claim(user(i), "1", 1)
		for range 5 {
			r, err := h.Admit(ctx, redis.AdmitCall{
				Campaign: &h.c, Peers: []string{"autumn"}, Shard: h.Home(h.c, claim.ID.User()), Claims: []sluice.Claim{claim},
			})
			if err != nil {
				h.t.Fatal(err)
			}
			if r.Claims[0].Verdict == welcome {
				won = append(won, claim)
				break
			}
			if s, err := h.SoldOut(ctx, &h.c, h.Home(h.c, claim.ID.User())); err != nil || s.SoldOut {
				break
			}
		}
	}
	if len(won) != 30 {
		h.t.Errorf("%d of 30", len(won))
	}
	if got, ok, err := h.Find(ctx, []sluice.Campaign{h.c}, won[3].ID); err != nil || !ok || got.User != won[3].User {
		h.t.Errorf("find: %+v %v %v", got, ok, err)
	}
	if err := h.Gates.Settled(ctx, won); err != nil {
		h.t.Error(err)
	}
	h.apply(release(won[0], 1, 1), release(won[1], 1, 0), take(h.claim("late", "1", 1)))
	total := int64(0)
	for _, s := range h.sums() {
		total += s.Available + s.Returning + s.Live + s.Out
	}
	if total != 30 {
		h.t.Errorf("the sum is %d", total)
	}
	r, err := h.Apply(ctx, []sluice.PermitOp{{
		Kind: sluice.PermitAdjust, Campaign: h.c.ID, Units: 7, Revision: 1, Epoch: 1,
	}})
	if err != nil || r[0].Verdict != sluice.PermitDone {
		h.t.Errorf("adjust: %+v %v", r, err)
	}
	h.c.Revision = 1
	h.arm(2, 37)
	sum := int64(0)
	for _, s := range h.sums() {
		sum += s.Available
	}
	if sum != 8 {
		h.t.Errorf("after the epoch %d are available", sum)
	}
	if ids, err := h.client.Identity(ctx); err != nil || len(ids) == 0 {
		h.t.Errorf("%v %v", ids, err)
	}
	for shard := range h.c.Shards {
		if err := h.client.Do(ctx, "XTRIM", h.client.OutboxKey(&h.c, shard), "MAXLEN", "0"); err != nil {
			h.t.Fatal(err)
		}
	}
	if more, err := h.Drop(ctx, h.c, true); more || err != nil {
		h.t.Errorf("drop: %v %v", more, err)
	}
	if s := h.state(); s[0].Armed {
		h.t.Errorf("%+v", s)
	}
}

// buyers claims without end until stop is called; it gives who was told "admitted", and trouble that is no error of
// ours.
func (h *house) buyers(n int) (stop func() map[sluice.ClaimID]sluice.Claim) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	var mu sync.Mutex
	told := map[sluice.ClaimID]sluice.Claim{}
	for b := range n {
		wait.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				claim := h.claim(fmt.Sprintf("buyer-%d-%d", b, i), "1", 1)
				for ctx.Err() == nil { // the same claim until its outcome is known
					r, err := h.tryAdmit(context.Background(), claim)
					if err == nil && len(r.Claims) == 1 {
						if v := r.Claims[0].Verdict; v == welcome || v == queued {
							mu.Lock()
							told[claim.ID] = claim
							mu.Unlock()
						}
						break
					}
					if err != nil && !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain) {
						h.t.Errorf("%v", err)
					}
					<-tick.C
				}
				<-tick.C
			}
		})
	}
	return func() map[sluice.ClaimID]sluice.Claim { cancel(); wait.Wait(); return told }
}

// mustHold checks that everyone who was told so is in the gates.
func (h *house) mustHold(told map[sluice.ClaimID]sluice.Claim) {
	h.t.Helper()
	ids := make([]sluice.ClaimID, 0, len(told))
	for id := range told {
		ids = append(ids, id)
	}
	found, err := h.Lookup(h.t.Context(), h.c, ids)
	if err != nil {
		h.t.Fatal(err)
	}
	for id, c := range told {
		if g, ok := found[id]; !ok || !g.Live || g.Queued == nil {
			h.t.Errorf("%s was admitted and is not there: %+v", c.User, g)
			return
		}
	}
	h.sums()
}

// TestSlotsMove: slots with shards move from master to master while buyers claim (MOVED, ASK, TRYAGAIN): nobody
// hears a wrong answer, and no unit is lost or made.
func TestSlotsMove(t *testing.T) {
	cluster := servers.RedisCluster(t)
	c := aSale("spring", 2)
	c.Shards = 3
	h := open(t, redis.Config{URL: cluster.URL()}, c)
	h.arm(1, 1_000_000)
	masters := map[string]bool{}
	for shard := range 3 {
		masters[cluster.MasterOf(h.client.GateKey(&c, shard)).Addr] = true
	}
	if len(masters) != 3 {
		t.Errorf("three shards are on %d masters", len(masters))
	}
	stop := h.buyers(8)
	for range 2 {
		for shard := range 3 {
			moveSlot(t, cluster, h.client.GateKey(&c, shard), redis.Slot(redis.Tags(&c)[shard]))
		}
	}
	told := stop()
	if len(told) < 50 {
		t.Errorf("only %d claims", len(told))
	}
	h.mustHold(told)
}

// moveSlot moves the slot of a key to another master, key by key.
func moveSlot(t *testing.T, cluster *servers.RedisClusterServers, key string, slot int) {
	t.Helper()
	from := cluster.MasterOf(key)
	var to *servers.RedisServer
	for _, m := range cluster.Masters() {
		if m.Addr != from.Addr {
			to = m
		}
	}
	n := fmt.Sprint(slot)
	fromID, toID := from.Do("CLUSTER", "MYID"), to.Do("CLUSTER", "MYID")
	to.Do("CLUSTER", "SETSLOT", n, "IMPORTING", fromID)
	from.Do("CLUSTER", "SETSLOT", n, "MIGRATING", toID)
	for {
		keys := strings.Fields(from.Do("CLUSTER", "GETKEYSINSLOT", n, "1"))
		if len(keys) == 0 {
			break
		}
		from.Do("MIGRATE", "127.0.0.1", fmt.Sprint(to.Port()), keys[0], "0", "5000")
	}
	to.Do("CLUSTER", "SETSLOT", n, "NODE", toID)
	for _, m := range cluster.Masters() {
		m.Do("CLUSTER", "SETSLOT", n, "NODE", toID)
	}
}

// TestFailover: a master dies under buyers, its replica takes over, and claims go on by themselves. What the
// replica had not heard of is lost with the master, which is what epochs are for; what is there is whole.
func TestFailover(t *testing.T) {
	t.Parallel()
	t.Run("Sentinel", func(t *testing.T) {
		s := servers.Sentinel(t)
		h := open(t, redis.Config{URL: s.URL(), Timeout: 500 * time.Millisecond}, aSale("spring", 2))
		h.arm(1, 1_000_000)
		h.failover(s.Now())
	})
	t.Run("Cluster", func(t *testing.T) {
		s := servers.RedisCluster(t)
		h := open(t, redis.Config{URL: s.URL(), Timeout: 500 * time.Millisecond}, aSale("spring", 2))
		h.arm(1, 1_000_000)
		h.failover(s.MasterOf(h.client.GateKey(&h.c, 0)))
	})
}

func (h *house) failover(master *servers.RedisServer) {
	h.t.Helper()
	before, err := h.client.Identity(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	master.WaitReplica() // of a gate that the replica does not have nothing is left but a new epoch
	stop := h.buyers(4)
	master.Kill9()
	after := h.claim("after", "1", 1)
	last, lastErr := "", error(nil)
	h.t.Cleanup(func() {
		if h.t.Failed() {
			h.t.Logf("what the claim after the failover heard last: %s, %v", last, lastErr)
		}
	})
	within(h.t, time.Minute, func() bool {
		r, err := h.tryAdmit(h.t.Context(), after)
		last, lastErr = fmt.Sprintf("%+v", r), err
		return err == nil && len(r.Claims) == 1 && (r.Claims[0].Verdict == welcome || r.Claims[0].Verdict == queued)
	})
	stop()
	within(h.t, time.Minute, func() bool { _, err := h.State(h.t.Context(), h.c); return err == nil })
	h.sums()
	now, err := h.client.Identity(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	fresh := 0
	for addr, id := range now {
		if before[addr] != id {
			fresh++
		}
	}
	if fresh == 0 {
		h.t.Errorf("nobody noticed: %v, then %v", before, now)
	}
}

// TestURLs: what cannot be right is refused before anything is connected to.
func TestURLs(t *testing.T) {
	for _, url := range []string{
		"", "redis://", "http://127.0.0.1:1", "redis://127.0.0.1", "redis://127.0.0.1:0", "redis://127.0.0.1:99999",
		"redis://127.0.0.1:1,127.0.0.1:2", "redis://127.0.0.1:1/x", "redis://127.0.0.1:1/-1",
		"redis://127.0.0.1:1/1?mode=cluster", "redis://127.0.0.1:1?mode=sentinel", "redis://127.0.0.1:1?mode=x",
		"redis://127.0.0.1:1?master=m&timeout=3", "redis://%zz:p@127.0.0.1:1",
	} {
		_, err := redis.Open(t.Context(), redis.Config{URL: url})
		if !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%q: %v", url, err)
		}
	}
	_, err := redis.Open(t.Context(), redis.Config{URL: "redis://u:secret@127.0.0.1:1"})
	if !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if told := fmt.Sprint(err); strings.Contains(told, "secret") {
		t.Error(told)
	}
}
