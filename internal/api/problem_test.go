package api_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// TestReasonTable holds the one table of Reason -> status in both modes, and that everything in it has a message in
// every language.
func TestReasonTable(t *testing.T) {
	var out strings.Builder
	for _, r := range sluice.Reasons() {
		body, problem := api.ReasonStatus(r, false)
		mode, also := api.ReasonStatus(r, true)
		if body == 0 || mode == 0 || problem != also {
			t.Errorf("%v is not in the table", r)
		}
		en, zh := api.ReasonText(r)
		if en == "" || zh == "" || en == zh {
			t.Errorf("%v has no message: %q, %q", r, en, zh)
		}
		fmt.Fprintf(&out, "%s body=%d http=%d problem=%t | %s | %s\n", r, body, mode, problem, en, zh)
	}
	golden(t, "testdata/reasons.txt", []byte(out.String()))
}

func TestErrorStatus(t *testing.T) {
	fault := &sluice.Fault{Kind: sluice.ErrConflict, Code: "ORDER_STATE", Detail: "d",
		Fields: []sluice.FieldFault{{Field: "f", Detail: "x"}}}
	for _, tt := range []struct {
		err    error
		status int
		code   string
	}{
		{sluice.ErrInvalid, 422, "INVALID"},
		{sluice.ErrNotFound, 404, "NOT_FOUND"},
		{sluice.ErrConflict, 409, "CONFLICT"},
		{sluice.ErrUnavailable, 503, "UNAVAILABLE"},
		{sluice.ErrUncertain, 503, "OUTCOME_UNKNOWN"},
		{fmt.Errorf("sqldb: pay: %w", fault), 409, "ORDER_STATE"},
		{sluice.Invalid(sluice.FieldFault{Field: "f"}), 422, "VALIDATION"},
		{sluice.NewFault(nil, "ODD", "a fault of no kind"), 500, "INTERNAL"},
		{errors.New("password=hunter2"), 500, "INTERNAL"},
	} {
		p := api.AsProblem(tt.err)
		if p.Status != tt.status || p.Code != tt.code {
			t.Errorf("%v: %d %s, want %d %s", tt.err, p.Status, p.Code, tt.status, tt.code)
		}
		if strings.Contains(p.Detail, "hunter2") {
			t.Error("the cause of a 500 was told")
		}
	}
	if p := api.AsProblem(fault); len(p.Errors) != 1 || p.Errors[0].Field != "f" {
		t.Errorf("fields got lost: %+v", p)
	}
}

// TestEveryCodeHasATitle reads the code of every fault that the repository makes, and looks it up in every language.
func TestEveryCodeHasATitle(t *testing.T) {
	codes := api.Codes()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if code := codeIn(n); code != "" {
				codes = append(codes, code)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) < 25 {
		t.Errorf("only %d codes found", len(codes))
	}
	for _, code := range codes {
		if en, zh := api.CodeText(code); en == "" || zh == "" || en == zh {
			t.Errorf("code %s has no title in messages.go: %q, %q", code, en, zh)
		}
	}
}

// codeIn gives the code of sluice.NewFault(kind, "CODE", …), newProblem(status, "CODE", …) or Fault{Code: "CODE"}.
func codeIn(n ast.Node) string {
	var value ast.Expr
	switch x := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := x.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		if (name == "NewFault" || name == "newProblem") && len(x.Args) == 3 {
			value = x.Args[1]
		}
	case *ast.KeyValueExpr:
		if key, ok := x.Key.(*ast.Ident); ok && key.Name == "Code" {
			value = x.Value
		}
	}
	lit, ok := value.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	code, err := strconv.Unquote(lit.Value)
	if err != nil || code != strings.ToUpper(code) {
		return ""
	}
	return code
}
