package redis_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// listener collects what it is told. mu guards all of it.
type listener struct {
	mu   sync.Mutex
	all  []sluice.Announcement
	revs []int64
}

func (l *listener) outcomes(all []sluice.Announcement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, all...)
}

func (l *listener) settings(rev int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revs = append(l.revs, rev)
}

func (l *listener) heard(rev int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.revs, rev)
}

// patiently polls until ok.
func patiently(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// TestAnnouncementsReachEveryNode: outcomes as they were told, in messages of a bounded size, and revisions of
// settings; a node whose Redis was away hears again by itself, and is told that it may have missed something.
func TestAnnouncementsReachEveryNode(t *testing.T) {
	server := servers.Redis(t)
	open := func() *redis.Client {
		c, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	speaker := open()
	var nodes [2]listener
	for i := range nodes {
		n := redis.NewNews(open(), redis.NewsConfig{Outcomes: nodes[i].outcomes, Settings: nodes[i].settings})
		n.Start()
		t.Cleanup(n.Stop)
	}
	nudge := func(rev int64) {
		t.Helper()
		patiently(t, fmt.Sprintf("both nodes hear of revision %d", rev), func() bool {
			_ = speaker.Nudge(t.Context(), rev) // nobody keeps it for one who is not listening yet
			return nodes[0].heard(rev) && nodes[1].heard(rev)
		})
	}
	nudge(7)
	want := make([]sluice.Announcement, 2500)
	for i := range want {
		want[i].ID = sluice.NewClaimID("spring", fmt.Sprint("u", i), sluice.SourceClaim, "r")
		want[i].Reason = []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonSoldOut, sluice.ReasonLimitReached}[i%3]
	}
	if err := speaker.Announce(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		patiently(t, "every outcome is heard", func() bool {
			nodes[i].mu.Lock()
			defer nodes[i].mu.Unlock()
			return len(nodes[i].all) >= len(want)
		})
		if !slices.Equal(nodes[i].all, want) {
			t.Errorf("node %d heard something else", i)
		}
	}
	server.Do("PUBLISH", "sluice:outcomes", "nonsense")
	server.Do("PUBLISH", "sluice:settings", "nonsense")
	for i := range nodes {
		nodes[i].mu.Lock()
		nodes[i].revs = nil
		nodes[i].mu.Unlock()
	}
	server.Kill9()
	server.Start()
	nudge(8)
	if !nodes[0].heard(0) || !nodes[1].heard(0) {
		t.Error("a node was not told that it may have missed something")
	}
	if len(nodes[0].all) != len(want) {
		t.Error("nonsense was taken for outcomes")
	}
}

// TestOutboxOfAReshardedCampaign: what lies in the outboxes of the old shards is read on, until the campaign is not
// followed any more.
func TestOutboxOfAReshardedCampaign(t *testing.T) {
	server := servers.Redis(t)
	client, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := aSale("spring", 1)
	box, err := redis.NewOutbox(client, redis.OutboxConfig{Name: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	box.Follow([]sluice.Campaign{c})
	old := client.OutboxKey(&c, 0)
	if _, err := box.Receive(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	server.Do("XADD", old, "*", redis.OutboxField, "left behind")
	c.Shards = 3
	box.Follow([]sluice.Campaign{c})
	var got []sluice.Delivery
	patiently(t, "what was left behind comes", func() bool {
		more, err := box.Receive(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
		return len(got) > 0
	})
	if string(got[0].Raw) != "left behind" {
		t.Errorf("%+v", got[0])
	}
	if s, err := box.State(t.Context()); err != nil || s.Entries != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := box.Ack(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if n := server.Do("XLEN", old); n != "0" {
		t.Errorf("%s entries are left", n)
	}
	box.Follow(nil)
	if s, err := box.State(t.Context()); err != nil || s.Entries != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAnnouncementsOnACluster: whichever node of it a listener has joined.
func TestAnnouncementsOnACluster(t *testing.T) {
	cluster := servers.RedisCluster(t)
	client, err := redis.Open(t.Context(), redis.Config{URL: cluster.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var all [4]listener
	for i := range all {
		n := redis.NewNews(client, redis.NewsConfig{Outcomes: all[i].outcomes, Settings: all[i].settings})
		n.Start()
		t.Cleanup(n.Stop)
		patiently(t, "it has joined", func() bool { return all[i].heard(0) })
	}
	id := sluice.NewClaimID("spring", "u", sluice.SourceClaim, "r")
	told := []sluice.Announcement{{ID: id, Reason: sluice.ReasonConfirmed}}
	if err := client.Announce(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		patiently(t, "it hears", func() bool {
			all[i].mu.Lock()
			defer all[i].mu.Unlock()
			return slices.Equal(all[i].all, told)
		})
	}
}
