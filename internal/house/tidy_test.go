package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The bounds of the house.
const (
	maxFunctionLines = 80
	maxFileLines     = 500
	maxColumns       = 120
)

// The marks are written in two pieces so that this file does not find itself.
var leftOpen = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "base", "types", "misc"}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		last := 0
		s.lines(func(n int, line string) {
			last = n
			if w := utf8.RuneCountInString(line); w > maxColumns {
				t.Errorf("%s:%d: %d columns, more than %d", s.path, n, w, maxColumns)
			}
		})
		if last > maxFileLines {
			t.Errorf("%s: %d lines, more than %d", s.path, last, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunctionLines {
				t.Errorf("%s:%d: %s has %d lines, more than %d", s.path, s.line(f.Pos()), f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

func TestNothingLeftOpen(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if m := leftOpen.FindString(c.Text); m != "" {
					t.Errorf("%s:%d: a comment says %s; do it, or write it down where people look", s.path, s.line(c.Pos()), m)
				}
			}
		}
	}
}

func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		if slices.Contains(vagueNames, name) {
			t.Errorf("%s: package %s says nothing of what is in it", s.path, name)
		}
	}
}

// TestTestsDoNotWaitOrSkip: a test that sleeps is slow and flaky, a suite that skips is red without showing it.
func TestTestsDoNotWaitOrSkip(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch on, name := selector(call.Fun); {
			case on == "time" && name == "Sleep":
				t.Errorf("%s:%d: a test sleeps; wait for the event, or use testing/synctest", s.path, s.line(n.Pos()))
			case slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name) && testersName(on):
				t.Errorf("%s:%d: a test skips; what it needs, the test command installs", s.path, s.line(n.Pos()))
			}
			return true
		})
	}
}

// testersName says whether a variable of this name is a test's, as far as the name tells.
func testersName(name string) bool { return slices.Contains([]string{"t", "b", "f", "tb", "rt"}, name) }

// TestErrorsAreNotMatchedByText looks for x.Error() that is compared with something or handed to a search in package
// strings. A test of a message for people says so by putting the text into a variable first.
func TestErrorsAreNotMatchedByText(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			bad := false
			switch x := n.(type) {
			case *ast.BinaryExpr:
				bad = (x.Op == token.EQL || x.Op == token.NEQ) && (errorText(x.X) || errorText(x.Y))
			case *ast.CallExpr:
				on, name := selector(x.Fun)
				search := slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index"}, name)
				bad = on == "strings" && search && len(x.Args) > 0 && errorText(x.Args[0])
			}
			if bad {
				t.Errorf("%s:%d: an error is matched by its text; use errors.Is or errors.As", s.path, s.line(n.Pos()))
			}
			return true
		})
	}
}

// errorText says whether x is a call of a method Error without arguments.
func errorText(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error"
}

// selector splits x.y into its names; empty where the expression is something else.
func selector(x ast.Expr) (on, name string) {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		on = id.Name
	}
	return on, sel.Sel.Name
}

// TestPublicPackagesAreDocumented: what users import, they read on pkg.go.dev.
func TestPublicPackagesAreDocumented(t *testing.T) {
	described := map[string]bool{}
	for _, s := range sources(t) {
		dir, _, nested := strings.Cut(s.path, "/")
		public := !nested || (dir == "client" && strings.Count(s.path, "/") == 1)
		if !public || s.test() {
			continue
		}
		if !nested {
			dir = "."
		}
		described[dir] = described[dir] || s.file.Doc.Text() != ""
		for _, d := range s.file.Decls {
			undocumented(d, func(pos token.Pos, name string) {
				t.Errorf("%s:%d: exported %s has no comment", s.path, s.line(pos), name)
			})
		}
	}
	for dir, ok := range described {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

// undocumented reports each exported symbol that d declares without a comment. A group of constants or variables may
// share the comment above it.
func undocumented(d ast.Decl, report func(token.Pos, string)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc.Text() == "" {
			report(d.Pos(), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && d.Doc.Text()+spec.Doc.Text() == "" {
					report(spec.Pos(), spec.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.IsExported() && d.Doc.Text()+spec.Doc.Text()+spec.Comment.Text() == "" {
						report(n.Pos(), n.Name)
					}
				}
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	x := f.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if ix, ok := x.(*ast.IndexExpr); ok {
		x = ix.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}
