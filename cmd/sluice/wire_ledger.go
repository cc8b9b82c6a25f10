package main

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/direct"
	"github.com/sluice-sale/sluice/internal/settle"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// openDirect takes stock in the ledger itself, which any number of nodes may share.
func (p *parts) openDirect(s *server) {
	p.admission = direct.New(direct.Config{
		Log: s.log, BatchDone: func(_ int, took time.Duration) { s.metrics.Admitted(took) },
	}, p.ledger, p.ledger)
	p.verifier = rowsAlone{p.ledger}
	p.claims = settle.NewResults(settle.ResultsConfig{Log: s.log}, p.ledger, nil)
}

// rowsAlone recomputes campaigns from rows where the ledger itself takes the stock: what admission knows of it is a
// copy that may be a moment old, and would look like drift in the middle of a sale.
type rowsAlone struct{ ledger *sqldb.DB }

// Verify recomputes a campaign; what is available is what the rows leave.
func (r rowsAlone) Verify(
	ctx context.Context, campaign string, _ func() sluice.Permit,
) (sluice.Verification, error) {
	return r.ledger.Verify(ctx, campaign, nil)
}

// openSpare makes where claims go while Redis is away, by policy or by an operator's switch.
func (p *parts) openSpare(s *server) *direct.Admission {
	return direct.New(direct.Config{Log: s.log, Spare: true}, p.ledger, p.ledger)
}

// withSpare is admission in Redis that keeps a spare one, in the ledger, up to date.
type withSpare struct {
	remoteAdmission
	spare *direct.Admission
}

// Put takes a campaign over in both.
func (w withSpare) Put(ctx context.Context, c sluice.Campaign) error {
	return errors.Join(w.remoteAdmission.Put(ctx, c), w.spare.Put(ctx, c))
}

// Arm takes all campaigns over in both.
func (w withSpare) Arm(
	ctx context.Context, all []sluice.Campaign, progress func(campaign string, rows, of int64),
) error {
	return errors.Join(w.remoteAdmission.Arm(ctx, all, progress), w.spare.Arm(ctx, all, nil))
}

// Apply tells both what was committed.
func (w withSpare) Apply(ops []sluice.PermitOp) {
	w.remoteAdmission.Apply(ops)
	w.spare.Apply(ops)
}

// Retire has the spare forget what ended long ago.
func (w withSpare) Retire() int { return w.spare.Retire() }

// Close closes both, first the one that hands claims to the other.
func (w withSpare) Close() {
	w.remoteAdmission.Close()
	w.spare.Close()
}
