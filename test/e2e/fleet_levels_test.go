package e2e_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// startOne starts a node of a fleet; it is not waited for.
func startOne(t *testing.T, name string, args ...string) *e2e.Server {
	t.Helper()
	return e2e.Start(t, e2e.Options{NoReady: true,
		Args: append([]string{"--node-name", name, "--payment-provider", "sandbox"}, args...)})
}

// told claims for new buyers until so many have heard a promise, and gives them with what they heard.
func told(t *testing.T, s *e2e.Server, buyers int) map[string]string {
	t.Helper()
	heard := map[string]string{}
	for i, tries := 0, 0; len(heard) < buyers; tries++ {
		if tries > 2000 {
			t.Fatalf("%d of %d buyers were promised a unit\n%s", len(heard), buyers, s.Log())
		}
		user := "buyer" + strconv.Itoa(i)
		switch code := claim(t, s, "spring", user); code {
		case "QUEUED", "CONFIRMED":
			heard[user] = code
			i++
		case "BUSY", "TOO_FREQUENT", "UNAVAILABLE":
			<-time.After(20 * time.Millisecond)
		default:
			t.Fatalf("%s hears %s", user, code)
		}
	}
	return heard
}

// kept says which of those who were promised a unit have none in the ledger.
func kept(maria *servers.MariaDatabase, heard map[string]string) (missing []string) {
	have := map[string]bool{}
	for _, user := range strings.Fields(maria.Do("SELECT user_id FROM orders WHERE live_units = 1")) {
		have[user] = true
	}
	for user := range heard {
		if !have[user] {
			missing = append(missing, user)
		}
	}
	return missing
}

// TestWhatEachLevelOfAnswerSurvives: right after the last answer everything is destroyed that the level does not rest
// on, and nobody who was promised a unit loses it. Nobody settles before that, where the level is not the ledger.
func TestWhatEachLevelOfAnswerSurvives(t *testing.T) {
	const buyers = 60
	rest := func(t *testing.T, maria *servers.MariaDatabase, heard map[string]string, want string, by *e2e.Server) {
		t.Helper()
		for user, code := range heard {
			if code != want {
				t.Errorf("%s heard %s, want %s", user, code, want)
			}
		}
		if !by.Eventually(40*time.Second, func() bool { return len(kept(maria, heard)) == 0 }) {
			t.Errorf("promised and lost: %v", kept(maria, heard))
		}
	}
	start := func(t *testing.T, redis, queue, ack string, more ...string) (*e2e.Server, *servers.MariaDatabase, []string) {
		t.Helper()
		maria := servers.MariaDB(t)
		args := append([]string{"--admission", redis, "--queue", queue, "--ledger", maria.URL}, more...)
		first := append(append([]string{}, args...), "--admission-ack", ack)
		if ack != "ledger" {
			first = append(first, "--settle-workers", "0")
		}
		node := startOne(t, "first", first...)
		node.WaitReady(t)
		createSale(t, node, "spring", 1000)
		return node, maria, args
	}
	t.Run("permit: Redis forgets everything", func(t *testing.T) {
		redis := servers.Redis(t)
		node, maria, _ := start(t, redis.URL(), "redis", "permit")
		heard := told(t, node, buyers)
		redis.FlushAll()
		rest(t, maria, heard, "QUEUED", node)
	})
	t.Run("replica: the master of Redis and the node die", func(t *testing.T) {
		sentinel := servers.Sentinel(t)
		node, maria, args := start(t, sentinel.URL(), "redis", "replica")
		heard := told(t, node, buyers)
		sentinel.Master.Kill9()
		node.Kill(t)
		rest(t, maria, heard, "QUEUED", startOne(t, "second", args...))
	})
	t.Run("broker: Redis forgets everything and the node dies", func(t *testing.T) {
		redis, rabbit := servers.Redis(t), servers.Rabbit(t)
		node, maria, args := start(t, redis.URL(), rabbit.URL, "broker")
		heard := told(t, node, buyers)
		redis.FlushAll()
		node.Kill(t)
		rest(t, maria, heard, "QUEUED", startOne(t, "second", args...))
	})
	t.Run("ledger: everything else dies", func(t *testing.T) {
		redis, rabbit := servers.Redis(t), servers.Rabbit(t)
		node, maria, _ := start(t, redis.URL(), rabbit.URL, "ledger")
		heard := told(t, node, buyers)
		redis.FlushAll()
		node.Kill(t)
		if lost := kept(maria, heard); len(lost) > 0 {
			t.Errorf("promised and lost: %v", lost)
		}
		rest(t, maria, heard, "CONFIRMED", node)
	})
}

