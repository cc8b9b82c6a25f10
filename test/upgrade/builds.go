package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// several is a path that only versions for several nodes have.
const several = "internal/redis/client.go"

// root gives the folder of this source.
func root() (string, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the test does not know where it stands")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(here))), nil
}

// Build is a program of one version.
type Build struct {
	Path string
	Of   string // what it was built from, for the log
}

// builds are made once for the whole test process, in a folder that Remove removes.
type builds struct {
	dir                      string
	previous, next, messages func() (Build, error)
}

// newBuilds prepares the builds; each is made when it is first asked for.
func newBuilds() (*builds, error) {
	dir, err := os.MkdirTemp("", "sluice-versions-")
	if err != nil {
		return nil, err
	}
	b := &builds{dir: dir}
	b.previous = sync.OnceValues(b.buildPrevious)
	b.next = sync.OnceValues(func() (Build, error) { return b.buildNext("next", false) })
	b.messages = sync.OnceValues(func() (Build, error) { return b.buildNext("messages", true) })
	return b, nil
}

// Remove removes all programs.
func (b *builds) Remove() { _ = os.RemoveAll(b.dir) }

// Previous gives the program of the commit before this one.
func (b *builds) Previous(tb testing.TB) Build { return must(tb, b.previous) }

// Next gives the program of a version to come: a schema with one migration more, scripts of other bytes.
func (b *builds) Next(tb testing.TB) Build { return must(tb, b.next) }

// Messages is Next, and writes messages of a version that this one cannot read, which a version in between should have
// read first.
func (b *builds) Messages(tb testing.TB) Build { return must(tb, b.messages) }

func must(tb testing.TB, make func() (Build, error)) Build {
	tb.Helper()
	built, err := make()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("the other version is %s", built.Of)
	return built
}

// git asks the history.
func git(args ...string) (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// previousCommit finds the newest commit before this one that runs on several nodes; "" where there is none, or no
// history.
func previousCommit() string {
	has := func(commit string) bool {
		out, err := git("ls-tree", "--name-only", commit, several)
		return err == nil && out == several
	}
	if has("HEAD^") {
		out, _ := git("rev-parse", "HEAD^")
		return out
	}
	// A commit that does not have it can still follow one that has: a merge, or history that was put together.
	all, _ := git("log", "--format=%H", "--skip=1", "-50", "--", several)
	for commit := range strings.Lines(all) {
		if commit = strings.TrimSpace(commit); has(commit) {
			return commit
		}
	}
	return ""
}

func (b *builds) buildPrevious() (Build, error) {
	commit := previousCommit()
	if commit == "" {
		return b.compile("this commit itself: no older one runs on several nodes", "", "previous")
	}
	src := filepath.Join(b.dir, "src")
	if err := os.Mkdir(src, 0o755); err != nil {
		return Build{}, err
	}
	tar := filepath.Join(b.dir, "src.tar")
	if _, err := git("archive", "-o", tar, commit); err != nil {
		return Build{}, fmt.Errorf("git archive %s: %w", commit, err)
	}
	if out, err := exec.Command("tar", "-xf", tar, "-C", src).CombinedOutput(); err != nil {
		return Build{}, fmt.Errorf("tar: %w: %s", err, out)
	}
	of, _ := git("log", "-1", "--format=%h %s", commit)
	return b.compile(of, src, "previous")
}

// compile builds a source tree; empty means this one.
func (b *builds) compile(of, src, name string, flags ...string) (Build, error) {
	var err error
	if src == "" {
		if src, err = root(); err != nil {
			return Build{}, err
		}
	}
	out := filepath.Join(b.dir, name)
	args := append([]string{"build", "-o", out}, flags...) // as everything is: what is built already serves
	cmd := exec.Command("go", append(args, "./cmd/sluice")...)
	cmd.Dir = src
	if text, err := cmd.CombinedOutput(); err != nil {
		return Build{}, fmt.Errorf("go build of %s: %w\n%s", of, err, text)
	}
	return Build{Path: out, Of: of}, nil
}

// What a version to come may have changed. The migration does what migrations are allowed to: add.
const futureMigration = `-- +goose Up
CREATE TABLE futures (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(64));
ALTER TABLE orders ADD COLUMN future_note VARCHAR(64);
ALTER TABLE campaigns ADD COLUMN future_weight BIGINT NOT NULL DEFAULT 7;
ALTER TABLE switches ADD COLUMN future_scope VARCHAR(64);
ALTER TABLE nodes ADD COLUMN future_zone VARCHAR(64);
`

// overlay is what go build takes in the place of files.
type overlay struct {
	b         *builds
	name, dir string
	Replace   map[string]string
}

// put puts text in the place of a file, which need not be there.
func (o *overlay) put(path, text string) error {
	file := filepath.Join(o.b.dir, fmt.Sprintf("%s-%d", o.name, len(o.Replace)))
	o.Replace[filepath.Join(o.dir, path)] = file
	return os.WriteFile(file, []byte(text), 0o600)
}

// edit replaces old by new in a file that has old once.
func (o *overlay) edit(path, old, text string) error {
	raw, err := os.ReadFile(filepath.Join(o.dir, path))
	if err != nil {
		return err
	}
	if strings.Count(string(raw), old) != 1 {
		return fmt.Errorf("%s no longer has %q once: the version to come cannot be made of it", path, old)
	}
	return o.put(path, strings.Replace(string(raw), old, text, 1))
}

func (b *builds) buildNext(name string, messages bool) (Build, error) {
	dir, err := root()
	if err != nil {
		return Build{}, err
	}
	o := &overlay{b: b, name: name, dir: dir, Replace: map[string]string{}}
	prelude, err := os.ReadFile(filepath.Join(dir, "internal", "redis", "lua", "prelude.lua"))
	if err != nil {
		return Build{}, err
	}
	for _, dialect := range []string{"mysql", "sqlite"} {
		text := futureMigration
		if dialect == "sqlite" {
			text = "-- +goose Up\nCREATE TABLE futures (id INTEGER PRIMARY KEY);\n"
		}
		err = errors.Join(err, o.put("internal/sqldb/migrations/"+dialect+"/09999_future.sql", text))
	}
	err = errors.Join(err,
		o.put("internal/redis/lua/prelude.lua", string(prelude)+"\nlocal future = 'of another version'\n"))
	if messages {
		err = errors.Join(err, o.edit("gate.go", "const MessageVersion = 1\n", "const MessageVersion = 2\n"),
			o.edit("internal/redis/message.go", "raw[0] != sluice.MessageVersion", "raw[0] != 1 && raw[0] != 2"))
	}
	if err != nil {
		return Build{}, err
	}
	list, err := json.Marshal(o)
	if err != nil {
		return Build{}, err
	}
	file := filepath.Join(b.dir, name+".json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return Build{}, err
	}
	return b.compile("a version to come", "", name, "-overlay", file)
}
