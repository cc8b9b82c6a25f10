package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// listShelf is a list without a database.
type listShelf struct{ all map[string]sluice.Block }

func (s *listShelf) Blocks(context.Context, sluice.Millis) (all []sluice.Block, err error) {
	for _, b := range s.all {
		all = append(all, b)
	}
	return all, nil
}

func (s *listShelf) AddBlocks(_ context.Context, all []sluice.Block, _ sluice.Actor) ([]sluice.Block, error) {
	out := append([]sluice.Block(nil), all...)
	for i, b := range out {
		key := string(b.Scope) + "/" + b.Value
		if old, ok := s.all[key]; ok {
			out[i].ID, out[i].CreatedAt = old.ID, old.CreatedAt
		}
		s.all[key] = out[i]
	}
	return out, nil
}

func (s *listShelf) AddBlock(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error) {
	all, err := s.AddBlocks(ctx, []sluice.Block{b}, a)
	return all[0], err
}

func (*listShelf) RemoveBlock(context.Context, string, sluice.Actor, sluice.Millis) (b sluice.Block, err error) {
	return b, nil
}

func (*listShelf) Block(context.Context, string) (b sluice.Block, err error) { return b, nil }

func (*listShelf) BlocksPage(
	context.Context, sluice.BlockScope, string, string, sluice.Millis, int,
) ([]sluice.Block, error) {
	return nil, nil
}

func (*listShelf) SetBlocks([]sluice.Block) {}

func newList() (*admin.Blocklist, *listShelf) {
	s := &listShelf{all: map[string]sluice.Block{}}
	return admin.NewBlocklist(admin.BlocklistConfig{Ledger: s, Bulk: s, Gate: s, Now: now.Time}), s
}

var importer = sluice.Actor{Name: "ops"}

// TestListRoundTrip: what is exported is imported as it was, also what a spreadsheet would calculate, and no cell
// begins like a formula.
func TestListRoundTrip(t *testing.T) {
	from, _ := newList()
	for i, v := range []string{"=1+1", "+x", "-x", "@x", "'=x", "''x", "'tis", "a,b", `say "x"`, "用户", "'", "x'"} {
		b := sluice.Block{Scope: sluice.BlockUser, Value: v, Reason: v}
		if i%2 == 0 {
			b.ExpiresAt = sluice.MillisOf(now.Time().Add(time.Hour).Truncate(time.Second).Add(time.Second))
		}
		if _, err := from.Add(t.Context(), b, sluice.Actor{Name: v}); err != nil {
			t.Fatal(err)
		}
	}
	net := sluice.Block{Scope: sluice.BlockAddress, Value: "10.1.2.3/24"}
	if _, err := from.Add(t.Context(), net, importer); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := from.Export(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.String(), "address,10.1.2.0/24,") {
		t.Errorf("no network as CIDR: %s", &first)
	}
	for _, line := range strings.Split(first.String(), "\n") {
		for _, cell := range strings.Split(line, ",") {
			if cell = strings.TrimPrefix(cell, `"`); cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("a cell begins like a formula: %s", line)
			}
		}
	}
	to, shelf := newList()
	res, err := to.Import(t.Context(), bytes.NewReader(first.Bytes()), true, importer)
	if err != nil || res.Applied || res.Added != 13 || res.Faults != 0 || len(shelf.all) != 0 {
		t.Fatalf("a dry run: %+v, %v, %d written", res, err, len(shelf.all))
	}
	if res, err = to.Import(t.Context(), bytes.NewReader(first.Bytes()), false, importer); err != nil || !res.Applied {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := to.Export(t.Context(), &second); err != nil || second.String() != first.String() {
		t.Errorf("imported and exported again:\n%s\nwas\n%s", &second, &first)
	}
	if res, err = to.Import(t.Context(), &second, false, importer); err != nil || res.Same != 13 || res.Added != 0 {
		t.Errorf("imported again: %+v, %v", res, err)
	}
}

// TestImportNamesEachFault: each line's fault is named, and nothing is imported then.
func TestImportNamesEachFault(t *testing.T) {
	list, shelf := newList()
	body := "scope,value,expires_at\nuser,u1,\nplanet,earth,\naddress,300.1.1.1,\naddress,10.0.0.0/4,\n" +
		"user,u2,yesterday\nuser,u3,2001-01-01T00:00:00Z\nuser,u1,\nuser,,\n"
	res, err := list.Import(t.Context(), strings.NewReader(body), false, importer)
	if err != nil || res.Applied || res.Faults != 7 || len(shelf.all) != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	var got []string
	for _, e := range res.Errors {
		got = append(got, fmt.Sprint(e.Line, " ", e.Field))
	}
	want := "[3 scope 4 value 5 value 6 expires_at 7 expires_at 8 value 9 value]"
	if fmt.Sprint(got) != want {
		t.Errorf("faults %v, want %s", got, want)
	}
	for _, bad := range []string{"", "value\nx\n", "scope,value,scope\n", "scope,value,colour\n", "scope,value\n\"x",
		"scope,value\n" + strings.Repeat("user,u\n", 20_001), strings.Repeat("x", admin.MaxListBody+1)} {
		if _, err := list.Import(t.Context(), strings.NewReader(bad), false, importer); err == nil {
			t.Errorf("%.40q was imported", bad)
		}
	}
}

// FuzzListImport: whatever is imported comes out again as it went in, and what has a fault changes nothing.
func FuzzListImport(f *testing.F) {
	f.Add("scope,value,reason,author,expires_at\nuser,'=x,r,a,\naddress,10.0.0.0/24,,,2030-01-01T00:00:00Z\n")
	f.Add("\ufeffvalue,scope\n\"a\"\"b\",device\n")
	f.Fuzz(func(t *testing.T, body string) {
		list, shelf := newList()
		res, err := list.Import(t.Context(), strings.NewReader(body), false, importer)
		if err != nil || !res.Applied {
			if len(shelf.all) != 0 {
				t.Fatalf("%d entries of a faulty list", len(shelf.all))
			}
			return
		}
		var out bytes.Buffer
		if err := list.Export(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		again, _ := newList()
		back, err := again.Import(t.Context(), &out, false, importer)
		if err != nil || back.Faults != 0 || back.Added != res.Added {
			t.Fatalf("imported %d, and of the export %+v, %v", res.Added, back, err)
		}
	})
}
