package e2e_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// flip sets a switch on one node, or clears it, and wants it in force on all of them.
func flip(t *testing.T, nodes []*e2e.Server, at int, name string, value any) {
	t.Helper()
	var set struct {
		Nodes   int `json:"nodes"`
		InForce int `json:"in_force"`
	}
	if value == nil {
		nodes[at].Admin(t, "DELETE", "/v1/admin/switches/"+name, nil, 200).Into(t, &set)
	} else {
		nodes[at].Admin(t, "PUT", "/v1/admin/switches/"+name, map[string]any{"value": value}, 200).Into(t, &set)
	}
	if set.Nodes != len(nodes) || set.InForce != len(nodes) {
		t.Fatalf("%s is in force on %d of %d nodes", name, set.InForce, set.Nodes)
	}
}

// heard claims for new buyers, one node after the other, until so many in a row have heard what is wanted.
func heard(t *testing.T, nodes []*e2e.Server, prefix, want string, inARow int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, row := "", 0
	for i := 0; row < inARow; i++ {
		if last = claim(t, nodes[i%len(nodes)], "spring", prefix+strconv.Itoa(i)); last == want {
			row++
		} else {
			row = 0
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("buyers hear %s, not %s", last, want)
		}
	}
}

// TestSwitchesOfAFleet: what operators set in the middle of a sale, on any node, does what it says on all three,
// and the sum is exact to the unit when all of it is over.
func TestSwitchesOfAFleet(t *testing.T) {
	const stock = 400
	redis, maria, rabbit := servers.Redis(t), servers.MariaDB(t), servers.Rabbit(t)
	nodes := startNodes(t, 3, "--admission", redis.URL(), "--queue", rabbit.URL, "--ledger", maria.URL)
	createSale(t, nodes[0], "spring", stock)
	selling(t, nodes, "spring")
	settled := func(what string) {
		t.Helper()
		claimed := 0
		if !nodes[0].Eventually(20*time.Second, func() bool {
			claimed = rows(maria, "1")
			v := struct{ Queued int }{-1}
			return nodes[1].Look(t, e2e.VerifyPath("spring"), &v) && v.Queued == 0
		}) {
			t.Fatalf("%s: claims are not settled; %d rows", what, claimed)
		}
	}
	heard(t, nodes, "before", "QUEUED", 9)
	settled("by the broker")

	flip(t, nodes, 1, "paused", 1)
	heard(t, nodes, "paused", "PAUSED", 9)
	flip(t, nodes, 2, "paused", nil)

	flip(t, nodes, 2, "bypass_broker", 1)
	rabbit.Freeze()
	heard(t, nodes, "bypass", "QUEUED", 9)
	settled("around a broker that is frozen")
	rabbit.Thaw()
	flip(t, nodes, 0, "bypass_broker", nil)

	flip(t, nodes, 0, "settlers", 1)
	heard(t, nodes, "settlers", "QUEUED", 9)
	settled("by one settler a node")
	flip(t, nodes, 0, "settlers", nil)

	flip(t, nodes, 1, "degraded", 1)
	heard(t, nodes, "sql", "CONFIRMED", 12)
	if open := redis.Do("HGET", "sluice:{c:spring}:spring:gate", "open"); open != "0" {
		t.Errorf("the gate that nobody should ask is open: %q", open)
	}
	flip(t, nodes, 2, "degraded", nil)
	heard(t, nodes, "back", "QUEUED", 9)
	settled("after the return")

	codes := sell(t, nodes, "spring", 700)
	if codes["SOLD_OUT"] == 0 || codes["BUSY"] != 0 {
		t.Errorf("the crowd heard %v", codes)
	}
	if !nodes[0].Eventually(20*time.Second, func() bool { return rows(maria, "live_units") == stock }) {
		t.Errorf("%d units of %d in the ledger", rows(maria, "live_units"), stock)
	}
	if n := nodes[2]; !n.Eventually(20*time.Second, func() bool { return verified(t, n, "spring") }) {
		t.Errorf("verify: %s", n.Admin(t, "GET", "/v1/admin/campaigns/spring/verify", nil, 200).Body)
	}
}
