//go:build unix

package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

const rabbitPackage = "rabbitmq-server"

// RabbitServer is one RabbitMQ with its management plug-in; guest with the password guest may do everything.
type RabbitServer struct {
	Addr       string
	TLSAddr    string // where it speaks TLS; a client's certificate is looked at where one comes
	CA         string // PEM file of the authority of its certificate
	Cert, Key  string // PEM files of a certificate of that authority, also for a client
	Management string // http://host:port of the management plug-in
	Dir        string

	program string   // rabbitmq-server; rabbitmqctl is beside it
	env     []string // of both
	process *process
	epmd    *process // the port mapper of Erlang, one for each server
	vhosts  atomic.Int64
}

// RabbitVhost is a virtual host of its own on a server, which it may share with other tests: what stops the server
// stops it for all of them.
type RabbitVhost struct {
	*RabbitServer
	Control
	Name string
	URL  string // amqp://guest:guest@host:port/name
	// SecureURL is the same over TLS: amqps://…
	SecureURL string
}

// Rabbit gives a fresh virtual host on the RabbitMQ of this test process, which takes seven seconds to start at the
// first call.
func Rabbit(t testing.TB) *RabbitVhost {
	t.Helper()
	ports := rabbitPorts{}
	shared.mu.Lock()
	started := shared.rabbit != nil
	shared.mu.Unlock()
	if !started {
		ports = newRabbitPorts(t)
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.rabbit == nil {
		dir, err := processFolder()
		if err == nil {
			shared.rabbit, err = startRabbit(t, filepath.Join(dir, "rabbit"), ports)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return shared.rabbit.vhost(t)
}

// OwnRabbit starts a RabbitMQ of the test's own, for tests that kill it.
func OwnRabbit(t testing.TB) *RabbitVhost {
	t.Helper()
	s, err := startRabbit(t, t.TempDir(), newRabbitPorts(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.process.end(syscall.SIGKILL)
		s.epmd.end(syscall.SIGKILL)
	})
	return s.vhost(t)
}

type rabbitPorts struct{ amqp, tls, management, dist, epmd int }

func newRabbitPorts(t testing.TB) rabbitPorts {
	t.Helper()
	return rabbitPorts{freePort(t), freePort(t), freePort(t), freePort(t), freePort(t)}
}

func startRabbit(t testing.TB, dir string, p rabbitPorts) (*RabbitServer, error) {
	t.Helper()
	program := tool(t, rabbitPackage, "rabbitmq-server", "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin")
	mapper := tool(t, "erlang-base", "epmd")
	s := &RabbitServer{Addr: local(p.amqp), Management: "http://" + local(p.management), Dir: dir}
	s.TLSAddr, s.CA = local(p.tls), filepath.Join(dir, "ca.pem")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s.Cert, s.Key = certificate(t, dir)
	env, err := rabbitFiles(dir, p)
	if err != nil {
		return nil, err
	}
	s.program, s.env = program, env
	// The port mapper is started here because the one that Erlang starts by itself outlives everybody.
	s.epmd = &process{
		name: "epmd", log: filepath.Join(dir, "epmd.log"),
		build: func() *exec.Cmd {
			return exec.Command(mapper, "-address", "127.0.0.1", "-port", strconv.Itoa(p.epmd))
		},
		ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", local(p.epmd))
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
	}
	s.process = &process{
		name: "rabbitmq on " + s.Addr, log: filepath.Join(dir, "out"),
		build: func() *exec.Cmd {
			cmd := exec.Command(program)
			cmd.Env = env
			return cmd
		},
		ready: func(ctx context.Context) error {
			if err := s.Manage(ctx, http.MethodGet, "/api/health/checks/local-alarms", nil, nil); err != nil {
				return err
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
	}
	if err := s.epmd.start(); err != nil {
		return nil, err
	}
	if err := s.process.start(); err != nil {
		s.process.end(syscall.SIGKILL)
		s.epmd.end(syscall.SIGKILL)
		return nil, err
	}
	return s, nil
}

// rabbitFiles writes the configuration and gives the environment. The script replaces itself by Erlang where it is
// told that systemd watches, so that signals reach the server itself.
func rabbitFiles(dir string, p rabbitPorts) ([]string, error) {
	conf := fmt.Sprintf("listeners.tcp.1 = %s\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %d\n"+
		"disk_free_limit.absolute = 50MB\nmanagement.rates_mode = basic\ncollect_statistics_interval = 5000\n"+
		"listeners.ssl.1 = %s\nssl_options.cacertfile = %[4]s/ca.pem\nssl_options.certfile = %[4]s/cert.pem\n"+
		"ssl_options.keyfile = %[4]s/key.pem\nssl_options.verify = verify_peer\n"+
		"ssl_options.fail_if_no_peer_cert = false\n",
		local(p.amqp), p.management, local(p.tls), dir)
	for _, sub := range []string{"home", "log", "mnesia"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{"rabbitmq.conf": conf, "plugins": "[rabbitmq_management].\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return append(os.Environ(), "HOME="+in("home"), "RUNNING_UNDER_SYSTEMD=true",
		fmt.Sprintf("RABBITMQ_NODENAME=sluice%d@localhost", p.amqp),
		"RABBITMQ_MNESIA_BASE="+in("mnesia"), "RABBITMQ_LOG_BASE="+in("log"), "RABBITMQ_CONFIG_FILE="+in("rabbitmq.conf"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+in("plugins"), "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_PID_FILE="+in("pid"),
		fmt.Sprintf("ERL_EPMD_PORT=%d", p.epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", p.dist),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}"), nil
}

func (s *RabbitServer) vhost(t testing.TB) *RabbitVhost {
	t.Helper()
	v := &RabbitVhost{RabbitServer: s, Control: Control{t, s.process}, Name: fmt.Sprintf("sluice%d", s.vhosts.Add(1))}
	v.URL = "amqp://guest:guest@" + s.Addr + "/" + v.Name
	v.SecureURL = "amqps://guest:guest@" + s.TLSAddr + "/" + v.Name
	everything := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	for _, call := range []struct {
		path string
		body any
	}{{"/api/vhosts/" + v.Name, struct{}{}}, {"/api/permissions/" + v.Name + "/guest", everything}} {
		if err := s.Manage(t.Context(), http.MethodPut, call.path, call.body, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = s.Manage(context.Background(), http.MethodDelete, "/api/vhosts/"+v.Name, nil, nil) })
	return v
}

// Manage calls the management plug-in; answer may be nil.
func (s *RabbitServer) Manage(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.Management+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.SetBasicAuth("guest", "guest")
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // a kept connection would be a goroutine that outlives the test
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("servers: rabbitmq %s %s: %s: %s", method, path, resp.Status, out)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(out, answer)
}

// Ctl runs rabbitmqctl, for what the management plug-in cannot do.
func (v *RabbitVhost) Ctl(args ...string) string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(v.program), "rabbitmqctl"), args...)
	cmd.Env = v.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		v.t.Fatalf("servers: rabbitmqctl %v: %v: %s", args, err, out)
	}
	return string(out)
}
