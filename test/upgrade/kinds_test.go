package upgrade

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// site is what the nodes of a test share.
type site struct {
	redis *servers.RedisServer
	maria *servers.MariaDatabase
	queue string
}

func newSite(t *testing.T) *site {
	return &site{redis: servers.Redis(t), maria: servers.MariaDB(t), queue: "redis"}
}

// start starts a node of a version; program is empty for this one.
func (s *site) start(t *testing.T, program string, args ...string) *e2e.Server {
	t.Helper()
	own := []string{"--admission", s.redis.URL(), "--ledger", s.maria.URL, "--queue", s.queue}
	return e2e.Start(t, e2e.Options{Binary: program, Args: append(own, args...)})
}

// buy has so many buyers take a unit each at a node, and fails where one does not get it.
func buy(t *testing.T, n *e2e.Server, campaign, prefix string, buyers int) (ids []string) {
	t.Helper()
	for i := range buyers {
		var a e2e.Claim
		ok := n.Eventually(20*time.Second, func() bool {
			var err error
			a, err = n.TryClaim(campaign, fmt.Sprint(prefix, i), "r", 1)
			return err == nil && (a.Code == "QUEUED" || a.Code == "CONFIRMED")
		})
		if !ok {
			t.Fatalf("%s%d: %+v", prefix, i, a)
		}
		ids = append(ids, a.ClaimID)
	}
	return ids
}

// exact waits until so many units are in the ledger, nothing is on its way and every sum comes out.
func exact(t *testing.T, n *e2e.Server, campaign string, units int) {
	t.Helper()
	var v struct {
		OK                                          bool
		Total, Available, Queued, Held, Sold, Drift int
	}
	if !n.Eventually(20*time.Second, func() bool {
		return n.Look(t, e2e.VerifyPath(campaign), &v) && v.OK &&
			v.Queued == 0 && v.Drift == 0 && v.Held+v.Sold == units && v.Available+units == v.Total
	}) {
		t.Errorf("%d units: %+v", units, v)
	}
}

// TestASchemaToComeIsTolerated has this version start on a schema with one migration, a table and columns that it does
// not know, migrate it and sell on it; and a switch is set that it does not know.
func TestASchemaToComeIsTolerated(t *testing.T) {
	s := newSite(t)
	s.start(t, versions.Next(t).Path).Stop(t)
	if n := s.maria.Do("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() " +
		"AND COLUMN_NAME LIKE 'future%'"); strings.TrimSpace(n) != "4" {
		t.Fatalf("the version to come has left %s columns", n)
	}
	n := s.start(t, "", "--payment-provider", "sandbox")
	env := append(e2e.Environment(), "SLUICE_LEDGER="+s.maria.URL, "SLUICE_ADMISSION=ledger")
	if r := e2e.Command(t, env, "", "migrate", "--data", t.TempDir()); r.Code != 0 {
		t.Errorf("migrate: %d %s%s", r.Code, r.Out, r.Err)
	}
	s.maria.Do(`INSERT INTO switches (name, campaign, value, reason, author, at_ms, future_scope)
		VALUES ('not_of_this_version', '', 1, 'to come', 'next', 1, 'x')`)
	s.maria.Do(`UPDATE settings_rev SET rev = rev + 1`)
	n.Create(t, e2e.Goods("spring", 20, 1, nil))
	buy(t, n, "spring", "u", 10)
	exact(t, n, "spring", 10)
	n.Admin(t, "PUT", "/v1/admin/switches/max_rate", map[string]any{"value": 1000}, 200)
	if log := n.Log(); strings.Contains(log, "level=ERROR") {
		t.Errorf("its log: %s", log)
	}
	n.Stop(t) // and once more, with everything that is there by now
	n.Restart(t)
	buy(t, n, "spring", "v", 10)
	exact(t, n, "spring", 20)
	if left := s.maria.Do(`SELECT value FROM switches WHERE name = 'not_of_this_version'`); !strings.HasPrefix(left, "1") {
		t.Errorf("the switch of the version to come is gone: %q", left)
	}
}

