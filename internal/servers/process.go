//go:build unix

package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of what a test waits for.
const (
	startTimeout = 90 * time.Second // a server that does not answer by then will not
	stopTimeout  = 30 * time.Second // one that does not stop by then is killed
	toolTimeout  = 20 * time.Second // of one call of a server's own client
	pollEvery    = 10 * time.Millisecond
	logTail      = 4096 // bytes of a server's log that a failure shows
)

// process is one server as the operating system sees it. mu guards cmd and frozen; no goroutine belongs to it, so that
// tests which look for leaks see none.
type process struct {
	name  string // for messages
	log   string // the file that has its output
	build func() *exec.Cmd
	ready func(context.Context) error // whether it answers

	mu     sync.Mutex
	cmd    *exec.Cmd
	frozen bool
}

// Control is a test's hand on one server. What stops a server that tests share stops it for all of them.
type Control struct {
	t    testing.TB
	proc *process
}

// Start starts the server again, on the data that it had, and returns when it answers.
func (c *Control) Start() {
	c.t.Helper()
	if err := c.proc.start(); err != nil {
		c.t.Fatal(err)
	}
}

// Stop ends the server in order.
func (c *Control) Stop() { c.proc.end(syscall.SIGTERM) }

// Kill9 ends the server at once; what it had not written is lost.
func (c *Control) Kill9() { c.proc.end(syscall.SIGKILL) }

// Freeze stops the process without ending it: connections stand, nothing answers.
func (c *Control) Freeze() { c.proc.freeze(true) }

// Thaw lets a frozen process go on.
func (c *Control) Thaw() { c.proc.freeze(false) }

// tool finds a program of a Debian package.
func tool(t testing.TB, debian, name string, places ...string) string {
	t.Helper()
	for _, place := range places {
		if all, _ := filepath.Glob(filepath.Join(place, name)); len(all) > 0 {
			return all[0]
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("servers: %s is not installed: make servers, or apt-get install -y --no-install-recommends %s", name, debian)
	}
	return path
}

// start starts the server on the data that it had, and returns when it answers. It does nothing where it runs.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := p.build()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, attributes()
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err = poll(ctx, func() error {
		if p.exited() {
			p.cmd = nil
			return errGone
		}
		return p.ready(ctx)
	})
	if err != nil {
		return fmt.Errorf("servers: %s does not start: %w\n%s", p.name, err, tail(p.log))
	}
	return nil
}

var errGone = errors.New("it has ended by itself")

// exited says whether the process ended without being told to. It reaps it then.
func (p *process) exited() bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WNOHANG, nil)
	return err == nil && pid == p.cmd.Process.Pid
}

// end sends a signal and returns when the process is gone; one that does not heed it is killed.
func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	if p.frozen { // a stopped process handles no signal but SIGKILL
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait()
	kill.Stop()
	p.cmd, p.frozen = nil, false
}

// freeze stops or continues the process.
func (p *process) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.frozen == on {
		return
	}
	sig := syscall.SIGCONT
	if on {
		sig = syscall.SIGSTOP
	}
	_ = p.cmd.Process.Signal(sig)
	p.frozen = on
}

// pid gives the process's id; 0 where it does not run.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// poll calls try until it gives no error, or errGone, or ctx is over; it gives the last error.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := try()
		if err == nil || errors.Is(err, errGone) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// run calls a server's own client and gives what it wrote.
func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	text := string(bytes.TrimRight(out, "\r\n"))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s %s", filepath.Base(name), err, bytes.TrimSpace(stderr.Bytes()), text)
	}
	return text, nil
}

// tail gives the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTail):])
}
