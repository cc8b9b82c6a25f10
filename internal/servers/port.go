//go:build unix

package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Ports are taken from below the range that the kernel gives to clients, so that none is taken between the choice and
// the server's own bind.
const (
	firstPort = 10000
	lastPort  = 31999
)

// state is what a test process keeps of servers: the ports that are its own, the folders to remove, and the servers
// that its tests share. mu guards all of it.
type state struct {
	mu     sync.Mutex
	ports  []*os.File // the locks on ports, held for as long as the process lives
	last   int
	folder string
	maria  *MariaServer
	rabbit *RabbitServer
}

// shared is the one thing of the process that outlives a test.
var shared state

// FreeAddr gives a loopback address that no other test process was given and nobody listens on.
func FreeAddr(t testing.TB) string { t.Helper(); return local(freePort(t)) }

// freePort gives a port that no other test process was given and nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	dir := filepath.Join(os.TempDir(), "sluice-servers-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if shared.last == 0 {
		shared.last = firstPort + os.Getpid()*37%(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		if shared.last++; shared.last > lastPort {
			shared.last = firstPort
		}
		port := shared.last
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && unused(port) {
			shared.ports = append(shared.ports, f)
			return port
		}
		_ = f.Close()
	}
	t.Fatal("servers: no port is free")
	return 0
}

func unused(port int) bool {
	l, err := net.Listen("tcp", local(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// processFolder is where the shared servers of this process keep their data. Folders of test processes that died
// without a word are removed first.
func processFolder() (string, error) {
	if shared.folder != "" {
		return shared.folder, nil
	}
	const prefix = "sluice-servers-of-"
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), prefix))
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
	dir := filepath.Join(os.TempDir(), prefix+strconv.Itoa(os.Getpid()))
	shared.folder = dir
	return dir, os.MkdirAll(dir, 0o700)
}

// Main runs the tests of a package and stops what they share: `func TestMain(m *testing.M) { servers.Main(m) }`.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop stops the shared servers and removes their data; for a TestMain that has more to do than Main.
func Stop() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.maria != nil {
		shared.maria.process.end(syscall.SIGKILL)
	}
	if shared.rabbit != nil {
		shared.rabbit.process.end(syscall.SIGKILL)
		shared.rabbit.epmd.end(syscall.SIGKILL)
	}
	shared.maria, shared.rabbit = nil, nil
	if shared.folder != "" {
		_ = os.RemoveAll(shared.folder)
		shared.folder = ""
	}
}
