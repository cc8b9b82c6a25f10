package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting is one setting as it is in force, for printing.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Masked lists the settings in force, in the order of the struct, each with where it came from. Secrets and the
// passwords in URLs are hidden.
func (c *Loaded) Masked() []Setting {
	var all []Setting
	for _, k := range Keys() {
		all = append(all, Setting{k.Name, maskURL(k.text(&c.Config)), c.from[k.Name]})
	}
	return all
}

// Source tells where the value of a key came from.
func (c *Loaded) Source(name string) string { return c.from[name] }

const referenceHead = `# Configuration

Generated from the code: {go test ./internal/config -update} writes it anew.

A setting is taken from the first of these that gives it: a flag of {sluice serve}, the environment, the YAML file
({--config FILE} or {SLUICE_CONFIG}), the default. Every fault is reported at once, with the key, where the value came
from and the bound it broke. Names that are no setting are faults too. {sluice config} prints what is in force, secrets
masked.

Lists are YAML lists, or texts with commas. Durations have a unit ({500ms}, {10s}, {15m}, {24h}), sizes too ({16KB},
{100MB}, powers of 1024). Secrets have no flag, since flags can be seen by other users of the machine.

| Key | Environment | Flag | Default | Bounds | What it does |
|---|---|---|---|---|---|
`

// Reference writes docs/reference/configuration.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(strings.NewReplacer("{", "`", "}", "`").Replace(referenceHead))
	for _, k := range Keys() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n",
			k.Name, k.Env, code(dashes(k.Flag)), code(k.Default), k.Bounds(), k.Help)
	}
	return b.String()
}

// Bounds tells what the value may be, in words.
func (k Key) Bounds() string {
	switch {
	case len(k.OneOf) > 0:
		return strings.Join(k.OneOf, ", ")
	case k.Kind == "secrets":
		return "list; each at least " + k.Min + " bytes"
	case k.Min != "" || k.Max != "":
		return k.Min + " to " + k.Max
	}
	return map[string]string{
		"listen": "host:port", "url": "http:// or https://", "file": "a file that can be read", "path": "a path",
		"bool": "true, false", "files": "list of files", "networks": "list of addresses and networks",
		"origins": "list of origins, or *", "hosts": "list of host names", "rules": "list of risk rules",
		"engine": k.engineBounds(), "string": "text",
		"prefix": "up to 64 letters, digits, `-`, `_`",
		"name":   "up to 64 letters, digits, `.`, `-`, `_`",
	}[k.Kind]
}

// engineBounds lists the words and the URLs that the engine may be.
func (k Key) engineBounds() string {
	all := slices.Clone(words[k.Name])
	for _, scheme := range engines[k.Name].accepted {
		word, secure := slices.Contains(words[k.Name], scheme), scheme == "rediss" || scheme == "amqps"
		if shape := shapes[scheme]; shape != "" && !word && !secure {
			all = append(all, "`"+strings.ReplaceAll(shape, "|", `\|`)+"`")
		}
	}
	return strings.Join(all, ", ")
}

func dashes(flag string) string {
	if flag == "" {
		return ""
	}
	return "--" + flag
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// Meanings lists the keys that the reference explains.
func Meanings() []string { return slices.Sorted(maps.Keys(meanings)) }
