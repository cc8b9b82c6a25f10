package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// ReconcilerConfig adds to Config when campaigns are compared, and how sure a difference has to be. Zero values mean
// the defaults given.
type ReconcilerConfig struct {
	Config
	Before  time.Duration // the start: from when on; default 10 min
	After   time.Duration // the end, or the last open order: until when; default 10 min
	Stuck   time.Duration // how long a claim may be in flight; default 5 min
	Looks   int           // at a difference, before it counts; default 3
	Between time.Duration // two looks; default 1.2 s: what the ledger has committed reaches the gate within a second
	OnRun   func(r sluice.ReconcileRun)
}

// ReconcilerDeps are the parts of the reconciler. Where there are no gates, as on one machine, Permits says what is
// admitted, and of the parts behind Gates none is needed.
type ReconcilerDeps struct {
	Campaigns Campaigns
	Rows      Rows
	Runs      RunLedger
	Freezer   Freezer
	Permits   Permits

	Gates   Gates
	Repairs Repairs
	Settler Settler
	Letters Letters // nil: there are no dead letters
	// Doubt has a campaign armed anew whose gate has forgotten, Rearm one that has lost nothing: see Rearmer. Without
	// Rearm it is Doubt.
	Doubt, Rearm func(campaign string, epoch int64)
}

// Permits says what a permit in this process has of a campaign; false where there is none.
type Permits interface {
	Permit(campaign string) (sluice.Permit, sluice.Millis, bool)
}

// Reconciler compares, campaign by campaign, what the gates hold with what the ledger holds: every unit and every
// claim. There is no threshold. What is on its way is waited for; what the protocol has a repair for is repaired;
// what cannot be explained freezes the campaign. Any number of runs may go on at once.
type Reconciler struct {
	*agent
	cfg  ReconcilerConfig
	deps ReconcilerDeps
	door door
	open map[string]sluice.Millis // when open orders were seen last; only the agent's own piece uses it
}

// NewReconciler makes the agent; Start sets it going. It runs every minute by default.
func NewReconciler(cfg ReconcilerConfig, deps ReconcilerDeps) *Reconciler {
	if cfg.Every <= 0 {
		cfg.Every = time.Minute
	}
	if cfg.Before <= 0 {
		cfg.Before = 10 * time.Minute
	}
	if cfg.After <= 0 {
		cfg.After = 10 * time.Minute
	}
	if cfg.Stuck <= 0 {
		cfg.Stuck = 5 * time.Minute
	}
	if cfg.Looks <= 0 {
		cfg.Looks = 3
	}
	if cfg.Between <= 0 {
		cfg.Between = 1200 * time.Millisecond
	}
	r := &Reconciler{
		cfg: cfg, deps: deps, door: door{deps.Settler, deps.Repairs, deps.Letters}, open: map[string]sluice.Millis{},
	}
	if r.deps.Rearm == nil {
		r.deps.Rearm = r.deps.Doubt
	}
	r.agent = newAgent("reconciler", cfg.Config, r.round)
	return r
}

// round compares every campaign whose time it is.
func (r *Reconciler) round(ctx context.Context, now sluice.Millis, _ int) (w sluice.Sweep, err error) {
	all, err := r.deps.Campaigns.Campaigns(ctx)
	if err != nil {
		return w, err
	}
	for _, c := range all {
		if !r.due(&c, now) {
			continue
		}
		fenced, leads, e := r.lead.hold(ctx) // a campaign may take long
		if e != nil || !leads {
			return w, errors.Join(err, e)
		}
		if _, e := r.reconcile(fenced, c); e != nil {
			err = errors.Join(err, e)
			continue
		}
		w.Done++
	}
	return w, err
}

// due says whether a campaign is compared at now.
func (r *Reconciler) due(c *sluice.Campaign, now sluice.Millis) bool {
	if c.Control == sluice.ControlDraft || now < c.StartsAt.Add(-r.cfg.Before) {
		return false
	}
	if c.Stock.Held > 0 {
		r.open[c.ID] = now
	}
	return now <= max(endOf(c), r.open[c.ID]).Add(r.cfg.After)
}

// Reconcile compares one campaign now, repairs, freezes where it must, and gives the run that is on record. Where the
// comparison itself failed, the run says so and is the answer all the same. ErrNotFound: there is no such campaign.
func (r *Reconciler) Reconcile(ctx context.Context, campaign string) (sluice.ReconcileRun, error) {
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return sluice.ReconcileRun{}, err
	}
	return r.reconcile(ctx, c)
}

