package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
)

// What stands in the data folder, besides the secrets.
const (
	ledgerFile   = "sluice.db"
	decisionFile = "decisions.log"
)

// ledgerPath and decisionPath are where a configuration keeps its ledger and its decision log.
func ledgerPath(cfg *config.Loaded) string { return filepath.Join(cfg.Data, ledgerFile) }

func decisionPath(cfg *config.Loaded) string {
	if cfg.DecisionLog.File != "" {
		return cfg.DecisionLog.File
	}
	return filepath.Join(cfg.Data, decisionFile)
}

// notOpened says what to do about a ledger that could not be opened.
func notOpened(cfg *config.Loaded, err error) error {
	dir := cfg.Data
	if cfg.Ledger.IsURL() {
		return &failure{code: exitFailed, err: fmt.Errorf("the ledger %s cannot be opened: %w", cfg.Ledger, err),
			next: "sluice doctor"}
	}
	if errors.Is(err, sluice.ErrConflict) {
		return &failure{code: exitFailed, err: err, next: "sluice serve --data ANOTHER-FOLDER, or stop that server first"}
	}
	return &failure{code: exitFailed, err: fmt.Errorf("the ledger in %s cannot be opened: %w", dir, err),
		next: "sluice doctor --data " + dir}
}
