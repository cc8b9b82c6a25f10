package config_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// file writes a YAML file and gives its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, src config.Sources) *config.Loaded {
	t.Helper()
	c, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := load(t, config.Sources{Environ: []string{"HOME=/root", "SLUICEX=1"}})
	if c.Listen != "127.0.0.1:8080" || c.AdminListen != "127.0.0.1:8081" || c.Data != "./sluice-data" {
		t.Errorf("addresses and folder: %q %q %q", c.Listen, c.AdminListen, c.Data)
	}
	if c.Admission.Reveal() != "memory" || c.Queue.Reveal() != "none" || c.Ledger.Reveal() != "sqlite" {
		t.Errorf("engines: %q %q %q", c.Admission, c.Queue, c.Ledger)
	}
	if c.Limits.Connections != 200_000 || c.SQLite.Cache != 256<<20 || c.DecisionLog.MaxAge != 7*24*time.Hour {
		t.Errorf("typed defaults: %v %v %v", c.Limits.Connections, c.SQLite.Cache, c.DecisionLog.MaxAge)
	}
}

// TestEachLayerBeatsTheOneBefore: default, file, environment, flag.
func TestEachLayerBeatsTheOneBefore(t *testing.T) {
	src := config.Sources{}
	steps := []struct {
		name, want, source string
		with               func()
	}{
		{"default", "info", "default", func() {}},
		{"file", "warn", "file ", func() { src.File = file(t, "log:\n  level: warn\n") }},
		{"environment", "error", "environment SLUICE_LOG_LEVEL", func() {
			src.Environ = []string{"SLUICE_LOG_LEVEL=error"}
		}},
		{"flag", "debug", "flag --log-level", func() { src.Flags = map[string]string{"log.level": "debug"} }},
	}
	for _, s := range steps {
		s.with()
		c := load(t, src)
		if c.Log.Level != s.want || !strings.HasPrefix(c.Source("log.level"), s.source) {
			t.Errorf("%s: level %q from %q, want %q from %q", s.name, c.Log.Level, c.Source("log.level"), s.want, s.source)
		}
	}
}

func TestListsFromYAMLAndText(t *testing.T) {
	yaml := file(t, "trusted_proxies: [10.0.0.0/8, 192.168.1.7]\n"+
		"cors:\n  origins:\n    - https://a.example\n    - https://b.example:8443\n")
	text := []string{
		"SLUICE_TRUSTED_PROXIES=10.0.0.0/8, 192.168.1.7", "SLUICE_CORS_ORIGINS=https://a.example,https://b.example:8443",
	}
	for name, src := range map[string]config.Sources{"yaml": {File: yaml}, "text": {Environ: text}} {
		c := load(t, src)
		if got := fmt.Sprint(c.TrustedProxies); got != "[10.0.0.0/8 192.168.1.7/32]" {
			t.Errorf("%s: proxies %s", name, got)
		}
		if len(c.CORS.Origins) != 2 || c.CORS.Origins[1] != "https://b.example:8443" {
			t.Errorf("%s: origins %v", name, c.CORS.Origins)
		}
	}
}

func TestEmptySectionsAndKeysSayNothing(t *testing.T) {
	c := load(t, config.Sources{File: file(t, "log:\njwt: {}\nlisten:\n# all of it a comment\n")})
	if c.Log.Level != "info" || c.Listen != "127.0.0.1:8080" {
		t.Errorf("level %q, listen %q", c.Log.Level, c.Listen)
	}
}

