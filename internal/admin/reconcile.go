package admin

import (
	"context"
	"fmt"
	"slices"
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
	// Compare does the same and changes nothing.
	Compare(ctx context.Context, campaign string) (sluice.ReconcileRun, error)
	// RepairOne repairs the difference over one claim, if it is still what was seen. ErrConflict: it is not, or nothing
	// repairs it by itself.
	RepairOne(ctx context.Context, campaign string, claim sluice.ClaimID, seen string) (sluice.Repair, error)
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

// RunNow compares a campaign now, and repairs what has a repair unless dry. The audit log says who asked for it.
func (d *Reconcile) RunNow(
	ctx context.Context, campaign string, dry bool, a sluice.Actor,
) (run sluice.ReconcileRun, err error) {
	action := "campaign.reconcile"
	if dry {
		action = "campaign.compare"
		run, err = d.cfg.Reconciler.Compare(ctx, campaign)
	} else {
		run, err = d.cfg.Reconciler.Reconcile(ctx, campaign)
	}
	if err != nil {
		return run, unknown(err, campaign)
	}
	return run, d.cfg.Noter.Note(context.WithoutCancel(ctx), a, action, "campaign/"+campaign, nil,
		map[string]any{"run": run.ID, "ok": run.OK, "drift": run.Drift, "found": len(run.Found), "error": run.Error},
		sluice.MillisOf(d.cfg.Now()))
}

// RepairOne repairs one difference that a run found: that over a claim, as it was seen there. ErrNotFound: there is no
// such run, or it found nothing about that claim. ErrConflict: it is not what was seen any more, or nothing repairs it
// by itself. The audit log has what was there before and after.
func (d *Reconcile) RepairOne(
	ctx context.Context, id int64, claim, seen string, a sluice.Actor,
) (fixed sluice.Repair, err error) {
	run, err := d.Run(ctx, id)
	if err != nil {
		return fixed, err
	}
	at := slices.IndexFunc(run.Found, func(f sluice.Drift) bool { return f.Claim == claim })
	parsed, ok := sluice.ParseClaimID(claim)
	if at < 0 || !ok {
		return fixed, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_DIFFERENCE",
			fmt.Sprintf("run %d found nothing about claim %s", id, claim))
	}
	if run.Found[at].Seen != seen {
		return fixed, sluice.NewFault(sluice.ErrConflict, "DRIFT_CHANGED",
			fmt.Sprintf("that is not what run %d saw of claim %s", id, claim))
	}
	fixed, err = d.cfg.Reconciler.RepairOne(ctx, run.Campaign, parsed, seen)
	if err != nil {
		return fixed, unknown(err, run.Campaign)
	}
	return fixed, d.cfg.Noter.Note(context.WithoutCancel(ctx), a, "drift.repair", "claim/"+claim,
		repairNote{run.Campaign, id, fixed.Before}, repairNote{run.Campaign, fixed.Run.ID, fixed.After},
		sluice.MillisOf(d.cfg.Now()))
}

// repairNote is what the audit log keeps of a repair, before and after: the run that says so, and both sides.
type repairNote struct {
	Campaign string       `json:"campaign"`
	Run      int64        `json:"run"`
	Sides    sluice.Sides `json:"sides"`
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
