package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// run runs one command line inside this process.
func run(t *testing.T, environ []string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := &app{ctx: ctx, stop: stop, out: &o, err: &e, in: strings.NewReader(""), environ: environ}
	code = a.main(args)
	return o.String(), e.String(), code
}

// golden compares got with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	at := 0
	for at < min(len(a), len(b))-1 && a[at] == b[at] {
		at++
	}
	t.Errorf("%s is old from line %d on: go test ./cmd/sluice -update writes it anew\n got %s\nwant %s",
		path, at+1, a[at], b[at])
}

func TestReference(t *testing.T) {
	var c cli
	k, err := (&app{out: os.Stdout, err: os.Stderr}).parser(&c)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/reference/cli.md", reference(k))
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"campaign"}, {"campaign", "adjust"}, {"token"}, {"backup"}, {"events"}} {
		out, errs, code := run(t, nil, append(args, "--help")...)
		if code != exitOK || errs != "" {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
		golden(t, filepath.Join("testdata", "help", strings.Join(append([]string{"sluice"}, args...), "-")+".txt"), out)
	}
	if out, _, code := run(t, nil); code != exitOK || !strings.Contains(out, "serve") {
		t.Errorf("bare sluice: code %d\n%s", code, out)
	}
}

func TestEveryVerbHasHelp(t *testing.T) {
	var c cli
	k, err := (&app{out: os.Stdout, err: os.Stderr}).parser(&c)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range k.Model.Leaves(false) {
		if n.Help == "" {
			t.Errorf("%s has no help", n.Path())
		}
		for _, f := range n.Flags {
			if f.Help == "" {
				t.Errorf("%s --%s has no help", n.Path(), f.Name)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	key := []string{"SLUICE_ADMIN_KEY=0123456789abcdef"}
	tests := []struct {
		name    string
		environ []string
		args    []string
		code    int
		want    string
	}{
		{"unknown verb", nil, []string{"tokn"}, exitUsage, `did you mean "token"?`},
		{"unknown flag", nil, []string{"token", "--usr", "u"}, exitUsage, "sluice token --help"},
		{"missing flag", nil, []string{"token"}, exitUsage, "--user"},
		{"user too long", nil, []string{"token", "--user", strings.Repeat("x", 65)}, exitUsage, "1 to 64"},
		{"no time to live", nil, []string{"token", "--user", "u", "--ttl", "-1h"}, exitUsage, "--ttl"},
		{"no secret", nil, []string{"token", "--user", "u", "--data", dir}, exitFailed, "sluice serve --data"},
		{"unknown variable", []string{"SLUICE_DTA=x"}, []string{"config"}, exitUsage, "did you mean SLUICE_DATA?"},
		{"no key", nil, []string{"verify", "--data", dir}, exitUsage, "SLUICE_ADMIN_KEY"},
		{"no server", key, []string{"verify", "--admin-url", "http://127.0.0.1:1"}, exitUnreachable, "sluice serve"},
		{"no URL", key, []string{"verify", "--admin-url", "127.0.0.1"}, exitUsage, "http://host:port"},
		{"no file", key, []string{"campaign", "create", "-f", dir + "/none"}, exitFailed, "none"},
		{"nothing on stdin", key, []string{"campaign", "create", "-f", "-"}, exitUsage, "empty"},
		{"not confirmed", key, []string{"campaign", "end", "spring"}, exitUsage, "--confirm spring"},
		{"another confirmed", key, []string{"campaign", "end", "spring", "--confirm", "x"}, exitUsage, `"spring"`},
		{"no switch value", key, []string{"switch", "set", "closed", "maybe"}, exitUsage, "on, off or a number"},
		{"no number", key, []string{"switch", "set", "max_rate", "NaN"}, exitUsage, "on, off or a number"},
		{"no end", key, []string{"switch", "set", "max_rate", "Inf"}, exitUsage, "on, off or a number"},
		{"no ledger", nil, []string{"backup", "--data", dir, "--out", dir + "/copy"}, exitFailed, "no ledger"},
		{"no letter", key, []string{"deadletter", "replay"}, exitUsage, "--all"},
		{"letters twice", key, []string{"deadletter", "discard", "3", "--all", "--confirm", "all"}, exitUsage, "not both"},
		{"letters not confirmed", key, []string{"deadletter", "discard", "--all"}, exitUsage, "--confirm all"},
		{"a moment without all", key, []string{"deadletter", "replay", "3", "--as-of", "2026-01-01T00:00:00Z"}, exitUsage,
			"--all"},
		{"no risk rule", []string{"SLUICE_RISK_RULES=farm (on): claims per device > 5 in 1m -> log, odd (on): x -> log"},
			[]string{"config"}, exitUsage, `risk.rules = "odd (on): x -> log" (environment SLUICE_RISK_RULES): item 2: odd: `},
		{"a risk rule out of its bounds", []string{"SLUICE_RISK_RULES=a (on): claims per device > 5 in 1s -> log"},
			[]string{"config"}, exitUsage, "10s"},
		{"a risk rule twice", []string{"SLUICE_HOLDING_PER_ADDRESS=5",
			"SLUICE_RISK_RULES=holding-per-address: claims per device > 5 in 1m -> log"}, []string{"config"}, exitUsage,
			"two rules"},
		{"negative block", key, []string{"blocklist", "add", "user", "u", "--for", "-1h"}, exitUsage, "--for"},
	}
	for _, tt := range tests {
		out, errs, code := run(t, tt.environ, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.want) || out != "" {
			t.Errorf("%s: code %d, want %d; out %q\n%s", tt.name, code, tt.code, out, errs)
		}
		_, errs, again := run(t, tt.environ, append(tt.args, "--json")...)
		if tt.code != exitUsage && (again != code || !strings.HasPrefix(errs, `{"error":`)) {
			t.Errorf("%s with --json: code %d\n%s", tt.name, again, errs)
		}
	}
}

// TestCompletionScripts: that the binary answers them is tested in test/e2e.
func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{"bash": "complete -C", "zsh": "bashcompinit", "fish": "commandline"} {
		out, _, code := run(t, nil, "completion", shell)
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: code %d\n%s", shell, code, out)
		}
	}
}

// TestBackupSaysHowToRestore: a server looks for sluice.db, and beside a copy under another name would begin anew.
func TestBackupSaysHowToRestore(t *testing.T) {
	data := t.TempDir()
	if _, errs, code := run(t, nil, "migrate", "--data", data); code != exitOK {
		t.Fatal(errs)
	}
	into := filepath.Join(t.TempDir(), "copies")
	out, errs, code := run(t, nil, "backup", "--data", data, "--out", filepath.Join(into, "monday.db"))
	if code != exitOK || strings.Contains(out, "serve --data "+into) || !strings.Contains(out, "as sluice.db") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	for _, folder := range []string{into, into + "2" + string(filepath.Separator)} { // one is there, one is to be made
		out, errs, code = run(t, nil, "backup", "--data", data, "--out", folder)
		if code != exitOK || !strings.Contains(out, "sluice serve --data "+filepath.Clean(folder)) {
			t.Errorf("code %d: %s%s", code, out, errs)
		}
	}
}

// TestRefusalsSayWhatHelps: a refusal of the server names the next command.
func TestRefusalsSayWhatHelps(t *testing.T) {
	for _, tt := range []struct {
		status     int
		code, next string
	}{
		{401, "UNAUTHENTICATED", "SLUICE_ADMIN_KEY"}, {403, "FORBIDDEN", "sluice key create"},
		{429, "TOO_MANY_FAILURES", "wait ten seconds"},
		{404, "NOT_FOUND", "--admin-url"}, {404, "UNKNOWN_CAMPAIGN", "sluice campaign list"},
		{404, "UNKNOWN_SWITCH", "sluice switch list"}, {404, "UNKNOWN_BLOCK", "sluice blocklist list"},
		{404, "UNKNOWN_KEY", "sluice key list"}, {409, "CAMPAIGN_EXISTS", "sluice campaign edit"},
		{409, "CHANGE_ID_REUSED", "--change-id"}, {409, "REQUEST_ID_REUSED", "--grant-id"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			fmt.Fprintf(w, `{"status":%d,"code":%q}`, tt.status, tt.code)
		}))
		_, errs, code := run(t, []string{"SLUICE_ADMIN_KEY=0123456789abcdef"}, "campaign", "get", "x",
			"--admin-url", server.URL)
		server.Close()
		if _, next, _ := strings.Cut(errs, "next: "); code != exitRefused || !strings.Contains(next, tt.next) {
			t.Errorf("%s: code %d\n%s", tt.code, code, errs)
		}
	}
}

