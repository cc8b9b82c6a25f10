package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
)

// Bounds of what the verbs read and write.
const (
	maxInput = 1 << 20 // bytes of a body that is read from a file or stdin
	pageSize = 1000
)

// ask calls the server and prints its answer: with --json as it came, else as human says.
func ask[T any](a *app, f adminFlags, method, path string, in any, human func(T)) error {
	o, err := f.operator(a)
	if err != nil {
		return err
	}
	var raw []byte
	if err := o.call(a.ctx, method, path, in, &raw); err != nil {
		return err
	}
	if a.json {
		return a.printRaw(raw)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("the answer of %s is not what this version expects: %w", path, err)
	}
	human(v)
	return nil
}

// printRaw prints JSON indented.
func (a *app) printRaw(raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := a.out.Write(b.Bytes())
	return err
}

// list reads every page of path and prints one document or, through human, one table.
func list[T any](a *app, f adminFlags, path string, query url.Values, human func([]T)) error {
	o, err := f.operator(a)
	if err != nil {
		return err
	}
	items, err := pages[json.RawMessage](a.ctx, o, path, query)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"items": items})
	}
	all := make([]T, len(items))
	for i, raw := range items {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return fmt.Errorf("the answer of %s is not what this version expects: %w", path, err)
		}
	}
	human(all)
	return nil
}

// pages follows the cursors of a list to its end.
func pages[T any](ctx context.Context, o *operator, path string, query url.Values) ([]T, error) {
	all := []T{}
	if query == nil {
		query = url.Values{}
	}
	for {
		var page struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		at := path
		if len(query) > 0 {
			at += "?" + query.Encode()
		}
		if err := o.call(ctx, "GET", at, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// input reads a file, or stdin for "-", of at most so many bytes.
func (a *app) input(path string, most int) ([]byte, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the input: %w", err)
	case len(raw) > most:
		return nil, usage("the input is larger than %d bytes", most)
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, usage("the input is empty")
	}
	return raw, nil
}

// say prints one line for people.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// confirm asks before something that cannot be taken back: at a terminal with a question, else --confirm has to name
// it.
func (a *app) confirm(what, id, given string) error {
	if given == id {
		return nil
	}
	if given != "" {
		return usage("--confirm names %q, and this is about %q", given, id)
	}
	if !isTerminal(a.in) || !isTerminal(a.err) {
		return &failure{code: exitUsage, next: "the same with --confirm " + id,
			err: fmt.Errorf("%s cannot be taken back", what)}
	}
	fmt.Fprintf(a.err, "%s cannot be taken back. Type %s to go on: ", what, id)
	var typed string
	if _, err := fmt.Fscanln(a.in, &typed); err != nil || typed != id {
		return &failure{code: exitInterrupted, err: fmt.Errorf("not confirmed; nothing was done")}
	}
	return nil
}

// when writes a moment for people: in the local zone, to the second.
func when(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// because makes the body of a call that takes only a reason.
func because(reason string) map[string]string {
	if reason == "" {
		return map[string]string{}
	}
	return map[string]string{"reason": reason}
}

// short cuts a text for a table.
func short(s string, most int) string {
	if cellWidth(s) <= most {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && cellWidth(string(r)) > most-1 {
		r = r[:len(r)-1]
	}
	return strings.TrimSpace(string(r)) + "…"
}
