package admin

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Bounds of a list in CSV.
const (
	MaxListBody    = 4 << 20 // bytes
	maxListRows    = 20_000
	maxListErrors  = 100
	maxListChanges = 1000
	listChunk      = 500 // entries of one transaction
)

// BlockBulk writes many entries in one transaction, each with its audit row, and gives them as they are recorded.
type BlockBulk interface {
	AddBlocks(ctx context.Context, all []sluice.Block, a sluice.Actor) ([]sluice.Block, error)
}

// listColumns are the columns of a list in CSV. An import needs the first two; the others may be left out.
var listColumns = []string{"scope", "value", "reason", "author", "created_at", "expires_at"}

// formula begins a field that a spreadsheet would take for a formula.
const formula = "=+-@\t\r"

// guard writes a field such that no spreadsheet calculates it: with an apostrophe before it. unguard takes that away.
func guard(s string) string {
	if s != "" && strings.ContainsRune(formula, rune(s[0])) ||
		len(s) > 1 && s[0] == '\'' && strings.ContainsRune(formula+"'", rune(s[1])) {
		return "'" + s
	}
	return s
}

func unguard(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.ContainsRune(formula+"'", rune(s[1])) {
		return s[1:]
	}
	return s
}

// Export writes what is in force as CSV, in the order of scope and value. Fields that a spreadsheet would calculate are
// written with an apostrophe before them, which an import takes away.
func (d *Blocklist) Export(ctx context.Context, to io.Writer) error {
	all, err := d.cfg.Ledger.Blocks(ctx, d.now())
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b sluice.Block) int {
		return strings.Compare(string(a.Scope)+"\x00"+a.Value, string(b.Scope)+"\x00"+b.Value)
	})
	w := csv.NewWriter(to)
	if err := w.Write(listColumns); err != nil {
		return err
	}
	for _, b := range all {
		expires := ""
		if b.ExpiresAt != 0 {
			expires = b.ExpiresAt.Time().Format(time.RFC3339)
		}
		err := w.Write([]string{string(b.Scope), guard(b.Value), guard(b.Reason), guard(b.Author),
			b.CreatedAt.Time().Format(time.RFC3339), expires})
		if err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// Import adds the entries of a CSV and changes those that are there, or in a dry run says what it would do. Where a
// line has a fault nothing is imported. Entries that the CSV does not have stay.
func (d *Blocklist) Import(
	ctx context.Context, body io.Reader, dryRun bool, a sluice.Actor,
) (out sluice.ListImport, err error) {
	return d.importList(ctx, body, dryRun, a, func(sluice.JobProgress) {})
}

func (d *Blocklist) importList(
	ctx context.Context, body io.Reader, dryRun bool, a sluice.Actor, told func(sluice.JobProgress),
) (out sluice.ListImport, err error) {
	out.DryRun = dryRun
	rows, err := d.readList(body, a, &out)
	if err != nil {
		return out, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	todo := d.compare(rows, &out)
	name, code, _ := d.cfg.name()
	if len(d.all)+out.Added > maxBlocks {
		return out, full(code, "entries", maxBlocks)
	}
	if dryRun || out.Faults > 0 {
		return out, nil
	}
	if d.cfg.Bulk == nil {
		return out, sluice.NewFault(sluice.ErrConflict, "NO_IMPORT", "nothing can be imported into the "+name)
	}
	defer d.push() // also of what was written before a failure
	p := sluice.JobProgress{Total: int64(len(todo))}
	told(p)
	for some := range slices.Chunk(todo, listChunk) {
		wrote, err := d.cfg.Bulk.AddBlocks(ctx, some, a)
		if err != nil {
			return out, fmt.Errorf("admin: import into the %s, of which a part may be done: %w", name, err)
		}
		for _, b := range wrote {
			d.all[b.ID] = b
		}
		p.Done += int64(len(some))
		told(p)
	}
	out.Applied = true
	return out, nil
}

// listRow is an entry with the line that it stands on.
type listRow struct {
	line int
	sluice.Block
}

// compare says what the rows change, and gives what has to be written. The caller holds mu.
func (d *Blocklist) compare(rows []listRow, out *sluice.ListImport) (todo []sluice.Block) {
	byValue := make(map[string]sluice.Block, len(d.all))
	now := d.now()
	for _, b := range d.all {
		if b.ExpiresAt == 0 || b.ExpiresAt > now {
			byValue[string(b.Scope)+"\x00"+b.Value] = b
		}
	}
	for _, r := range rows {
		change := sluice.ListChange{Line: r.line, Entry: r.Block}
		old, known := byValue[string(r.Scope)+"\x00"+r.Value]
		switch {
		case known && old.Reason == r.Reason && old.ExpiresAt == r.ExpiresAt && old.Author == r.Author:
			out.Same++
			continue
		case known:
			out.Changed++
			change.Before = &old
			change.Entry.ID, change.Entry.CreatedAt = old.ID, old.CreatedAt
		default:
			out.Added++
		}
		if len(out.Changes) < maxListChanges {
			out.Changes = append(out.Changes, change)
		}
		todo = append(todo, r.Block)
	}
	return todo
}

// readList reads the rows of a CSV. The error is that of the body as a whole; the faults of lines are in out.
func (d *Blocklist) readList(body io.Reader, a sluice.Actor, out *sluice.ListImport) ([]listRow, error) {
	in := csv.NewReader(&bounded{in: body, left: MaxListBody})
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	head, err := in.Read()
	if err != nil {
		return nil, listFault(err)
	}
	at, err := listHead(head)
	if err != nil {
		return nil, err
	}
	var rows []listRow
	seen := map[string]int{}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, listFault(err)
		}
		if out.Rows++; out.Rows > maxListRows {
			return nil, bodyFault("must have at most %d rows", maxListRows)
		}
		line, _ := in.FieldPos(0)
		b, faults := d.readRow(fields, at, a)
		key := string(b.Scope) + "\x00" + b.Value
		if before, twice := seen[key]; twice && len(faults) == 0 {
			faults.add("value", "stands on line %d already", before)
		}
		if len(faults) == 0 {
			seen[key] = line
			rows = append(rows, listRow{line, b})
			continue
		}
		out.Faults++
		for _, f := range faults {
			if len(out.Errors) < maxListErrors {
				out.Errors = append(out.Errors, sluice.ListError{Line: line, Field: f.Field, Detail: f.Detail})
			}
		}
	}
}

