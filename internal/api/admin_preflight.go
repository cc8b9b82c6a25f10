package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// PreflightDesk makes the checks before a sale, and keeps what they came to.
type PreflightDesk interface {
	// Latest gives the last run. ErrNotFound: there is none.
	Latest(ctx context.Context, campaign string) (sluice.Preflight, error)
	Run(ctx context.Context, campaign string, a sluice.Actor) (sluice.Preflight, error)
	// Sign records who says go to the run seq. ErrConflict: it is not the latest, or is signed already.
	Sign(ctx context.Context, campaign string, seq int64, a sluice.Actor) (sluice.Preflight, error)
}

type (
	preflightCheck struct {
		Name   string                `json:"name"`
		State  sluice.PreflightState `json:"state" enum:"go,no_go,unknown,absent"`
		Detail string                `json:"detail" doc:"In English"`
		Code   preflightCode         `json:"code,omitempty" doc:"Names the detail's sentence; runs of old have none"`
		Args   sluice.PreflightArgs  `json:"args,omitempty" doc:"What the sentence is filled with: strings and numbers"`
	}
	preflightAnswer struct {
		Run      int64            `json:"run" doc:"Its number, to sign it by"`
		At       time.Time        `json:"at"`
		OK       bool             `json:"ok" doc:"No check is a no-go, and none is unknown"`
		Go       int              `json:"go" doc:"Checks that are a go"`
		Of       int              `json:"of" doc:"Checks of parts that there are"`
		Checks   []preflightCheck `json:"checks" nullable:"false"`
		Author   string           `json:"author"`
		SignedAt *time.Time       `json:"signed_at,omitempty"`
		SignedBy string           `json:"signed_by,omitempty"`
		Reason   string           `json:"reason,omitempty" doc:"Of who signed"`
	}
	preflightOutput struct{ Body preflightAnswer }
	signBody        struct {
		Run    int64  `json:"run,omitempty" minimum:"1" doc:"Required: the run that was looked at"`
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"Required where a check is not a go"`
	}
)

// preflightCode is a sluice.PreflightCode whose schema lists them all.
type preflightCode string

// Schema makes it an enumeration.
func (preflightCode) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, code := range sluice.PreflightCodes() {
		s.Enum = append(s.Enum, string(code))
	}
	return s
}

func answerPreflight(p sluice.Preflight, err error) (*preflightOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	out := &preflightOutput{preflightAnswer{Run: p.Seq, At: p.At.Time(), OK: p.OK, Author: p.Author,
		SignedAt: moment(p.SignedAt), SignedBy: p.SignedBy, Reason: p.Reason, Checks: []preflightCheck{}}}
	for _, c := range p.Checks {
		out.Body.Checks = append(out.Body.Checks, preflightCheck{c.Name, c.State, c.Detail, preflightCode(c.Code), c.Args})
		if c.State == sluice.CheckGo {
			out.Body.Go++
		}
		if c.State != sluice.CheckAbsent {
			out.Body.Of++
		}
	}
	return out, nil
}

// registerPreflight adds go or no-go.
func (a *Admin) registerPreflight(api huma.API) {
	desk := a.deps.Preflight
	if desk == nil {
		return
	}
	const path = "/v1/admin/campaigns/{id}/preflight"
	huma.Register(api, op("GET", path, "The last checks before the sale, and who signed them", sluice.RoleViewer),
		func(ctx context.Context, in *CampaignPath) (*preflightOutput, error) {
			return answerPreflight(desk.Latest(ctx, in.ID))
		})
	huma.Register(api, op("POST", path, "Make the checks before the sale", sluice.RoleOperator),
		func(ctx context.Context, in *CampaignPath) (*preflightOutput, error) {
			return answerPreflight(desk.Run(ctx, in.ID, actorOf(ctx)))
		})
	huma.Register(api, op("POST", path+"/sign-off", "Say go", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			CampaignPath
			Body signBody
		}) (*preflightOutput, error) {
			if in.Body.Run == 0 {
				return nil, invalidField("run", "is required: the run that you looked at")
			}
			return answerPreflight(desk.Sign(ctx, in.ID, in.Body.Run, actorBecause(ctx, in.Body.Reason)))
		})
}
