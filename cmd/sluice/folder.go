package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice/internal/config"
)

// What stands in the data folder, besides the secrets.
const (
	ledgerFile   = "sluice.db"
	lockName     = "lock"
	decisionFile = "decisions.log"
)

var errLocked = errors.New("locked by another process")

// folder is a data folder that this process has for itself.
type folder struct {
	path string
	lock *os.File
}

// openFolder makes the folder if need be and locks it.
func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("data folder: lock %s: %w", f.Name(), err)
		}
		return nil, &failure{code: exitFailed, next: "sluice serve --data ANOTHER-FOLDER, or stop that server first",
			err: fmt.Errorf("the data folder %s is in use by another server%s", path, holder(f))}
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // for people; the lock itself is what counts
	}
	return &folder{path: path, lock: f}, nil
}

// holder tells who holds the lock, where the file says so.
func holder(f *os.File) string {
	raw, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(raw))
	if err != nil || pid == "" {
		return ""
	}
	return " (process " + pid + ")"
}

// close gives the folder up.
func (f *folder) close() error { return f.lock.Close() }

// ledgerPath and decisionPath are where a configuration keeps its ledger and its decision log.
func ledgerPath(cfg *config.Loaded) string { return filepath.Join(cfg.Data, ledgerFile) }

func decisionPath(cfg *config.Loaded) string {
	if cfg.DecisionLog.File != "" {
		return cfg.DecisionLog.File
	}
	return filepath.Join(cfg.Data, decisionFile)
}
