package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestMain stops the servers that tests share.
func TestMain(m *testing.M) { servers.Main(m) }

// TestThreeNodes sells on three nodes over one Redis and one MariaDB: the sum is exact, counted from rows; a campaign
// and a switch that one node is told of are in force on all three.
func TestThreeNodes(t *testing.T) {
	t.Run("queue in Redis", func(t *testing.T) { threeNodes(t, servers.Redis(t).URL(), "redis") })
	t.Run("RabbitMQ", func(t *testing.T) { threeNodes(t, servers.Redis(t).URL(), servers.Rabbit(t).URL) })
	t.Run("Cluster", func(t *testing.T) { threeNodes(t, servers.RedisCluster(t).URL(), "redis") })
	t.Run("the ledger alone", func(t *testing.T) { threeNodes(t, "ledger", "none") })
}

func threeNodes(t *testing.T, admission, queue string) {
	const stock, buyers = 300, 1500
	maria := servers.MariaDB(t)
	nodes := startNodes(t, 3, "--admission", admission, "--queue", queue, "--ledger", maria.URL)
	createSale(t, nodes[0], "spring", stock)
	selling(t, nodes, "spring")
	codes := sell(t, nodes, "spring", buyers)
	if codes["QUEUED"]+codes["CONFIRMED"] != stock || codes["SOLD_OUT"] != buyers-stock {
		t.Errorf("the buyers heard %v", codes)
	}
	settled := nodes[1].Eventually(20*time.Second, func() bool { return rows(maria, "live_units") == stock })
	if n := rows(maria, "1"); !settled || n != stock {
		t.Errorf("%d rows with %d units, stock %d", n, rows(maria, "live_units"), stock)
	}
	if n := nodes[2]; !n.Eventually(15*time.Second, func() bool { return verified(t, n, "spring") }) {
		t.Errorf("verify: %s", n.Admin(t, "GET", "/v1/admin/campaigns/spring/verify", nil, 200).Body)
	}
	for i, n := range nodes {
		var sum map[string]int
		if !n.Eventually(15*time.Second, func() bool {
			sum = decided(t, n, "spring")
			return sum["QUEUED"]+sum["CONFIRMED"] == stock && sum["SOLD_OUT"] == buyers-stock
		}) {
			t.Errorf("node %d shows %v of the sale", i, sum)
		}
	}
	var set struct {
		Nodes, InForce int
		TookMS         int `json:"took_ms"`
	}
	answer := nodes[1].Admin(t, "PUT", "/v1/admin/switches/closed", map[string]any{"value": 1}, 200)
	body := strings.ReplaceAll(string(answer.Body), "in_force", "InForce")
	e2e.Answer{Body: []byte(body)}.Into(t, &set)
	if set.Nodes != 3 || set.InForce != 3 || set.TookMS > 3000 {
		t.Errorf("the switch: %s", answer.Body)
	}
	for i, n := range nodes {
		if code := claim(t, n, "spring", "late"+strconv.Itoa(i)); code != "CLOSED" {
			t.Errorf("node %d says %s", i, code)
		}
	}
	list := string(nodes[0].Admin(t, "GET", "/v1/admin/nodes", nil, 200).Body)
	if strings.Count(list, `"alive":true`) != 3 {
		t.Errorf("the nodes: %s", list)
	}
}

// startNodes starts n servers of one fleet.
func startNodes(t *testing.T, n int, args ...string) []*e2e.Server {
	t.Helper()
	return startAll(t, false, n, args...)
}

// startAll is startNodes for those that may have to wait for a store: it does not wait for them.
func startAll(t *testing.T, early bool, n int, args ...string) (all []*e2e.Server) {
	t.Helper()
	for i := range n {
		all = append(all, e2e.Start(t, e2e.Options{NoReady: true,
			Args: append([]string{"--node-name", fmt.Sprintf("node%d", i), "--payment-provider", "sandbox"}, args...)}))
	}
	for _, s := range all {
		if !early {
			s.WaitReady(t)
		}
	}
	return all
}

