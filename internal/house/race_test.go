package house_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unraced are packages with goroutines that `make race` leaves out all the same, and why.
var unraced = map[string]string{
	"internal/servers": "what tests start, none of it in the product; the tests that use it are raced",
}

var (
	raced   = regexp.MustCompile(`(?m)^RACED .*$`)
	leftOut = regexp.MustCompile(`-e /(internal/\w+)\$\$`)
)

// What `make race` leaves out has nothing that could race.
func TestRaceLeavesOutWhatHasNoGoroutines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range leftOut.FindAllStringSubmatch(raced.FindString(string(text)), -1) {
		out[m[1]] = false
	}
	if len(out) == 0 {
		t.Fatal("no list in the Makefile")
	}
	for _, s := range sources(t) {
		dir := path.Dir(s.path)
		if _, ok := out[dir]; !ok {
			continue
		}
		out[dir] = true
		if unraced[dir] == "" && !s.test() && concurrent(s.file) {
			t.Errorf("%s has goroutines or locks, and `make race` leaves %s out", s.path, dir)
		}
	}
	for dir, found := range out {
		if !found {
			t.Errorf("`make race` leaves out %s, which is no package", dir)
		}
	}
}

// concurrent says whether a file starts a goroutine or imports what guards against others.
func concurrent(f *ast.File) bool {
	for _, i := range f.Imports {
		if p := strings.Trim(i.Path.Value, `"`); p == "sync" || p == "sync/atomic" {
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, ok := n.(*ast.GoStmt)
		found = found || ok
		return true
	})
	return found
}