// brokenValues has one broken value for each key that can be broken, and for each rule between keys.
var brokenValues = []struct{ key, value, problem string }{
	{"listen", "8080", "host:port"},
	{"listen", "127.0.0.1:99999", "0 to 65535"},
	{"listen", "a b:80", "neither a name nor"},
	{"admin_listen", "", "host:port"},
	{"admission", "ledger", "needs ledger mysql://… beside it"},
	{"admission", "redis://u:p4ssw0rd@h:6379", "needs ledger mysql://… beside it"},
	{"admission", "etcd", "no admission that Sluice knows"},
	{"admission", "redis", "is no URL"},
	{"admission", "mysql://u:p4ssw0rd@h/db", "no admission that Sluice knows"},
	{"queue", "amqp://u:p4ssw0rd@h/v", "has nothing to carry"},
	{"queue", "redis", "has nothing to carry"},
	{"queue", "rocketmq://h:9876", "not in this version"},
	{"ledger", "mysql://u:p4ssw0rd@h/db", "does not go with admission memory"},
	{"ledger", "oracle", "no ledger that Sluice knows"},
	{"node.name", "a b", "letters, digits"},
	{"redis.prefix", "{x}", "letters, digits"},
	{"admission_ack", "disk", "one of permit, replica, broker, ledger"},
	{"degraded.policy", "pray", "one of reject, ledger"},
	{"backlog", "1", "below the least value, 1000"},
	{"mysql.timeout", "1ms", "below the least value, 100ms"},
	{"trusted_proxies", "10.0.0.0/8,office", `"office"`},
	{"login_url", "shop.example/login", "http://"},
	{"login_url", "https://u:p4ssw0rd@shop.example", "name or password"},
	{"pay_url", "javascript:alert(1)", "http://"},
	{"api.decision_status", "HTTP", "one of body, http"},
	{"cors.origins", "https://a.example/path", "no origin"},
	{"cors.origins", "*,https://a.example", "* alone"},
	{"tls.cert", "/no/such/file", "cannot be read"},
	{"tls.key", os.TempDir(), "no file"},
	{"admin_tls.cert", "config_test.go", "needs admin_tls.key"},
	{"admin_tls.key", "config_test.go", "needs admin_tls.cert"},
	{"rabbitmq.cert", "config_test.go", "needs rabbitmq.key"},
	{"jwt.secret", "p4ssw0r", "fewer than 8"},
	{"jwt.secret", "a-long-enough-secret,p4ssw0r", "secret 2 of 2"},
	{"jwt.public_keys", "config_test.go,/no/such/file", "cannot be read"},
	{"jwt.key_file", "/no/such/file", "cannot be read"},
	{"jwt.jwks_url", "ftp://x", "http://"},
	{"jwt.leeway", "10m", "above the largest value, 5m"},
	{"jwt.leeway", "30", "write a number and a unit"},
	{"admin.key", "p4ssw0r", "fewer than 8"},
	{"payment.secret", "p4ssw0r", "fewer than 8"},
	{"payment.provider", "stripe", "one of auto, sandbox, signed"},
	{"capacity.rate", "-1", "below the least value, 0"},
	{"capacity.rate", "NaN", "not a number"},
	{"capacity.rate", "lots", "not a number"},
	{"challenge.life", "5s", "below the least value, 10s"},
	{"challenge.tries", "0", "below the least value, 1"},
	{"challenge.pow_ceiling", "2000", "is below challenge.pow_max"},
	{"challenge.siteverify.provider", "turnstile", "needs challenge.siteverify.site_key"},
	{"challenge.siteverify.provider", "riddles", "one of none, turnstile"},
	{"challenge.siteverify.secret", "p4ssw0r", "fewer than 8"},
	{"challenge.siteverify.hostnames", "https://shop.example", "no host"},
	{"challenge.siteverify.url", "ftp://x", "http://"},
	{"decision_log.on", "perhaps", "true or false"},
	{"decision_log.max_size", "1KB", "below the least value, 1MB"},
	{"decision_log.max_size", "100", "write a whole number and a unit"},
	{"decision_log.max_files", "1.5", "not a whole number"},
	{"log.level", "loud", "one of debug, info, warn, error"},
	{"sqlite.readers", "0", "below the least value, 1"},
	{"sqlite.cache", "2MB", "below the least value, 8MB"},
	{"sqlite.cache", "-1KB", "not a size"},
	{"sqlite.cache", "9999999999GB", "not a size"},
	{"shutdown.grace", "-1s", "below the least value, 0s"},
}

func TestEveryFault(t *testing.T) {
	for _, tt := range brokenValues {
		env := config.EnvPrefix + strings.ToUpper(strings.ReplaceAll(tt.key, ".", "_"))
		faults := faultsOf(t, config.Sources{Environ: []string{env + "=" + tt.value}})
		i := slices.IndexFunc(faults, func(f config.Fault) bool { return f.Key == tt.key })
		if i < 0 {
			t.Errorf("%s=%s: no fault of its own in %v", tt.key, tt.value, faults)
			continue
		}
		f := faults[i]
		if len(faults) != 1 || !strings.Contains(f.Problem, tt.problem) || f.Source != "environment "+env {
			t.Errorf("%s=%s: got %+v", tt.key, tt.value, faults)
		}
		if text := fmt.Sprint(faults); strings.Contains(text, "p4ssw0rd") {
			t.Errorf("%s: the fault shows the secret: %s", tt.key, text)
		}
	}
}

