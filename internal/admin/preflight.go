package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// checkBound bounds one check before a sale.
const checkBound = 10 * time.Second

// PreflightLedger keeps what checks came to; writes leave their audit row in the same transaction.
type PreflightLedger interface {
	RecordPreflight(ctx context.Context, p sluice.Preflight, a sluice.Actor) (sluice.Preflight, error)
	// Preflight reads the latest run. ErrNotFound: there is none.
	Preflight(ctx context.Context, campaign string) (sluice.Preflight, error)
	// SignPreflight signs the run seq. ErrConflict: another has taken its place, or somebody has signed it.
	SignPreflight(ctx context.Context, campaign string, seq int64, a sluice.Actor,
		now sluice.Millis) (sluice.Preflight, error)
	Jobs(ctx context.Context, q sluice.JobQuery) ([]sluice.Job, error)
}

// PartCheck looks at one part that a sale stands on, and says what it found.
type PartCheck struct {
	Name string
	Look func(ctx context.Context, c *sluice.CampaignView) sluice.PreflightCheck // made by sluice.Found
}

// PreflightConfig puts the desk together. Ledger and Campaigns are required.
type PreflightConfig struct {
	Ledger    PreflightLedger
	Campaigns *Campaigns
	Parts     []PartCheck // those that the server has, after the campaign's own
	Rate      func(c *sluice.CampaignView) float64
}

// Preflights is the desk of the checks before a sale: go or no-go, and who said so.
type Preflights struct{ cfg PreflightConfig }

// NewPreflights makes the desk.
func NewPreflights(cfg PreflightConfig) *Preflights { return &Preflights{cfg: cfg} }

// Latest gives the last run.
func (d *Preflights) Latest(ctx context.Context, campaign string) (sluice.Preflight, error) {
	if _, err := d.cfg.Campaigns.Get(ctx, campaign); err != nil {
		return sluice.Preflight{}, err
	}
	return d.cfg.Ledger.Preflight(ctx, campaign)
}

// Run makes every check anew and keeps what it came to.
func (d *Preflights) Run(ctx context.Context, campaign string, a sluice.Actor) (sluice.Preflight, error) {
	v, err := d.cfg.Campaigns.Get(ctx, campaign)
	if err != nil {
		return sluice.Preflight{}, err
	}
	p := sluice.Preflight{Campaign: campaign, At: d.cfg.Campaigns.now(), Author: a.Name, OK: true}
	all := append([]PartCheck{
		{"schedule", d.schedule}, {"preheated", d.preheated}, {"verified", d.verified}, {"rehearsed", d.rehearsed},
	}, d.cfg.Parts...)
	for _, check := range all {
		bound, cancel := context.WithTimeout(ctx, checkBound)
		c := check.Look(bound, &v)
		c.Name = check.Name
		cancel()
		p.OK = p.OK && (c.State == sluice.CheckGo || c.State == sluice.CheckAbsent)
		p.Checks = append(p.Checks, c)
	}
	return d.cfg.Ledger.RecordPreflight(ctx, p, a)
}

// Sign records who says go. A run that is no go is signed with a reason.
func (d *Preflights) Sign(
	ctx context.Context, campaign string, seq int64, a sluice.Actor,
) (sluice.Preflight, error) {
	p, err := d.Latest(ctx, campaign)
	if err != nil {
		return p, err
	}
	var f faults
	f.text("reason", a.Reason, 0, sluice.MaxNote)
	if !p.OK && a.Reason == "" {
		f.add("reason", "is required where a check is not a go")
	}
	if err := f.err(); err != nil {
		return p, err
	}
	return d.cfg.Ledger.SignPreflight(ctx, campaign, seq, a, d.cfg.Campaigns.now())
}

func rfc3339(m sluice.Millis) string { return m.Time().Format(time.RFC3339) }

// schedule: the campaign is offered, and its window is still to come or open.
func (d *Preflights) schedule(_ context.Context, c *sluice.CampaignView) sluice.PreflightCheck {
	switch c.State {
	case sluice.StateScheduled:
		return sluice.Found(sluice.CheckGo, "schedule_opens", sluice.PreflightArgs{"at": rfc3339(c.StartsAt)})
	case sluice.StateLive:
		return sluice.Found(sluice.CheckGo, "schedule_open", nil)
	}
	return sluice.Found(sluice.CheckNoGo, "schedule_not_offered", sluice.PreflightArgs{"state": string(c.State)})
}

// preheated: the permit is there, and says what the ledger has.
func (d *Preflights) preheated(_ context.Context, c *sluice.CampaignView) sluice.PreflightCheck {
	p, _, ok := d.cfg.Campaigns.cfg.Permits.Permit(c.ID)
	free := c.Stock.Free()
	switch {
	case !ok:
		return sluice.Found(sluice.CheckNoGo, "preheated_none", nil)
	case p.Available+p.Queued != free:
		return sluice.Found(sluice.CheckNoGo, "preheated_differs",
			sluice.PreflightArgs{"permit": p.Available + p.Queued, "ledger": free})
	}
	return sluice.Found(sluice.CheckGo, "preheated_same",
		sluice.PreflightArgs{"units": free, "revision": c.Revision})
}

// verified: a count of all rows finds nothing.
func (d *Preflights) verified(ctx context.Context, c *sluice.CampaignView) sluice.PreflightCheck {
	v, err := d.cfg.Campaigns.Verify(ctx, c.ID)
	switch {
	case err != nil:
		return sluice.Found(sluice.CheckUnknown, "verified_unknown", nil)
	case !v.OK:
		return sluice.Found(sluice.CheckNoGo, "verified_drift", sluice.PreflightArgs{
			"drift": v.Drift, "over_total": v.UnitsOverTotal, "over_limit": v.UsersOverLimit})
	}
	return sluice.Found(sluice.CheckGo, "verified_sum", sluice.PreflightArgs{
		"available": v.Available, "queued": v.Queued, "held": v.Held, "sold": v.Sold, "total": v.Total})
}

