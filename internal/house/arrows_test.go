package house_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The layers. A mechanism decides; an adapter reaches something outside the process; a suite tests others.
var (
	mechanisms = []string{
		"internal/admin", "internal/api", "internal/challenge", "internal/coupon", "internal/fleet", "internal/gate",
		"internal/order", "internal/pass", "internal/risk", "internal/settle", "internal/upkeep",
	}
	adapters = []string{
		"internal/console", "internal/direct", "internal/memory", "internal/rabbitmq", "internal/redis", "internal/rocketmq",
		"internal/sqldb", "internal/storefront",
	}
	suites = []string{"internal/conformance", "internal/fault", "internal/sim"}
)

// inside lists, for each package that may import more of this module than the root, what it may import. The command
// knows everyone; a simulation puts the real parts together. Parts of a package's own folder are always allowed.
var inside = map[string][]string{
	"internal/console":    {"internal/pages"},
	"internal/sim":        {"internal/"},
	"internal/storefront": {"internal/pages"},
	"test/chaos":          {"internal/servers", "test/e2e"},
	"test/e2e":            {"client", "internal/"},
	"bench":               {"internal/"},
}

// outside lists the packages that may import a module, and only they. A module that stands in no row may be imported by
// nobody: write down what it is for in docs/adr/0008-dependencies.md first.
var outside = map[string][]string{
	"github.com/HdrHistogram/hdrhistogram-go": {"internal/lab"},
	"github.com/MicahParks/jwkset":            {"internal/gate"},
	"github.com/Shopify/toxiproxy":            {"internal/servers"},
	"github.com/alecthomas/kong":              {"cmd/sluice"},
	"github.com/anishathalye/porcupine":       {}, // tests only
	"github.com/danielgtaylor/huma":           {"internal/api"},
	"github.com/golang-jwt/jwt":               {"cmd/sluice", "internal/gate"},
	"github.com/go-sql-driver/mysql":          {"internal/sqldb"},
	"github.com/google/uuid":                  {"internal/admin"},
	"github.com/knadh/koanf":                  {"internal/config"},
	"github.com/mattn/go-isatty":              {"cmd/sluice"},
	"github.com/posener/complete":             {"cmd/sluice"},
	"github.com/pressly/goose":                {"internal/sqldb"},
	"github.com/prometheus/client_golang":     {"internal/metrics"},
	"github.com/redis/rueidis":                {"internal/redis"},
	"github.com/rs/zerolog":                   {"internal/servers"}, // toxiproxy asks for one
	"github.com/rabbitmq/amqp091-go":          {"internal/rabbitmq"},
	"github.com/valyala/fasthttp":             {"bench", "internal/api", "internal/pages"},
	"github.com/willabides/kongplete":         {"cmd/sluice"},
	"go.uber.org/goleak":                      {}, // tests only
	"golang.org/x/image":                      {"internal/challenge"},
	"golang.org/x/sys":                        {"internal/lab"},
	"gopkg.in/natefinch/lumberjack.v2":        {"cmd/sluice"},
	"modernc.org/sqlite":                      {"internal/sqldb"},
	"pgregory.net/rapid":                      {}, // tests only
}

// TestArrows reads what each package imports, tests aside: a test may put any parts together.
func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if why := forbidden(p.name(), imp); why != "" {
				t.Errorf("%s imports %s: %s", p.name(), imp, why)
			}
		}
	}
}

