//go:build unix

package sqldb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dataLock keeps a second process out of the data folder. The lock dies with the process, however it ends; the file
// stays, and its content only serves the message of whoever comes second.
type dataLock struct{ file *os.File }

func lockData(path string) (*dataLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqldb: lock of the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("sqldb: lock of the data folder: %w", err)
		}
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		return nil, inUse(filepath.Dir(path), strings.TrimSpace(string(holder)))
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &dataLock{f}, nil
}

func (l *dataLock) release() { _ = l.file.Close() }
