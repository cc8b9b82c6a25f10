package redis_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
)

// TestAFailoverInTheMiddleOfACrowd kills a master whose replica takes over, on a Cluster and under Sentinel. What the
// replica had not got is forgotten by the gate and remembered by the node.
func TestAFailoverInTheMiddleOfACrowd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		shards int
		open   func(t *testing.T) (url string, kill func())
	}{
		{"Cluster", 4, func(t *testing.T) (string, func()) {
			c := servers.RedisCluster(t)
			return c.URL(), func() { c.Masters()[0].Kill9() }
		}},
		{"Sentinel", 1, func(t *testing.T) (string, func()) {
			s := servers.Sentinel(t)
			return s.URL(), func() { s.Now().Kill9() }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url, kill := tc.open(t)
			s := newSite(t, url, tc.shards)
			n := s.open(t, "n1", hasty)
			n.create(t, goods("c", 150, 1))
			epoch, _ := n.Campaign("c")
			var killed sync.WaitGroup
			killed.Go(func() { <-time.After(300 * time.Millisecond); kill() })
			answers := crowdOf(n, "c", 200, time.Minute)
			killed.Wait()
			if !eventually(30*time.Second, func() bool {
				is, _ := n.Campaign("c")
				armed, err := n.rearm.Armed(t.Context(), is)
				return is.Epoch > epoch.Epoch && armed && err == nil
			}) {
				t.Error("the gates were not armed anew after another server took over")
			}
			holds(t, n, "c", answers, 150)
		})
	}
}
