package main

import (
	"fmt"
	"slices"
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

Flags of all of them:

| | |
|---|---|
%s
Exit codes: %s

Shell completion: {sluice completion --help}.
`

// reference writes docs/reference/cli.md from the grammar.
func reference(k *kong.Kong) string {
	var b strings.Builder
	head := strings.NewReplacer("{{", "`{", "}}", "}`", "{", "`", "}", "`").Replace(referenceHead)
	leaves := k.Model.Leaves(true)
	verify := leaves[slices.IndexFunc(leaves, func(n *kong.Node) bool { return n.Name == "verify" })]
	var common strings.Builder
	for _, f := range verify.Flags {
		if slices.Contains(commonFlags, f.Name) {
			row(&common, flagName(f), f.Help)
		}
	}
	fmt.Fprintf(&b, head, defaultAdminURL, common.String(), exitCodes)
	for _, n := range leaves {
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

// commonFlags are on every verb that talks to a running server, and are told at the top.
var commonFlags = []string{"admin-url", "admin-ca", "timeout", "config", "data"}

// referenceRows lists the arguments and flags of one verb.
func referenceRows(b *strings.Builder, n *kong.Node) {
	settings := n.Name == "serve" || n.Name == "config" // their flags are the settings, which have a page of their own
	talks := slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == "admin-ca" })
	var rows strings.Builder
	for _, p := range n.Positional {
		row(&rows, p.Summary(), p.Help)
	}
	for _, f := range n.Flags {
		switch {
		case f.Hidden, f.Name == "help", settings && f.Name != "config", talks && slices.Contains(commonFlags, f.Name):
		default:
			row(&rows, flagName(f), f.Help)
		}
	}
	if rows.Len() > 0 {
		b.WriteString("\n| | |\n|---|---|\n" + rows.String())
	}
	if settings {
		b.WriteString("\nEvery [setting](configuration.md) but the secrets is a flag too.\n")
	}
}

func row(b *strings.Builder, name, help string) {
	fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), strings.ReplaceAll(help, "|", `\|`))
}

func flagName(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	if !f.IsBool() {
		name += "=" + f.FormatPlaceHolder()
	}
	return name
}
