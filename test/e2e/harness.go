// Package e2e tests the built binary from outside: it is started, asked over HTTP and by its own command line,
// stopped and killed. The harness builds it once, gives each server free ports and a folder of its own, and waits
// for events with a deadline, never for a time.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
)

// Bounds of the harness.
const (
	readyWait = 60 * time.Second // for a server to be ready
	stopWait  = 30 * time.Second // for a server to be gone after a signal
	askWait   = 30 * time.Second // for an answer
	pollEvery = 10 * time.Millisecond
	maxLog    = 4 << 20 // bytes of a server's log that are kept
)

// Secrets of every server that the harness starts, unless Options.Env says otherwise.
const (
	AdminKey      = "e2e-operator-key-0123456789"
	JWTSecret     = "e2e-jwt-secret-0123456789-0123456789"
	PaymentSecret = "e2e-payment-secret-0123456789"
)

// binary builds the program once for the whole test process. Processes that need it at the same time take turns, so
// that nobody starts what another one is writing; it is written where it is not up to date only.
var binary = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("E2E_BINARY"); given != "" {
		return filepath.Abs(given)
	}
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the harness does not know where it stands")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(here)))
	out := filepath.Join(root, "bin", "sluice-e2e")
	done, err := turn(out + ".lock")
	if err != nil {
		return "", err
	}
	defer done()
	cmd := exec.Command("go", "build", "-o", out, "./cmd/sluice")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/sluice: %w\n%s", err, text)
	}
	return out, nil
})

// turn waits until no other process has the file locked.
func turn(path string) (done func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Binary gives the path of the built program. E2E_BINARY names one that is already there.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Options say how to start a server. Zero values mean the defaults given.
type Options struct {
	Data    string   // its data folder; default: a temporary one
	Args    []string // further flags of serve
	Env     []string // further environment, over the harness's own; NAME= takes a variable away
	Scheme  string   // of the operators' listener, for readiness; default http
	Client  *http.Client
	NoReady bool   // do not wait until it is ready
	Binary  string // the program; default: the one of this source
}

// Server is a started server.
type Server struct {
	URL, AdminURL string // without a slash at the end
	Data          string
	Env           []string // the environment it was started with

	client *http.Client
	opts   Options
	ports  [2]string
	cmd    *exec.Cmd
	log    *logBuffer
	exited chan struct{} // closed when it is gone
}

// Start starts a server and returns when it is ready. The test's end stops it.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Data == "" {
		o.Data = filepath.Join(tb.TempDir(), "data")
	}
	if o.Scheme == "" {
		o.Scheme = "http"
	}
	s := &Server{opts: o, Data: o.Data, client: o.Client, ports: [2]string{FreeAddr(tb), FreeAddr(tb)}}
	if s.client == nil {
		s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	}
	s.URL, s.AdminURL = o.Scheme+"://"+s.ports[0], o.Scheme+"://"+s.ports[1]
	s.launch(tb)
	tb.Cleanup(func() { s.end(tb) })
	if !o.NoReady {
		s.WaitReady(tb)
	}
	return s
}

// Restart starts the server again with the same settings, folder and addresses, after Stop or Kill.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if !s.Exited() {
		tb.Fatal("the server that is to be started again still runs")
	}
	s.launch(tb)
	s.WaitReady(tb)
}

// Replace stops the server in order and starts another program in its place, with the same settings, folder and
// addresses. Empty means the program of this source.
func (s *Server) Replace(tb testing.TB, binary string) {
	tb.Helper()
	s.Stop(tb)
	s.opts.Binary = binary
	s.Restart(tb)
}

func (s *Server) launch(tb testing.TB) {
	tb.Helper()
	args := []string{"serve", "--data", s.Data, "--listen", s.ports[0], "--admin-listen", s.ports[1]}
	args = append(args, s.opts.Args...)
	s.Env = environment(s.opts.Env)
	s.log, s.exited = &logBuffer{}, make(chan struct{})
	program := s.opts.Binary
	if program == "" {
		program = Binary(tb)
	}
	s.cmd = exec.Command(program, args...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.Env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // ExitCode tells how it ended
		close(exited)
	}(s.cmd, s.exited)
}

// Environment is what the harness starts programs with, and more.
func Environment(more ...string) []string { return environment(more) }

