package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

func TestServeStopsAndStartsAgain(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	if a := s.Ask(t, "GET", s.URL+"/healthz", "", nil); a.Status != 200 {
		t.Errorf("public health: %d %s", a.Status, a.Body)
	}
	s.Stop(t)
	if _, err := s.TryAsk("GET", s.URL+"/healthz", "", nil); err == nil {
		t.Error("it answers after the stop")
	}
	for _, left := range []string{"sluice.db-wal", "sluice.db-shm"} {
		if _, err := os.Stat(filepath.Join(s.Data, left)); err == nil {
			t.Errorf("%s is left: the ledger was not closed", left)
		}
	}
	if st, err := os.Stat(filepath.Join(s.Data, "sluice.db")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the ledger: %v, %v", st.Mode(), err)
	}
	s.Restart(t)
	// The line comes by a pipe, and may come after the answer of /readyz.
	told := s.Eventually(15*time.Second, func() bool { return strings.Contains(s.Log(), `"msg":"ready"`) })
	if log := s.Log(); !told || strings.Contains(log, "secrets made") {
		t.Errorf("the log of the second start:\n%s", log)
	}
}

func TestASecondServerOnTheSameFolderIsRefused(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	r := e2e.Command(t, s.Env, "", "serve", "--data", s.Data,
		"--listen", e2e.FreeAddr(t), "--admin-listen", e2e.FreeAddr(t))
	if r.Code != 1 || !strings.Contains(r.Err, "in use by another server") || !strings.Contains(r.Err, "next:") {
		t.Errorf("code %d: %s", r.Code, r.Err)
	}
	s.Kill(t) // a crash leaves no lock behind
	s.Restart(t)
}

func TestATakenAddressIsNamed(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	taken := strings.TrimPrefix(s.URL, "http://")
	r := e2e.Command(t, nil, "", "serve", "--data", t.TempDir(), "--listen", taken, "--admin-listen", e2e.FreeAddr(t))
	if r.Code != 1 || !strings.Contains(r.Err, taken) || !strings.Contains(r.Err, "--listen") {
		t.Errorf("code %d: %s", r.Code, r.Err)
	}
}

func TestSecretsAreMadeKeptAndNeverShown(t *testing.T) {
	bare := []string{"SLUICE_ADMIN_KEY=", "SLUICE_JWT_SECRET=", "SLUICE_PAYMENT_SECRET="}
	s := e2e.Start(t, e2e.Options{Env: bare, Args: []string{"--log-level", "debug"}})
	path := filepath.Join(s.Data, "secrets.json")
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Log(), path) {
		t.Errorf("the log does not say where the secrets are:\n%s", s.Log())
	}
	r := s.CLI(t, "", "config", "--json")
	shown := s.Log() + r.Out + r.Err
	for i, part := range strings.Split(string(raw), `"`) {
		if len(part) > 20 && strings.Contains(shown, part) {
			t.Errorf("secret %d of the file is shown", i)
		}
	}
	if r := s.CLI(t, "", "token", "--user", "bob"); r.Code != 0 || strings.Count(r.Out, ".") != 2 {
		t.Errorf("token: %+v", r)
	}
}

// TestSignals: SIGHUP reloads and changes nothing else; the log tells why it ended.
func TestSignals(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Signal(t, syscall.SIGHUP)
	if a := s.Ask(t, "GET", s.AdminURL+"/readyz", "", nil); a.Status != 200 {
		t.Errorf("after SIGHUP: %d %s", a.Status, a.Body)
	}
	s.Signal(t, syscall.SIGINT)
	if code := s.WaitExit(t); code != 0 || !strings.Contains(s.Log(), `"signal":"interrupt"`) {
		t.Errorf("code %d\n%s", code, s.Log())
	}
}

func TestBrokenConfigurationIsRefusedWhole(t *testing.T) {
	r := e2e.Command(t, nil, "", "serve", "--listen", "8080", "--ledger", "mysql://root:p4ss@db/x", "--log-level", "loud")
	if r.Code != 2 {
		t.Errorf("code %d", r.Code)
	}
	for _, part := range []string{"3 faults", "listen", "ledger", "log.level", "--log-level"} {
		if !strings.Contains(r.Err, part) {
			t.Errorf("%q is not in:\n%s", part, r.Err)
		}
	}
	if strings.Contains(r.Err, "p4ss") {
		t.Errorf("a password is shown:\n%s", r.Err)
	}
}
