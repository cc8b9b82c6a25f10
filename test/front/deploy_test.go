package front_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"

	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/test/e2e"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parts gives a mapping of a parsed file.
func parts(t *testing.T, of map[string]any, name string) map[string]any {
	t.Helper()
	m, ok := of[name].(map[string]any)
	if !ok {
		t.Fatalf("%s is %T", name, of[name])
	}
	return m
}

// TestCompose parses the file and starts a configuration from each node's environment: every variable is a setting,
// every value is one it may have, and the engines go together.
func TestCompose(t *testing.T) {
	file, err := yaml.Parser().Unmarshal([]byte(read(t, "compose/compose.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	services, volumes := parts(t, file, "services"), parts(t, file, "volumes")
	var names []string
	for name, s := range services {
		names = append(names, name)
		service, ok := s.(map[string]any)
		if !ok || service["image"] == nil {
			t.Errorf("%s has no image: %v", name, s)
			continue
		}
		all, _ := service["volumes"].([]any)
		for _, v := range all {
			text, _ := v.(string)
			from, _, _ := strings.Cut(text, ":")
			switch {
			case strings.HasPrefix(from, "./tls/"): // the operator's own
			case strings.HasPrefix(from, "."):
				read(t, filepath.Join("compose", from))
			case volumes[from] == nil:
				t.Errorf("%s: no volume %s", name, from)
			}
		}
	}
	slices.Sort(names)
	if want := "mariadb nginx rabbitmq redis sluice-1 sluice-2 sluice-3"; strings.Join(names, " ") != want {
		t.Errorf("the services are %v", names)
	}
	for _, name := range []string{"sluice-1", "sluice-2", "sluice-3"} {
		node := parts(t, services, name)
		if !strings.Contains(read(t, "compose/nodes.conf"), "server "+name+":8080") {
			t.Errorf("nginx does not know %s", name)
		}
		var env []string
		for k, v := range parts(t, node, "environment") {
			text, _ := v.(string)
			env = append(env, k+"="+filledIn.ReplaceAllString(text, "a-secret-of-32-characters-0123456789"))
		}
		accepted(t, env)
	}
}

// filledIn is what compose takes from .env.
var filledIn = regexp.MustCompile(`\$\{[A-Z_]+:\?[^}]*\}`)

// accepted has the program itself read the settings, and looks each variable up in its list.
func accepted(t *testing.T, env []string, args ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, k := range config.Keys() {
		known[k.Env] = true
	}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, config.EnvPrefix) && !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
	env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir())
	run := e2e.Command(t, env, "", append([]string{"config"}, args...)...)
	if run.Code != 0 {
		t.Errorf("sluice config refuses %v: %s", env, run.Err)
	}
}

// TestTheUnits: systemd itself takes them, with the program where it was built; what they start exists.
func TestTheUnits(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"sluice.service", "sluice-nginx.service"} {
		text := strings.ReplaceAll(read(t, "systemd/"+name), "/usr/local/bin/sluice", e2e.Binary(t))
		if !strings.Contains(text, "NoNewPrivileges=yes") || !strings.Contains(text, "ProtectSystem=strict") {
			t.Errorf("%s is not hardened", name)
		}
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is not installed: apt-get install -y --no-install-recommends systemd")
	}
	for _, p := range paths {
		out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", "--recursive-errors=no", p).CombinedOutput()
		if err != nil || strings.Contains(string(out), filepath.Base(p)) {
			t.Errorf("%s: %v\n%s", filepath.Base(p), err, out)
		}
	}
	settings, err := filepath.Abs("../../deploy/systemd/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, nil, "--config", settings)
}
