package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// What doctor holds the stores against.
const (
	doctorTimeout  = 10 * time.Second       // of asking one of them
	wantSkew       = 250 * time.Millisecond // between clocks
	needSkew       = 2 * time.Second
	wantRedis      = 6                       // its major version
	wantSlowCalls  = 10                      // in the slow log
	wantMemoryLeft = 4                       // of Redis: a quarter of what it may take
	wantNodes      = 3                       // that the connections of the database have room for
	wantQuorum     = 3                       // members of a quorum queue
	needBuffer     = 128 << 20               // bytes of the database's buffer pool
	diskFactor     = 3                       // of the broker's limit, that should be free
	brokerRounds   = 1500 * time.Millisecond // what a clock told in whole seconds may be off
)

// checkStores asks Redis, the database and the broker how they are set up. What they say of their clocks is compared.
func checkStores(ctx context.Context, cfg *config.Loaded) (all []finding) {
	skews := []clockOf{}
	for _, check := range []func(context.Context, *config.Loaded) ([]finding, []clockOf){
		checkRedis, checkMySQL, checkRabbit,
	} {
		bounded, cancel := context.WithTimeout(ctx, doctorTimeout)
		found, clocks := check(bounded, cfg)
		cancel()
		all, skews = append(all, found...), append(skews, clocks...)
	}
	return append(all, checkClocks(skews))
}

// clockOf is how far a server's clock is from this machine's, and how well that is known.
type clockOf struct {
	name  string
	skew  time.Duration
	about time.Duration
}

// findings gathers what is said about one store.
type findings struct {
	name string
	all  []finding
}

func (f *findings) add(state, detail, advice string) {
	f.all = append(f.all, finding{f.name, state, detail, advice})
}

// hold adds a finding that is ok where good is true.
func (f *findings) hold(good bool, otherwise, detail, advice string) {
	if good {
		f.add("ok", detail, "")
		return
	}
	f.add(otherwise, detail, advice)
}

func checkRedis(ctx context.Context, cfg *config.Loaded) ([]finding, []clockOf) {
	if !cfg.Admission.IsURL() {
		return nil, nil
	}
	f := &findings{name: "redis"}
	tlsConfig, err := redisTLS(&cfg.Config)
	var in redis.Inspection
	if err == nil {
		var c *redis.Client
		c, err = redis.Open(ctx, redis.Config{URL: cfg.Admission.Reveal(), Prefix: cfg.Redis.Prefix, TLS: tlsConfig,
			Dial: cfg.Redis.DialTimeout, Timeout: cfg.Redis.Timeout, Name: "sluice-doctor"})
		if err == nil {
			in, err = c.Inspect(ctx)
			c.Close()
		}
	}
	if err != nil {
		f.add("bad", fmt.Sprintf("%s: %v", cfg.Admission, err), "start it, or mend the setting admission")
		return f.all, nil
	}
	var clocks []clockOf
	for _, s := range in.Servers {
		f.name = "redis " + s.Addr
		f.redisServer(&s, cfg)
		clocks = append(clocks, clockOf{name: f.name, skew: s.Skew})
	}
	f.name = "redis"
	if in.Cluster {
		f.hold(in.CoversAll(), "bad", fmt.Sprintf("%d of 16384 slots are served", in.SlotsCovered),
			"redis-cli --cluster fix, or start the masters that are away")
	}
	return f.all, clocks
}

