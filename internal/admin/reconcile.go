package admin

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// RunLedger keeps the runs of the reconciler, newest first; those of all campaigns where none is named.
type RunLedger interface {
	Runs(ctx context.Context, campaign, cursor string, limit int) (sluice.Page[sluice.ReconcileRun], error)
}

// Reconciler compares one campaign's gate with its ledger now, repairs what has a repair, freezes the campaign over
// what nothing explains, and gives the run that it has put on record.
type Reconciler interface {
	Reconcile(ctx context.Context, campaign string) (sluice.ReconcileRun, error)
}

// Rearmer builds a campaign's gates anew from the ledger, in a new epoch, nothing lost. It gives the epoch.
// ErrConflict: another node is at it.
type Rearmer interface {
	Rearm(ctx context.Context, campaign string, from int64, cause sluice.EpochCause) (epoch int64, err error)
	// Reshard gives the campaign another number of shards with it.
	Reshard(ctx context.Context, campaign string, shards int) (epoch int64, err error)
}

// GroupReader reads campaigns, and those that share a limit group with them.
type GroupReader interface {
	CampaignReader
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
}

// ReconcileConfig puts the desk of the reconciler together. Ledger, Reconciler, Campaigns and Noter are required.
type ReconcileConfig struct {
	Ledger     RunLedger
	Reconciler Reconciler
	Rearmer    Rearmer // nil: there are no gates that could be armed
	Campaigns  GroupReader
	Noter      Noter
	Now        func() time.Time // default time.Now
}

// Reconcile is the desk of the reconciler and of epochs.
type Reconcile struct{ cfg ReconcileConfig }

// NewReconcile makes the desk.
func NewReconcile(cfg ReconcileConfig) *Reconcile {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Reconcile{cfg: cfg}
}

// Runs gives a page of runs, newest first.
func (d *Reconcile) Runs(
	ctx context.Context, campaign, cursor string, limit int,
) (sluice.Page[sluice.ReconcileRun], error) {
	return d.cfg.Ledger.Runs(ctx, campaign, cursor, limit)
}

// Run gives one run. ErrNotFound: there is none.
func (d *Reconcile) Run(ctx context.Context, id int64) (sluice.ReconcileRun, error) {
	page, err := d.cfg.Ledger.Runs(ctx, "", strconv.FormatInt(id+1, 10), 1)
	if err != nil {
		return sluice.ReconcileRun{}, err
	}
	if len(page.Items) == 0 || page.Items[0].ID != id {
		return sluice.ReconcileRun{}, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_RUN",
			"there is no run "+strconv.FormatInt(id, 10))
	}
	return page.Items[0], nil
}

// RunNow compares a campaign now. The audit log says who asked for it.
func (d *Reconcile) RunNow(ctx context.Context, campaign string, a sluice.Actor) (sluice.ReconcileRun, error) {
	run, err := d.cfg.Reconciler.Reconcile(ctx, campaign)
	if err != nil {
		return run, unknown(err, campaign)
	}
	return run, d.cfg.Noter.Note(context.WithoutCancel(ctx), a, "campaign.reconcile", "campaign/"+campaign, nil,
		map[string]any{"ok": run.OK, "drift": run.Drift, "found": len(run.Found), "error": run.Error},
		sluice.MillisOf(d.cfg.Now()))
}

// Rearm builds a campaign's gates anew, with another number of shards where shards is not 0, and gives the epoch.
func (d *Reconcile) Rearm(ctx context.Context, campaign string, shards int, a sluice.Actor) (int64, error) {
	if d.cfg.Rearmer == nil {
		return 0, sluice.NewFault(sluice.ErrConflict, "NO_GATES",
			"this server's permit is in its own memory: preheat does it")
	}
	var f faults
	if shards != 0 {
		within(&f, "shards", shards, 1, sluice.MaxShards)
	}
	if err := f.err(); err != nil {
		return 0, err
	}
	c, err := d.cfg.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return 0, unknown(err, campaign)
	}
	was := max(1, c.Shards)
	var epoch int64
	if shards == 0 || shards == was {
		shards = was
		epoch, err = d.cfg.Rearmer.Rearm(ctx, campaign, c.Epoch, sluice.EpochPlanned)
	} else if err = aloneInGroup(ctx, d.cfg.Campaigns, c); err == nil {
		epoch, err = d.cfg.Rearmer.Reshard(ctx, campaign, shards)
	}
	if err != nil {
		return 0, err
	}
	return epoch, d.cfg.Noter.Note(context.WithoutCancel(ctx), a, "campaign.rearm", "campaign/"+campaign,
		map[string]any{"epoch": c.Epoch, "shards": was},
		map[string]any{"epoch": epoch, "shards": shards}, sluice.MillisOf(d.cfg.Now()))
}