// TestArrowsThatMustFail breaks each rule once.
func TestArrowsThatMustFail(t *testing.T) {
	tests := []struct{ from, to string }{
		{".", "golang.org/x/sync/errgroup"},
		{".", module + "/internal/gate"},
		{"client", "github.com/google/uuid"},
		{"client", module + "/internal/api"},
		{"internal/gate", module + "/internal/admin"},
		{"internal/gate", module + "/internal/sqldb"},
		{"internal/api", module + "/internal/memory"},
		{"internal/memory", module + "/internal/gate"},
		{"internal/memory", module + "/internal/sqldb"},
		{"internal/lab", module + "/client"},
		{"internal/lab", module + "/internal/api"},
		{"internal/conformance", module + "/internal/memory"},
		{"internal/gate", "github.com/prometheus/client_golang/prometheus"},
		{"internal/api", "modernc.org/sqlite"},
		{"internal/api", "example.org/unheard/of"},
	}
	for _, tt := range tests {
		if forbidden(tt.from, tt.to) == "" {
			t.Errorf("%s may import %s", tt.from, tt.to)
		}
	}
	for _, tt := range []struct{ from, to string }{
		{".", "errors"}, {"client", module}, {"internal/gate", module}, {"internal/sqldb", "modernc.org/sqlite/lib"},
		{"cmd/sluice", module + "/internal/sqldb"}, {"internal/sim", module + "/internal/memory"},
		{"internal/api", module + "/internal/api/docs"},
		{"internal/metrics", "github.com/prometheus/client_golang/prometheus"},
	} {
		if why := forbidden(tt.from, tt.to); why != "" {
			t.Errorf("%s may not import %s: %s", tt.from, tt.to, why)
		}
	}
}

// forbidden says why the package from, named by its path inside the module, may not import imp; empty where it may.
func forbidden(from, imp string) string {
	switch to, mine := strings.CutPrefix(imp, module+"/"); {
	case imp == "C":
		return "no cgo: the binary is built anywhere"
	case imp == module:
		return ""
	case mine:
		return forbiddenInside(from, to)
	case !strings.Contains(strings.Split(imp, "/")[0], "."):
		return "" // the standard library
	}
	return forbiddenOutside(from, imp)
}

func forbiddenInside(from, to string) string {
	switch {
	case from == ".":
		return "the root imports the standard library only"
	case from == "cmd/sluice", to == from, within(to, from), within(from, to):
		return ""
	case matches(inside[from], to):
		return ""
	case slices.Contains(mechanisms, from) && slices.Contains(mechanisms, to):
		return "mechanisms do not know each other; declare the interface that is called"
	case slices.Contains(mechanisms, from) && slices.Contains(adapters, to):
		return "a mechanism does not know its adapter; declare the interface that is called"
	case slices.Contains(adapters, from):
		return "an adapter imports the root and its driver"
	case slices.Contains(suites, from):
		return "a suite is handed what it tests"
	}
	return "only the root may be imported here; cmd/sluice puts the parts together"
}

func forbiddenOutside(from, imp string) string {
	if from == "." || from == "client" {
		return "what users import has no dependencies"
	}
	for mod, allowed := range outside {
		if imp != mod && !within(imp, mod) {
			continue
		}
		if matches(allowed, from) {
			return ""
		}
		return "only " + strings.Join(allowed, ", ") + " may"
	}
	return "no row for it in this test's list of modules"
}

// within says whether path lies below folder.
func within(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// matches says whether path is one of allowed or lies below it.
func matches(allowed []string, path string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return path == a || within(path, strings.TrimSuffix(a, "/"))
	})
}

// TestDependenciesAreExplained: every module that the code or a test imports has its row in the ADR, with the
// version that go.mod pins, and the list above has no row that nobody needs.
func TestDependenciesAreExplained(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/adr/0008-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	pins, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for mod := range outside {
				used[mod] = used[mod] || imp == mod || within(imp, mod)
			}
		}
	}
	for mod := range outside {
		row := regexp.MustCompile("(?m)^\\| `(" + regexp.QuoteMeta(mod) + "(?:/v[0-9]+)?)`[^|]*\\| ([^ ]+) \\|")
		m := row.FindStringSubmatch(string(text))
		switch {
		case !used[mod]:
			t.Errorf("nobody imports %s: take its row away here and in docs/adr/0008-dependencies.md", mod)
		case m == nil:
			t.Errorf("docs/adr/0008-dependencies.md does not explain %s", mod)
		case !strings.Contains(string(pins), m[1]+" v"+m[2]):
			t.Errorf("docs/adr/0008-dependencies.md says %s %s, and go.mod another version", m[1], m[2])
		}
	}
}
