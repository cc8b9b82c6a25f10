package e2e_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// promiseOf is what a buyer is told of a claim.
type promiseOf struct {
	Code, State, Receipt string
	ClaimID              string `json:"claim_id"`
	Replayed             bool
}

// TestLostHasAnEnd: Redis's memory and the node that answered go together, under the level that rests on them. Who was
// promised a unit is told, on another node, that it is lost, and hears that ever after; the unit is on sale again.
func TestLostHasAnEnd(t *testing.T) {
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL,
		"--settle-workers", "0", "--settle-lost-grace", "2s")
	first, second := nodes[0], nodes[1]
	createSale(t, first, "spring", 10)
	selling(t, nodes, "spring")
	post := func(n *e2e.Server, request string) (p promiseOf) {
		n.Eventually(20*time.Second, func() bool {
			n.Ask(t, "POST", n.URL+"/v1/campaigns/spring/claims", e2e.Token("alice"),
				map[string]any{"request_id": request}).Into(t, &p)
			return p.Code != "BUSY" && p.Code != "TOO_FREQUENT"
		})
		return p
	}
	told := post(first, "r")
	if told.Code != "QUEUED" || told.Receipt == "" {
		t.Fatalf("promised: %+v", told)
	}
	ask := func(user, receipt string) (p promiseOf, status int) {
		uri := second.URL + "/v1/claims/" + told.ClaimID
		if receipt != "" {
			uri += "?receipt=" + url.QueryEscape(receipt)
		}
		a := second.Ask(t, "GET", uri, e2e.Token(user), nil)
		if a.Status == 200 {
			a.Into(t, &p)
		}
		return p, a.Status
	}
	if p, status := ask("alice", ""); status != 200 || p.State != "queued" || p.Receipt == "" {
		t.Errorf("on the other node: %d %+v", status, p)
	}
	first.Kill(t)
	redis.FlushAll()
	was := "queued"
	if !second.Eventually(40*time.Second, func() bool {
		p, status := ask("alice", told.Receipt)
		if status == 200 && p.State != "queued" {
			was = p.State + " " + p.Code
		} else if status != 200 && status != 503 {
			t.Errorf("while it may turn up: %d", status)
		}
		return was != "queued"
	}) || was != "rejected LOST" {
		t.Fatalf("in the end it is %s\n%s", was, second.Log())
	}
	for _, receipt := range []string{told.Receipt, ""} {
		if p, status := ask("alice", receipt); status != 200 || p.Code != "LOST" || p.State != "rejected" {
			t.Errorf("asked again: %d %+v", status, p)
		}
	}
	if _, status := ask("bob", told.Receipt); status != 404 {
		t.Errorf("somebody else with the receipt: %d", status)
	}
	if p := post(second, "r"); p.Code != "LOST" || p.State != "rejected" || !p.Replayed {
		t.Errorf("the same request once more: %+v", p)
	}
	if p := post(second, "another"); p.Code != "QUEUED" {
		t.Errorf("her limit is not taken: %+v", p)
	}
	if n := maria.Do("SELECT COUNT(*) FROM orders WHERE rejected = 'LOST' AND live_units = 0"); n != "1" {
		t.Errorf("%s rows are lost", n)
	}
	var v struct {
		OK                            bool
		Total, Available, Held, Queue int64
	}
	second.Admin(t, "GET", "/v1/admin/campaigns/spring/verify", nil, 200).Into(t, &v)
	if !v.OK || v.Total != 10 || v.Available != 9 {
		t.Errorf("the sum: %+v", v)
	}
}
