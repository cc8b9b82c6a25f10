package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Bounds of an inspection.
const (
	inspectKeys  = 2000 // of one server, looked at for whose they are
	inspectPage  = 500
	clusterSlots = slots
)

// ServerFacts are what one server of a Redis says of itself. What it does not say, as where the user may not ask, is
// empty.
type ServerFacts struct {
	Addr, Version, Role string
	AppendOnly          bool
	AppendFsync         string // always, everysec, no
	LastWrite           string // of the append-only file: ok, err
	MaxMemory           int64  // bytes; 0: no bound
	MaxMemoryPolicy     string
	UsedMemory          int64
	Replicas            int
	SlowCalls           int64         // in the slow log
	SlowerThan          time.Duration // what the slow log keeps
	Skew                time.Duration // its clock less this machine's
	Keys, ForeignKeys   int64         // of a sample; those that do not begin with the prefix
}

// Inspection is what a Redis is and how it is set up.
type Inspection struct {
	Servers      []ServerFacts
	Cluster      bool
	SlotsCovered int // of 16,384, on a Cluster
}

// Inspect asks every server. A server that does not answer is the error.
func (c *Client) Inspect(ctx context.Context) (in Inspection, err error) {
	in.Cluster = c.cluster
	for addr, node := range c.rdb.Nodes() {
		f, covered, err := c.inspectServer(ctx, addr, node)
		if err != nil {
			return in, err
		}
		in.Servers = append(in.Servers, f)
		in.SlotsCovered = max(in.SlotsCovered, covered)
	}
	return in, nil
}

func (c *Client) inspectServer(
	ctx context.Context, addr string, node rueidis.Client,
) (f ServerFacts, covered int, err error) {
	info, err := node.Do(ctx, node.B().Info().Build()).ToString()
	if err != nil {
		return f, 0, sorted(err, "ask %s how it is set up", addr)
	}
	f = ServerFacts{
		Addr: addr, Version: infoField(info, "redis_version"), Role: infoField(info, "role"),
		AppendOnly: infoField(info, "aof_enabled") == "1", LastWrite: infoField(info, "aof_last_write_status"),
		MaxMemory: infoNumber(info, "maxmemory"), MaxMemoryPolicy: infoField(info, "maxmemory_policy"),
		UsedMemory: infoNumber(info, "used_memory"), Replicas: int(infoNumber(info, "connected_slaves")),
	}
	began := time.Now()
	at, err := node.Do(ctx, node.B().Time().Build()).AsIntSlice()
	if err == nil && len(at) == 2 {
		middle := began.Add(time.Since(began) / 2)
		f.Skew = time.Unix(at[0], at[1]*1000).Sub(middle)
	}
	get := node.B().ConfigGet().Parameter("appendfsync", "slowlog-log-slower-than").Build()
	config, err := node.Do(ctx, get).AsStrMap()
	if err == nil { // a user may be forbidden to ask
		f.AppendFsync = config["appendfsync"]
		us, _ := strconv.ParseInt(config["slowlog-log-slower-than"], 10, 64)
		f.SlowerThan = time.Duration(us) * time.Microsecond
	}
	f.SlowCalls, _ = node.Do(ctx, node.B().SlowlogLen().Build()).AsInt64()
	if f.Role == "master" {
		c.countKeys(ctx, node, &f)
	}
	if c.cluster {
		cluster, err := node.Do(ctx, node.B().ClusterInfo().Build()).ToString()
		if err != nil {
			return f, 0, sorted(err, "ask %s about the Cluster", addr)
		}
		covered = int(infoNumber(cluster, "cluster_slots_ok"))
	}
	return f, covered, nil
}

// countKeys looks at a sample of keys: whose they are.
func (c *Client) countKeys(ctx context.Context, node rueidis.Client, f *ServerFacts) {
	cursor := uint64(0)
	for f.Keys < inspectKeys {
		page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Count(inspectPage).Build()).AsScanEntry()
		if err != nil {
			return
		}
		for _, key := range page.Elements {
			f.Keys++
			if !strings.HasPrefix(key, c.cfg.Prefix+":") {
				f.ForeignKeys++
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return
		}
	}
}

func infoNumber(info, name string) int64 {
	n, _ := strconv.ParseInt(infoField(info, name), 10, 64)
	return n
}

// CoversAll says whether every slot of a Cluster is served; true where there is no Cluster.
func (in Inspection) CoversAll() bool { return !in.Cluster || in.SlotsCovered == clusterSlots }
