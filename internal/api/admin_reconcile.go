package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ReconcileDesk shows comparisons of gates and ledger, makes one now, and builds gates anew.
type ReconcileDesk interface {
	Runs(ctx context.Context, campaign, cursor string, limit int) (sluice.Page[sluice.ReconcileRun], error)
	Run(ctx context.Context, id int64) (sluice.ReconcileRun, error)
	RunNow(ctx context.Context, campaign string, a sluice.Actor) (sluice.ReconcileRun, error)
	// Rearm gives the epoch that is armed. Shards 0: as many as before.
	Rearm(ctx context.Context, campaign string, shards int, a sluice.Actor) (epoch int64, err error)
}

// maxListedDrift bounds the differences of each run in a list; one run by itself has all that are kept.
const maxListedDrift = 20

type (
	driftAnswer struct {
		Kind    string `json:"kind" enum:"unknown_claim,missing_claim,ended_claim,quantity,sum,counters,total,stuck"`
		ClaimID string `json:"claim_id,omitempty" doc:"Absent where it is about sums"`
		Units   int64  `json:"units"`
		Detail  string `json:"detail"`
		Repair  string `json:"repair,omitempty" doc:"What was done; absent where nothing could be: the campaign is frozen"`
	}
	runAnswer struct {
		ID         int64         `json:"id,omitempty" doc:"Absent in the answer to a run that was asked for"`
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
	}
	for _, d := range r.Found[:min(len(r.Found), most)] {
		a.Drifts = append(a.Drifts, driftAnswer{string(d.Kind), d.Claim, d.Units, d.Detail, d.Repair})
	}
	return a
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
			return answerRun(desk.RunNow(ctx, in.Body.CampaignID, actorBecause(ctx, in.Body.Reason)))
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
