//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const redisPackage = "redis-server"

// RedisServer is one redis-server.
type RedisServer struct {
	Control
	Addr string // host:port on the loopback interface
	Dir  string // its data
	CA   string // the file with the certificate that signed its own; empty without TLS

	cfg redisConfig
}

type redisConfig struct {
	lines    []string
	user     string
	password string
	tls      bool
	sentinel bool
	dir      string
	proxied  bool
}

// RedisOption changes how a Redis is started. Without any it keeps an append-only file that is synced every second.
type RedisOption func(*redisConfig)

// With sets one directive of redis.conf, such as With("appendfsync", "always").
func With(directive string, values ...string) RedisOption {
	return func(c *redisConfig) { c.lines = append(c.lines, directive+" "+strings.Join(values, " ")) }
}

// TLS makes the server speak TLS only. Its certificate names localhost and 127.0.0.1; RedisServer.CA has who signed
// it.
func TLS() RedisOption { return func(c *redisConfig) { c.tls = true } }

// User makes the server know a user of this name, with rules such as "~sluice:*", "+@all", and refuse everybody else.
// The URL carries name and password.
func User(name, password string, rules ...string) RedisOption {
	return func(c *redisConfig) {
		c.user, c.password = name, password
		c.lines = append(c.lines, "user "+name+" on >"+password+" "+strings.Join(rules, " "))
	}
}

// DataIn puts the server's data into a folder of the caller's, which may be a small file system.
func DataIn(dir string) RedisOption { return func(c *redisConfig) { c.dir = dir } }

// Redis starts a Redis of the test's own.
func Redis(t testing.TB, options ...RedisOption) *RedisServer {
	t.Helper()
	r := newRedis(t, append([]RedisOption{
		With("appendonly", "yes"), With("appendfsync", "everysec"), With("save", `""`),
	}, options...)...)
	r.Start()
	return r
}

// newRedis prepares a server and its configuration.
func newRedis(t testing.TB, options ...RedisOption) *RedisServer {
	t.Helper()
	r := &RedisServer{Control: Control{t: t}, Addr: local(freePort(t))}
	for _, o := range options {
		o(&r.cfg)
	}
	if r.Dir = r.cfg.dir; r.Dir == "" {
		r.Dir = t.TempDir()
	}
	_, port, _ := net.SplitHostPort(r.Addr)
	lines := []string{"bind 127.0.0.1", "dir " + r.Dir, "daemonize no", "protected-mode no"}
	if r.cfg.tls {
		r.CA = filepath.Join(r.Dir, "ca.pem")
		cert, key := certificate(t, r.Dir)
		lines = append(lines, "port 0", "tls-port "+port, "tls-cert-file "+cert, "tls-key-file "+key,
			"tls-ca-cert-file "+r.CA, "tls-auth-clients no", "tls-replication yes", "tls-cluster yes")
	} else {
		lines = append(lines, "port "+port)
	}
	lines = append(lines, r.cfg.lines...)
	if r.cfg.user != "" {
		// The harness keeps a door of its own; the default user is shut.
		lines = append(lines, "user harness on >harness ~* &* +@all", "user default off")
	}
	conf := filepath.Join(r.Dir, "redis.conf")
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := tool(t, redisPackage, "redis-server")
	tool(t, redisPackage, "redis-cli")
	args := []string{conf}
	if r.cfg.sentinel {
		args = append(args, "--sentinel")
	}
	r.proc = &process{
		name: "redis-server on " + r.Addr, log: filepath.Join(r.Dir, "redis.log"),
		build: func() *exec.Cmd { return exec.Command(program, args...) },
		ready: func(ctx context.Context) error { return r.answers(ctx) },
	}
	t.Cleanup(func() { r.proc.end(syscall.SIGKILL) })
	return r
}

var errNotReady = errors.New("it does not answer yet")

func (r *RedisServer) answers(ctx context.Context) error {
	out, err := r.cli(ctx, "PING")
	if err == nil && out != "PONG" {
		return fmt.Errorf("%w: %s", errNotReady, out)
	}
	return err
}

// cli calls redis-cli.
func (r *RedisServer) cli(ctx context.Context, args ...string) (string, error) {
	host, port, _ := net.SplitHostPort(r.Addr)
	all := []string{"-h", host, "-p", port, "--no-auth-warning"}
	if r.cfg.tls {
		all = append(all, "--tls", "--cacert", r.CA)
	}
	if r.cfg.user != "" {
		all = append(all, "--user", "harness", "--pass", "harness")
	}
	return run(ctx, "redis-cli", append(all, args...)...)
}

// Do runs one command by redis-cli and gives its raw answer.
func (r *RedisServer) Do(args ...string) string {
	r.t.Helper()
	out, err := r.cli(context.Background(), args...)
	if err != nil {
		r.t.Errorf("servers: %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// URL is what Sluice takes: redis:// or rediss://, with the user of the option User.
func (r *RedisServer) URL() string { return redisURL(r.cfg, r.Addr, "/0") }

func redisURL(c redisConfig, hosts, rest string) string {
	scheme, who := "redis://", ""
	if c.tls {
		scheme = "rediss://"
	}
	if c.user != "" {
		who = c.user + ":" + c.password + "@"
	}
	return scheme + who + hosts + rest
}

// FlushAll empties the server.
func (r *RedisServer) FlushAll() { r.t.Helper(); r.Do("FLUSHALL") }

// Empty removes the data of a server that is stopped, so that it comes back with nothing.
func (r *RedisServer) Empty() {
	r.t.Helper()
	if r.proc.pid() != 0 {
		r.t.Fatal("servers: a server that runs cannot be emptied on disk")
	}
	for _, name := range []string{"appendonlydir", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Snapshot copies the server's files as they are now; Restore puts them back into a server that is stopped.
func (r *RedisServer) Snapshot() (dir string) {
	r.t.Helper()
	dir = r.t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "appendonlydir"), os.DirFS(filepath.Join(r.Dir, "appendonlydir"))); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// Restore puts a snapshot in the place of the server's files.
func (r *RedisServer) Restore(dir string) {
	r.t.Helper()
	r.Empty()
	if err := os.CopyFS(r.Dir, os.DirFS(dir)); err != nil {
		r.t.Fatal(err)
	}
}

// Info gives one field of INFO; empty where there is none.
func (r *RedisServer) Info(field string) string {
	out, err := r.cli(context.Background(), "INFO")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(out) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return v
		}
	}
	return ""
}

// WaitReplica waits until a replica has all that this master has now: replication is behind the answer to a write.
func (r *RedisServer) WaitReplica() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	want, err := strconv.ParseInt(r.Info("master_repl_offset"), 10, 64)
	if err == nil {
		err = poll(ctx, func() error {
			_, text, _ := strings.Cut(r.Info("slave0"), ",offset=")
			text, _, _ = strings.Cut(text, ",")
			if has, err := strconv.ParseInt(text, 10, 64); err != nil || has < want {
				return fmt.Errorf("%w: the replica of %s has %s of %d", errNotReady, r.Addr, text, want)
			}
			return nil
		})
	}
	if err != nil {
		r.t.Fatalf("servers: %v", err)
	}
}

// Port gives the port alone.
func (r *RedisServer) Port() int {
	_, port, _ := net.SplitHostPort(r.Addr)
	n, _ := strconv.Atoi(port)
	return n
}
