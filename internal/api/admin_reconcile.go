package api

import (
	"cmp"
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ReconcileDesk shows comparisons of gates and ledger, makes one now, and builds gates anew.
type ReconcileDesk interface {
	Runs(ctx context.Context, campaign, cursor string, limit int) (sluice.Page[sluice.ReconcileRun], error)
	Run(ctx context.Context, id int64) (sluice.ReconcileRun, error)
	// RunNow changes nothing where dry.
	RunNow(ctx context.Context, campaign string, dry bool, a sluice.Actor) (sluice.ReconcileRun, error)
	// RepairOne repairs the difference over one claim that a run found, if it is still what was seen.
	RepairOne(ctx context.Context, run int64, claim, seen string, a sluice.Actor) (sluice.Repair, error)
	// Rearm gives the epoch that is armed. Shards 0: as many as before.
	Rearm(ctx context.Context, campaign string, shards int, a sluice.Actor) (epoch int64, err error)
}

// maxListedDrift bounds the differences of each run in a list; one run by itself has all that are kept.
const maxListedDrift = 20

type (
	sideAnswer struct {
		State      sluice.SideState `json:"state" enum:"absent,pending,live,ended" doc:"pending: admitted, not settled"`
		Units      int64            `json:"units" doc:"Live ones"`
		LimitUnits int64            `json:"limit_units" doc:"Those that count against the user's limit"`
	}
	sidesAnswer struct {
		Gate   sideAnswer `json:"gate"`
		Ledger sideAnswer `json:"ledger"`
	}
	driftAnswer struct {
		Kind    string `json:"kind" enum:"unknown_claim,missing_claim,ended_claim,quantity,sum,counters,total,stuck"`
		ClaimID string `json:"claim_id,omitempty" doc:"Absent where it is about sums"`
		Units   int64  `json:"units"`
		Detail  string `json:"detail"`
		Repair  string `json:"repair,omitempty" doc:"What was done; absent where nothing was, or could be"`

		Before *sidesAnswer  `json:"before,omitempty" doc:"What was seen of the claim; absent for sums"`
		Remedy sluice.Remedy `json:"remedy,omitempty" enum:"take,release,settled,settle,rearm" doc:"Absent: none"`
		After  *sidesAnswer  `json:"after,omitempty" doc:"What the remedy would make of it"`
		Alone  bool          `json:"alone" doc:"The remedy touches this claim and nothing else: see …/repair"`
		Seen   string        `json:"seen,omitempty" doc:"Names what was seen: give it back to have this repaired"`
	}
	runAnswer struct {
		ID         int64         `json:"id"`
		Mode       string        `json:"mode" enum:"repairs,dry_run,one" doc:"one: of one difference, without sums"`
		CampaignID string        `json:"campaign_id"`
		Epoch      int64         `json:"epoch"`
		StartedAt  time.Time     `json:"started_at"`
		TookMS     int64         `json:"took_ms"`
		OK         bool          `json:"ok" doc:"Every unit is where it has to be, or was brought there"`
		Total      int64         `json:"total" doc:"= available + in_transfer + queued + held + sold"`
		Available  int64         `json:"available" doc:"Over all shards"`
		InTransfer int64         `json:"in_transfer" doc:"On their way between shards"`
		Queued     int64         `json:"queued" doc:"Admitted by the gate and not in the ledger yet, or on their way back"`
		Held       int64         `json:"held"`
		Sold       int64         `json:"sold"`
		Claims     int64         `json:"claims" doc:"Compared one by one"`
		Drift      int64         `json:"drift" doc:"Units that differed, repaired or not"`
		Found      int           `json:"differences"`
		Drifts     []driftAnswer `json:"found" nullable:"false" doc:"In a list the first 20 of each run"`
		Error      string        `json:"error,omitempty" doc:"The comparison itself failed: nothing is proved"`
	}
	runOutput     struct{ Body runAnswer }
	runPageOutput struct {
		Body struct {
			Items      []runAnswer `json:"items" nullable:"false"`
			NextCursor string      `json:"next_cursor,omitempty"`
		}
	}
	reconcileBody struct {
		CampaignID string `json:"campaign_id" minLength:"1" maxLength:"64"`
		Reason     string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
		DryRun     bool   `json:"dry_run,omitempty" doc:"Compare and change nothing: no repair, no freeze"`
	}
	repairBody struct {
		ClaimID string `json:"claim_id" minLength:"1" maxLength:"64" doc:"Of the difference that the run found"`
		Seen    string `json:"seen" minLength:"32" maxLength:"32" doc:"As the run gives it"`
		Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	repairOutput struct {
		Body struct {
			Run    runAnswer   `json:"run" doc:"The repair, on record as a run of its own"`
			Before sidesAnswer `json:"before" doc:"When it was compared once more"`
			After  sidesAnswer `json:"after" doc:"As it was read when the repair was done"`
		}
	}
	rearmBody struct {
		Shards int    `json:"shards,omitempty" minimum:"0" maximum:"64" doc:"From this epoch on; absent: as many as before"`
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	rearmOutput struct {
		Body struct {
			CampaignID string `json:"campaign_id"`
			Epoch      int64  `json:"epoch" doc:"That is armed now"`
		}
	}
)

func runAnswerOf(r *sluice.ReconcileRun, most int) runAnswer {
	a := runAnswer{
		ID: r.ID, CampaignID: r.Campaign, Epoch: r.Epoch, StartedAt: r.StartedAt.Time(), TookMS: r.TookMS, OK: r.OK,
		Total: r.Total, Available: r.Available, InTransfer: r.InTransfer, Queued: r.Queued, Held: r.Held, Sold: r.Sold,
		Claims: r.Claims, Drift: r.Drift, Found: len(r.Found), Error: r.Error, Drifts: []driftAnswer{},
		Mode: cmp.Or(string(r.Mode), "repairs"),
	}
	for _, d := range r.Found[:min(len(r.Found), most)] {
		x := driftAnswer{Kind: string(d.Kind), ClaimID: d.Claim, Units: d.Units, Detail: d.Detail, Repair: d.Repair}
		if d.Seen != "" {
			before, after := sidesOf(d.Before), sidesOf(d.After)
			x.Before, x.Remedy, x.Alone, x.Seen = &before, d.Remedy, d.Remedy.Alone(), d.Seen
			if d.Remedy != "" {
				x.After = &after
			}
		}
		a.Drifts = append(a.Drifts, x)
	}
	return a
}

func sidesOf(s sluice.Sides) sidesAnswer {
	return sidesAnswer{sideAnswer(s.Gate), sideAnswer(s.Ledger)}
}

// registerReconcile adds the comparisons of gates and ledger.
func (a *Admin) registerReconcile(api huma.API) {
	desk := a.deps.Reconcile
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/reconcile",
		"Comparisons of gate and ledger, the newest first", sluice.RoleViewer),
		func(ctx context.Context, in *struct {
			PageInput
			CampaignID string `query:"campaign_id" maxLength:"64"`
		}) (*runPageOutput, error) {
			page, err := desk.Runs(ctx, in.CampaignID, in.Cursor, in.Limit)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &runPageOutput{}
			out.Body.NextCursor, out.Body.Items = page.Next, make([]runAnswer, len(page.Items))
			for i := range page.Items {
				out.Body.Items[i] = runAnswerOf(&page.Items[i], maxListedDrift)
			}
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/reconcile/{id}", "One comparison with all it found", sluice.RoleViewer),
		func(ctx context.Context, in *struct {
			ID int64 `path:"id" minimum:"1"`
		}) (*runOutput, error) {
			return answerRun(desk.Run(ctx, in.ID))
		})
	huma.Register(api, op("POST", "/v1/admin/reconcile",
		"Compare a campaign's gate with its ledger now, and repair what differs", sluice.RoleOperator),
		func(ctx context.Context, in *struct{ Body reconcileBody }) (*runOutput, error) {
			return answerRun(desk.RunNow(ctx, in.Body.CampaignID, in.Body.DryRun, actorBecause(ctx, in.Body.Reason)))
		})
	repair := op("POST", "/v1/admin/reconcile/{id}/repair",
		"Repair one difference that this comparison found, and no other", sluice.RoleOperator)
	repair.Description += " It is compared anew first. 409, and nothing is done: it is not what was seen any more " +
		"(DRIFT_CHANGED, DRIFT_GONE), its repair is for the whole campaign (REPAIR_IS_WHOLE), there is none (NO_REPAIR)."
	huma.Register(api, repair,
		func(ctx context.Context, in *struct {
			ID   int64 `path:"id" minimum:"1"`
			Body repairBody
		}) (*repairOutput, error) {
			r, err := desk.RepairOne(ctx, in.ID, in.Body.ClaimID, in.Body.Seen, actorBecause(ctx, in.Body.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			out := &repairOutput{}
			out.Body.Run = runAnswerOf(&r.Run, len(r.Run.Found))
			out.Body.Before, out.Body.After = sidesOf(r.Before), sidesOf(r.After)
			return out, nil
		})
	huma.Register(api, op("POST", "/v1/admin/campaigns/{id}/rearm",
		"Build the campaign's gates anew from the ledger, in a new epoch", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			ID   string `path:"id" maxLength:"64"`
			Body rearmBody
		}) (*rearmOutput, error) {
			epoch, err := desk.Rearm(ctx, in.ID, in.Body.Shards, actorBecause(ctx, in.Body.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			out := &rearmOutput{}
			out.Body.CampaignID, out.Body.Epoch = in.ID, epoch
			return out, nil
		})
}

func answerRun(r sluice.ReconcileRun, err error) (*runOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &runOutput{runAnswerOf(&r, len(r.Found))}, nil
}