func (r *Reconciler) reconcile(ctx context.Context, c sluice.Campaign) (sluice.ReconcileRun, error) {
	run := r.compareNow(ctx, c, &books{})
	why := unexplained(run)
	switch {
	case run.Error != "":
		r.agent.cfg.Log.Warn("a comparison of gate and ledger failed", "campaign", c.ID, "err", run.Error)
	case why != "":
		r.agent.cfg.Log.Error("gate and ledger differ and nothing explains it", "campaign", c.ID, "why", why)
		r.deps.Freezer.Freeze(c.ID, why)
	case run.Drift > 0 || len(run.Found) > 0:
		r.agent.cfg.Log.Warn("gate and ledger differed and were repaired", "campaign", c.ID, "units", run.Drift,
			"differences", len(run.Found), "first", run.Found[0].Detail)
	}
	if r.cfg.OnRun != nil {
		r.cfg.OnRun(run)
	}
	return r.record(ctx, run)
}

// record keeps a run, which has its number then.
func (r *Reconciler) record(ctx context.Context, run sluice.ReconcileRun) (sluice.ReconcileRun, error) {
	id, err := r.deps.Runs.RecordRun(ctx, run)
	if err != nil {
		return run, fmt.Errorf("upkeep: record the run of %s: %w", run.Campaign, err)
	}
	run.ID = id
	return run, nil
}

// unexplained gives the first difference that has no repair, in the words in which the campaign is frozen for it.
func unexplained(run sluice.ReconcileRun) string {
	for _, d := range run.Found {
		if d.Repair != "" {
			continue
		}
		if d.Claim != "" {
			return fmt.Sprintf("%s: %s, %d units of claim %s", d.Kind, d.Detail, d.Units, d.Claim)
		}
		return fmt.Sprintf("%s: %s, %d units", d.Kind, d.Detail, d.Units)
	}
	return ""
}

// Verify gives the exact figures of a campaign by the same comparison, and changes nothing: what differs is drift,
// also where a run would repair it. Gates that are being armed, as in the second after a campaign opens, are waited
// for, a few seconds long. ErrUnavailable: there is no gate to compare with all the same, or it does not answer. The
// permit is not asked: the gates are.
func (r *Reconciler) Verify(
	ctx context.Context, campaign string, _ func() sluice.Permit,
) (v sluice.Verification, err error) {
	for look := 1; ; look++ {
		v, err = r.verify(ctx, campaign)
		if !errors.Is(err, errNotArmed) || look >= r.cfg.Looks {
			return v, err
		}
		if e := r.untilArmed(ctx, campaign); e != nil {
			return v, err
		}
	}
}

// untilArmed waits until a campaign's gates are armed, for Between at the most.
func (r *Reconciler) untilArmed(ctx context.Context, campaign string) error {
	for range armedPolls {
		if err := wait(ctx, r.cfg.Between/armedPolls); err != nil {
			return err
		}
		c, err := r.deps.Campaigns.Campaign(ctx, campaign)
		if err != nil {
			return err
		}
		if states, err := r.deps.Gates.State(ctx, c); err != nil || allArmed(c, states) {
			return err
		}
	}
	return nil
}

func (r *Reconciler) verify(ctx context.Context, campaign string) (v sluice.Verification, err error) {
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return v, err
	}
	b := books{look: true}
	run := sluice.ReconcileRun{Campaign: c.ID}
	if err := r.fill(ctx, c, &run, &b); err != nil {
		return v, fmt.Errorf("upkeep: verify %s: %w", campaign, err)
	}
	v = b.v
	v.Total, v.Available, v.Queued = run.Total, run.Available+run.InTransfer, run.Queued
	v.Held, v.Sold = run.Held, run.Sold
	v.Drift = driftOf(run)
	v.OK = len(run.Found) == 0
	return v, nil
}

// compareNow compares one campaign and repairs what has a repair, unless b says only to look. It freezes nothing and
// records nothing.
func (r *Reconciler) compareNow(ctx context.Context, c sluice.Campaign, b *books) sluice.ReconcileRun {
	began := r.agent.cfg.Now()
	run := sluice.ReconcileRun{Campaign: c.ID, Epoch: c.Epoch, StartedAt: sluice.MillisOf(began)}
	if err := r.fill(ctx, c, &run, b); err != nil {
		run.Error = err.Error()
	}
	run.TookMS = r.agent.cfg.Now().Sub(began).Milliseconds()
	run.Drift = driftOf(run)
	run.OK = run.Error == "" && unexplained(run) == ""
	return run
}

func driftOf(run sluice.ReconcileRun) (units int64) {
	for _, d := range run.Found {
		units += d.Units
	}
	return units
}