// listHead gives the column of each name, -1 where there is none.
func listHead(head []string) ([]int, error) {
	at := slices.Repeat([]int{-1}, len(listColumns))
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		k := slices.Index(listColumns, name)
		switch {
		case k < 0:
			return nil, bodyFault("has a column %q; the columns are %s", shorten(name, 40), strings.Join(listColumns, ", "))
		case at[k] >= 0:
			return nil, bodyFault("has the column %s twice", name)
		}
		at[k] = i
	}
	if at[0] < 0 || at[1] < 0 {
		return nil, bodyFault("must begin with a line that names its columns, scope and value among them")
	}
	return at, nil
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// readRow reads one entry, and names every fault of it.
func (d *Blocklist) readRow(fields []string, at []int, a sluice.Actor) (b sluice.Block, f faults) {
	get := func(k int) string {
		if at[k] < 0 || at[k] >= len(fields) {
			return ""
		}
		return strings.Clone(unguard(fields[at[k]]))
	}
	_, _, prefix := d.cfg.name()
	b = sluice.Block{ID: newID(prefix), Scope: sluice.BlockScope(strings.TrimSpace(get(0))), Value: get(1),
		Reason: get(2), Author: get(3), CreatedAt: d.now()}
	if b.Scope == sluice.BlockAddress {
		b.Value = strings.TrimSpace(b.Value)
	}
	if b.Author == "" {
		b.Author = a.Name
	}
	f.text("author", b.Author, 0, sluice.MaxTitle)
	if text := strings.TrimSpace(get(5)); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			f.add("expires_at", "must be a time as 2026-01-31T12:00:00Z, or empty for one without end")
		} else {
			b.ExpiresAt = sluice.MillisOf(t)
		}
	}
	var fault *sluice.Fault
	if err := checkBlock(&b); errors.As(err, &fault) {
		f = append(f, fault.Fields...)
	}
	return b, f
}

var errLongBody = fmt.Errorf("admin: a list of more than %d bytes", MaxListBody)

// bounded reads so much and no more.
type bounded struct {
	in   io.Reader
	left int
}

// Read reads on; errLongBody once there is more than the bound.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongBody
	}
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.in.Read(p)
	b.left -= n
	if b.left < 0 {
		return 0, errLongBody
	}
	return n, err
}

func listFault(err error) error {
	var bad *csv.ParseError
	switch {
	case errors.Is(err, errLongBody):
		return bodyFault("must be at most %d bytes", MaxListBody)
	case errors.Is(err, io.EOF):
		return bodyFault("is empty: it must begin with a line that names its columns")
	case errors.As(err, &bad):
		return bodyFault("line %d is no CSV: %s", bad.Line, bad.Err)
	}
	return bodyFault("could not be read to its end")
}