// redisServer judges one server.
func (f *findings) redisServer(s *redis.ServerFacts, cfg *config.Loaded) {
	major, _, _ := strings.Cut(s.Version, ".")
	n, _ := strconv.Atoi(major)
	f.hold(n >= wantRedis, "bad", "version "+s.Version+", "+s.Role, "Redis 6.2 or later")
	switch {
	case !s.AppendOnly:
		f.add("bad", "keeps nothing on disk: a restart forgets every claim that is queued",
			"appendonly yes, appendfsync everysec or always")
	case s.LastWrite == "err":
		f.add("bad", "the append-only file cannot be written", "look at its disk, then BGREWRITEAOF")
	case s.AppendFsync == "no":
		f.add("warn", "appendfsync no: a crash of the machine loses up to half a minute", "appendfsync everysec or always")
	default:
		f.add("ok", strings.TrimSpace("appends to a file "+s.AppendFsync), "")
	}
	evicts := s.MaxMemoryPolicy != "" && s.MaxMemoryPolicy != "noeviction"
	f.hold(!evicts, "bad", "maxmemory-policy "+s.MaxMemoryPolicy, "maxmemory-policy noeviction: a gate that is evicted "+
		"is a gate that is lost")
	if s.MaxMemory > 0 {
		left := s.MaxMemory - s.UsedMemory
		f.hold(left > s.MaxMemory/wantMemoryLeft, "warn", fmt.Sprintf("%d MB of %d MB are left", left>>20, s.MaxMemory>>20),
			"a larger maxmemory: without room Redis refuses claims")
	}
	f.hold(s.ForeignKeys == 0, "warn",
		fmt.Sprintf("%d of %d keys looked at are not %s:…", s.ForeignKeys, s.Keys, cfg.Redis.Prefix),
		"a Redis of its own: another tenant's slow command or flush stops the sale")
	f.hold(s.SlowCalls < wantSlowCalls, "warn",
		fmt.Sprintf("%d calls in the slow log (longer than %s)", s.SlowCalls, s.SlowerThan),
		"SLOWLOG GET tells who; SLOWLOG RESET begins anew")
	if cfg.AdmissionAck == "replica" && s.Role == "master" {
		f.hold(s.Replicas > 0, "bad", fmt.Sprintf("%d replicas, and admission_ack is replica", s.Replicas),
			"a replica for each master, or another admission_ack")
	}
}

func checkMySQL(ctx context.Context, cfg *config.Loaded) ([]finding, []clockOf) {
	f := &findings{name: "mysql"}
	c := cfg.MySQL
	set := sqldb.MySQLConfig{URL: cfg.Ledger.Reveal(), Urgent: c.Urgent, Claims: c.Claims, Background: c.Background,
		Readers: c.Readers, Dial: c.DialTimeout}
	tlsConfig, err := mysqlTLS(&cfg.Config)
	var is sqldb.MySQLFacts
	if err == nil {
		set.TLS = tlsConfig
		is, err = sqldb.InspectMySQL(ctx, set)
	}
	if err != nil {
		f.add("bad", fmt.Sprintf("%s: %v", cfg.Ledger, err), "start it, or mend the setting ledger")
		return f.all, nil
	}
	f.add("ok", "version "+is.Version, "")
	f.hold(is.Isolation == "READ-COMMITTED", "bad", "isolation of the ledger's connections is "+is.Isolation,
		"READ COMMITTED: a proxy between may be resetting it")
	f.hold(is.Charset == "utf8mb4", "bad", "the database's character set is "+is.Charset+", "+is.Collation,
		"ALTER DATABASE … CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, before the first serve")
	if !is.TiDB {
		f.hold(is.FlushLog == "1", "bad", "innodb_flush_log_at_trx_commit = "+is.FlushLog,
			"1: with anything else a crash loses claims that were confirmed")
		f.hold(is.SyncBinlog == "" || is.SyncBinlog == "1", "warn", "sync_binlog = "+orNone(is.SyncBinlog),
			"1: with anything else a replica that takes over may lack the last commits")
		f.hold(is.BufferPool >= needBuffer, "warn", fmt.Sprintf("innodb_buffer_pool_size = %d MB", is.BufferPool>>20),
			"half of the machine's memory")
	}
	if is.MaxConnections > 0 {
		room := is.MaxConnections / set.Pool()
		f.hold(room >= max(wantNodes, is.Alive), "warn",
			fmt.Sprintf("max_connections = %d has room for %d nodes of %d connections; %d nodes are alive, %d are open",
				is.MaxConnections, room, set.Pool(), is.Alive, is.Connected),
			"a larger max_connections, or smaller mysql.urgent, claims, background and readers")
	}
	if !is.Migrated {
		f.add("ok", "the ledger's tables are not there yet; serve and sluice migrate make them", "")
	}
	return f.all, []clockOf{{name: "mysql", skew: is.Skew}}
}

