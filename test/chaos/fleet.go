package chaos

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// Shape says which engines a fleet runs on.
type Shape struct {
	Rabbit  bool   // RabbitMQ between gate and ledger; else the outbox itself
	Cluster bool   // Redis Cluster; else one Redis
	MariaIn string // the folder of MariaDB's data; empty: a temporary one
	Args    []string
	// Alone: only the third node settles, so that settling can be broken apart from selling.
	Alone  bool
	Binary string // the program of every node; empty: the one of this source
}

// Fleet is three nodes and what they run on. Everything a node says to MariaDB, to RabbitMQ and to a single Redis goes
// through a proxy of its own, and so does what buyers say to it. A Redis Cluster has proxies before its members.
type Fleet struct {
	Nodes   []*e2e.Server
	Redis   *servers.RedisServer
	Cluster *servers.RedisClusterServers
	Maria   *servers.MariaDatabase
	Rabbit  *servers.RabbitVhost

	// By node.
	ToRedis, ToMaria, ToRabbit, ToNode []*servers.FaultProxy
}

// nodes is how many there are.
const nodes = 3

const adminKey = e2e.AdminKey

// NewFleet starts a fleet; the test's end stops it.
func NewFleet(tb testing.TB, s Shape) *Fleet {
	tb.Helper()
	f := &Fleet{Maria: servers.OwnMariaDB(tb, s.MariaIn)}
	if s.Rabbit {
		f.Rabbit = servers.OwnRabbit(tb)
	}
	if s.Cluster {
		f.Cluster = servers.RedisCluster(tb, servers.Proxied())
	} else {
		f.Redis = servers.Redis(tb)
	}
	for i := range nodes {
		f.Nodes = append(f.Nodes, f.node(tb, s, i))
	}
	for _, n := range f.Nodes {
		n.WaitReady(tb)
	}
	return f
}

// node starts one node behind proxies of its own.
func (f *Fleet) node(tb testing.TB, s Shape, i int) *e2e.Server {
	tb.Helper()
	proxy := func(all *[]*servers.FaultProxy, addr string) *servers.FaultProxy {
		p := servers.Proxy(tb, addr)
		*all = append(*all, p)
		return p
	}
	args := []string{"--ledger", through(tb, f.Maria.URL, proxy(&f.ToMaria, f.Maria.Addr))}
	if s.Cluster {
		args = append(args, "--admission", f.Cluster.URL())
	} else {
		args = append(args, "--admission", through(tb, f.Redis.URL(), proxy(&f.ToRedis, f.Redis.Addr)))
	}
	if s.Rabbit {
		args = append(args, "--queue", through(tb, f.Rabbit.URL, proxy(&f.ToRabbit, f.Rabbit.Addr)))
	} else {
		args = append(args, "--queue", "redis")
	}
	if s.Alone && i != nodes-1 {
		args = append(args, "--settle-workers", "0")
	}
	n := e2e.Start(tb, e2e.Options{Args: append(args, s.Args...), NoReady: true, Binary: s.Binary})
	u, err := url.Parse(n.URL)
	if err != nil {
		tb.Fatal(err)
	}
	proxy(&f.ToNode, u.Host)
	return n
}

// through puts a proxy's address into a URL.
func through(tb testing.TB, raw string, p *servers.FaultProxy) string {
	tb.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = p.Addr
	return u.String()
}

// Bases gives where buyers go.
func (f *Fleet) Bases() (all []string) {
	for _, p := range f.ToNode {
		all = append(all, "http://"+p.Addr)
	}
	return all
}

// waitKnown waits until every node sells the campaign: its page may be there before its gate is, which looks for the
// campaign before it asks who the buyer is.
func (f *Fleet) waitKnown(tb testing.TB, campaign string) {
	tb.Helper()
	for _, n := range f.Nodes {
		wrong := eventually(20*time.Second, func() string {
			a, err := n.TryAsk("POST", n.URL+"/v1/campaigns/"+campaign+"/claims", "", nil)
			if err != nil || a.Status != http.StatusUnauthorized {
				return fmt.Sprintf("status %d, %v", a.Status, err)
			}
			return ""
		})
		if wrong != "" {
			tb.Fatalf("a node does not know the campaign: %s", wrong)
		}
	}
}

// Row is a claim as it stands in the ledger.
type Row struct {
	ClaimID, User, State string
	Live, Limit          int64
	Rejected             string
}

// Rows reads the claims of the campaign straight from the database.
func (f *Fleet) Rows(tb testing.TB, campaign string) (all []Row) {
	tb.Helper()
	out := f.Maria.Do(`SELECT LOWER(HEX(o.claim_id)), o.user_id, o.state, o.live_units, o.limit_units,
		COALESCE(o.rejected, '-') FROM orders o JOIN campaigns c ON c.no = o.campaign_no WHERE c.id = '` + campaign + `'`)
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 6 {
			tb.Fatalf("a row of the ledger has %d fields: %q", len(fields), line)
		}
		r := Row{ClaimID: fields[0], User: fields[1], State: fields[2], Rejected: fields[5]}
		r.Live, r.Limit = number(tb, fields[3]), number(tb, fields[4])
		all = append(all, r)
	}
	return all
}

// eventually asks until is gives "", at most for the time given, and gives what it said last.
func eventually(within time.Duration, is func() string) (last string) {
	deadline := time.After(within)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if last = is(); last == "" {
			return ""
		}
		select {
		case <-tick.C:
		case <-deadline:
			return last
		}
	}
}
