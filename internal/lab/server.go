package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the lab's own server.
const (
	readyWait = 30 * time.Second
	stopWait  = 20 * time.Second
	keptLog   = 16 << 10 // bytes of its output, for when it fails
)

// ServerConfig says how to start a server of the lab's own. Zero values mean the defaults given.
type ServerConfig struct {
	Binary string        // default: this program
	Data   string        // its data folder; default: a temporary one, removed at the end
	Args   []string      // further flags of serve
	Env    []string      // further environment
	Wait   time.Duration // for it to be ready; default 30 s
}

// Process is a server that the lab started, in a process of its own so that its CPU is not the client's.
type Process struct {
	URL, AdminURL       string
	AdminKey, JWTSecret string
	Data                string
	PID                 int

	cmd    *exec.Cmd
	exited chan struct{} // closed when it is gone
	remove bool
	out    *tailBuffer
	once   sync.Once
}

// StartServer starts a server on free loopback ports and returns when it is ready. The caller stops it.
func StartServer(ctx context.Context, cfg ServerConfig) (*Process, error) {
	if cfg.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("lab: this program's own path: %w", err)
		}
		cfg.Binary = self
	}
	if cfg.Wait == 0 {
		cfg.Wait = readyWait
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p := &Process{
		URL: "http://" + ports[0], AdminURL: "http://" + ports[1], AdminKey: rand.Text(),
		JWTSecret: rand.Text() + rand.Text(),
		Data:      cfg.Data, exited: make(chan struct{}), out: &tailBuffer{},
	}
	if p.Data == "" {
		if p.Data, err = os.MkdirTemp("", "sluice-lab-"); err != nil {
			return nil, fmt.Errorf("lab: data folder: %w", err)
		}
		p.remove = true
	}
	args := append([]string{"serve", "--data", p.Data, "--listen", ports[0], "--admin-listen", ports[1]}, cfg.Args...)
	p.cmd = exec.Command(cfg.Binary, args...)
	p.cmd.Env = append(os.Environ(), "SLUICE_JWT_SECRET="+p.JWTSecret, "SLUICE_ADMIN_KEY="+p.AdminKey)
	p.cmd.Env = append(p.cmd.Env, cfg.Env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	tie(p.cmd)
	if err := p.cmd.Start(); err != nil {
		p.clean()
		return nil, fmt.Errorf("lab: start %s: %w", cfg.Binary, err)
	}
	p.PID = p.cmd.Process.Pid
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.ready(ctx, cfg.Wait); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// ready waits until both listeners answer.
func (p *Process) ready(ctx context.Context, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, client, p.AdminURL+"/readyz") && answers(ctx, client, p.URL+"/healthz") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
			return fmt.Errorf("lab: the server ended before it was ready: %w\n%s", sluice.ErrUnavailable, p.out.String())
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("lab: the server was not ready within %v: %w\n%s", wait, sluice.ErrUnavailable, p.out.String())
		}
	}
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Stop ends the server, gracefully at first, and removes its temporary folder. It is idempotent.
func (p *Process) Stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		timer := time.NewTimer(stopWait)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
		p.clean()
	})
}

// Output gives the last of what the server wrote.
func (p *Process) Output() string { return p.out.String() }

// MemoryStore says whether the data folder lies on a file system in memory.
func (p *Process) MemoryStore() bool { return memoryStore(p.Data) }

func (p *Process) clean() {
	if p.remove {
		_ = os.RemoveAll(p.Data)
	}
}

// Use points cfg at the server.
func (p *Process) Use(cfg Config) Config {
	cfg.URL, cfg.AdminURL, cfg.AdminKey, cfg.JWTSecret, cfg.PID = p.URL, p.AdminURL, p.AdminKey, p.JWTSecret, p.PID
	return cfg
}

// freePorts gives n loopback addresses that nobody listens on now.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("lab: a free port: %w", err)
		}
		defer func() { _ = ln.Close() }()
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

// tailBuffer keeps the last bytes written to it.
type tailBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - keptLog; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}
