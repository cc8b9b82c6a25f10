package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// TestListImportAsJob: it tells how far it is, counts what it did, is taken once, and with a faulty line does nothing.
func TestListImportAsJob(t *testing.T) {
	d, shelf := newList()
	var text strings.Builder
	text.WriteString("scope,value\n")
	for i := range 1200 {
		fmt.Fprintf(&text, "user,u%d\n", i)
	}
	work := func(body string) (any, []int64, error) {
		kind, ask, _, err := d.Stage([]byte(body))
		if err != nil || kind != "blocklist.import" {
			t.Fatal(kind, err)
		}
		var told []int64
		job := sluice.Job{Ask: ask}
		got, err := d.ImportWork(t.Context(), job, importer, func(p sluice.JobProgress) {
			told = append(told, p.Done)
			if p.Total != 1200 {
				t.Errorf("of %d", p.Total)
			}
		})
		if _, err := d.ImportWork(t.Context(), job, importer, nil); err == nil {
			t.Error("the same list was imported twice")
		}
		return got, told, err
	}
	got, told, err := work(text.String())
	if err != nil || fmt.Sprint(got) != "map[added:1200 changed:0 faults:0 rows:1200 same:0]" || len(shelf.all) != 1200 {
		t.Errorf("%v %v, %d entries", got, err, len(shelf.all))
	}
	if fmt.Sprint(told) != "[0 500 1000 1200]" {
		t.Errorf("told %v", told)
	}
	var fault *sluice.Fault
	_, _, err = work("scope,value\nuser,new\nplanet,earth\n")
	if !errors.As(err, &fault) || fault.Fields[0].Field != "line 3.scope" {
		t.Errorf("a faulty line: %v", err)
	}
	if len(shelf.all) != 1200 {
		t.Errorf("%d entries after a faulty list", len(shelf.all))
	}
}

// TestStagedListsAreBounded: no more wait than there is room for, and a dropped one gives its room back.
func TestStagedListsAreBounded(t *testing.T) {
	d, _ := newList()
	if _, _, _, err := d.Stage(make([]byte, admin.MaxListBody+1)); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("too long: %v", err)
	}
	var drops []func()
	for {
		_, _, drop, err := d.Stage([]byte("scope,value\n"))
		if errors.Is(err, sluice.ErrConflict) || len(drops) > 100 {
			break
		}
		drops = append(drops, drop)
	}
	if len(drops) != 4 {
		t.Errorf("%d lists wait", len(drops))
	}
	drops[0]()
	if _, _, _, err := d.Stage(nil); err != nil {
		t.Error(err)
	}
}

// looks is a gate that has seen three people.
type looks struct{ value string }

func (*looks) BlockHits(id string) int64 { return int64(len(id)) }

func (l *looks) Crowd(_ sluice.BlockScope, value string) sluice.CrowdCount {
	l.value = value
	return sluice.CrowdCount{People: 2, Admitted: 1, Known: 3}
}

// TestPreviewOfABlock: the value in its one form is what is looked for, and what is in force on it already is told.
func TestPreviewOfABlock(t *testing.T) {
	_, shelf := newList()
	gate := &looks{}
	d := admin.NewBlocklist(admin.BlocklistConfig{Ledger: shelf, Gate: shelf, Looks: gate, Now: now.Time})
	p, err := d.Preview(t.Context(), sluice.BlockAddress, "192.0.2.99/24")
	if err != nil || p.Value != "192.0.2.0/24" || gate.value != p.Value || p.Crowd.People != 2 || p.Block != nil {
		t.Errorf("%+v %v, looked for %q", p, err, gate.value)
	}
	b, err := d.Add(t.Context(), sluice.Block{Scope: sluice.BlockAddress, Value: "192.0.2.0/24"}, importer)
	if err != nil {
		t.Fatal(err)
	}
	p, err = d.Preview(t.Context(), sluice.BlockAddress, "192.0.2.1/24")
	if err != nil || p.Block == nil || p.Block.ID != b.ID {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := d.Preview(t.Context(), sluice.BlockAddress, "everywhere"); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("no address: %v", err)
	}
	if n, since, ok := d.Hits("four"); n != 4 || !ok || since != now {
		t.Errorf("%d hits since %d, %v", n, since, ok)
	}
	blind, _ := newList()
	if _, _, ok := blind.Hits("four"); ok {
		t.Error("hits that nobody counts")
	}
}
