package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// Size is how large a sale is.
type Size struct {
	Buyers, Stock int
	Span          time.Duration // over which the buyers come
}

// Result is what one cell came to.
type Result struct {
	Cell                  Cell
	Size                  Size
	Confirmed, Rejected   int // of the first crowd
	Refused               int
	Forgotten             int
	Before, During, After string // what clients were told
	Gap                   time.Duration
	Median, P99, Longest  time.Duration // from queued to its outcome
	Took                  time.Duration
	Held                  bool // every promise
}

// Run runs one cell: a sale whose part breaks when a fifth of the stock is promised; then a late crowd that takes what
// is left; then the audit.
func Run(t *testing.T, cell Cell, size Size, seed uint64) (r Result) {
	t.Helper()
	r = Result{Cell: cell, Size: size}
	shape := cell.Shape
	if cell.Fault == "disk full" {
		shape.MariaIn = SmallDisk(t) + "/maria"
	}
	began := time.Now()
	f := NewFleet(t, shape)
	const campaign = "chaos"
	f.Nodes[0].Create(t, e2e.Goods(campaign, size.Stock, 1, nil))
	f.waitKnown(t, campaign)
	crowd := NewCrowd(campaign, "buyer", f.Bases(), size.Buyers, size.Span)
	var broke time.Duration
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	crowd.Run(ctx, int64(size.Stock/5), func() {
		broke = crowd.Since()
		cell.Break(t, f, func() { crowd.Phase("during") })
		crowd.Phase("after")
	})
	r.Confirmed, r.Rejected, r.Refused, _ = crowd.Counts()
	late := NewCrowd(campaign, "late", f.Bases(), max(0, size.Stock-r.Confirmed)+50, time.Second)
	late.Run(ctx, 0, nil)
	more, _, _, _ := late.Counts()
	t.Logf("the late crowd was told: %s", late.Seen("before"))
	if got := r.Confirmed + more; got != size.Stock {
		t.Errorf("%d units were confirmed, %d of them late; the stock is %d", got, more, size.Stock)
	}
	f.Audit(t, campaign, int64(size.Stock), crowd, late)
	f.Replays(t, crowd, rand.New(rand.NewPCG(seed, 2)), 50)
	r.Forgotten = crowd.Said("forgotten")
	if !cell.Loses && r.Forgotten > 0 {
		t.Errorf("buyers who were promised a unit were told %d times that there is no such claim", r.Forgotten)
	}
	if !cell.Loses && r.Rejected > 0 {
		t.Errorf("%d promised claims were rejected though the gate lost nothing", r.Rejected)
	}
	r.Before, r.During, r.After = crowd.Seen("before"), crowd.Seen("during"), crowd.Seen("after")
	r.Gap, _ = crowd.Gap(broke)
	r.Median, r.P99, r.Longest = crowd.Settling()
	r.Took, r.Held = time.Since(began), !t.Failed()
	t.Logf("%s: %+v", cell.Name(), r)
	return r
}

// Table writes results as a table of the documentation.
func Table(all []Result) string {
	var b strings.Builder
	b.WriteString("| Part | Broken by | All promises | Clients were told meanwhile | " +
		"Longest wait for the next promise | Queued to outcome: median, p99, longest | " +
		"Promised, then rejected |\n|---|---|---|---|---|---|---|\n")
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	for _, r := range all {
		held := "held"
		if !r.Held {
			held = "**broken**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s, %s, %s | %d |\n", r.Cell.Target, r.Cell.Fault, held, r.During,
			ms(r.Gap), ms(r.Median), ms(r.P99), ms(r.Longest), r.Rejected)
	}
	return b.String()
}