func (r *Reconciler) fill(ctx context.Context, c sluice.Campaign, run *sluice.ReconcileRun, b *books) error {
	if err := r.audit(ctx, c, run, b); err != nil {
		return err
	}
	if r.deps.Gates == nil || r.gateOver(ctx, c) {
		return nil
	}
	p, err := r.sure(ctx, c)
	if errors.Is(err, errNotArmed) && !b.dry {
		r.forgotten(ctx, c)
	}
	if err != nil {
		return err
	}
	run.Claims = p.claims
	if len(p.suspects) > maxSuspects {
		if b.dry {
			return fmt.Errorf("%w: gate and ledger differ by more than %d claims", sluice.ErrUnavailable, maxSuspects)
		}
		r.deps.Doubt(c.ID, c.Epoch)
		return fmt.Errorf("%w: gate and ledger differ by more than %d claims: the gate is armed anew",
			sluice.ErrUnavailable, maxSuspects)
	}
	stand, err := r.differences(ctx, p.c, p.suspects)
	if err != nil {
		return err
	}
	if b.look {
		for _, v := range stand {
			run.Found = append(run.Found, v.drift)
		}
	} else if err := r.mend(ctx, p.c, stand, run); err != nil {
		return err
	}
	return r.sums(ctx, c, p, run, b)
}

// forgotten has a campaign armed anew, whose gate was there and is not: unless somebody is at it.
func (r *Reconciler) forgotten(ctx context.Context, c sluice.Campaign) {
	now, err := r.deps.Campaigns.Campaign(ctx, c.ID)
	if err == nil && now.Epoch == c.Epoch && armedOnce(&c) && r.deps.Doubt != nil {
		r.deps.Doubt(c.ID, c.Epoch-1) // gates of this epoch would do: they may be about to be armed
	}
}

// gateOver says whether the campaign's gate was deleted after its end, so that only the ledger is left to be checked,
// or was never there.
func (r *Reconciler) gateOver(ctx context.Context, c sluice.Campaign) bool {
	if !armedOnce(&c) {
		return true
	}
	if sluice.MillisOf(r.agent.cfg.Now()) <= endOf(&c).Add(defaultKeepGate) {
		return false
	}
	states, err := r.deps.Gates.State(ctx, c)
	return err == nil && !anyArmed(states)
}

// books are the ledger's own account of a campaign.
type books struct {
	look   bool // only look: repair nothing
	dry    bool // and have nothing armed anew either
	v      sluice.Verification
	behind int64 // what was added to the total behind the one door
}

// audit checks the ledger by itself: counters against rows, the total against what it has to be, limits.
func (r *Reconciler) audit(ctx context.Context, c sluice.Campaign, run *sluice.ReconcileRun, b *books) error {
	total, accounted, err := r.deps.Rows.Totals(ctx, c.ID)
	if err != nil {
		return err
	}
	var permit func() sluice.Permit
	if r.deps.Gates == nil && r.deps.Permits != nil {
		if _, _, known := r.deps.Permits.Permit(c.ID); known {
			permit = func() sluice.Permit { p, _, _ := r.deps.Permits.Permit(c.ID); return p }
		}
	}
	v, err := r.deps.Rows.Verify(ctx, c.ID, permit)
	if err != nil {
		return err
	}
	b.v, b.behind = v, total-accounted
	run.Total, run.Available, run.Queued, run.Held, run.Sold = v.Total, v.Available, v.Queued, v.Held, v.Sold
	off := distance(total, accounted)
	if off != 0 {
		add(run, sluice.DriftTotal, off, "the total is %d; created plus all adjustments is %d", total, accounted)
	}
	if units := distance(v.Total, v.Available+v.Queued+v.Held+v.Sold); units != 0 {
		add(run, sluice.DriftSum, units, "total %d is not available %d + queued %d + held %d + sold %d",
			v.Total, v.Available, v.Queued, v.Held, v.Sold)
		off += units
	}
	if units := v.Drift - off; units > 0 {
		add(run, sluice.DriftCounters, units, "held and sold are not what the rows say: %d and %d", v.Held, v.Sold)
	}
	if v.UnitsOverTotal > 0 {
		add(run, sluice.DriftTotal, v.UnitsOverTotal, "more is held and sold than there is")
	}
	if v.UsersOverLimit > 0 {
		add(run, sluice.DriftCounters, 0, "%d users have more than their limit", v.UsersOverLimit)
	}
	return nil
}

func add(run *sluice.ReconcileRun, kind sluice.DriftKind, units int64, format string, args ...any) {
	run.Found = append(run.Found, sluice.Drift{Kind: kind, Units: units, Detail: fmt.Sprintf(format, args...)})
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
