package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s#]+)(?:#[^)]*)?\)`)
	codePath = regexp.MustCompile("`((?:internal|cmd|client|test|docs|bench)/[\\w./-]+)`")
)

// TestDocumentsPointSomewhere follows each link of a document to a file of this repository, and each path that it
// quotes.
func TestDocumentsPointSomewhere(t *testing.T) {
	documents := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		documents++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "://") && !exists(filepath.Join(filepath.Dir(path), m[1])) {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		for _, m := range codePath.FindAllStringSubmatch(string(text), -1) {
			if !exists(filepath.Join(root, m[1])) {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if documents == 0 {
		t.Error("no documents found")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var (
	testName = regexp.MustCompile(`\b(Test[A-Z]\w+)`)
	caseName = regexp.MustCompile(`"([a-zA-Z][^"]*)"`)
)

// TestPitfallsNameWhatGoesRed: each test and each case of a suite that the page of pitfalls names is there.
func TestPitfallsNameWhatGoesRed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "pitfalls.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, s := range sources(t) {
		if s.test() || strings.HasPrefix(s.path, "internal/conformance/") {
			code.Write(s.text)
		}
	}
	all, rows := code.String(), 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| #") {
			continue
		}
		rows++
		cells := strings.Split(line, "|")
		for _, m := range testName.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(all, "func "+m[1]+"(") {
				t.Errorf("docs/pitfalls.md names %s, which is not there", m[1])
			}
		}
		for _, m := range caseName.FindAllStringSubmatch(strings.Join(cells[4:], "|"), -1) {
			if !strings.Contains(all, `"`+m[1]+`"`) {
				t.Errorf("docs/pitfalls.md names the case %q, which is not there", m[1])
			}
		}
	}
	if rows != 27 {
		t.Errorf("docs/pitfalls.md has %d rows, want one for each of the 28 kinds but number 18", rows)
	}
}
