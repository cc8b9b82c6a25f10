package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

var update = flag.Bool("update", false, "write the golden files anew")

const springJSON = `{"id":"spring","kind":"goods","title":"Spring sale","total":100,"per_user_limit":2,
"starts_at":"2026-01-01T00:00:00Z","ends_at":"2026-12-31T00:00:00Z",
"goods":{"sku":"s","price_minor":9900,"currency":"CNY"}}`

// changing are the parts of a transcript that differ from run to run, each with what stands for it.
var changing = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), "<time>"},
	{regexp.MustCompile(`(blk|key|cmp)_[0-9a-f-]{36}`), "${1}_<id>"},
	{regexp.MustCompile(`(clm|ord)_[0-9a-z]{32}`), "${1}_<id>"},
	{regexp.MustCompile(`slk_[0-9A-Za-z_-]{43}`), "slk_<key>"},
	{regexp.MustCompile(`slk_[0-9A-Za-z_-]{8}`), "slk_<start>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
	{regexp.MustCompile(`(?m)^\d+-\d+ `), "<event> "}, // what shares a batch differs from run to run
	{regexp.MustCompile(`(after|in) \d+ ms`), "$1 <n> ms"},
	{regexp.MustCompile(`[0-9A-Z]{4}(-[0-9A-Z]{4}){3}`), "<code>"},
	{regexp.MustCompile(`p(50|99) [0-9.]+(µs|ms|s)`), "p$1 <time>"},
	{regexp.MustCompile(`_ms":\d+`), `_ms":<n>`},
	{regexp.MustCompile(`\d+h\d+m[0-9.]+s after`), "<time> after"},
	{regexp.MustCompile(` {2,}`), "  "},
}

// TestTranscript runs a sale by the command line alone and compares every word of it.
func TestTranscript(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	dir := t.TempDir()
	grants := filepath.Join(dir, "grants.csv")
	csv := "user_id,grant_id,quantity\nbob,g1,2\ncarol,g2,1\n,g3,1\ndave,g4,9\n"
	if err := os.WriteFile(grants, []byte(csv), 0o600); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	do := func(stdin string, args ...string) {
		r := s.CLI(t, stdin, args...)
		fmt.Fprintf(&script, "$ sluice %s\n%s", strings.ReplaceAll(strings.Join(args, " "), dir, "DIR"), r.Out)
		for line := range strings.Lines(r.Err) {
			script.WriteString("! " + line)
		}
		if r.Code != 0 {
			fmt.Fprintf(&script, "? exit code %d\n", r.Code)
		}
		script.WriteByte('\n')
	}
	do("", "campaign", "list")
	do(springJSON, "campaign", "create", "-f", "-")
	do(springJSON, "campaign", "create", "-f", "-")
	do(`{"id":"bad id","kind":"barter","total":0}`, "campaign", "create", "-f", "-")
	if c := s.Claim(t, "spring", "alice", "r1", 2); c.Code != "CONFIRMED" {
		t.Fatalf("%+v", c)
	}
	do("", "campaign", "list")
	do(`{"title":"Spring sale!","total":7}`, "campaign", "edit", "spring", "-f", "-")
	do(`{"title":"Spring sale!"}`, "campaign", "edit", "spring", "-f", "-")
	do("", "campaign", "pause", "spring", "--reason", "look")
	do("", "campaign", "resume", "spring")
	do("", "campaign", "adjust", "spring", "--delta", "-1000", "--change-id", "c1")
	do("", "campaign", "adjust", "spring", "--delta", "+10", "--change-id", "c2")
	do("", "campaign", "grant", "spring", "--user", "erin", "--grant-id", "g0")
	do("", "campaign", "grants", "import", "spring", grants)
	do("", "campaign", "grants", "import", "spring", grants, "--json")
	do("", "switch", "set", "max_rate", "500", "--reason", "slow down")
	do("", "switch", "set", "closed", "on", "--campaign", "spring")
	do("", "switch", "list")
	do("", "switch", "clear", "max_rate")
	do("", "blocklist", "add", "user", "mallory", "--for", "1h", "--reason", "bots")
	do("", "blocklist", "list")
	do("", "key", "create", "--role", "merchant", "--name", "shop", "--merchant-id", "m1")
	do("", "key", "list")
	do("", "campaign", "clone", "spring", "--as", "summer")
	do("", "campaign", "end", "summer", "--confirm", "summer")
	do("", "campaign", "resume", "summer")
	do("", "campaign", "get", "nowhere")
	do("", "deadletter", "list")
	do("", "deadletter", "show", "7")
	do("", "deadletter", "replay", "--all")
	do("", "deadletter", "discard", "--all")
	do("", "verify")
	do("", "report", "spring")
	do("", "events", "--type", "campaign")
	do("", "token", "--user", strings.Repeat("x", 65))
	got := script.String()
	for _, c := range changing {
		got = c.find.ReplaceAllString(got, c.put)
	}
	compare(t, filepath.Join("testdata", "transcript.txt"), got)
}

func compare(t *testing.T, path, got string) {
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
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s, line %d (go test ./test/e2e -run Transcript -update writes it anew)\n got %s\nwant %s",
				path, i+1, a[i], b[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", path, len(a), len(b))
}

// TestWrongKey: the server's refusal tells what to do.
func TestWrongKey(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	env := append(s.Env, "SLUICE_ADMIN_URL="+s.AdminURL, "SLUICE_ADMIN_KEY=another-key-0123456789")
	r := e2e.Command(t, env, "", "campaign", "list", "--data", t.TempDir())
	if r.Code != 5 || !strings.Contains(r.Err, "UNAUTHENTICATED") || !strings.Contains(r.Err, "SLUICE_ADMIN_KEY") {
		t.Errorf("%+v", r)
	}
	r = e2e.Command(t, append(s.Env, "SLUICE_ADMIN_URL="+s.URL), "", "campaign", "list", "--data", t.TempDir())
	if r.Code != 5 || !strings.Contains(r.Err, "next:") {
		t.Errorf("the public listener: %+v", r)
	}
}

// TestCompletionAnswers asks the binary as bash, zsh and fish do.
func TestCompletionAnswers(t *testing.T) {
	for line, want := range map[string][]string{
		"sluice ca":                    {"campaign"},
		"sluice campaign p":            {"pause", "preheat", "publish"},
		"sluice serve --log-l":         {"--log-level"},
		"sluice campaign create --adm": {"--admin-url", "--admin-ca"},
	} {
		env := append(os.Environ(), "COMP_LINE="+line, fmt.Sprintf("COMP_POINT=%d", len(line)))
		r := e2e.Command(t, env, "")
		for _, w := range want {
			if !strings.Contains(r.Out, w) {
				t.Errorf("%q: %q has no %s (%s)", line, r.Out, w, r.Err)
			}
		}
	}
}

// TestFollow: events come as they happen, each once, and an interrupt ends the following in good order.
func TestFollow(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 5, 1, nil))
	s.Claim(t, "spring", "alice", "r1", 1)
	r := s.CLI(t, "", "events", "--follow", "--limit", "2", "--json")
	if r.Code != 0 || strings.Count(r.Out, "\n") != 2 || !strings.Contains(r.Out, `"type":"order.created"`) {
		t.Errorf("%+v", r)
	}
	r = s.CLI(t, "", "events", "--after", "2-0", "--json")
	if r.Code != 0 || r.Out != "" {
		t.Errorf("after the last one: %+v", r)
	}
}
