package redis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestAQueuedClaimIsFoundOnEveryNodeAtOnce asks another node for claims in the moment after they were promised: a node
// that has not yet read the list of holders on must not say that there is no such claim.
func TestAQueuedClaimIsFoundOnEveryNodeAtOnce(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 1)
	a, b := s.open(t, "a", nil), s.open(t, "b", nil)
	if err := b.Put(t.Context(), a.create(t, goods("c", 100, 1))); err != nil {
		t.Fatal(err)
	}
	a.hush(true)
	b.hush(true)
	for i := range 50 {
		c := claimOf("c", fmt.Sprint("u", i), "r", 1)
		if d := insist(a, c, 5*time.Second); d.Reason != sluice.ReasonQueued {
			t.Fatalf("claim %d: %v", i, d.Reason)
		}
		if got, found, err := b.Find(t.Context(), c.ID); err != nil || !found || got.User != c.User {
			t.Fatalf("claim %d at the other node: %+v, %v, %v", i, got, found, err)
		}
		if i == 0 { // from here on the other node has read the list once
			eventually(2*time.Second, func() bool { p, _, _ := b.Permit("c"); return p.Queued == 1 })
			<-time.After(50 * time.Millisecond)
		}
	}
}

// TestUsersOfOneShardGetEveryUnit is pitfall 14: ten units lie in ten shards, and everybody who comes is at home in the
// same one. Nobody hears SOLD_OUT while there is a unit anywhere.
func TestUsersOfOneShardGetEveryUnit(t *testing.T) {
	const shards, units = 10, 10
	s := newSite(t, servers.Redis(t).URL(), shards)
	a, b := s.open(t, "a", nil), s.open(t, "b", nil)
	made := a.create(t, goods("c", units, 1))
	if err := b.Put(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	home := -1
	for i, come := 0, 0; come < units+5; i++ {
		c := claimOf("c", fmt.Sprint("u", i), "r", 1)
		at := redis.HomeShard(&made, c.ID.User())
		if home < 0 {
			home = at
		}
		if at != home {
			continue
		}
		want := sluice.ReasonQueued
		if come >= units {
			want = sluice.ReasonSoldOut
		}
		n := []*node{a, b}[come%2]
		if d := insist(n, c, 10*time.Second); d.Reason != want && !(d.Reason == sluice.ReasonConfirmed && come < units) {
			t.Errorf("buyer %d: %v, want %v", come, d.Reason, want)
		}
		come++
	}
	a.exact(t, "c", units)
}

// keyless are the commands of the scripts that have no key.
var keyless = []string{"TIME", "INFO"}

// TestScriptsNameTheirKeys is pitfall 17: a Cluster looks at KEYS to find where a script is to run, so that a key which
// is not there, or one of another slot, works on one Redis and on no Cluster.
func TestScriptsNameTheirKeys(t *testing.T) {
	call := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(?:, ('[A-Z]+'), ?|, )?([^,)]*)`)
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			// The shared function reads the hash that its caller hands over, which this test sees at the call.
			if key := m[3]; !slices.Contains(keyless, m[1]) && !strings.HasPrefix(key, "KEYS[") && key != "key" {
				t.Errorf("%s: the key of %s is not one of KEYS", file, m[0])
			}
		}
		for _, m := range regexp.MustCompile(`(?:settleCalls|long)\(([^,)]*)`).FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], "KEYS[") && m[1] != "key" {
				t.Errorf("%s: %s", file, m[0])
			}
		}
	}
}

// TestEveryCallHasOneSlot runs each script on a Cluster of three masters, for a campaign of a limit group with several
// shards, and looks at what the sale leaves: keys of one shard in one slot, and none that expires (pitfalls 4 and 17).
func TestEveryCallHasOneSlot(t *testing.T) {
	cluster := servers.RedisCluster(t)
	s := newSite(t, cluster.URL(), 4)
	n := s.open(t, "a", nil)
	for _, id := range []string{"one", "two"} {
		c := goods(id, 20, 2)
		c.LimitGroup = "season"
		n.create(t, c)
	}
	for i := range 20 {
		for _, id := range []string{"one", "two", "two"} {
			insist(n, claimOf(id, fmt.Sprint("u", i), fmt.Sprint("r-", id), 1), 5*time.Second)
		}
	}
	n.exact(t, "one", 20)
	n.exact(t, "two", 20) // what is settled takes its keys away, which would be missed below
	c := aSale("one", 2)
	for name, sample := range redis.SampleArgs(&c) {
		slots := map[int]bool{}
		for _, k := range sample.Keys {
			slots[redis.Slot(tagOf(k))] = true
		}
		if len(slots) != 1 {
			t.Errorf("%s has keys in %d slots", name, len(slots))
		}
		switch code := n.client.Eval(t.Context(), n.client.Sources()[name], sample.Keys, sample.Args); code {
		case "", "ARGS":
		default:
			t.Errorf("%s on a Cluster: %s", name, code)
		}
	}
	seen := map[string]map[string]bool{} // by tag: the campaigns
	for _, m := range cluster.Masters() {
		for _, k := range strings.Fields(m.Do("--scan")) {
			if ttl := m.Do("PTTL", k); ttl != "-1" {
				t.Errorf("%s expires in %s ms", k, ttl)
			}
			tag, parts := tagOf(k), strings.Split(k, ":")
			if seen[tag] == nil {
				seen[tag] = map[string]bool{}
			}
			seen[tag][parts[len(parts)-2]] = true
		}
	}
	shared := 0
	for _, campaigns := range seen {
		if campaigns["one"] && campaigns["two"] {
			shared++
		}
	}
	if shared != 4 {
		t.Errorf("the group shares %d tags, want one for each of 4 shards: %v", shared, seen)
	}
}

// tagOf gives what a Cluster hashes of a key.
func tagOf(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
