package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// RiskDesk changes risk rules and undoes what they did. What it answers is committed and in force on this node, and on
// the others within 3 s.
type RiskDesk interface {
	Rules(ctx context.Context) ([]sluice.RiskRule, error)
	Put(ctx context.Context, r sluice.RiskRule, a sluice.Actor) (sluice.RiskRule, error)
	Delete(ctx context.Context, id string, a sluice.Actor) (sluice.RiskRule, error)
	Fired(ctx context.Context, q sluice.RiskFiredQuery) (sluice.Page[sluice.RiskFired], error)
	Lift(ctx context.Context, id string, a sluice.Actor) (sluice.RiskFired, error)
}

type (
	riskRuleBody struct {
		Rule     string `json:"rule,omitempty" doc:"Required: such as accounts per device > 5 in 10m -> block 15m"`
		Mode     string `json:"mode,omitempty" doc:"off, dry_run (the default: counts and records only) or on"`
		Campaign string `json:"campaign_id,omitempty" doc:"Absent: all campaigns"`
		Note     string `json:"note,omitempty" doc:"Up to 500 bytes"`
		Revision int64  `json:"revision,omitempty" minimum:"0" doc:"The revision that is changed; absent: whatever is there"`
	}
	riskRuleAnswer struct {
		ID        string     `json:"id"`
		Rule      string     `json:"rule"`
		Mode      string     `json:"mode" enum:"off,dry_run,on"`
		Campaign  string     `json:"campaign_id,omitempty"`
		Note      string     `json:"note,omitempty"`
		Author    string     `json:"author,omitempty"`
		Revision  int64      `json:"revision" doc:"0 for a rule of the configuration file"`
		Source    string     `json:"source" enum:"api,file"`
		CreatedAt *time.Time `json:"created_at,omitempty"`
		UpdatedAt *time.Time `json:"updated_at,omitempty"`
	}
	riskRuleOutput  struct{ Body riskRuleAnswer }
	riskRulesOutput struct {
		Body struct {
			Items []riskRuleAnswer `json:"items" nullable:"false"`
		}
	}
	riskFiredAnswer struct {
		ID           string     `json:"id" doc:"The reference that a blocked buyer is shown"`
		Rule         string     `json:"rule"`
		Revision     int64      `json:"revision"`
		Mode         string     `json:"mode" enum:"dry_run,on"`
		Action       string     `json:"action" doc:"Such as block 15m; in a dry run what would have been done"`
		Scope        string     `json:"scope" enum:"account,device,address,subnet"`
		Value        string     `json:"value"`
		Campaign     string     `json:"campaign_id" doc:"Of the claim that made it fire"`
		CampaignOnly bool       `json:"campaign_only" doc:"The rule is one of that campaign"`
		Saw          string     `json:"saw" doc:"Each condition with what was counted"`
		Node         string     `json:"node"`
		At           time.Time  `json:"at"`
		Until        time.Time  `json:"until" doc:"The end of a block; of other actions, until when this record counts"`
		Count        int64      `json:"count" doc:"Claims it applied to on that node"`
		LiftedAt     *time.Time `json:"lifted_at,omitempty"`
		LiftedBy     string     `json:"lifted_by,omitempty"`
	}
	riskFiredOutput     struct{ Body riskFiredAnswer }
	riskFiredPageOutput struct {
		Body struct {
			Items      []riskFiredAnswer `json:"items" nullable:"false"`
			NextCursor string            `json:"next_cursor,omitempty"`
		}
	}
)

func riskRuleAnswerOf(r *sluice.RiskRule) riskRuleAnswer {
	source := "api"
	if r.File {
		source = "file"
	}
	return riskRuleAnswer{r.ID, r.Rule, string(r.Mode), r.Campaign, r.Note, r.Author, r.Revision, source,
		moment(r.CreatedAt), moment(r.UpdatedAt)}
}

func riskFiredAnswerOf(f *sluice.RiskFired) riskFiredAnswer {
	return riskFiredAnswer{f.ID, f.Rule, f.Revision, string(f.Mode), f.Action, string(f.Scope), f.Value, f.Campaign,
		f.CampaignOnly, f.Saw, f.Node, f.At.Time(), f.Until.Time(), f.Count, moment(f.LiftedAt), f.LiftedBy}
}

func answerRule(r sluice.RiskRule, err error) (*riskRuleOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &riskRuleOutput{riskRuleAnswerOf(&r)}, nil
}

// registerRisk adds risk rules and what they did.
func (a *Admin) registerRisk(api huma.API) {
	desk := a.deps.Risk
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/rules", "The risk rules, those of the file too", sluice.RoleSupport),
		func(ctx context.Context, _ *struct{}) (*riskRulesOutput, error) {
			all, err := desk.Rules(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &riskRulesOutput{}
			out.Body.Items = answers(all, riskRuleAnswerOf)
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/rules/{id}", "One risk rule", sluice.RoleSupport),
		func(ctx context.Context, in *struct {
			ID string `path:"id" maxLength:"64"`
		}) (*riskRuleOutput, error) {
			all, err := desk.Rules(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			for _, r := range all {
				if r.ID == in.ID {
					return answerRule(r, nil)
				}
			}
			return nil, problemOf(sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_RULE", "there is no rule "+in.ID))
		})
	huma.Register(api, op("PUT", "/v1/admin/rules/{id}", "Write a risk rule, new or changed", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			ID   string `path:"id" maxLength:"64"`
			Body riskRuleBody
		}) (*riskRuleOutput, error) {
			r := sluice.RiskRule{ID: in.ID, Rule: in.Body.Rule, Mode: sluice.RiskMode(in.Body.Mode),
				Campaign: in.Body.Campaign, Note: in.Body.Note, Revision: in.Body.Revision}
			return answerRule(desk.Put(ctx, r, actorBecause(ctx, in.Body.Note)))
		})
	huma.Register(api, op("DELETE", "/v1/admin/rules/{id}", "Delete a risk rule; what it did ends", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*riskRuleOutput, error) {
			return answerRule(desk.Delete(ctx, in.ID, actorBecause(ctx, in.Reason)))
		})
	a.registerFired(api, desk)
}

func (a *Admin) registerFired(api huma.API, desk RiskDesk) {
	huma.Register(api, op("GET", "/v1/admin/rules/fired", "What risk rules did, newest first", sluice.RoleSupport),
		func(ctx context.Context, in *struct {
			PageInput
			ID    string `query:"id" maxLength:"64" doc:"Only that of this reference, as a blocked buyer was shown it"`
			Rule  string `query:"rule" maxLength:"64"`
			Scope string `query:"scope" enum:"account,device,address,subnet"`
			Value string `query:"value" maxLength:"128" doc:"Only of exactly this user, device, address or network"`
		}) (*riskFiredPageOutput, error) {
			page, err := desk.Fired(ctx, sluice.RiskFiredQuery{ID: in.ID, Rule: in.Rule, Scope: sluice.RiskScope(in.Scope),
				Value: in.Value, Cursor: in.Cursor, Limit: in.Limit})
			if err != nil {
				return nil, problemOf(err)
			}
			out := &riskFiredPageOutput{}
			out.Body.NextCursor = page.Next
			out.Body.Items = answers(page.Items, riskFiredAnswerOf)
			return out, nil
		})
	huma.Register(api, op("POST", "/v1/admin/rules/fired/{id}/lift",
		"Undo what a rule did about one buyer, by its reference", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*riskFiredOutput, error) {
			f, err := desk.Lift(ctx, in.ID, actorBecause(ctx, in.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &riskFiredOutput{riskFiredAnswerOf(&f)}, nil
		})
}
