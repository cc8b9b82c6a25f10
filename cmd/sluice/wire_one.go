package main

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/metrics"
	"github.com/sluice-sale/sluice/internal/settle"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// openSQLite opens the ledger in the data folder, and locks the folder.
func (p *parts) openSQLite(ctx context.Context, s *server) (err error) {
	p.ledger, err = sqldb.Open(ctx, sqldb.Config{
		Path: ledgerPath(s.cfg), Log: s.log, CacheMB: int(s.cfg.SQLite.Cache >> 20), Readers: s.cfg.SQLite.Readers,
		MaxWaiting: s.cfg.SQLite.Waiting, Doubt: p.doubt(s), OnBatch: p.onBatch(s),
	})
	return err
}

// openMemory takes stock in this process.
func (p *parts) openMemory(s *server) {
	p.admission = memory.New(memory.Config{
		Log: s.log, Doubt: p.doubt(s), BatchDone: func(_ int, took time.Duration) { s.metrics.Admitted(took) },
	}, p.ledger)
	p.verifier = p.ledger
	p.claims = settle.NewResults(settle.ResultsConfig{Log: s.log}, p.ledger, nil)
}

// doubt freezes a campaign whose figures do not add up.
func (p *parts) doubt(s *server) func(campaign, note string) {
	return func(campaign, note string) { p.freeze(s, campaign, note) }
}

func (p *parts) onBatch(s *server) func(sqldb.BatchStats) {
	return func(b sqldb.BatchStats) {
		p.wakeExpirer(b)
		s.metrics.Committed(metrics.Batch{Writes: b.Ops, Claims: b.Claims, Failed: b.Failed,
			Commit: seconds(b.Commit), Transaction: seconds(b.Seconds)})
	}
}

// wakeExpirer tells of the earliest moment at which an order of this batch can fall due.
func (p *parts) wakeExpirer(b sqldb.BatchStats) {
	if e, window := p.expirer.Load(), p.shortest.Load(); e != nil && window > 0 && b.Claims > 0 && !b.Failed {
		e.Wake(sluice.MillisOf(time.Now()) + sluice.Millis(window))
	}
	if r := p.reminder.Load(); r != nil && b.Claims > 0 && !b.Failed {
		r.tell()
	}
}

// noteWindow keeps the shortest unpaid window there is.
func (p *parts) noteWindow(c sluice.Campaign) {
	window := c.Goods.UnpaidWindowSec * 1000
	if r := p.reminder.Load(); r != nil {
		r.note(time.Duration(window) * time.Millisecond)
	}
	for window > 0 {
		old := p.shortest.Load()
		if old != 0 && old <= window || p.shortest.CompareAndSwap(old, window) {
			return
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