// RehearsalKind is the kind of a job that rehearses a campaign; its object is that campaign's.
const RehearsalKind = "rehearsal"

// RehearsalResult is what is kept of a rehearsal.
type RehearsalResult struct {
	Campaign   string           `json:"campaign_id"` // the clone
	OK         bool             `json:"ok"`
	Verdict    string           `json:"verdict"` // in English
	Taken      int64            `json:"units_taken"`
	Stock      int64            `json:"units_total"`
	Faults     map[string]int64 `json:"faults,omitempty"` // what was broken, and how often; see lab.Verdict.Broken
	Buyers     int              `json:"buyers"`
	ClaimsPerS float64          `json:"claims_per_s"`
	P50MS      float64          `json:"p50_ms"`
	P99MS      float64          `json:"p99_ms"`
	Details    json.RawMessage  `json:"details,omitempty"`
}

// rehearsed: the last rehearsal kept every promise, at the pace that is expected.
func (d *Preflights) rehearsed(ctx context.Context, c *sluice.CampaignView) sluice.PreflightCheck {
	all, err := d.cfg.Ledger.Jobs(ctx, sluice.JobQuery{State: sluice.JobDone, Kind: RehearsalKind,
		Object: "campaign/" + c.ID, Limit: 1})
	if err != nil || len(all) == 0 {
		return sluice.Found(sluice.CheckUnknown, "rehearsed_none", nil)
	}
	var r RehearsalResult
	if err := json.Unmarshal(all[0].Result, &r); err != nil {
		return sluice.Found(sluice.CheckUnknown, "rehearsed_unreadable", nil)
	}
	at := rfc3339(all[0].EndedAt)
	want := 0.0
	if d.cfg.Rate != nil {
		want = d.cfg.Rate(c)
	}
	switch {
	case !r.OK:
		return sluice.Found(sluice.CheckNoGo, "rehearsed_failed",
			sluice.PreflightArgs{"at": at, "verdict": r.Verdict})
	case want > 0 && r.ClaimsPerS < want:
		return sluice.Found(sluice.CheckNoGo, "rehearsed_slow",
			sluice.PreflightArgs{"rate": r.ClaimsPerS, "at": at, "want": want})
	}
	return sluice.Found(sluice.CheckGo, "rehearsed_rate", sluice.PreflightArgs{
		"rate": r.ClaimsPerS, "p99_ms": r.P99MS, "buyers": r.Buyers, "at": at})
}

// Bounds of a rehearsal.
const (
	MaxRehearsalBuyers  = 20_000
	MaxRehearsalSeconds = 60
)

// RehearsalClone makes the campaign that is rehearsed on: like id, open at once, marked as a load test, without what
// keeps the lab's crowd out (passes, eligibility) or would touch other campaigns (a shared limit), and with at most
// total units. Ended says what ends it.
func (d *Campaigns) RehearsalClone(
	ctx context.Context, id string, total int64, a sluice.Actor,
) (sluice.CampaignView, error) {
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return sluice.CampaignView{}, unknown(err, id)
	}
	spec := specOf(&c)
	spec.Title = cutTo("Rehearsal: "+c.Title, sluice.MaxTitle)
	spec.Total = max(1, min(c.Stock.Total, total))
	spec.StartsAt, spec.EndsAt = d.now().Add(-time.Second), d.now().Add(time.Hour)
	spec.LoadTest, spec.LimitGroup, spec.Eligibility = true, "", sluice.Eligibility{}
	spec.Protection = sluice.Protection{Pass: sluice.PassOff, PerUserRate: c.Protection.PerUserRate,
		MaxRate: c.Protection.MaxRate}
	if spec.Goods != nil {
		spec.Goods.UnpaidWindowSec = max(spec.Goods.UnpaidWindowSec, 3600) // no unit comes back while it is counted
	}
	return d.Create(ctx, spec, a)
}

// LettersWork makes the work of a job out of one of the desk's bulk acts. Its ask is a LettersAsk.
func LettersWork(
	act func(context.Context, sluice.DeadLetterQuery, sluice.Actor) (sluice.DeadLetterRun, error),
) Work {
	return func(ctx context.Context, j sluice.Job, a sluice.Actor, told func(sluice.JobProgress)) (any, error) {
		var ask LettersAsk
		if err := json.Unmarshal(j.Ask, &ask); err != nil {
			return nil, fmt.Errorf("admin: job %s: %w", j.ID, err)
		}
		q := sluice.DeadLetterQuery{IDs: ask.IDs, Campaign: ask.Campaign, User: ask.User, AsOf: ask.AsOf}
		p := sluice.JobProgress{Total: -1}
		if len(ask.IDs) > 0 {
			p.Total = int64(len(ask.IDs))
		}
		a.Reason = j.Reason
		for {
			run, err := act(ctx, q, a)
			p.Done, p.Failed = p.Done+int64(run.Done), p.Failed+int64(run.Failed)
			told(p)
			if err == nil && run.More {
				err = ctx.Err()
			}
			if err != nil || !run.More {
				return map[string]int64{"done": p.Done, "failed": p.Failed, "as_of_ms": int64(q.AsOf)}, err
			}
		}
	}
}

// LettersAsk is what a job with dead letters was asked: these, or all of a campaign or user that had failed by AsOf.
type LettersAsk struct {
	IDs      []int64       `json:"ids,omitempty"`
	Campaign string        `json:"campaign_id,omitempty"`
	User     string        `json:"user_id,omitempty"`
	AsOf     sluice.Millis `json:"as_of_ms,omitempty"`
}
