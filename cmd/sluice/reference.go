package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

const referenceHead = `# Command line

Generated from the code: {go test ./cmd/sluice -update} writes it anew.

Data goes to stdout, progress and errors to stderr. {--json} on every verb prints JSON instead of text; an error is then
one JSON object on stderr: {{"error":"…","exit_code":3,"next":"…"}}. Colours are off where stdout is no terminal,
with {NO_COLOR} or with {--no-color}. Secrets are never flags.

The verbs on a running server find it at {--admin-url} or {SLUICE_ADMIN_URL} (%s) and take the
operator's key from {SLUICE_ADMIN_KEY}, or from the data folder ({--data} or {SLUICE_DATA}) where it is on the same
machine.

Exit codes: %s

Shell completion: {sluice completion --help}.
`

// reference writes docs/reference/cli.md from the grammar.
func reference(k *kong.Kong) string {
	var b strings.Builder
	head := strings.NewReplacer("{{", "`{", "}}", "}`", "{", "`", "}", "`").Replace(referenceHead)
	fmt.Fprintf(&b, head, defaultAdminURL, exitCodes)
	for _, n := range k.Model.Leaves(true) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n    %s\n", n.FullPath(), n.Help, "sluice "+n.Summary())
		if n.Detail != "" {
			b.WriteByte('\n')
			for line := range strings.Lines(n.Detail) {
				b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
			}
		}
		referenceRows(&b, n)
	}
	return b.String()
}

// referenceRows lists the arguments and flags of one verb; those that every verb has are told at the top.
func referenceRows(b *strings.Builder, n *kong.Node) {
	var rows [][2]string
	for _, p := range n.Positional {
		rows = append(rows, [2]string{p.Summary(), p.Help})
	}
	for _, f := range n.Flags {
		if f.Hidden || f.Name == "help" {
			continue
		}
		if n.Name == "serve" || n.Name == "config" {
			if f.Name != "config" { // they are the settings, which have a page of their own
				continue
			}
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		rows = append(rows, [2]string{name, f.Help})
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n| | |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(r[0], "|", `\|`), strings.ReplaceAll(r[1], "|", `\|`))
	}
	if n.Name == "serve" || n.Name == "config" {
		b.WriteString("\nEvery [setting](configuration.md) but the secrets is a flag too.\n")
	}
}