// TestLabFindsTheSecrets: those that serve made are in the data folder, and of several the first one signs.
func TestLabFindsTheSecrets(t *testing.T) {
	data := t.TempDir()
	kept := []byte(`{"jwt_secret":"kept-jwt-secret-1","admin_key":"kept-admin-key-1","payment_secret":"kept-payment-1"}`)
	if err := os.WriteFile(filepath.Join(data, "secrets.json"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		environ              []string
		jwt, admin, adminURL string
	}{
		{nil, "kept-jwt-secret-1", "kept-admin-key-1", defaultAdminURL},
		{[]string{"SLUICE_JWT_SECRET=new-jwt-secret-01,old-jwt-secret-01", "SLUICE_ADMIN_URL=http://ops",
			"SLUICE_ADMIN_KEY=new-admin-key-01,old-admin-key-01"}, "new-jwt-secret-01", "new-admin-key-01", "http://ops"},
	} {
		c := labCmd{URL: "http://shop", dataFlags: dataFlags{Data: &data}}
		cfg, err := c.setup(&app{environ: tt.environ})
		if err != nil || cfg.JWTSecret != tt.jwt || cfg.AdminKey != tt.admin || cfg.AdminURL != tt.adminURL {
			t.Errorf("%v: %v, JWT %q, key %q at %q", tt.environ, err, cfg.JWTSecret, cfg.AdminKey, cfg.AdminURL)
		}
	}
}

// TestDoctorReadsTheLedger: a start that fails of the ledger sends people to the doctor.
func TestDoctorReadsTheLedger(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	doctor := func() string {
		out, _, _ := run(t, nil, "doctor", "--data", data, "--admin-url", "http://127.0.0.1:1")
		return out
	}
	if out := doctor(); !strings.Contains(out, "sluice.db is not there yet") {
		t.Errorf("without one:\n%s", out)
	}
	if _, errs, code := run(t, nil, "migrate", "--data", data); code != exitOK {
		t.Fatal(errs)
	}
	if out := doctor(); !strings.Contains(out, "sluice.db can be read, campaigns: 0") {
		t.Errorf("with one:\n%s", out)
	}
	broken := []byte(strings.Repeat("no ledger", 1000))
	if err := os.WriteFile(filepath.Join(data, "sluice.db"), broken, 0o600); err != nil {
		t.Fatal(err)
	}
	out := doctor()
	_, _, code := run(t, nil, "doctor", "--data", data)
	if code != exitFailed || !strings.Contains(out, "BAD   ledger") {
		t.Errorf("with a broken one: code %d\n%s", code, out)
	}
}

// TestSwitchesReadAsTheyAreWritten: whoever sets one to on is not told 1.
func TestSwitchesReadAsTheyAreWritten(t *testing.T) {
	var o bytes.Buffer
	a := &app{out: &o}
	one, rate := 1.0, 2.5
	a.showSwitch(switchAnswer{Name: "closed", Set: true, Value: 1, Nodes: 1, InForce: 1})
	a.showSwitch(switchAnswer{Name: "closed", CampaignID: "spring", Set: true, Before: &one, Nodes: 1, InForce: 1})
	a.showSwitch(switchAnswer{Name: "max_rate", Set: true, Value: 500, Before: &rate, Nodes: 1, InForce: 1})
	a.showSwitch(switchAnswer{Name: "of another version", Before: &one, Nodes: 1, InForce: 1})
	want := `closed: on (was not set), in force on 1 of 1 nodes after 0 ms
closed of spring: off (was on), in force on 1 of 1 nodes after 0 ms
max_rate: 500 (was 2.5), in force on 1 of 1 nodes after 0 ms
of another version: cleared (was 1), in force on 1 of 1 nodes after 0 ms
`
	if o.String() != want {
		t.Errorf("got\n%swant\n%s", o.String(), want)
	}
}

func TestVersion(t *testing.T) {
	verb, _, _ := run(t, nil, "version")
	if flag, errs, code := run(t, nil, "--version"); code != exitOK || flag != verb || errs != "" {
		t.Errorf("--version: code %d, %q, want %q; %s", code, flag, verb, errs)
	}
}

func TestTables(t *testing.T) {
	var o bytes.Buffer
	a := &app{out: &o}
	tb := table{heads: []string{"NAME", "N>", "LAST"}}
	tb.add("春节", "1,234", "x")
	tb.add("spring", "7", "")
	tb.print(a)
	want := "NAME        N  LAST\n春节    1,234  x\nspring      7\n"
	if o.String() != want {
		t.Errorf("got\n%swant\n%s", o.String(), want)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := short("春节大促销", 6); got != "春节…" {
		t.Errorf("short: %q", got)
	}
}