func TestFaultsOfTheFile(t *testing.T) {
	tests := []struct{ name, yaml, key, problem string }{
		{"unknown", "lissen: :80\n", "lissen", "did you mean listen?"},
		{"unknown below", "log:\n  levle: info\n", "log.levle", "did you mean log.level?"},
		{"far off", "wholly_other_thing: 1\n", "wholly_other_thing", "is not a setting"},
		{"section where a value belongs", "listen:\n  host: a\n", "listen.host", "is not a setting"},
		{"value where a section belongs", "log: info\n", "log", "is not a setting"},
		{"list where a value belongs", "listen: [a, b]\n", "listen", "is a list"},
		{"list of lists", "trusted_proxies: [[1]]\n", "trusted_proxies", "neither an IP address"},
		{"list of maps", "trusted_proxies: [{a: 1}]\n", "trusted_proxies", "not a plain value"},
		{"not YAML", "listen: [\n", "config", "YAML"},
		{"a key twice", "listen: :1\nlisten: :2\n", "config", "YAML"},
		{"a scalar", "hello\n", "config", "YAML"},
	}
	for _, tt := range tests {
		faults := faultsOf(t, config.Sources{File: file(t, tt.yaml)})
		if len(faults) != 1 || faults[0].Key != tt.key || !strings.Contains(faults[0].Problem, tt.problem) ||
			!strings.HasPrefix(faults[0].Source, "file ") {
			t.Errorf("%s: got %+v", tt.name, faults)
		}
	}
	missing := faultsOf(t, config.Sources{File: "/no/such/file.yaml"})
	if len(missing) != 1 || missing[0].Key != "config" {
		t.Errorf("missing file: %+v", missing)
	}
}

// TestAllFaultsAtOnce mixes faults of every source: none hides another.
func TestAllFaultsAtOnce(t *testing.T) {
	faults := faultsOf(t, config.Sources{
		File: file(t, "log:\n  level: loud\nlimits:\n  conections: 1\n"),
		Environ: []string{
			"SLUICE_LISTN=:80", "SLUICE_JWT_SECRET=short", "SLUICE_ADMIN_URL=http://x",
			"SLUICE_SOMEBODY_ELSES=1", // far from every setting
		},
		Flags:    map[string]string{"capacity.rate": "-5", "ledger": "mysql://h/db"},
		EnvKnown: []string{"SLUICE_ADMIN_URL"},
	})
	var keys []string
	for _, f := range faults {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	want := []string{"SLUICE_LISTN", "capacity.rate", "jwt.secret", "ledger", "limits.conections", "log.level"}
	if !slices.Equal(keys, want) {
		t.Errorf("faults of %v, want %v", keys, want)
	}
	text := fmt.Sprint(faults)
	for _, part := range []string{"6 faults", "did you mean SLUICE_LISTEN?", "flag --capacity-rate"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func faultsOf(t *testing.T, src config.Sources) config.Faults {
	t.Helper()
	_, err := config.Load(src)
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got error %v, want faults", err)
	}
	return faults
}

func TestMaskedShowsNoSecret(t *testing.T) {
	const secret = "the-very-secret-thing-0123456789"
	c := load(t, config.Sources{Environ: []string{
		"SLUICE_JWT_SECRET=" + secret + "," + secret + "2", "SLUICE_ADMIN_KEY=" + secret, "SLUICE_PAYMENT_SECRET=" + secret,
	}})
	if len(c.JWT.Secret) != 2 || string(c.JWT.Secret.Bytes()[1]) != secret+"2" {
		t.Fatalf("secrets were not read: %d", len(c.JWT.Secret))
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secrets", c.JWT.Secret, "one", c.Admin.Key[0], "config", c.Config)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secrets", c.JWT.Secret, "config", c.Config)
	for _, text := range []string{
		fmt.Sprint(c.Masked()), fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c.JWT.Secret, c.JWT.Secret), log.String(),
	} {
		if strings.Contains(text, "very-secret") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
}

// TestKeys: names, variables and flags are unique, everything has a meaning, and every default keeps its own bounds
// (Load with nothing set passes).
func TestKeys(t *testing.T) {
	seen := map[string]string{}
	for _, k := range config.Keys() {
		if k.Help == "" {
			t.Errorf("%s has no meaning", k.Name)
		}
		for _, name := range []string{k.Name, k.Env, "--" + k.Flag} {
			if other := seen[name]; other != "" && name != "--" {
				t.Errorf("%s is both %s and %s", name, other, k.Name)
			}
			seen[name] = k.Name
		}
		if k.Bounds() == "" {
			t.Errorf("%s has no bounds in the reference", k.Name)
		}
	}
	for _, name := range config.Meanings() {
		if seen[name] == "" {
			t.Errorf("%s has a meaning and is no setting", name)
		}
	}
}

func TestReference(t *testing.T) {
	const path = "../../docs/reference/configuration.md"
	got := config.Reference()
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
	if got != string(want) {
		t.Errorf("%s is old: run go test ./internal/config -update", path)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]config.Size{"0B": 0, "1KB": 1024, "1 mb": 1 << 20, "3GiB": 3 << 30, "1500B": 1500} {
		got, err := config.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if again, err := config.ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%s prints as %s, which reads as %d, %v", text, got, again, err)
		}
	}
}
