package upkeep

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// remedy is what a run's record calls a repair that could be made.
func (r repair) remedy() sluice.Remedy {
	return [...]sluice.Remedy{"", sluice.RemedyTake, sluice.RemedyRelease, sluice.RemedySettled, sluice.RemedySettle,
		sluice.RemedyRearm}[r]
}

// sides is what gate and ledger have of the claim.
func (e evidence) sides() sluice.Sides {
	s := sluice.Sides{Gate: sluice.Side{State: sluice.SideAbsent}, Ledger: sluice.Side{State: sluice.SideAbsent}}
	if e.inGate {
		s.Gate = sluice.Side{
			State: sluice.SideLive, Units: int64(e.gate.LiveUnits), LimitUnits: int64(e.gate.LimitUnits),
		}
		switch {
		case !e.gate.Live:
			s.Gate.State = sluice.SideEnded
		case e.gate.Queued != nil || e.gate.Unread:
			s.Gate.State = sluice.SidePending
		}
	}
	if e.inLedger {
		s.Ledger = sluice.Side{State: sluice.SideLive, Units: int64(e.row.LiveUnits), LimitUnits: int64(e.row.LimitUnits)}
		if e.row.LiveUnits == 0 {
			s.Ledger.State = sluice.SideEnded
		}
	}
	return s
}

// after is what the repair makes of the two sides. What goes to the settler may be rejected there all the same.
func (v verdict) after() sluice.Sides {
	s := v.claim.sides()
	switch v.repair {
	case repairTake, repairRearm:
		s.Gate = s.Ledger
	case repairRelease:
		back := int64(v.claim.row.Quantity - v.claim.row.LimitUnits)
		limit := max(0, s.Gate.LimitUnits-back)
		if !v.claim.inGate {
			limit = s.Ledger.LimitUnits
		}
		s.Gate = sluice.Side{State: sluice.SideEnded, LimitUnits: limit}
	case repairSettled:
		s.Gate.State = sluice.SideLive
	case repairSettle:
		s.Gate.State = sluice.SideLive
		s.Ledger = s.Gate
	}
	return s
}

// describe puts into the finding what was seen of its claim and what would be done about it.
func (v *verdict) describe(campaign string, epoch int64) {
	d := &v.drift
	d.Before, d.Remedy, d.After = v.claim.sides(), v.repair.remedy(), v.after()
	d.Seen = sluice.SeenOf(campaign, epoch, v.claim.id, d.Before, d.Remedy)
}

// Compare compares one campaign now as Reconcile does, and changes nothing: it repairs nothing, freezes nothing and
// arms nothing. The run is on record as such. ErrNotFound: there is no such campaign.
func (r *Reconciler) Compare(ctx context.Context, campaign string) (sluice.ReconcileRun, error) {
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return sluice.ReconcileRun{}, err
	}
	run := r.compareNow(ctx, c, &books{look: true, dry: true})
	run.Mode = sluice.RunDry
	return r.record(ctx, run)
}

// RepairOne repairs one difference and no other: that of a claim over which gate and ledger differ now as they were
// seen to, which is compared anew. The protocol's repairs do nothing where the claim has moved since. ErrConflict: it
// is not what was seen any more, or has no repair of its own; nothing is done then. ErrUnavailable: the gates cannot be
// asked.
func (r *Reconciler) RepairOne(
	ctx context.Context, campaign string, claim sluice.ClaimID, seen string,
) (fixed sluice.Repair, err error) {
	began := r.agent.cfg.Now()
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return fixed, err
	}
	v, err := r.stillThere(ctx, c, claim, seen)
	if err != nil {
		return fixed, err
	}
	run := sluice.ReconcileRun{
		Campaign: c.ID, Epoch: c.Epoch, StartedAt: sluice.MillisOf(began), Mode: sluice.RunOne, Claims: 1,
	}
	fixed.Before, fixed.After = v.drift.Before, v.drift.Before
	if err := r.mend(ctx, c, []verdict{v}, &run); err != nil {
		run.Error = err.Error()
	} else if e, err := r.read(ctx, c, claim); err != nil {
		run.Error = fmt.Sprintf("read it again: %v", err)
	} else {
		fixed.After = e.sides()
	}
	run.TookMS = r.agent.cfg.Now().Sub(began).Milliseconds()
	run.Drift = driftOf(run)
	run.OK = run.Error == "" && unexplained(run) == ""
	r.agent.cfg.Log.Warn("one difference between gate and ledger was repaired by hand", "campaign", c.ID,
		"claim", claim.String(), "kind", v.drift.Kind, "remedy", v.drift.Remedy, "ok", run.OK)
	fixed.Run, err = r.record(ctx, run)
	return fixed, err
}

// stillThere gives the difference over a claim, if it is still the one that was seen.
func (r *Reconciler) stillThere(
	ctx context.Context, c sluice.Campaign, claim sluice.ClaimID, seen string,
) (v verdict, err error) {
	if r.deps.Gates == nil {
		return v, sluice.NewFault(sluice.ErrConflict, "NO_GATES", "this server has one store: there is no gate to repair")
	}
	states, err := r.deps.Gates.State(ctx, c)
	if err != nil {
		return v, err
	}
	if !allArmed(c, states) {
		return v, errNotArmed
	}
	stand, err := r.differences(ctx, c, []sluice.ClaimID{claim})
	switch {
	case err != nil:
		return v, err
	case len(stand) == 0:
		return v, sluice.NewFault(sluice.ErrConflict, "DRIFT_GONE",
			"gate and ledger agree over "+claim.String()+" by now: there is nothing to repair")
	}
	v = stand[0]
	d := &v.drift
	switch {
	case d.Seen != seen:
		return v, sluice.NewFault(sluice.ErrConflict, "DRIFT_CHANGED", fmt.Sprintf(
			"it is not what was seen any more: the gate has it %s with %d units, the ledger %s with %d; compare again",
			d.Before.Gate.State, d.Before.Gate.Units, d.Before.Ledger.State, d.Before.Ledger.Units))
	case d.Remedy == sluice.RemedyRearm:
		return v, sluice.NewFault(sluice.ErrConflict, "REPAIR_IS_WHOLE",
			"its repair arms the gates anew, for all claims at once: compare and repair the campaign")
	case !d.Remedy.Alone():
		return v, sluice.NewFault(sluice.ErrConflict, "NO_REPAIR", "nothing repairs this: see docs/runbooks/drift.md")
	}
	return v, nil
}

// read reads both records of one claim.
func (r *Reconciler) read(ctx context.Context, c sluice.Campaign, claim sluice.ClaimID) (e evidence, err error) {
	e.id = claim
	gate, err := r.deps.Gates.Lookup(ctx, c, []sluice.ClaimID{claim})
	if err != nil {
		return e, err
	}
	rows, err := r.deps.Rows.ClaimRows(ctx, c.ID, []sluice.ClaimID{claim})
	if err != nil {
		return e, err
	}
	e.gate, e.inGate = gate[claim]
	e.row, e.inLedger = rows[claim]
	return e, nil
}
