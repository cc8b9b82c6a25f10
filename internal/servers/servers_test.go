//go:build unix

package servers_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

// until polls a condition with a deadline.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 30 s", what)
		case <-tick.C:
		}
	}
}

// TestRedisSurvivesWhatItIsAskedTo: synced writes outlive a kill, and an emptied server comes back with nothing.
func TestRedisSurvivesWhatItIsAskedTo(t *testing.T) {
	r := servers.Redis(t, servers.With("appendfsync", "always"))
	r.Do("SET", "k", "v")
	r.Kill9()
	r.Start()
	if got := r.Do("GET", "k"); got != "v" {
		t.Errorf("after a kill: %q", got)
	}
	old := r.Snapshot()
	r.Do("SET", "k", "new")
	r.Stop()
	r.Restore(old)
	r.Start()
	if got := r.Do("GET", "k"); got != "v" {
		t.Errorf("after a restore: %q", got)
	}
	r.Kill9()
	r.Empty()
	r.Start()
	if got := r.Do("DBSIZE"); got != "0" {
		t.Errorf("after it was emptied: %q keys", got)
	}
}

func TestRedisWithTLSAndUsers(t *testing.T) {
	r := servers.Redis(t, servers.TLS(), servers.User("shop", "pw", "~sluice:*", "&sluice:*", "+@all"))
	r.Do("SET", "k", "v")
	if url := r.URL(); !strings.HasPrefix(url, "rediss://shop:pw@127.0.0.1:") || r.CA == "" {
		t.Errorf("url %s, certificate %q", url, r.CA)
	}
}

// TestFrozenServerHoldsItsConnections: frozen is not dead, and thawed it goes on.
func TestFrozenServerHoldsItsConnections(t *testing.T) {
	r := servers.Redis(t)
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r.Freeze()
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	if n, err := conn.Read(buf); err == nil {
		t.Errorf("a frozen server answers %q", buf[:n])
	}
	r.Thaw()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "+PONG\r\n" {
		t.Errorf("thawed: %q, %v", buf[:n], err)
	}
}

func TestClusterFailsOver(t *testing.T) {
	c := servers.RedisCluster(t)
	if n := len(c.Masters()); n != 3 {
		t.Fatalf("%d masters", n)
	}
	m := c.MasterOf("{spring:0}gate")
	m.Do("SET", "{spring:0}gate", "x")
	m.WaitReplica()
	m.Kill9()
	until(t, "another master", func() bool { return len(c.Masters()) == 3 })
	m.Start()
	c.WaitInStep()
	if got := c.MasterOf("{spring:0}gate").Do("GET", "{spring:0}gate"); got != "x" {
		t.Errorf("after the failover: %q", got)
	}
}

func TestSentinelFailsOver(t *testing.T) {
	s := servers.Sentinel(t)
	if s.Now() != s.Master {
		t.Fatal("the master is not the master")
	}
	s.Master.Kill9()
	until(t, "the replica's turn", func() bool { return s.Now() == s.Replica && s.Replica.Info("role") == "master" })
}

// TestMariaDBIsSharedAndDatabasesAreNot also starts one of its own and kills it.
func TestMariaDBIsSharedAndDatabasesAreNot(t *testing.T) {
	a, b := servers.MariaDB(t), servers.MariaDB(t)
	if a.Addr != b.Addr || a.Name == b.Name {
		t.Fatalf("%s and %s", a.URL, b.URL)
	}
	own := servers.OwnMariaDB(t, "")
	own.Do("CREATE TABLE x (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO x VALUES (7)")
	own.Kill9()
	own.Start()
	if got := own.Do("SELECT id FROM x"); got != "7" {
		t.Errorf("after a kill: %q", got)
	}
}

func TestRabbitIsSharedAndVhostsAreNot(t *testing.T) {
	a, b := servers.Rabbit(t), servers.Rabbit(t)
	if a.Addr != b.Addr || a.Name == b.Name {
		t.Fatalf("%s and %s", a.URL, b.URL)
	}
	declare := map[string]any{"durable": true, "arguments": map[string]any{"x-queue-type": "quorum"}}
	if err := a.Manage(t.Context(), http.MethodPut, "/api/queues/"+a.Name+"/q", declare, nil); err != nil {
		t.Fatal(err)
	}
	a.Kill9()
	a.Start()
	var q struct{ Name string }
	if err := a.Manage(t.Context(), http.MethodGet, "/api/queues/"+a.Name+"/q", nil, &q); err != nil || q.Name != "q" {
		t.Errorf("after a kill: %+v, %v", q, err)
	}
}

// TestProxyFaults asks a server of this process through the proxy.
func TestProxyFaults(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 16)
	go echo(l, heard)
	p := servers.Proxy(t, l.Addr().String())
	if got, err := ask(p.Addr, "one"); err != nil || got != "one" {
		t.Fatalf("%q, %v", got, err)
	}
	<-heard
	p.LoseReplies()
	if got, err := ask(p.Addr, "two"); err == nil {
		t.Errorf("a lost reply came: %q", got)
	}
	if got := <-heard; got != "two" {
		t.Errorf("the server heard %q", got)
	}
	p.Restore()
	p.Cut()
	if _, err := ask(p.Addr, "three"); err == nil {
		t.Error("a cut network carries")
	}
	p.Restore()
	if got, err := ask(p.Addr, "four"); err != nil || got != "four" {
		t.Errorf("restored: %q, %v", got, err)
	}
}

func echo(l net.Listener, heard chan<- string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			buf := make([]byte, 64)
			for {
				n, err := conn.Read(buf)
				if err != nil {
					return
				}
				heard <- string(buf[:n])
				_, _ = conn.Write(buf[:n])
			}
		}()
	}
}

func ask(addr, text string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	return string(buf[:n]), err
}

// A client of a proxied cluster goes through the proxies: what they lose, it does not hear.
func TestProxiedCluster(t *testing.T) {
	c := servers.RedisCluster(t, servers.Proxied())
	m := c.MasterOf("key")
	_, port, err := net.SplitHostPort(c.ProxyOf(m).Addr)
	if err != nil {
		t.Fatal(err)
	}
	other := c.Masters()[0]
	if other == m {
		other = c.Masters()[1]
	}
	if moved := other.Do("GET", "key"); !strings.Contains(moved, "127.0.0.1:"+port) {
		t.Errorf("a client is sent to %q, the proxy is on %s", moved, port)
	}
	c.ProxyOf(m).Cut()
	if _, err := net.Dial("tcp", c.ProxyOf(m).Addr); err == nil {
		t.Error("a proxy that is cut takes a connection")
	}
	c.ProxyOf(m).Restore()
	c.WaitInStep()
}