func orNone(s string) string {
	if s == "" {
		return "none: there is no binary log"
	}
	return s
}

func checkRabbit(ctx context.Context, cfg *config.Loaded) ([]finding, []clockOf) {
	if !cfg.Queue.IsURL() {
		return nil, nil
	}
	f := &findings{name: "rabbitmq"}
	tlsConfig, err := rabbitTLS(&cfg.Config)
	var is rabbitmq.Facts
	if err == nil {
		is, err = rabbitmq.Inspect(ctx, rabbitmq.Config{URL: cfg.Queue.Reveal(), TLS: tlsConfig, Prefix: cfg.Redis.Prefix,
			DialTimeout: cfg.RabbitMQ.DialTimeout}, cfg.RabbitMQ.Management)
	}
	if err != nil {
		f.add("bad", fmt.Sprintf("%s: %v", cfg.Queue, err), "start it, or mend the setting queue")
		return f.all, nil
	}
	f.add("ok", "version "+is.Version, "")
	if !is.Management {
		f.add("warn", "queues, members and alarms are not known: the management plug-in does not answer",
			"rabbitmq-plugins enable rabbitmq_management, or set rabbitmq.management")
		return f.all, nil
	}
	running := 0
	for _, n := range is.Nodes {
		if n.Running {
			running++
		}
		f.hold(!n.DiskAlarm && !n.MemoryAlarm, "bad",
			fmt.Sprintf("%s: disk alarm %t, memory alarm %t", n.Name, n.DiskAlarm, n.MemoryAlarm),
			"free disk or memory: the broker takes no message until then")
		if n.DiskLimit == 0 { // it has not been measured yet, or the member is away
			continue
		}
		f.hold(n.DiskFree > diskFactor*n.DiskLimit, "warn",
			fmt.Sprintf("%s: %d MB of disk are free, the alarm is at %d MB", n.Name, n.DiskFree>>20, n.DiskLimit>>20),
			"more disk: claims wait on it while the ledger is away")
	}
	f.hold(running == len(is.Nodes) && running >= wantQuorum, "warn",
		fmt.Sprintf("%d of %d members run", running, len(is.Nodes)),
		"three members or five: with fewer, one that is lost stops the queue")
	for _, q := range is.Queues {
		f.hold(q.Type == "quorum" || strings.Contains(q.Name, ".delay."), "bad", q.Name+" is a "+q.Type+" queue",
			"delete it while it is empty: serve makes a quorum queue")
		if q.Type == "quorum" && running >= wantQuorum {
			f.hold(q.Members >= wantQuorum, "warn", fmt.Sprintf("%s has %d members", q.Name, q.Members),
				"rabbitmq-queues grow NODE all --queue-pattern "+q.Name)
		}
	}
	return f.all, []clockOf{{name: "rabbitmq", skew: is.Skew, about: brokerRounds}}
}

// checkClocks compares all clocks with each other: windows open by Redis' clock, leaders and heartbeats go by the
// database's, tokens by this machine's.
func checkClocks(all []clockOf) finding {
	const name = "clocks"
	low, high := clockOf{name: "this machine"}, clockOf{name: "this machine"}
	for _, c := range all {
		if c.skew-c.about > high.skew {
			high = clockOf{name: c.name, skew: c.skew - c.about}
		}
		if c.skew+c.about < low.skew {
			low = clockOf{name: c.name, skew: c.skew + c.about}
		}
	}
	apart := high.skew - low.skew
	detail := fmt.Sprintf("%d servers and this machine are at most %s apart", len(all), apart.Round(time.Millisecond))
	advice := fmt.Sprintf("run NTP on all: %s is ahead, %s behind", high.name, low.name)
	switch {
	case apart > needSkew:
		return finding{name, "bad", detail, advice}
	case apart > wantSkew:
		return finding{name, "warn", detail, advice}
	}
	return finding{name, "ok", detail, ""}
}