// decided sums what the live view has kept, by reason.
func decided(t *testing.T, s *e2e.Server, id string) map[string]int {
	t.Helper()
	var v struct {
		Buckets []struct {
			Counts map[string]int
		}
	}
	s.Look(t, "/v1/admin/campaigns/"+id+"/live?limit=1200", &v)
	sum := map[string]int{}
	for _, b := range v.Buckets {
		for reason, n := range b.Counts {
			sum[reason] += n
		}
	}
	return sum
}

func createSale(t *testing.T, s *e2e.Server, id string, stock int) {
	t.Helper()
	now := time.Now()
	s.Admin(t, "POST", "/v1/admin/campaigns", map[string]any{
		"id": id, "kind": "goods", "title": "Spring", "total": stock, "per_user_limit": 1,
		"starts_at": now.Add(-time.Second).Format(time.RFC3339), "ends_at": now.Add(time.Hour).Format(time.RFC3339),
		"goods": map[string]any{"sku": "s", "price_minor": 100, "currency": "EUR"},
	}, 201)
}

// selling waits until every node's gate knows the campaign.
func selling(t *testing.T, nodes []*e2e.Server, id string) {
	t.Helper()
	for i, n := range nodes {
		if !n.Eventually(15*time.Second, func() bool { return onSale(t, n, id) }) {
			t.Fatalf("node %d does not sell %s", i, id)
		}
	}
}

// onSale says whether a node's gate knows the campaign: it looks for that before it asks who the buyer is.
func onSale(t *testing.T, s *e2e.Server, id string) bool {
	t.Helper()
	return s.Ask(t, "POST", s.URL+"/v1/campaigns/"+id+"/claims", "", nil).Status == http.StatusUnauthorized
}

func claim(t *testing.T, s *e2e.Server, id, user string) string {
	t.Helper()
	var d struct{ Code string }
	s.Ask(t, "POST", s.URL+"/v1/campaigns/"+id+"/claims", e2e.Token(user),
		map[string]any{"request_id": "r"}).Into(t, &d)
	return d.Code
}

// sellExactly sells the campaign spring to buyers, who are more than its stock, and checks that exactly the stock is in
// the ledger in the end, nobody has two, and verify agrees.
func sellExactly(t *testing.T, nodes []*e2e.Server, maria *servers.MariaDatabase, stock, buyers int) {
	t.Helper()
	codes := sell(t, nodes, "spring", buyers)
	if codes["SOLD_OUT"] == 0 || codes["BUSY"] != 0 {
		t.Errorf("the crowd heard %v", codes)
	}
	if !nodes[0].Eventually(30*time.Second, func() bool { return rows(maria, "live_units") == stock }) {
		t.Errorf("%d units of %d in the ledger", rows(maria, "live_units"), stock)
	}
	twice := maria.Do("SELECT user_id FROM orders WHERE live_units > 0 GROUP BY user_id HAVING COUNT(*) > 1")
	if twice != "" {
		t.Errorf("users with two: %s", twice)
	}
	if n := nodes[len(nodes)-1]; !n.Eventually(20*time.Second, func() bool { return verified(t, n, "spring") }) {
		t.Errorf("verify: %s", n.Admin(t, "GET", "/v1/admin/campaigns/spring/verify", nil, 200).Body)
	}
}

// sell has every buyer claim until there is an answer that is not BUSY, one node after the other, and counts the
// answers.
func sell(t *testing.T, nodes []*e2e.Server, id string, buyers int) map[string]int {
	t.Helper()
	var mu sync.Mutex
	codes := map[string]int{}
	var all sync.WaitGroup
	next := make(chan int)
	for range 32 {
		all.Go(func() {
			for i := range next {
				code := "BUSY"
				again := func() bool { return code == "BUSY" || code == "TOO_FREQUENT" || code == "UNAVAILABLE" }
				for try := 0; try < 600 && again(); try++ {
					if code = claim(t, nodes[(i+try)%len(nodes)], id, fmt.Sprintf("buyer%d", i)); again() {
						<-time.After(50 * time.Millisecond)
					}
				}
				mu.Lock()
				codes[code]++
				mu.Unlock()
			}
		})
	}
	for i := range buyers {
		next <- i
	}
	close(next)
	all.Wait()
	return codes
}

