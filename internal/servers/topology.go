//go:build unix

package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
)

// The shape of a cluster.
const (
	clusterMasters = 3
	clusterNodes   = 6
)

// RedisClusterServers are a Redis Cluster: three masters and a replica of each. Nodes are in the order in which they
// were made; who is master can change, see Masters.
type RedisClusterServers struct {
	Nodes []*RedisServer

	t       testing.TB
	proxies map[*RedisServer]*FaultProxy // empty unless Proxied
}

// Proxied puts a proxy before every member of a cluster, and lets the members announce it: clients and replicas go
// through it, the members' own talk does not. A member whose proxy is cut is out of reach and is not failed over.
func Proxied() RedisOption { return func(c *redisConfig) { c.proxied = true } }

// ProxyOf gives the proxy through which clients reach a member.
func (c *RedisClusterServers) ProxyOf(n *RedisServer) *FaultProxy { return c.proxies[n] }

// RedisCluster starts a cluster of the test's own, and returns when every slot is served and every replica is in step.
func RedisCluster(t testing.TB, options ...RedisOption) *RedisClusterServers {
	t.Helper()
	c := &RedisClusterServers{t: t, proxies: map[*RedisServer]*FaultProxy{}}
	addrs := []string{}
	var asked redisConfig
	for _, o := range options {
		o(&asked)
	}
	for range clusterNodes {
		own := append([]RedisOption{
			With("cluster-enabled", "yes"), With("cluster-config-file", "nodes.conf"), With("cluster-node-timeout", "2000"),
			With("cluster-port", strconv.Itoa(freePort(t))), With("repl-diskless-sync-delay", "0"),
			With("appendonly", "yes"), With("save", `""`),
			// Elections of a loaded machine may fail for half a minute: a replica stands for all that time, and after it.
			With("cluster-replica-validity-factor", "0"),
		}, options...)
		announced := 0
		if asked.proxied {
			announced = freePort(t)
			own = append(own, With("cluster-announce-port", strconv.Itoa(announced)))
		}
		n := newRedis(t, own...)
		if asked.proxied {
			c.proxies[n] = proxyAt(t, local(announced), n.Addr)
		}
		n.Start()
		c.Nodes, addrs = append(c.Nodes, n), append(addrs, n.Addr)
	}
	args := append([]string{"--cluster", "create"}, addrs...)
	if out, err := c.Nodes[0].cli(t.Context(), append(args, "--cluster-replicas", "1", "--cluster-yes")...); err != nil {
		t.Fatalf("servers: the cluster is not made: %v\n%s", err, out)
	}
	c.WaitInStep()
	return c
}

// announced is the address that a member tells others.
func (c *RedisClusterServers) announced(n *RedisServer) string {
	if p := c.proxies[n]; p != nil {
		return p.Addr
	}
	return n.Addr
}

// URL names every node.
func (c *RedisClusterServers) URL() string {
	var hosts []string
	for _, n := range c.Nodes {
		hosts = append(hosts, c.announced(n))
	}
	return redisURL(c.Nodes[0].cfg, strings.Join(hosts, ","), "?mode=cluster")
}

