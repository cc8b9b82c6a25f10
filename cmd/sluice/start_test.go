package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/config"
)

// TestProgress: a file gets a line when there is something to wait for, not one for every step.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
	now := p.began
	p.now = func() time.Time { return now }
	for i := range 200 {
		now = p.began.Add(time.Duration(i) * 100 * time.Millisecond)
		p.at("arming spring:", int64(i), 200)
	}
	p.end()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "arming spring: 50 of 200 (25%), about 15s left") {
		t.Errorf("%d lines in 20 s:\n%s", len(lines), out.String())
	}
	quick := newProgress(&out, true)
	quick.at("x", 1, 2)
	if strings.Contains(out.String(), "x") {
		t.Error("a quiet progress shows something")
	}
}

func TestReadiness(t *testing.T) {
	r := &readiness{}
	if len(r.list()) != 0 {
		t.Error("an empty one waits")
	}
	r.begin("starting", "")
	r.begin("arming", "campaign spring, 1 of 2 claims")
	r.begin("arming", "campaign spring, 2 of 2 claims")
	r.done("nothing of the kind")
	want := []string{"starting", "arming: campaign spring, 2 of 2 claims"}
	if got := r.list(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	r.done("arming")
	r.done("starting")
	if got := r.list(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestAFailedStartLeavesNothing: the second start fails late, on its listener's address; the third finds folder and
// addresses free.
func TestAFailedStartLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	load := func(flags map[string]string) *config.Loaded {
		flags["data"] = dir
		cfg, err := config.Load(config.Sources{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	start := func(cfg *config.Loaded) (*server, error) {
		return startServer(t.Context(), cfg, serverOptions{log: io.Discard, progress: io.Discard, started: time.Now()})
	}
	free := func() map[string]string {
		return map[string]string{"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
	}
	first, err := start(load(free()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = start(load(free()))
	var f *failure
	if !errors.As(err, &f) || f.code != exitFailed || f.next == "" {
		t.Errorf("a second server on the folder: %v", err)
	}
	taken := free()
	taken["listen"] = first.publicLn.Addr().String()
	if _, err := start(load(taken)); !errors.As(err, &f) {
		t.Errorf("a taken address: %v", err)
	}
	if err := first.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := start(load(map[string]string{
		"listen": first.publicLn.Addr().String(), "admin_listen": first.adminLn.Addr().String(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"json": `{"time":`, "text": "time=", "auto": `{"time":`} {
		var out bytes.Buffer
		level := new(slog.LevelVar)
		log := newLogger(&out, config.Log{Level: "warn", Format: format}, level)
		log.Info("hidden")
		level.Set(slog.LevelInfo)
		log.Info("shown")
		if text := out.String(); !strings.HasPrefix(text, want) || strings.Contains(text, "hidden") ||
			!strings.Contains(text, "shown") {
			t.Errorf("%s: %s", format, text)
		}
	}
}
