package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// What doctor holds a machine against.
const (
	wantFree     = 2 << 30 // bytes on the disk of the data folder
	needFree     = 500 << 20
	wantFiles    = 65_536
	needFiles    = 4_096
	wantSync     = 10 * time.Millisecond // of a commit
	syncSamples  = 50
	strongSecret = 32 // bytes
	oldestClock  = "2026-01-01"
)

// doctorCmd checks what can be checked on one machine.
type doctorCmd struct {
	AdminURL string `placeholder:"URL" help:"The operators' listener of a running server. Default: ${admin_url}."`
	dataFlags
}

// finding is one thing that doctor looked at.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warn, bad
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

// Run prints what it finds; something bad is exit code 1.
func (c *doctorCmd) Run(a *app) error {
	var all []finding
	cfg, err := c.load(a)
	if err != nil {
		all = append(all, finding{"configuration", "bad", err.Error(), "mend the settings named"})
	} else {
		all = append(all, finding{"configuration", "ok", "every setting is within its bounds", ""},
			checkFolder(cfg))
		if cfg.Ledger.IsURL() {
			all = append(all, checkStores(a.ctx, cfg)...)
		} else {
			all = append(all, checkLedger(a.ctx, cfg), checkSpace(cfg.Data), checkSync(cfg.Data))
		}
		all = append(all, checkSecrets(cfg)...)
		all = append(all, checkChallenges(a.ctx, cfg)...)
	}
	all = append(all, checkFiles(), checkClock(time.Now()), c.checkServer(a), checkVersion())
	bad := slices.ContainsFunc(all, func(f finding) bool { return f.State == "bad" })
	if a.json {
		if err := a.printJSON(map[string]any{"items": all, "ok": !bad}); err != nil {
			return err
		}
	} else {
		for _, f := range all {
			mark := map[string]string{
				"ok": a.paint.good("ok  "), "warn": a.paint.alert("warn"), "bad": a.paint.bad("BAD "),
			}[f.State]
			a.say("%s  %-14s %s", mark, f.Check, f.Detail)
			if f.Advice != "" {
				a.say("                      %s", a.paint.dim("-> "+f.Advice))
			}
		}
	}
	if bad {
		return errors.New("something is bad")
	}
	return nil
}

func checkFolder(cfg *config.Loaded) finding {
	const name = "data folder"
	st, err := os.Stat(cfg.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, "ok", cfg.Data + " is not there yet; serve makes it", ""}
	case err != nil:
		return finding{name, "bad", err.Error(), "let this user read and write it"}
	case !st.IsDir():
		return finding{name, "bad", cfg.Data + " is no folder", "--data with a folder"}
	}
	f, err := os.CreateTemp(cfg.Data, "doctor-*")
	if err != nil {
		return finding{name, "bad", err.Error(), "let this user write to it"}
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		detail := fmt.Sprintf("%s can be read by others (mode %04o); coupon codes are in the ledger", cfg.Data, mode)
		return finding{name, "warn", detail, "chmod 700 " + cfg.Data}
	}
	return finding{name, "ok", cfg.Data + " can be written, and read by nobody else", ""}
}

// checkLedger reads the ledger where there is one, also beside the server that runs on it.
func checkLedger(ctx context.Context, cfg *config.Loaded) finding {
	const name = "ledger"
	n, err := sqldb.ProbeFile(ctx, ledgerPath(cfg))
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return finding{name, "ok", ledgerPath(cfg) + " is not there yet; serve makes it", ""}
	case err != nil:
		return finding{name, "bad", ledgerPath(cfg) + " cannot be read: " + err.Error(),
			"put a backup in its place, and keep what is there"}
	}
	return finding{name, "ok", fmt.Sprintf("%s can be read, campaigns: %s", ledgerPath(cfg), thousands(n)), ""}
}

// existing gives the nearest folder above path that is there.
func existing(path string) string {
	for {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return up
		}
		path = up
	}
}

func checkSpace(dir string) finding {
	const name = "free space"
	free, ok := freeBytes(existing(dir))
	if !ok {
		return finding{name, "warn", "cannot be told on this system", ""}
	}
	text := fmt.Sprintf("%.1f GB", float64(free)/(1<<30))
	switch {
	case free < needFree:
		return finding{name, "bad", text + " left", "the write-ahead log alone takes 270MB, a million orders about 200MB"}
	case free < wantFree:
		return finding{name, "warn", text + " left", "2GB leave room for a few million orders"}
	}
	return finding{name, "ok", text + " left", ""}
}

