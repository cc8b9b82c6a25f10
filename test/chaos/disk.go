package chaos

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The signals that stop a process and let it go on.
const (
	stopSignal = syscall.SIGSTOP
	goSignal   = syscall.SIGCONT
)

// diskSize is that of the small file system of the full-disk cell: MariaDB's files and some.
const diskSize = "size=700m"

// SmallDisk mounts a file system of its own for MariaDB. It needs the right to mount.
func SmallDisk(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, diskSize); err != nil {
		tb.Fatalf("a file system for the full-disk cell: %v (it needs the right to mount)", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// fillDisk leaves MariaDB no room to grow, and then gives it back.
func fillDisk(tb testing.TB, f *Fleet, during func()) {
	filler := filepath.Join(filepath.Dir(f.Maria.Dir), filepath.Base(f.Maria.Dir), "filler")
	file, err := os.Create(filler)
	if err != nil {
		tb.Error(err)
		return
	}
	defer func() { _ = file.Close() }()
	const largest, smallest = 64 << 20, 4 << 10
	for at, step := int64(0), int64(largest); step >= smallest; {
		if syscall.Fallocate(int(file.Fd()), 0, at, step) != nil {
			step /= 2
			continue
		}
		at += step
	}
	during()
	pass(faultFor)
	if err := os.Remove(filler); err != nil {
		tb.Error(err)
	}
	if err := file.Truncate(0); err != nil {
		tb.Error(err)
	}
	// A MariaDB that finds no room for its log ends itself; whoever looks after it starts it again.
	dialer := net.Dialer{Timeout: time.Second}
	if c, err := dialer.DialContext(tb.Context(), "tcp", f.Maria.Addr); err == nil {
		_ = c.Close()
		return
	}
	tb.Log("MariaDB has ended itself and is started again")
	f.Maria.Kill9()
	f.Maria.Start()
}
