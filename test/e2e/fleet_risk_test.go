package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// riskAnswer is what a buyer hears.
type riskAnswer struct {
	Code      string   `json:"code"`
	Reference string   `json:"reference"`
	OrderID   string   `json:"order_id"`
	Claims    []string `json:"claims"`
}

// claimOn claims for a user on a device.
func claimOn(t *testing.T, s *e2e.Server, campaign, user, device string) (d riskAnswer) {
	t.Helper()
	s.Ask(t, "POST", s.URL+"/v1/campaigns/"+campaign+"/claims", e2e.Token(user, "did", device),
		map[string]any{"request_id": "r-" + campaign}).Into(t, &d)
	return d
}

// TestRiskRulesOfAFleet: a rule is in force on both nodes within 3 s, counts what both see, acts on both, is lifted
// on both, and gives way to the allowlist on both.
func TestRiskRulesOfAFleet(t *testing.T) {
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL)
	createSale(t, nodes[0], "spring", 100)
	selling(t, nodes, "spring")
	rule := map[string]any{"rule": "accounts per device > 5 in 10m -> block 15m", "mode": "on"}
	began := time.Now()
	nodes[0].Admin(t, "PUT", "/v1/admin/rules/farm", rule, 200)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	// Three accounts at each node: neither has seen more than the threshold by itself.
	for i := range 6 {
		if d := claimOn(t, nodes[i%2], "spring", fmt.Sprint("bot", i), "farm-device"); d.Code == "BLOCKED" {
			t.Fatalf("account %d of 6 is blocked", i)
		}
	}
	var refused riskAnswer
	for at, n := range nodes {
		try := 0
		if !n.Eventually(15*time.Second, func() bool {
			try++ // whoever has a claim is told so, whatever the rules say now
			refused = claimOn(t, n, "spring", fmt.Sprint("late", at, "-", try), "farm-device")
			return refused.Code == "BLOCKED"
		}) {
			t.Fatalf("node %d: %+v", at, refused)
		}
	}
	if d := claimOn(t, nodes[1], "spring", "honest", "own-device"); d.Code == "BLOCKED" {
		t.Error("somebody else is blocked")
	}
	fired := string(nodes[1].Admin(t, "GET", "/v1/admin/rules/fired?value=farm-device", nil, 200).Body)
	if !strings.Contains(fired, refused.Reference) || !strings.Contains(fired, "accounts per device") {
		t.Errorf("what fired: %s", fired)
	}
	for {
		nodes[0].Admin(t, "POST", "/v1/admin/rules/fired/"+refused.Reference+"/lift", nil, 200)
		lifted := claimOn(t, nodes[0], "spring", "bot8", "farm-device")
		if lifted.Code != "BLOCKED" {
			break
		}
		refused = lifted // both nodes may have made a record at the same time
	}
	if !nodes[1].Eventually(3*time.Second, func() bool {
		return claimOn(t, nodes[1], "spring", "bot9", "farm-device").Code != "BLOCKED"
	}) {
		t.Error("lifted on one node, and blocked on the other after 3 s")
	}
	nodes[1].Admin(t, "POST", "/v1/admin/blocklist", map[string]any{"scope": "user", "value": "vip"}, 201)
	nodes[1].Admin(t, "POST", "/v1/admin/allowlist", map[string]any{"scope": "user", "value": "vip"}, 201)
	if !nodes[0].Eventually(3*time.Second, func() bool {
		return claimOn(t, nodes[0], "spring", "vip", "vip-device").Code != "BLOCKED"
	}) {
		t.Error("the allowlist does not beat the blocklist on the other node")
	}
}

// TestHoldingOfAFleet: a user has one unpaid order, whichever node and campaign is asked, and another one once it is
// paid.
func TestHoldingOfAFleet(t *testing.T) {
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL,
		"--holding-per-user", "1")
	for _, id := range []string{"spring", "autumn"} {
		createSale(t, nodes[0], id, 100)
		selling(t, nodes, id)
	}
	var first riskAnswer
	if !nodes[0].Eventually(20*time.Second, func() bool { // until the gate is armed
		first = claimOn(t, nodes[0], "spring", "u1", "d1")
		return first.Code == "QUEUED" || first.Code == "CONFIRMED"
	}) {
		t.Fatalf("%+v", first)
	}
	var second riskAnswer
	nodes[1].Eventually(20*time.Second, func() bool { // until that gate is armed too
		second = claimOn(t, nodes[1], "autumn", "u1", "d2")
		return second.Code != "BUSY"
	})
	if second.Code != "LIMIT_REACHED" || len(second.Claims) != 1 {
		t.Fatalf("a second unpaid order: %+v", second)
	}
	if d := claimOn(t, nodes[1], "spring", "u1", "d1"); d.Code != "QUEUED" && d.Code != "CONFIRMED" {
		t.Errorf("the first claim again: %+v", d)
	}
	order := "ord_" + strings.TrimPrefix(second.Claims[0], "clm_")
	if !nodes[1].Eventually(20*time.Second, func() bool {
		return nodes[1].Ask(t, "POST", nodes[1].URL+"/v1/orders/"+order+"/pay", e2e.Token("u1"), nil).Status == 200
	}) {
		t.Fatal("the order could not be paid")
	}
	if !nodes[1].Eventually(20*time.Second, func() bool {
		second = claimOn(t, nodes[1], "autumn", "u1", "d2")
		return second.Code == "QUEUED" || second.Code == "CONFIRMED"
	}) {
		t.Errorf("paid, and the next order: %+v", second)
	}
}