// environment is the process's own without any SLUICE_ variable, then the harness's secrets, then more.
func environment(more []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SLUICE_") {
			env = append(env, kv)
		}
	}
	own := []string{
		"SLUICE_ADMIN_KEY=" + AdminKey, "SLUICE_JWT_SECRET=" + JWTSecret, "SLUICE_PAYMENT_SECRET=" + PaymentSecret,
		"NO_COLOR=1",
	}
	for _, kv := range append(own, more...) {
		name, value, _ := strings.Cut(kv, "=")
		env = without(env, name)
		if value != "" {
			env = append(env, kv)
		}
	}
	return env
}

func without(env []string, name string) (rest []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			rest = append(rest, kv)
		}
	}
	return rest
}

// WaitReady waits until /readyz says ready.
func (s *Server) WaitReady(tb testing.TB) {
	tb.Helper()
	last := "no answer"
	ok := s.Eventually(readyWait, func() bool {
		resp, err := s.client.Get(s.AdminURL + "/readyz")
		if err != nil {
			last = err.Error()
			return false
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		last = fmt.Sprint(resp.StatusCode, " ", string(body))
		return resp.StatusCode == http.StatusOK
	})
	if !ok {
		tb.Fatalf("the server is not ready: %s\n%s", last, s.Log())
	}
}

// Eventually asks again and again until is gives true, at most for the time given; false where it never did or the
// server is gone.
func (s *Server) Eventually(within time.Duration, is func() bool) bool {
	deadline := time.After(within)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if is() {
			return true
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return is()
		case <-deadline:
			return false
		}
	}
}

// Signal sends sig to the server.
func (s *Server) Signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Fatal(err)
	}
}

// Stop asks the server to stop and waits until it has; an exit code that is not 0 fails the test.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.Signal(tb, syscall.SIGTERM)
	if code := s.WaitExit(tb); code != 0 {
		tb.Fatalf("the server ended with %d\n%s", code, s.Log())
	}
}

// Kill ends the server as a crash would, and waits until it is gone.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.Signal(tb, syscall.SIGKILL)
	s.WaitExit(tb)
}

// KillNow ends the server as a crash would, from any goroutine, and does not wait.
func (s *Server) KillNow() { _ = s.cmd.Process.Signal(syscall.SIGKILL) }

// WaitExit waits until the server is gone and gives its exit code; -1 where a signal ended it.
func (s *Server) WaitExit(tb testing.TB) int {
	tb.Helper()
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(stopWait):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to the log
		<-s.exited
		tb.Fatalf("the server did not end within %s\n%s", stopWait, s.Log())
		return -1
	}
}

// Exited says whether the server is gone.
func (s *Server) Exited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// PID gives the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log gives what the server has written so far.
func (s *Server) Log() string { return s.log.String() }

// end is the test's end: whatever still runs is ended, and its log is shown where the test failed.
func (s *Server) end(tb testing.TB) {
	if !s.Exited() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(stopWait):
			_ = s.cmd.Process.Kill()
			<-s.exited
			tb.Errorf("the server did not end within %s of SIGTERM", stopWait)
		}
	}
	s.client.CloseIdleConnections()
	if tb.Failed() {
		tb.Logf("the log of the server on %s:\n%s", s.URL, s.Log())
	}
}

// FreeAddr gives a loopback address that nobody listens on, nor will: it is below the ports that the kernel gives away.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	return servers.FreeAddr(tb)
}

// Answer is what a call came to.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into reads the body as JSON into v.
func (a Answer) Into(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		tb.Fatalf("status %d, not the JSON expected: %v\n%s", a.Status, err, a.Body)
	}
}

// Ask makes one call to url. body is nil, a []byte or string as it stands, or anything else as JSON. token may be
// empty.
func (s *Server) Ask(tb testing.TB, method, url, token string, body any, headers ...string) Answer {
	tb.Helper()
	a, err := s.TryAsk(method, url, token, body, headers...)
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s", method, url, err, s.Log())
	}
	return a
}

// TryAsk is Ask for calls that may find no server. headers are names and values in turn.
func (s *Server) TryAsk(method, url, token string, body any, headers ...string) (Answer, error) {
	var raw []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		raw = b
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return Answer{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, text}, err
}

// Admin calls the operators' listener with the operator's key and fails the test unless the status is the one wanted.
func (s *Server) Admin(tb testing.TB, method, path string, body any, want int) Answer {
	tb.Helper()
	a := s.Ask(tb, method, s.AdminURL+path, AdminKey, body)
	if a.Status != want {
		tb.Fatalf("%s %s: status %d, want %d: %s", method, path, a.Status, want, a.Body)
	}
	return a
}

// logBuffer keeps the beginning of what is written to it. mu guards buf.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() < maxLog {
		b.buf.Write(p)
	}
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
