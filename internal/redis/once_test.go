package redis_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestOnce runs the suite of shared state on one Redis and on a Cluster, two nodes each.
func TestOnce(t *testing.T) {
	t.Parallel()
	alone := servers.Redis(t)
	cluster := servers.RedisCluster(t)
	t.Run("alone", func(t *testing.T) { onceSuite(t, alone.URL()) })
	t.Run("Cluster", func(t *testing.T) { onceSuite(t, cluster.URL()) })
}

func onceSuite(t *testing.T, url string) {
	n := 0
	conformance.Once(t, func(t *testing.T) conformance.OnceBench {
		n++
		prefix := "sluice:t" + strconv.Itoa(n) // a store of its own
		var b conformance.OnceBench
		var clients []*redis.Client
		for range 2 {
			c, err := redis.Open(t.Context(), redis.Config{URL: url, Prefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			clients = append(clients, c)
			b.Nodes = append(b.Nodes, redis.NewOnce(c))
		}
		b.Pass = func(_ *testing.T, d time.Duration) { <-time.After(d) }
		b.Lasting = func(t *testing.T) int { return lasting(t, clients[0], prefix) }
		return b
	})
}

// lasting counts the keys under prefix that have no time to live, on all masters.
func lasting(t *testing.T, c *redis.Client, prefix string) (n int) {
	t.Helper()
	all, err := c.TTLs(t.Context(), prefix+":*")
	if err != nil {
		t.Fatal(err)
	}
	for key, ttl := range all {
		if ttl <= 0 || ttl > sluice.MaxOnceTTL {
			t.Logf("%s: %v", key, ttl)
			n++
		}
		if !strings.HasPrefix(key, prefix+":once:{") || len(key) != len(prefix)+len(":once:{}")+32 {
			t.Errorf("a key of another form: %s", key)
		}
	}
	return n
}

// TestOnceWithoutRedis: where the answer is not known, it is an error, never "first".
func TestOnceWithoutRedis(t *testing.T) {
	s := servers.Redis(t)
	c, err := redis.Open(t.Context(), redis.Config{URL: s.URL(), Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := redis.NewOnce(c)
	s.Freeze()
	defer s.Thaw()
	first, err := o.First(t.Context(), "k", time.Minute)
	if first || !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain) {
		t.Errorf("first %v, %v", first, err)
	}
}

// BenchmarkOnce measures keys that come for the first time, 256 at once, on one Redis. ns/op is of one key.
func BenchmarkOnce(b *testing.B) {
	c, err := redis.Open(b.Context(), redis.Config{URL: servers.Redis(b).URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	o := redis.NewOnce(c)
	const atOnce = 256
	var all sync.WaitGroup
	b.ResetTimer()
	for w := range atOnce {
		all.Go(func() {
			for i := w; i < b.N; i += atOnce {
				if first, err := o.First(b.Context(), fmt.Sprint("k", i), 2*time.Minute); !first || err != nil {
					b.Error(first, err)
					return
				}
			}
		})
	}
	all.Wait()
}
