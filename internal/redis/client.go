package redis

import (
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// Defaults of a Config.
const (
	DefaultPrefix  = "sluice"
	DefaultDial    = time.Second
	DefaultTimeout = 2 * time.Second
)

// Bounds of the connections.
const (
	bufferSize   = 256 << 10 // of a connection, to read and to write
	blockingPool = 64        // connections that wait: readers of outboxes, WAIT
	topologyEach = 5 * time.Second
	maxRedirects = 16 // MOVED and ASK of one call
)

// Config of a Client. Zero values mean the defaults.
type Config struct {
	// URL is redis://[user:pass@]host:port[,host:port…][/db], rediss:// for TLS. ?mode=cluster for a Cluster,
	// ?mode=sentinel&master=name for the master that the named sentinels watch; sentinel_user and sentinel_password
	// where they ask for them.
	URL     string
	Prefix  string        // of every key
	TLS     *tls.Config   // for rediss://; default: the system's authorities
	Dial    time.Duration // to connect
	Timeout time.Duration // of one call, where its context does not end sooner
	Name    string        // as the server's client list shows it; default "sluice"
	Log     *slog.Logger
}

// Client is a connection to Redis. Safe for concurrent use. It never sends a write a second time by itself: where the
// outcome of one is not known, its caller is told, and asks again knowing that every script of this package may be
// sent twice. Redirections of a Cluster (MOVED, ASK) are followed, since what was redirected was not done.
type Client struct {
	cfg     Config
	rdb     rueidis.Client
	keys    *keys
	scripts scripts
	cluster bool
}

//go:embed lua/*.lua
var sources embed.FS

// scripts are the scripts of lua/, each with what they share in front.
type scripts struct {
	admit, settled, ops, adjust, out, in, forget, dry, seal, join, arm, state, holders, find, drop, run script
}

type script struct {
	name string
	lua  *rueidis.Lua
}

// all lists them by name.
func (s *scripts) all() []*script {
	names := []string{
		"admit", "settled", "ops", "adjust", "out", "in", "forget", "dry", "seal", "join", "arm", "state", "holders", "find",
		"drop", "run",
	}
	all := []*script{
		&s.admit, &s.settled, &s.ops, &s.adjust, &s.out, &s.in, &s.forget, &s.dry, &s.seal, &s.join, &s.arm, &s.state,
		&s.holders, &s.find, &s.drop, &s.run,
	}
	for i := range all {
		if all[i].name == "" { // once, before anybody else sees them
			all[i].name = names[i]
		}
	}
	return all
}

func newScripts() (s scripts, err error) {
	shared, err := sources.ReadFile("lua/prelude.lua")
	if err != nil {
		return s, err
	}
	for _, one := range s.all() {
		text, err := sources.ReadFile("lua/" + one.name + ".lua")
		if err != nil {
			return s, err
		}
		one.lua = rueidis.NewLuaScript(string(shared) + string(text))
	}
	return s, nil
}

// Open connects. ErrInvalid: the URL cannot be right. ErrUnavailable: nothing answers there, or it is no master.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	if cfg.Dial == 0 {
		cfg.Dial = DefaultDial
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Name == "" {
		cfg.Name = "sluice"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	opt, err := options(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, keys: newKeys(cfg.Prefix), cluster: !opt.ForceSingleClient && opt.Sentinel.MasterSet == ""}
	if c.scripts, err = newScripts(); err != nil {
		return nil, fmt.Errorf("redis: scripts: %w", err)
	}
	if c.rdb, err = rueidis.NewClient(opt); err != nil {
		return nil, fmt.Errorf("redis: connect to %s: %w", strings.Join(opt.InitAddress, ","), notConnected(err))
	}
	if err := c.Ping(ctx); err != nil {
		c.rdb.Close()
		return nil, err
	}
	return c, nil
}

// notConnected sorts an error of connecting: whatever it was, nothing was done.
func notConnected(err error) error {
	if answer, ok := rueidis.IsRedisErr(err); ok && code(answer) != "ERR" {
		return &fault{kind: kindOf(code(answer)), err: err}
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Errorf("%w: %w", err, sluice.NewFault(sluice.ErrInvalid, "REDIS_TLS",
			"the certificate of Redis is not believed: name the PEM file of its authority in the setting redis.ca, and the "+
				"server by a name that its certificate has"))
	}
	return &fault{kind: sluice.ErrUnavailable, err: err}
}

// options reads the URL.
func options(cfg Config) (opt rueidis.ClientOption, err error) {
	bad := func(format string, args ...any) (rueidis.ClientOption, error) {
		return opt, fmt.Errorf("redis: URL: %w: %s", sluice.ErrInvalid, fmt.Sprintf(format, args...))
	}
	u, err := splitURL(cfg.URL)
	if err != nil {
		return bad("it cannot be read") // the driver's error would show the password
	}
	dialer := net.Dialer{Timeout: cfg.Dial, KeepAlive: time.Second}
	opt = rueidis.ClientOption{
		InitAddress: u.hosts, Dialer: dialer, ClientName: cfg.Name, ClientSetInfo: rueidis.DisableClientSetInfo,
		ConnWriteTimeout: 2 * cfg.Timeout, DisableCache: true, ReadBufferEachConn: bufferSize,
		WriteBufferEachConn: bufferSize, BlockingPoolSize: blockingPool, BlockingPoolCleanup: time.Minute,
		ClusterOption: rueidis.ClusterOption{ShardsRefreshInterval: topologyEach, MaxMovedRedirections: maxRedirects},
	}
	switch u.scheme {
	case "redis":
	case "rediss":
		if opt.TLSConfig = cfg.TLS.Clone(); opt.TLSConfig == nil {
			opt.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	default:
		return bad("the scheme is redis:// or rediss://, not %s://", u.scheme)
	}
	opt.Username, opt.Password = u.user, u.password
	if u.db != "" {
		if opt.SelectDB, err = strconv.Atoi(u.db); err != nil || opt.SelectDB < 0 {
			return bad("%q is no database", u.db)
		}
	}
	switch mode := u.query.Get("mode"); mode {
	case "":
		opt.ForceSingleClient = true
		if len(u.hosts) > 1 {
			return bad("several hosts need mode=cluster or mode=sentinel")
		}
	case "cluster":
		if opt.SelectDB != 0 {
			return bad("a Cluster has database 0 only")
		}
	case "sentinel":
		opt.Sentinel = rueidis.SentinelOption{
			Dialer: dialer, TLSConfig: opt.TLSConfig, MasterSet: u.query.Get("master"), ClientName: cfg.Name,
			Username: u.query.Get("sentinel_user"), Password: u.query.Get("sentinel_password"),
			TopologyRefreshInterval: topologyEach,
		}
		if opt.Sentinel.MasterSet == "" {
			return bad("mode=sentinel needs master=")
		}
	default:
		return bad("there is no mode %q", mode)
	}
	for name := range u.query {
		switch name {
		case "mode", "master", "sentinel_user", "sentinel_password":
		default:
			return bad("there is no parameter %q", name)
		}
	}
	return opt, nil
}

// parts of a URL with several hosts, which net/url does not read.
type parts struct {
	scheme, user, password, db string
	hosts                      []string
	query                      url.Values
}

func splitURL(raw string) (p parts, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return p, sluice.ErrInvalid
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, db, _ := strings.Cut(rest, "/")
	who := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		who, authority = authority[:i], authority[i+1:]
	}
	if p.query, err = url.ParseQuery(query); err != nil {
		return p, err
	}
	user, password, _ := strings.Cut(who, ":")
	if p.user, err = url.PathUnescape(user); err != nil {
		return p, err
	}
	if p.password, err = url.PathUnescape(password); err != nil {
		return p, err
	}
	for _, host := range strings.Split(authority, ",") {
		name, port, err := net.SplitHostPort(host)
		if n, e := strconv.Atoi(port); err != nil || e != nil || name == "" || n < 1 || n > 65535 {
			return p, sluice.ErrInvalid
		}
		p.hosts = append(p.hosts, host)
	}
	p.scheme, p.db = scheme, db
	return p, nil
}

// Close ends all connections.
func (c *Client) Close() { c.rdb.Close() }

// limited bounds a call.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.Timeout)
}

