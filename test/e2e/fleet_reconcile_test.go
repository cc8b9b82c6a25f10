package e2e_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestReconcileAFleet: in the middle of a sale gates and ledger are compared by hand, on any node, and agree to the
// unit; a total that somebody changes behind the one door is found at once and freezes the campaign everywhere.
func TestReconcileAFleet(t *testing.T) {
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL)
	createSale(t, nodes[0], "spring", 500)
	told(t, nodes[0], 100)
	verb := func(args ...string) e2e.Run {
		t.Helper()
		r := e2e.Command(t, e2e.Environment(), "", append(args, "--admin-url", nodes[1].AdminURL, "--json")...)
		r.Out = strings.Join(strings.Fields(r.Out), "")
		return r
	}
	if r := verb("reconcile", "run", "spring"); r.Code != 0 || !strings.Contains(r.Out, `"total":500`) {
		t.Errorf("in the middle of the sale: code %d: %s%s", r.Code, r.Out, r.Err)
	}
	if r := verb("verify", "spring"); r.Code != 0 {
		t.Errorf("verify in the middle of the sale: code %d: %s%s", r.Code, r.Out, r.Err)
	}
	if r := verb("reconcile", "rearm", "spring"); r.Code != 0 || !strings.Contains(r.Out, `"epoch":3`) {
		t.Errorf("armed anew by hand: code %d: %s%s", r.Code, r.Out, r.Err)
	}
	var gate struct {
		Items []struct{ Epoch, Available, Live int64 }
	}
	nodes[1].Admin(t, "GET", "/v1/admin/campaigns/spring/shards", nil, 200).Into(t, &gate)
	if len(gate.Items) != 1 || gate.Items[0].Epoch != 3 || gate.Items[0].Available+gate.Items[0].Live != 500 {
		t.Errorf("the shards of the gate: %+v", gate.Items)
	}
	maria.Do("UPDATE campaigns SET total = total + 1 WHERE id = 'spring'")
	if r := verb("reconcile", "run", "spring"); r.Code != 4 || !strings.Contains(r.Out, `"kind":"total"`) {
		t.Errorf("a total that was changed behind the door: code %d: %s%s", r.Code, r.Out, r.Err)
	}
	late := 0
	for i, n := range nodes {
		if !n.Eventually(15*time.Second, func() bool {
			late++
			return claim(t, n, "spring", "late"+strconv.Itoa(late)) == "PAUSED"
		}) {
			t.Errorf("node %d still sells", i)
		}
	}
	r := verb("reconcile", "list", "--campaign", "spring")
	if r.Code != 0 || strings.Count(r.Out, `"campaign_id":"spring"`) < 2 {
		t.Errorf("the runs on record: code %d: %s%s", r.Code, r.Out, r.Err)
	}
}
