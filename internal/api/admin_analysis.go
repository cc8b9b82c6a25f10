package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// AnalysisDesk makes analyses of campaigns after their sales. Analysis answers at once with how the making stands, and
// begins one where there is none; with anew also where the last one is finished.
type AnalysisDesk interface {
	Analysis(ctx context.Context, id string, anew bool) (sluice.AnalysisJob, error)
}

func (a *Admin) registerAnalysis(api huma.API) {
	desk := a.deps.Analysis
	if desk == nil {
		return
	}
	o := op("GET", "/v1/admin/campaigns/{id}/analysis", "What the decisions on a campaign say after its sale",
		sluice.RoleSupport)
	o.Description = "Made in the background from the decision log of the node that is asked, or from the ledger where " +
		"it keeps none: ask again until state is done or failed. A log of ten million decisions takes about a minute. " +
		"The last sixteen are kept. " + o.Description
	huma.Register(api, o,
		func(ctx context.Context, in *struct {
			CampaignPath
			Anew bool `query:"anew" doc:"Make it anew where the last one is finished"`
		}) (*struct{ Body sluice.AnalysisJob }, error) {
			j, err := desk.Analysis(ctx, in.ID, in.Anew)
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body sluice.AnalysisJob }{j}, nil
		})
}