// WaitInStep waits until every node that runs sees the whole cluster and every replica has its master's data.
func (c *RedisClusterServers) WaitInStep() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := poll(ctx, func() error {
		for _, n := range c.Nodes {
			if n.proc.pid() == 0 {
				continue
			}
			out, err := n.cli(ctx, "CLUSTER", "INFO")
			switch {
			case err != nil:
				return err
			case !strings.Contains(out, "cluster_state:ok"), !strings.Contains(out, "cluster_slots_ok:16384"):
				return fmt.Errorf("%w: %s", errNotReady, out)
			case n.Info("role") == "slave" && n.Info("master_link_status") != "up":
				return fmt.Errorf("%w: the replica %s is not in step", errNotReady, n.Addr)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatalf("servers: the cluster does not come up: %v", err)
	}
}

// Masters gives the nodes that are masters now, among those that answer.
func (c *RedisClusterServers) Masters() (all []*RedisServer) {
	for _, n := range c.Nodes {
		if n.proc.pid() != 0 && n.Info("role") == "master" {
			all = append(all, n)
		}
	}
	return all
}

// MasterOf gives the node that holds the slot of a key.
func (c *RedisClusterServers) MasterOf(key string) *RedisServer {
	c.t.Helper()
	slot, err := strconv.Atoi(c.Nodes[0].Do("CLUSTER", "KEYSLOT", key))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(c.Nodes[0].Do("CLUSTER", "NODES")) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.Contains(f[2], "master") || strings.Contains(f[2], "fail") {
			continue
		}
		for _, span := range f[8:] {
			var from, to int
			if n, _ := fmt.Sscanf(strings.Replace(span, "-", " ", 1), "%d %d", &from, &to); n == 1 {
				to = from
			}
			if slot < from || slot > to {
				continue
			}
			addr, _, _ := strings.Cut(f[1], "@")
			for _, node := range c.Nodes {
				if c.announced(node) == addr {
					return node
				}
			}
		}
	}
	c.t.Fatalf("servers: no master holds slot %d", slot)
	return nil
}

// FlushAll empties every master.
func (c *RedisClusterServers) FlushAll() {
	for _, n := range c.Masters() {
		n.FlushAll()
	}
}

// SentinelServers are a master, its replica, and the sentinels that watch them.
type SentinelServers struct {
	Master, Replica *RedisServer // as they were at the start
	Sentinels       []*RedisServer
	Name            string // of the master, for the sentinels

	t testing.TB
}

// Sentinel starts a master with one replica under three sentinels; a master that is away for a second is replaced.
// Options are for master and replica.
func Sentinel(t testing.TB, options ...RedisOption) *SentinelServers {
	t.Helper()
	const sentinels, quorum = 3, 2
	s := &SentinelServers{t: t, Name: "mymaster"}
	options = append([]RedisOption{With("repl-diskless-sync-delay", "0")}, options...)
	s.Master = Redis(t, options...)
	host, port, _ := net.SplitHostPort(s.Master.Addr)
	auth := []RedisOption{}
	if s.Master.cfg.user != "" {
		auth = append(auth, With("masteruser", "harness"), With("masterauth", "harness"))
	}
	s.Replica = Redis(t, append(append(options, auth...), With("replicaof", host, port))...)
	for range sentinels {
		watch := []RedisOption{
			func(c *redisConfig) { c.sentinel = true },
			With("sentinel monitor", s.Name, host, port, strconv.Itoa(quorum)),
			With("sentinel down-after-milliseconds", s.Name, "1000"), With("sentinel failover-timeout", s.Name, "4000"),
		}
		if s.Master.cfg.user != "" {
			watch = append(watch, With("sentinel auth-user", s.Name, "harness"),
				With("sentinel auth-pass", s.Name, "harness"))
		}
		n := newRedis(t, watch...)
		n.Start()
		s.Sentinels = append(s.Sentinels, n)
	}
	s.waitKnown()
	return s
}

// waitKnown waits until the replica is in step and every sentinel knows it and the others.
func (s *SentinelServers) waitKnown() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := poll(ctx, func() error {
		if s.Replica.Info("master_link_status") != "up" {
			return fmt.Errorf("%w: the replica is not in step", errNotReady)
		}
		for _, n := range s.Sentinels {
			state := n.Info("master0")
			if !strings.Contains(state, "status=ok,") || !strings.Contains(state, "slaves=1,") ||
				!strings.HasSuffix(state, fmt.Sprintf("sentinels=%d", len(s.Sentinels))) {
				return fmt.Errorf("%w: %s", errNotReady, state)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("servers: the sentinels do not come up: %v", err)
	}
}

// URL names the sentinels and the master that they watch.
func (s *SentinelServers) URL() string {
	var hosts []string
	for _, n := range s.Sentinels {
		hosts = append(hosts, n.Addr)
	}
	return redisURL(s.Master.cfg, strings.Join(hosts, ","), "/0?mode=sentinel&master="+s.Name)
}

// Now gives the server that the sentinels hold for the master.
func (s *SentinelServers) Now() *RedisServer {
	s.t.Helper()
	lines := strings.Fields(s.Sentinels[0].Do("SENTINEL", "get-master-addr-by-name", s.Name))
	if len(lines) == 2 && net.JoinHostPort(lines[0], lines[1]) == s.Replica.Addr {
		return s.Replica
	}
	return s.Master
}
