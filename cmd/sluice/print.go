package main

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
)

// painter colours text where people read it.
type painter struct{ on bool }

func newPainter(out io.Writer, noColor bool, environ []string) painter {
	no := slices.ContainsFunc(environ, func(kv string) bool {
		return strings.HasPrefix(kv, "NO_COLOR=") && kv != "NO_COLOR="
	})
	dumb := slices.Contains(environ, "TERM=dumb")
	return painter{on: !noColor && !no && !dumb && isTerminal(out)}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

func (p painter) style(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) bold(s string) string  { return p.style("1", s) }
func (p painter) dim(s string) string   { return p.style("2", s) }
func (p painter) good(s string) string  { return p.style("32", s) }
func (p painter) bad(s string) string   { return p.style("31", s) }
func (p painter) alert(s string) string { return p.style("33", s) }

// printJSON writes v as one indented JSON document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table prints rows in columns. A column whose head ends in ">" is set to the right. Paint, where given, colours a
// cell after it was padded.
type table struct {
	heads []string
	rows  [][]string
	paint func(row, column int, padded string) string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(a *app) {
	widths := make([]int, len(t.heads))
	right := make([]bool, len(t.heads))
	heads := make([]string, len(t.heads))
	for i, h := range t.heads {
		heads[i], right[i] = strings.CutSuffix(h, ">")
		widths[i] = cellWidth(heads[i])
	}
	for _, r := range t.rows {
		for i, cell := range r {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	line := func(cells []string, paint func(int, string) string) {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-cellWidth(cell))
			switch {
			case right[i]:
				cell = pad + cell
			case i < len(cells)-1:
				cell += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(paint(i, cell))
		}
		_, _ = io.WriteString(a.out, strings.TrimRight(b.String(), " ")+"\n")
	}
	line(heads, func(_ int, s string) string { return a.paint.dim(s) })
	for n, r := range t.rows {
		line(r, func(i int, s string) string {
			if t.paint == nil {
				return s
			}
			return t.paint(n, i, s)
		})
	}
}

// cellWidth counts the columns a text takes at a terminal: wide characters (CJK) take two.
func cellWidth(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r >= 0x1100 && (r <= 0x115f || (r >= 0x2e80 && r <= 0xa4cf) || (r >= 0xac00 && r <= 0xd7a3) ||
			(r >= 0xf900 && r <= 0xfaff) || (r >= 0xfe30 && r <= 0xfe6f) || (r >= 0xff00 && r <= 0xff60)) {
			n++
		}
	}
	return n
}
