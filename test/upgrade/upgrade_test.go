package upgrade

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/chaos"
	"github.com/sluice-sale/sluice/test/e2e"
)

// versions are the programs that all tests share.
var versions *builds

func TestMain(m *testing.M) {
	var err error
	if versions, err = newBuilds(); err != nil {
		panic(err)
	}
	code := m.Run()
	servers.Stop()
	versions.Remove()
	os.Exit(code)
}

// sale is small enough for the suite, and long enough for every node to be replaced twice.
var sale = chaos.Size{Buyers: 6000, Stock: 5000, Span: 30 * time.Second}

// TestRolledForwardAndBack replaces every node of the previous version by this one, one after another, and back, while
// a sale runs; then the whole fleet is held to every promise.
func TestRolledForwardAndBack(t *testing.T) {
	before := versions.Previous(t)
	for _, tt := range []struct {
		name  string
		shape chaos.Shape
	}{
		{"queue in Redis", chaos.Shape{}},
		{"RabbitMQ", chaos.Shape{Rabbit: true}},
	} {
		t.Run(tt.name, func(t *testing.T) { roll(t, tt.shape, before.Path, e2e.Binary(t)) })
	}
}

// TestBesideAVersionToCome does the same with this version as the old one, and a new one that brings a migration and
// other scripts.
func TestBesideAVersionToCome(t *testing.T) {
	roll(t, chaos.Shape{}, e2e.Binary(t), versions.Next(t).Path)
}

func roll(t *testing.T, shape chaos.Shape, before, after string) {
	shape.Binary = before
	cell := chaos.Cell{Target: "fleet", Fault: "rolled forward and back", Shape: shape}
	cell.Break = func(tb testing.TB, f *chaos.Fleet, during func()) {
		during()
		for _, program := range []string{after, before} {
			for _, n := range f.Nodes {
				n.Replace(tb, program)
			}
		}
	}
	r := chaos.Run(t, cell, sale, 1)
	if r.Confirmed == 0 {
		t.Error("nobody was confirmed")
	}
}