// run runs a script once. what says on what, for an error.
func (c *Client) run(
	ctx context.Context, s script, what func() string, keys, args []string,
) ([]rueidis.RedisMessage, error) {
	if err := notSent(ctx); err != nil {
		return nil, sorted(err, "%s %s", s.name, what())
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	answer, err := s.lua.Exec(ctx, c.rdb, keys, args).ToMessage()
	if rueidis.IsRedisNil(err) {
		return nil, rueidis.Nil
	}
	if err != nil {
		return nil, sorted(err, "%s %s", s.name, what())
	}
	if !answer.IsArray() {
		return []rueidis.RedisMessage{answer}, nil
	}
	return answer.ToArray()
}

// Ping asks every master whether it answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.Identity(ctx)
	return err
}

// Identity gives the run id of each master that answers, by its address: another one means that a server was started
// anew or that another one took over; one that is missing does not answer. ErrUnavailable where none does.
func (c *Client) Identity(ctx context.Context) (map[string]string, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	type answer struct {
		addr, info string
		err        error
	}
	nodes := c.rdb.Nodes()
	answers := make(chan answer, len(nodes))
	for addr, node := range nodes {
		go func() {
			info, err := node.Do(ctx, node.B().Info().Build()).ToString()
			answers <- answer{addr, info, err}
		}()
	}
	ids := map[string]string{}
	err := error(&fault{kind: sluice.ErrUnavailable, err: rueidis.ErrNoAddr})
	for range nodes {
		a := <-answers
		if a.err != nil {
			err = notConnected(a.err)
		} else if infoField(a.info, "role") == "master" {
			ids[a.addr] = infoField(a.info, "run_id")
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("redis: no master answers: %w", err)
	}
	return ids, nil
}

// infoField gives one field of INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