// rows sums a column over the orders in the database itself.
func rows(db *servers.MariaDatabase, what string) int {
	n, _ := strconv.Atoi(db.Do("SELECT COALESCE(SUM(" + what + "), 0) FROM orders"))
	return n
}

func verified(t *testing.T, s *e2e.Server, id string) bool {
	t.Helper()
	var v struct {
		OK                                          bool
		Total, Available, Queued, Held, Sold, Drift int
	}
	return s.Look(t, e2e.VerifyPath(id), &v) && v.OK &&
		v.Total == v.Available+v.Queued+v.Held+v.Sold && v.Queued == 0 && v.Drift == 0
}

// TestTenNodesMigrateAtOnce: ten processes bring one empty database up to date, and none of them fails.
func TestTenNodesMigrateAtOnce(t *testing.T) {
	maria := servers.MariaDB(t)
	env := append(e2e.Environment(), "SLUICE_LEDGER="+maria.URL, "SLUICE_ADMISSION=ledger")
	var all sync.WaitGroup
	var runs [10]e2e.Run
	for i := range runs {
		all.Go(func() { runs[i] = e2e.Command(t, env, "", "migrate", "--data", t.TempDir()) })
	}
	all.Wait()
	for i, r := range runs {
		if r.Code != 0 || !strings.Contains(r.Out, "is up to date") || strings.Contains(r.Out+r.Err, "sluice:sluice") {
			t.Errorf("process %d: code %d: %s%s", i, r.Code, r.Out, r.Err)
		}
	}
	if n := rows(maria, "1"); n != 0 {
		t.Errorf("%d orders", n)
	}
}

// TestNodesNeedTheSameSecrets: a node that would make secrets of its own does not start on a shared ledger.
func TestNodesNeedTheSameSecrets(t *testing.T) {
	maria := servers.MariaDB(t)
	env := append(e2e.Environment("SLUICE_JWT_SECRET="), "SLUICE_LEDGER="+maria.URL, "SLUICE_ADMISSION=ledger")
	r := e2e.Command(t, env, "", "serve", "--data", t.TempDir(), "--listen", e2e.FreeAddr(t),
		"--admin-listen", e2e.FreeAddr(t))
	if r.Code != 1 || !strings.Contains(r.Err, "jwt.secret is not set") || !strings.Contains(r.Err, "SLUICE_JWT_SECRET=") {
		t.Errorf("code %d: %s", r.Code, r.Err)
	}
}

