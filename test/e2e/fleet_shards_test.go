package e2e_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestShardsOfAFleet: a campaign with shards is sold on three nodes over a Cluster, gets more of them and fewer in the
// middle of the sale, by API and command line, and the sum is exact; no user has two.
func TestShardsOfAFleet(t *testing.T) {
	const stock = 600
	redis, maria := servers.RedisCluster(t), servers.MariaDB(t)
	nodes := startNodes(t, 3, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL)
	now := time.Now()
	nodes[0].Admin(t, "POST", "/v1/admin/campaigns", map[string]any{
		"id": "spring", "kind": "goods", "title": "Spring", "total": stock, "per_user_limit": 1, "shards": 3,
		"starts_at": now.Add(-time.Second).Format(time.RFC3339), "ends_at": now.Add(time.Hour).Format(time.RFC3339),
		"goods": map[string]any{"sku": "s", "price_minor": 100, "currency": "EUR"},
	}, 201)
	selling(t, nodes, "spring")
	heard(t, nodes, "three", "QUEUED", 50)
	a := nodes[1].Admin(t, "PATCH", "/v1/admin/campaigns/spring", map[string]any{"shards": 8, "title": "Eight"}, 200)
	if !strings.Contains(string(a.Body), `"shards":8`) || !strings.Contains(string(a.Body), `"title":"Eight"`) {
		t.Errorf("the edit: %s", a.Body)
	}
	heard(t, nodes, "eight", "QUEUED", 50)
	r := e2e.Command(t, e2e.Environment(), "", "campaign", "edit", "spring", "--shards", "2", "--admin-url",
		nodes[2].AdminURL, "--json")
	if r.Code != 0 || !strings.Contains(r.Out, `"shards":2`) && !strings.Contains(r.Out, `"shards": 2`) {
		t.Errorf("the command line: code %d: %s%s", r.Code, r.Out, r.Err)
	}
	sellExactly(t, nodes, maria, stock, 900)
	causes := maria.Do("SELECT CONCAT(epoch, ' ', cause) FROM epochs ORDER BY epoch")
	for i := range 3 {
		if want := strconv.Itoa(i+2) + " planned"; !strings.Contains(causes, want) {
			t.Errorf("the epochs: %s, want %s", causes, want)
		}
	}
	if strings.Contains(causes, "lost") {
		t.Errorf("the epochs: %s", causes)
	}
	for i, n := range nodes {
		if strings.Contains(n.Log(), "a gate is in doubt") {
			t.Errorf("node %d doubts gates that were armed as planned", i)
		}
	}
}
