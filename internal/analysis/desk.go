package analysis

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a Desk.
const (
	maxWaiting = 8
	maxKept    = 16 // results
)

// Ledger is what the desk asks of it. Both block for as long as a read takes; ErrNotFound where there is no such
// campaign; neither is tried again.
type Ledger interface {
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	// Report sums a campaign's rows and gives its funnel by time.
	Report(ctx context.Context, id string) (sluice.CampaignReport, error)
}

// DeskConfig says what analyses are made from.
type DeskConfig struct {
	Ledger Ledger
	// Logs lists the server's own decision log and what was rotated away from it, the oldest first; nil: it keeps none.
	Logs func() ([]string, error)
	Now  func() time.Time // default time.Now
	Log  *slog.Logger     // default: discarded
}

// Desk makes analyses, one at a time, and keeps the last sixteen. It is safe for concurrent use.
type Desk struct {
	cfg    DeskConfig
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex // guards what follows; held over nothing that blocks
	jobs    map[string]*sluice.AnalysisJob
	order   []string // of jobs, the one that was asked for longest ago first
	waiting []string
	working bool
}

// NewDesk makes a Desk; Close it.
func NewDesk(cfg DeskConfig) *Desk {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Desk{cfg: cfg, jobs: map[string]*sluice.AnalysisJob{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Close ends what is being made, and returns when it has ended. Idempotent.
func (d *Desk) Close() {
	d.cancel()
	d.done.Wait()
}

// Analysis gives how the analysis of a campaign stands, and has one made where there is none, or, with anew, where the
// last one is finished. It does not wait for it. Errors: ErrNotFound; ErrUnavailable while eight others wait.
func (d *Desk) Analysis(ctx context.Context, id string, anew bool) (sluice.AnalysisJob, error) {
	if _, err := d.cfg.Ledger.Campaign(ctx, id); err != nil {
		return sluice.AnalysisJob{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if j, ok := d.jobs[id]; ok && (!anew || j.State == "waiting" || j.State == "running") {
		return *j, nil
	}
	if d.ctx.Err() != nil || len(d.waiting) >= maxWaiting {
		return sluice.AnalysisJob{}, sluice.NewFault(sluice.ErrUnavailable, sluice.ReasonBusy.String(),
			"eight analyses are waiting already; ask again when they are made")
	}
	j := &sluice.AnalysisJob{State: "waiting", AskedAtMS: d.cfg.Now().UnixMilli()}
	d.forget(id)
	d.jobs[id], d.order, d.waiting = j, append(d.order, id), append(d.waiting, id)
	if !d.working {
		d.working = true
		d.done.Go(d.work)
	}
	return *j, nil
}

// forget makes room for a job of id: its old one goes, or the oldest that is finished.
func (d *Desk) forget(id string) {
	delete(d.jobs, id)
	d.order = slices.DeleteFunc(d.order, func(o string) bool { return o == id })
	for i := 0; i < len(d.order) && len(d.order) >= maxKept; i++ {
		if s := d.jobs[d.order[i]].State; s == "done" || s == "failed" {
			delete(d.jobs, d.order[i])
			d.order = slices.Delete(d.order, i, i+1)
			return
		}
	}
}

// work makes what waits, and ends when nothing does.
func (d *Desk) work() {
	for {
		d.mu.Lock()
		if len(d.waiting) == 0 || d.ctx.Err() != nil {
			d.working = false
			d.mu.Unlock()
			return
		}
		id := d.waiting[0]
		d.waiting = d.waiting[1:]
		j := d.jobs[id]
		j.State = "running"
		d.mu.Unlock()
		made, err := d.make(id, func(done, of int64) {
			d.mu.Lock()
			j.Read, j.Of = done, of
			d.mu.Unlock()
		})
		d.mu.Lock()
		j.DoneAtMS, j.State, j.Analysis = d.cfg.Now().UnixMilli(), "done", &made
		if err != nil {
			j.State, j.Analysis = "failed", nil
			j.Error = "the decision log or the ledger could not be read; the server's log says why"
			d.cfg.Log.Warn("analysis: not made", "campaign", id, "error", err)
		}
		d.mu.Unlock()
	}
}

// make reads the log, and where it has nothing on the campaign, the ledger.
func (d *Desk) make(id string, tell Progress) (sluice.Analysis, error) {
	if d.cfg.Logs != nil {
		paths, err := d.cfg.Logs()
		if err != nil {
			return sluice.Analysis{}, err
		}
		a, err := Files(d.ctx, Config{Campaign: id}, paths, nil, tell)
		if err != nil || a.Lines > 0 {
			return a, err
		}
	}
	r, err := d.cfg.Ledger.Report(d.ctx, id)
	if err != nil {
		return sluice.Analysis{}, fmt.Errorf("analysis: report of %s: %w", id, err)
	}
	return FromReport(&r), nil
}

// FromReport makes an analysis of what the ledger knows: the funnel, and how many units there were.
func FromReport(r *sluice.CampaignReport) sluice.Analysis {
	a := sluice.Analysis{
		Campaign: r.Campaign.ID, Source: sluice.SourceDatabase, StartsMS: int64(r.Campaign.StartsAt),
		WidthMS: int64(secondMS), Missing: []string{
			"addresses, devices and subnets", "risk rules", "challenged and slowed buyers", "clusters",
		},
		Reasons: []sluice.ReasonTotal{}, Seconds: []sluice.SecondTotals{}, Distinct: []sluice.DistinctTotal{},
		Refusals: []sluice.RefusalTops{}, Rules: []sluice.RuleTotal{}, Holders: []sluice.TopList{},
		Clusters: []sluice.Cluster{}, Units: sluice.UnitShares{Total: r.Rows.Units},
	}
	for _, n := range r.Decisions {
		a.Lines += n
	}
	for _, reason := range sluice.Reasons() {
		if n := r.Decisions[reason]; n > 0 {
			a.Reasons = append(a.Reasons, sluice.ReasonTotal{
				Reason: reason.String(), Count: n, Share: float64(n) / float64(a.Lines),
			})
		}
	}
	rows := map[sluice.Millis]*[sluice.NumReasons]int64{}
	var order []sluice.Millis
	for i := range r.Buckets {
		b := &r.Buckets[i]
		at := b.Start - b.Start%secondMS
		if rows[at] == nil {
			rows[at] = new([sluice.NumReasons]int64)
			order = append(order, at)
		}
		for k, n := range b.Counts {
			rows[at][k] += n
		}
	}
	slices.Sort(order)
	for _, at := range order {
		a.Seconds = append(a.Seconds, secondTotals(at, rows[at]))
	}
	return a
}
