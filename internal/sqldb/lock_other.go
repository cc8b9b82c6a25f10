//go:build !unix

package sqldb

import (
	"fmt"
	"os"
	"path/filepath"
)

// dataLock keeps a second process out of the data folder. Where there is no flock it is a file that cannot be removed
// while it is open, and that is made anew by whoever finds it closed.
type dataLock struct {
	file *os.File
	path string
}

func lockData(path string) (*dataLock, error) {
	lock := path + ".lock"
	if err := os.Remove(lock); err != nil && !os.IsNotExist(err) {
		return nil, inUse(filepath.Dir(path), "")
	}
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqldb: lock of the data folder: %w", err)
	}
	return &dataLock{f, lock}, nil
}

func (l *dataLock) release() {
	_ = l.file.Close()
	_ = os.Remove(l.path)
}
