//go:build !unix

package main

import (
	"os"
	"path/filepath"
)

// lockFile claims the folder by making a second file that must not exist yet. A crash leaves it behind; the error of the
// next start names it.
func lockFile(f *os.File) error {
	g, err := os.OpenFile(filepath.Join(filepath.Dir(f.Name()), "locked"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if os.IsExist(err) {
		return errLocked
	}
	if err != nil {
		return err
	}
	return g.Close()
}

// openFiles and freeBytes are not known here.
func openFiles() (uint64, bool) { return 0, false }

func freeBytes(string) (uint64, bool) { return 0, false }
