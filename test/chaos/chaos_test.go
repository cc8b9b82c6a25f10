package chaos_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/chaos"
)

var (
	full  = flag.Bool("full", false, "run the whole matrix at full size")
	seed  = flag.Uint64("seed", 0, "which cells are run; 0 means the clock's")
	only  = flag.String("cell", "", "run the cells whose name contains this")
	many  = flag.Int("buyers", 0, "with -full: so many buyers; 0 means the canonical sale's")
	table = flag.String("table", "", "write the table of the documentation to this file")
)

// Sizes of a sale.
var (
	small  = chaos.Size{Buyers: 5_000, Stock: 3_500, Span: 8 * time.Second}
	entire = chaos.Size{Buyers: 100_000, Stock: 10_000, Span: 20 * time.Second}
)

// some is how many cells the suite runs.
const some = 8

func TestMain(m *testing.M) { servers.Main(m) }

// TestMatrix breaks parts of a fleet during a sale. Without flags it runs eight cells that a printed seed chooses.
func TestMatrix(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	cells, size := chosen(*seed), small
	if *full {
		cells, size = chaos.Cells(), entire
		if *many > 0 {
			size.Buyers, size.Span = *many, 10*time.Second
		}
		if *only != "" {
			cells = chosen(*seed)
		}
	}
	t.Logf("seed %d (run the same cells with -seed %d)", *seed, *seed)
	var results []chaos.Result
	for _, c := range cells {
		t.Run(c.Name(), func(t *testing.T) { results = append(results, chaos.Run(t, c, size, *seed)) })
	}
	text := chaos.Table(results)
	fmt.Print(text)
	if *table != "" {
		head := fmt.Sprintf("# What clients see while a part is broken\n\nWritten by `make chaos`: %d buyers, %d units, "+
			"three nodes, all parts on one machine of two cores.\n\n", size.Buyers, size.Stock)
		if err := os.WriteFile(*table, []byte(head+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// chosen picks the cells of a seed, or those that are asked for.
func chosen(seed uint64) (cells []chaos.Cell) {
	all := chaos.Cells()
	if *only != "" {
		for _, c := range all {
			if strings.Contains(c.Name(), *only) {
				cells = append(cells, c)
			}
		}
		return cells
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, i := range rng.Perm(len(all))[:some] {
		cells = append(cells, all[i])
	}
	return cells
}