// checkSync measures what a commit waits for: small writes, each made durable.
func checkSync(dir string) finding {
	const name = "fsync"
	f, err := os.CreateTemp(existing(dir), ".sluice-doctor-*")
	if err != nil {
		return finding{name, "warn", "not measured: " + err.Error(), ""}
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	took := make([]time.Duration, 0, syncSamples)
	page := make([]byte, 4096)
	for range syncSamples {
		began := time.Now()
		if _, err = f.Write(page); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return finding{name, "bad", err.Error(), "a disk that cannot sync loses confirmed claims"}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	detail := fmt.Sprintf("%s at the median of %d, %s at worst", median.Round(10*time.Microsecond), syncSamples,
		worst.Round(10*time.Microsecond))
	if median > wantSync {
		return finding{name, "warn", detail, "claims wait for it: a local SSD takes less than a millisecond"}
	}
	return finding{name, "ok", detail, ""}
}

// secretSetting is one setting that holds secrets.
type secretSetting struct {
	name string
	set  config.Secrets
}

func secretSettings(cfg *config.Loaded) []secretSetting {
	return []secretSetting{
		{"jwt.secret", cfg.JWT.Secret}, {"admin.key", cfg.Admin.Key}, {"payment.secret", cfg.Payment.Secret},
	}
}

// weak says whether one of them is short enough to be guessed offline by whoever has something signed with it.
func (x secretSetting) weak() bool {
	return slices.ContainsFunc(x.set, func(s config.Secret) bool { return len(s.Reveal()) < strongSecret })
}

func checkSecrets(cfg *config.Loaded) []finding {
	if err := cfg.ReadSecrets(); err != nil {
		return []finding{{"secrets", "bad", err.Error(), ""}}
	}
	var all []finding
	for _, x := range secretSettings(cfg) {
		f := finding{x.name, "ok", "from " + cfg.Source(x.name), ""}
		switch {
		case len(x.set) == 0 && x.name == "jwt.secret" && cfg.VerifiesByKeys():
			f.Detail = "not needed: tokens are verified by public keys"
		case len(x.set) == 0 && cfg.Ledger.IsURL():
			f.State, f.Detail = "bad", "not set; serve makes none where several nodes share a ledger"
			f.Advice = "openssl rand -hex 32 gives one: set the same on every node"
		case len(x.set) == 0:
			f.Detail = "not set; serve makes one and keeps it in " + cfg.SecretsPath()
		case x.weak():
			f.State = "warn"
			f.Advice = fmt.Sprintf("one has fewer than %d bytes: openssl rand -hex 32 gives a strong one", strongSecret)
		}
		all = append(all, f)
	}
	if cfg.Sandbox() {
		all = append(all, finding{"payment", "warn", "payments are a sandbox: buyers can pay their orders with nothing",
			"--payment-provider signed for a real sale"})
	}
	return all
}

func checkFiles() finding {
	const name = "open files"
	n, ok := openFiles()
	detail := fmt.Sprintf("up to %s; each connection takes one", thousands(int64(n)))
	switch {
	case !ok:
		return finding{name, "warn", "the limit cannot be told on this system", ""}
	case n < needFiles:
		return finding{name, "bad", detail, "ulimit -n 200000, or LimitNOFILE= in systemd"}
	case n < wantFiles:
		return finding{name, "warn", detail, "ulimit -n 200000, or LimitNOFILE= in systemd"}
	}
	return finding{name, "ok", detail, ""}
}

func checkClock(now time.Time) finding {
	oldest, _ := time.Parse(time.DateOnly, oldestClock)
	if now.Before(oldest) {
		return finding{"clock", "bad", "it says " + now.Format(time.RFC3339), "set it: windows and tokens run on it"}
	}
	return finding{"clock", "ok", now.Format(time.RFC3339), ""}
}

// checkServer asks a running server whether it is ready, how its clock stands and what it is.
func (c *doctorCmd) checkServer(a *app) finding {
	const name = "server"
	f := adminFlags{AdminURL: c.AdminURL, Timeout: 3 * time.Second, dataFlags: c.dataFlags}
	o, err := f.operator(a)
	if err != nil {
		return finding{name, "ok", "not asked: there is no operator's key", ""}
	}
	ctx, cancel := context.WithTimeout(a.ctx, f.Timeout)
	defer cancel()
	resp, err := o.send(ctx, "GET", "/readyz", "", nil)
	switch {
	case unreachable(err):
		return finding{name, "ok", "none answers at " + o.base, ""}
	case err != nil:
		return finding{name, "warn", o.base + ": " + err.Error(), ""}
	}
	defer resp.Body.Close()
	if at, err := time.Parse(time.RFC1123, resp.Header.Get("Date")); err == nil {
		if off := time.Since(at); off > 3*time.Second || off < -3*time.Second {
			return finding{name, "warn", fmt.Sprintf("%s is ready, and its clock is off by %s", o.base, off.Round(time.Second)),
				"set one of the clocks"}
		}
	}
	return finding{name, "ok", o.base + " is ready", ""}
}

func checkVersion() finding {
	b := buildInfo()
	detail := fmt.Sprintf("sluice %s, %s, %s, %d CPUs", b.Version, b.Go, b.Platform, runtime.NumCPU())
	return finding{"version", "ok", detail, ""}
}