// TestScriptsOfTwoVersionsSideBySide: scripts are called by a hash of their text, so that those of two versions are two
// scripts, and each node runs its own.
func TestScriptsOfTwoVersionsSideBySide(t *testing.T) {
	s := newSite(t)
	a := s.start(t, "")
	a.Create(t, e2e.Goods("spring", 40, 1, nil))
	buy(t, a, "spring", "a", 10)
	scripts := func() int {
		n, err := strconv.Atoi(s.redis.Info("number_of_cached_scripts"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	one := scripts()
	b := s.start(t, versions.Next(t).Path)
	buy(t, b, "spring", "b", 10)
	if two := scripts(); two <= one {
		t.Errorf("%d scripts with one version, %d with two: the other version has no scripts of its own", one, two)
	}
	for i := range 10 { // in turn, and over a restart that forgets all scripts of both
		if i == 5 {
			s.redis.Do("SCRIPT", "FLUSH")
		}
		buy(t, a, "spring", fmt.Sprint("c", i, "-"), 1)
		buy(t, b, "spring", fmt.Sprint("d", i, "-"), 1)
	}
	exact(t, a, "spring", 40)
	exact(t, b, "spring", 40)
}

// TestAMessageOfAnUnknownVersionWaits has claims admitted by a version whose messages this one cannot read, and settled
// by this one: they become dead letters, nothing freezes, nobody hears that there is no such claim; and a node that
// can read them replays them.
func TestAMessageOfAnUnknownVersionWaits(t *testing.T) {
	for _, queue := range []string{"redis", "RabbitMQ"} {
		t.Run(queue, func(t *testing.T) {
			s := newSite(t)
			if queue == "RabbitMQ" {
				s.queue = servers.Rabbit(t).URL
			}
			unknownVersion(t, s)
		})
	}
}

func unknownVersion(t *testing.T, s *site) {
	const claims = 5
	future := versions.Messages(t).Path
	seller := s.start(t, future, "--settle-workers", "0")
	old := s.start(t, "")
	seller.Create(t, e2e.Goods("spring", 20, 1, nil))
	ids := buy(t, seller, "spring", "u", claims)
	if kept := letters(t, old, claims); !strings.Contains(kept, "version") {
		t.Fatalf("the dead letters do not say what is wrong: %s", kept)
	}
	token := e2e.Token("u0")
	state := func(n *e2e.Server) (string, int) {
		a := n.Ask(t, "GET", n.URL+"/v1/claims/"+ids[0], token, nil)
		var c struct{ State string }
		a.Into(t, &c)
		return c.State, a.Status
	}
	if got, status := state(seller); got != "queued" {
		t.Errorf("at the node that admitted it the claim is %q, status %d", got, status)
	}
	if got, status := state(old); status == 404 {
		t.Errorf("the old node says that there is no such claim (%q)", got)
	}
	run := old.Admin(t, "POST", "/v1/admin/reconcile", map[string]any{"campaign_id": "spring"}, 200)
	var c struct{ State string }
	old.Admin(t, "GET", "/v1/admin/campaigns/spring", nil, 200).Into(t, &c)
	if c.State != "live" {
		t.Errorf("the campaign is %s: %s", c.State, run.Body)
	}
	buy(t, old, "spring", "v", 3) // the old version's own claims go on
	reader := s.start(t, future)
	// The relay of a new node writes what an old one admitted in its own version, so that there may be more of them.
	replayed := 0
	for range 20 {
		var done struct{ Done, Failed int }
		as := time.Now().UTC().Format(time.RFC3339Nano)
		reader.Admin(t, "POST", "/v1/admin/dead-letters/replay", map[string]any{"as_of": as}, 200).Into(t, &done)
		if replayed += done.Done; done.Failed != 0 {
			t.Errorf("replayed: %+v", done)
		}
		if replayed >= claims && done.Done == 0 {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	if replayed < claims {
		t.Errorf("%d of %d claims were replayed", replayed, claims)
	}
	exact(t, reader, "spring", claims+3)
	if got, _ := state(old); got != "confirmed" {
		t.Errorf("in the end the claim is %q", got)
	}
}

// letters waits until a node has so many dead letters, and gives the list.
func letters(t *testing.T, n *e2e.Server, want int) (list string) {
	t.Helper()
	ok := n.Eventually(20*time.Second, func() bool {
		var page struct{ Items []struct{ Error string } }
		var raw json.RawMessage
		if !n.Look(t, "/v1/admin/dead-letters", &raw) {
			return false
		}
		e2e.Answer{Body: raw}.Into(t, &page)
		list = string(raw)
		return len(page.Items) == want
	})
	if !ok {
		t.Fatalf("%d dead letters are wanted: %s", want, list)
	}
	return list
}
