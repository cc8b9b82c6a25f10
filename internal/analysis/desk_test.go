package analysis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/analysis"
)

// ledger knows the campaigns spring and quiet; hold, where set, is what a report waits for.
type ledger struct {
	hold chan struct{}
	fail error
}

func (l *ledger) Campaign(_ context.Context, id string) (sluice.Campaign, error) {
	if id == "none" {
		return sluice.Campaign{}, fmt.Errorf("campaign: %w", sluice.ErrNotFound)
	}
	return sluice.Campaign{ID: id}, nil
}

func (l *ledger) Report(ctx context.Context, id string) (r sluice.CampaignReport, err error) {
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	r.Campaign.ID = id
	r.Decisions[sluice.ReasonSoldOut], r.Decisions[sluice.ReasonConfirmed] = 30, 10
	r.Rows.Units = 10
	for _, at := range []sluice.Millis{5100, 5200, 6000} {
		b := sluice.Bucket{Start: at, Width: 100}
		b.Counts[sluice.ReasonSoldOut], b.Counts[sluice.ReasonNone] = 10, 1
		r.Buckets = append(r.Buckets, b)
	}
	return r, l.fail
}

func TestDesk(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "decisions.log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, newSale(1, 500, 0.5)); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		d := analysis.NewDesk(analysis.DeskConfig{Ledger: l, Logs: func() ([]string, error) { return analysis.Logs(log) }})
		defer d.Close()
		ask := func(id string, anew bool) sluice.AnalysisJob {
			j, err := d.Analysis(t.Context(), id, anew)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		if j := ask("spring", false); j.State != "waiting" || j.Analysis != nil {
			t.Errorf("asked for the first time: %+v", j)
		}
		synctest.Wait()
		j := ask("spring", false)
		if j.State != "done" || j.Analysis.Source != sluice.SourceDecisions || j.Analysis.Lines != 500 || j.Read == 0 {
			t.Errorf("from the log: %+v", j)
		}
		ask("quiet", false) // the log has nothing on it
		synctest.Wait()
		a := ask("quiet", false).Analysis
		if a == nil || a.Source != sluice.SourceDatabase || a.Lines != 40 || a.Units.Total != 10 || len(a.Missing) == 0 ||
			len(a.Seconds) != 2 || a.Seconds[0].Counts["SOLD_OUT"] != 20 || a.Seconds[0].Replayed != 2 {
			t.Errorf("from the ledger: %+v", a)
		}
		if _, err := d.Analysis(t.Context(), "none", false); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("a campaign that is not there: %v", err)
		}
		l.fail = errors.New("disk on fire")
		ask("quiet", true)
		synctest.Wait()
		if j := ask("quiet", false); j.State != "failed" || j.Error == "" || j.Analysis != nil {
			t.Errorf("a ledger that fails: %+v", j)
		}
	})
}

// What waits and what is kept is bounded, and Close ends what is being made.
func TestDeskIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{hold: make(chan struct{})}
		d := analysis.NewDesk(analysis.DeskConfig{Ledger: l})
		refused := 0
		for i := range 12 {
			if _, err := d.Analysis(t.Context(), fmt.Sprint("c", i), false); errors.Is(err, sluice.ErrUnavailable) {
				refused++
			}
			synctest.Wait()
		}
		if refused != 3 {
			t.Errorf("%d of 12 refused, want all but one under way and eight that wait", refused)
		}
		d.Close()
		d.Close()
		if _, err := d.Analysis(t.Context(), "late", false); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	})
}