// TestAnAnswerThatWaitsForTheLedgerHasABound: where nobody settles, it is QUEUED after that.
func TestAnAnswerThatWaitsForTheLedgerHasABound(t *testing.T) {
	node := startNodes(t, 1, "--admission", servers.Redis(t).URL(), "--queue", "redis", "--ledger", servers.MariaDB(t).URL,
		"--admission-ack", "ledger", "--admission-ack-wait", "300ms", "--settle-workers", "0")[0]
	createSale(t, node, "spring", 10)
	told(t, node, 1) // armed
	began := time.Now()
	if code := claim(t, node, "spring", "late"); code != "QUEUED" {
		t.Errorf("heard %s", code)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("after %s", took)
	}
}

// TestServeOnGuardedRedis: a node speaks to all its stores by TLS alone, and to a Redis that knows it by name and lets
// it have nothing but its own keys and channels; it sells out exactly on each.
func TestServeOnGuardedRedis(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []servers.RedisOption
	}{
		{"TLS to all", []servers.RedisOption{servers.TLS()}},
		{"a user of its own", []servers.RedisOption{servers.User("sluice", "secret", guardedRules...)}},
		{"both", []servers.RedisOption{servers.TLS(), servers.User("sluice", "secret", guardedRules...)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			redis, maria := servers.Redis(t, tc.options...), servers.MariaDB(t)
			queue, ledger := []string{"redis"}, []string{maria.URL}
			if tc.name == "TLS to all" {
				rabbit := servers.Rabbit(t)
				queue = []string{rabbit.SecureURL, "--rabbitmq-ca", rabbit.CA, "--rabbitmq-cert", rabbit.Cert, "--rabbitmq-key",
					rabbit.Key}
				ledger = []string{maria.URL + "?tls=true", "--mysql-ca", maria.CA}
			}
			args := slices.Concat([]string{"--admission", redis.URL(), "--queue"}, queue, []string{"--ledger"}, ledger)
			if redis.CA != "" {
				args = append(args, "--redis-ca", redis.CA)
			}
			nodes := startNodes(t, 2, args...)
			sellOut(t, nodes, maria, func() {})
			if refused := redis.Do("ACL", "LOG", "1"); refused != "" {
				t.Errorf("the node asked for what it may not: %s", refused)
			}
		})
	}
}

// guardedRules are those that docs/runbooks/redis-lost.md calls enough.
var guardedRules = []string{"~sluice:*", "&sluice:*", "+@all", "-@dangerous", "+info"}

// TestServeThroughAFailover: the master dies in the middle of the sale, and the sale goes on at its replica; the sum is
// exact and no user has two.
func TestServeThroughAFailover(t *testing.T) {
	sentinel, maria := servers.Sentinel(t), servers.MariaDB(t)
	nodes := startNodes(t, 2, "--admission", sentinel.URL(), "--queue", "redis", "--ledger", maria.URL)
	sellOut(t, nodes, maria, sentinel.Master.Kill9)
	if now := sentinel.Now(); now != sentinel.Replica {
		t.Errorf("the master is %s", now.Addr)
	}
}

// sellOut sells 300 units to 600 buyers, in the middle of which something breaks, and counts the rows.
func sellOut(t *testing.T, nodes []*e2e.Server, maria *servers.MariaDatabase, breaks func()) {
	t.Helper()
	const stock, buyers = 300, 600
	createSale(t, nodes[0], "spring", stock)
	selling(t, nodes, "spring")
	told(t, nodes[0], 100)
	breaks()
	sellExactly(t, nodes, maria, stock, buyers)
}
