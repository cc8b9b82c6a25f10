package main

import (
	"io"
	"log/slog"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/sluice-sale/sluice/internal/config"
)

// newLogger makes the server's log. The level can be changed while it runs.
func newLogger(out io.Writer, cfg config.Log, level *slog.LevelVar) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(cfg.Level)); err == nil { // the configuration has checked it
		level.Set(l)
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "text" || cfg.Format == "auto" && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, opts))
	}
	return slog.New(slog.NewJSONHandler(out, opts))
}

// newDecisionLog makes the rotated file of decisions. It is opened by the first line written to it.
func newDecisionLog(cfg config.DecisionLog, path string) io.WriteCloser {
	return &lumberjack.Logger{
		Filename: path, MaxSize: max(1, int(cfg.MaxSize>>20)), MaxAge: int(cfg.MaxAge.Hours() / 24), MaxBackups: cfg.MaxFiles,
	}
}