// TestSwitchesWhileAStoreIsAway: one store after the other is killed, and frozen, under three nodes; a switch is in
// force on all of them within 3 s each time, and in the end the audit log has every act once.
func TestSwitchesWhileAStoreIsAway(t *testing.T) {
	redis, maria := servers.Redis(t), servers.OwnMariaDB(t, "")
	nodes := startNodes(t, 3, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL)
	steps := []struct {
		name           string
		breaks, mends  func()
		beforeItIsSeen bool // at once, not after the nodes have noticed
	}{
		{"MariaDB killed", maria.Kill9, maria.Start, false},
		{"MariaDB frozen", maria.Freeze, maria.Thaw, true},
		{"Redis killed", redis.Kill9, redis.Start, false},
		{"Redis frozen", redis.Freeze, redis.Thaw, true},
	}
	for i, step := range steps {
		step.breaks()
		if !step.beforeItIsSeen {
			<-time.After(time.Second)
		}
		began := time.Now()
		a := nodes[i%3].Admin(t, "PUT", "/v1/admin/switches/max_rate", map[string]any{"value": 1000 + i}, 200)
		took := time.Since(began)
		if took > 6*time.Second { // it is bounded by 3.5 s in the server
			t.Errorf("%s: the answer took %s", step.name, took)
		}
		var r struct {
			Nodes   int `json:"nodes"`
			InForce int `json:"in_force"`
		}
		a.Into(t, &r)
		has := 0
		for _, n := range nodes {
			if metric(t, n, `sluice_switch{switch="max_rate"}`) == strconv.Itoa(1000+i) {
				has++
			}
		}
		if r.Nodes != 3 || r.InForce > has { // fewer is an honest answer of nodes that had no processor in this time
			t.Errorf("%s: in force on %d, and the answer is %s", step.name, has, a.Body)
		}
		t.Logf("%s: in force on %d of 3 nodes after %s", step.name, r.InForce, took)
		for j, n := range nodes {
			if !n.Eventually(10*time.Second, func() bool {
				return metric(t, n, `sluice_switch{switch="max_rate"}`) == strconv.Itoa(1000+i)
			}) {
				t.Errorf("%s: node %d never has it in force", step.name, j)
			}
		}
		step.mends()
		recorded := nodes[0].Eventually(20*time.Second, func() bool {
			return strings.Count(maria.Do("SELECT action FROM audit_log WHERE action LIKE 'switch%'"), "switch") == i+1
		})
		if !recorded {
			t.Errorf("%s: the audit log has %s", step.name,
				maria.Do("SELECT action, object, after_json FROM audit_log WHERE action LIKE 'switch%'"))
		}
	}
}

// metric gives the value of one series of a node.
func metric(t *testing.T, s *e2e.Server, series string) string {
	t.Helper()
	a := s.Ask(t, "GET", s.AdminURL+"/metrics", "", nil)
	for line := range strings.Lines(string(a.Body)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			return v
		}
	}
	return "nothing"
}

// TestDegradedToTheLedgerAndBack: with the policy ledger the sale goes on in SQL while Redis is away, and in Redis
// again once it is back, in a new epoch; the sum over both is exact, and no user has two.
func TestDegradedToTheLedgerAndBack(t *testing.T) {
	const stock = 600
	redis, maria := servers.Redis(t), servers.MariaDB(t)
	nodes := startNodes(t, 3, "--admission", redis.URL(), "--queue", "redis", "--ledger", maria.URL,
		"--degraded-policy", "ledger")
	createSale(t, nodes[0], "spring", stock)
	next := 0
	until := func(want string, n int) {
		t.Helper()
		for got, tries := 0, 0; got < n; tries++ {
			if tries > 600 {
				t.Fatalf("%d of %d buyers heard %s", got, n, want)
			}
			code := claim(t, nodes[tries%3], "spring", "buyer"+strconv.Itoa(next))
			switch code {
			case want:
				got, next = got+1, next+1
			case "QUEUED", "CONFIRMED": // the other road still
				next++
				<-time.After(100 * time.Millisecond)
			default:
				<-time.After(50 * time.Millisecond)
			}
		}
	}
	until("QUEUED", 20)
	redis.Kill9()
	until("CONFIRMED", 20)
	tell := func(cut bool) {
		t.Helper()
		var all struct {
			Items []struct {
				Epochs  map[string]int64 `json:"epochs"`
				Breaker *struct {
					Open bool `json:"open"`
				} `json:"breaker"`
			} `json:"items"`
		}
		if !nodes[1].Eventually(15*time.Second, func() bool {
			nodes[1].Admin(t, "GET", "/v1/admin/nodes", nil, 200).Into(t, &all)
			epochs, told := map[int64]bool{}, 0
			for _, n := range all.Items {
				if n.Breaker != nil && n.Breaker.Open == cut {
					epochs[n.Epochs["spring"]], told = true, told+1
				}
			}
			return told == 3 && len(epochs) == 1
		}) {
			t.Errorf("with the breaker open %v: %+v", cut, all)
		}
	}
	tell(true)
	redis.Empty()
	redis.Start()
	until("QUEUED", 10)
	tell(false)
	sellExactly(t, nodes, maria, stock, 900)
}
