package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

type (
	campaignOutput struct {
		ETag string `header:"ETag" doc:"For If-Match"`
		Body adminCampaign
	}
	campaignPageOutput struct {
		Body struct {
			Items      []adminCampaign `json:"items" nullable:"false"`
			NextCursor string          `json:"next_cursor,omitempty"`
		}
	}
	// CampaignPath is exported because huma passes over what is embedded and is not.
	CampaignPath struct {
		ID string `path:"id" maxLength:"64"`
	}
	commandInput struct {
		CampaignPath
		Body *reasonBody
	}
	campaignListInput struct {
		PageInput
		State      string `query:"state" enum:"draft,scheduled,live,paused,frozen,sold_out,ended"`
		Kind       string `query:"kind" enum:"goods,coupon"`
		LimitGroup string `query:"limit_group" maxLength:"64" doc:"The campaigns that share each user's limit"`
		LoadTest   string `query:"load_test" enum:"true,false,not_ended" doc:"Only them; none; all but those that ended"`
	}
	// PageInput is what every list of the operators' listener takes.
	PageInput struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
	}
	verificationBody struct {
		OK             bool      `json:"ok"`
		Total          int64     `json:"total"`
		Available      int64     `json:"available"`
		Queued         int64     `json:"queued"`
		Held           int64     `json:"held"`
		Sold           int64     `json:"sold"`
		UsersOverLimit int64     `json:"users_over_limit"`
		UnitsOverTotal int64     `json:"units_over_total"`
		Drift          int64     `json:"drift"`
		CheckedAt      time.Time `json:"checked_at"`
	}
	adjustmentAnswer struct {
		ChangeID string `json:"change_id"`
		Asked    int64  `json:"asked"`
		Applied  int64  `json:"applied" doc:"A decrease takes only what is available"`
		Total    int64  `json:"total"`
		Revision int64  `json:"revision"`
	}
	preheatAnswer struct {
		Armed        bool             `json:"armed"`
		Verification verificationBody `json:"verification"`
		TookMS       int64            `json:"took_ms"`
	}
)

func verificationOf(v *sluice.Verification) verificationBody {
	return verificationBody{v.OK, v.Total, v.Available, v.Queued, v.Held, v.Sold, v.UsersOverLimit, v.UnitsOverTotal,
		v.Drift, v.CheckedAt.Time()}
}

// answerCampaign answers what a desk gave.
func answerCampaign(v sluice.CampaignView, err error) (*campaignOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &campaignOutput{ETag: versionTag(&v), Body: adminCampaignOf(&v)}, nil
}

// cursorNumber reads a cursor that is a number; 0 where there is none.
func cursorNumber(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, invalidField("cursor", "must be one that was given with a page")
	}
	return n, nil
}

func cursorText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// registerCampaigns adds what reads and what changes campaigns.
func (a *Admin) registerCampaigns(api huma.API) {
	if shelf := a.deps.Shelf; shelf != nil {
		a.registerShelf(api, shelf)
	}
	if desk := a.deps.Campaigns; desk != nil {
		a.registerCampaignDesk(api, desk)
		a.registerCommands(api, desk)
	}
	if stock := a.deps.Stock; stock != nil {
		a.registerAdjustments(api, stock)
	}
}

func (a *Admin) registerShelf(api huma.API, shelf CampaignShelf) {
	huma.Register(api, op("GET", "/v1/admin/campaigns",
		"The campaigns, in the order of their creation", sluice.RoleViewer),
		func(ctx context.Context, in *campaignListInput) (*campaignPageOutput, error) {
			after, err := cursorNumber(in.Cursor)
			if err != nil {
				return nil, problemOf(err)
			}
			q := sluice.CampaignQuery{State: sluice.CampaignState(in.State), Kind: sluice.Kind(in.Kind),
				LimitGroup: in.LimitGroup, After: after, Limit: in.Limit}
			switch in.LoadTest {
			case "true", "false":
				want := in.LoadTest == "true"
				q.LoadTest = &want
			case "not_ended":
				q.NoEndedTests = true
			}
			page, next, err := shelf.List(ctx, q)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &campaignPageOutput{}
			out.Body.NextCursor, out.Body.Items = cursorText(next), answers(page, adminCampaignOf)
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/campaigns/{id}", "One campaign", sluice.RoleViewer),
		func(ctx context.Context, in *CampaignPath) (*campaignOutput, error) {
			return answerCampaign(shelf.Get(ctx, in.ID))
		})
	huma.Register(api, op("GET", "/v1/admin/campaigns/{id}/verify",
		"Recompute a campaign from its rows and compare with its permit", sluice.RoleViewer),
		func(ctx context.Context, in *CampaignPath) (*struct{ Body verificationBody }, error) {
			v, err := shelf.Verify(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			if a.deps.Live != nil {
				a.deps.Live.Counted(in.ID, v)
			}
			return &struct{ Body verificationBody }{verificationOf(&v)}, nil
		})
}

func (a *Admin) registerCampaignDesk(api huma.API, desk CampaignDesk) {
	create := op("POST", "/v1/admin/campaigns", "Create a campaign", sluice.RoleOperator)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *struct{ Body campaignBody }) (*campaignOutput, error) {
		return answerCampaign(desk.Create(ctx, in.Body.spec(), actorOf(ctx)))
	})
	edit := op("PATCH", "/v1/admin/campaigns/{id}", "Change what may still change", sluice.RoleOperator)
	huma.Register(api, edit, func(ctx context.Context, in *struct {
		CampaignPath
		IfMatch string `header:"If-Match" maxLength:"64" doc:"The ETag you read: 409 where it has changed since"`
		Body    campaignPatchBody
	}) (*campaignOutput, error) {
		p := in.Body.patch()
		if err := ifMatch(in.IfMatch, &p); err != nil {
			return nil, problemOf(err)
		}
		return answerCampaign(desk.Edit(ctx, in.ID, p, actorOf(ctx)))
	})
	clone := op("POST", "/v1/admin/campaigns/{id}/clone", "Make a draft like this campaign", sluice.RoleOperator)
	clone.DefaultStatus = http.StatusCreated
	huma.Register(api, clone, func(ctx context.Context, in *struct {
		CampaignPath
		Body *cloneBody
	}) (*campaignOutput, error) {
		b := valueOr(in.Body, cloneBody{})
		return answerCampaign(desk.Clone(ctx, in.ID, sluice.CloneSpec{ID: b.ID, Title: b.Title, Total: b.Total,
			StartsAt: millisOrNil(b.StartsAt), EndsAt: millisOrNil(b.EndsAt)}, actorOf(ctx)))
	})
}

func (a *Admin) registerCommands(api huma.API, desk CampaignDesk) {
	for _, c := range []struct {
		cmd     sluice.ControlCommand
		summary string
	}{
		{sluice.CommandPublish, "Offer a draft"},
		{sluice.CommandPause, "Refuse claims until it is resumed"},
		{sluice.CommandResume, "Take claims again after a pause or a freeze"},
		{sluice.CommandEnd, "End it for good"},
	} {
		o := op("POST", "/v1/admin/campaigns/{id}/"+string(c.cmd), c.summary, sluice.RoleOperator)
		huma.Register(api, o, func(ctx context.Context, in *commandInput) (*campaignOutput, error) {
			actor := actorBecause(ctx, valueOr(in.Body, reasonBody{}).Reason)
			return answerCampaign(desk.Command(ctx, in.ID, c.cmd, actor))
		})
	}
	huma.Register(api, op("POST", "/v1/admin/campaigns/{id}/preheat",
		"Arm a campaign ahead of its start and verify its permit against the ledger", sluice.RoleOperator),
		func(ctx context.Context, in *commandInput) (*struct{ Body preheatAnswer }, error) {
			p, err := desk.Preheat(ctx, in.ID, actorBecause(ctx, valueOr(in.Body, reasonBody{}).Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body preheatAnswer }{preheatAnswer{p.Armed, verificationOf(&p.Verification), int64(p.Took)}}, nil
		})
}

func (a *Admin) registerAdjustments(api huma.API, stock StockDesk) {
	huma.Register(api, op("POST", "/v1/admin/campaigns/{id}/adjustments",
		"Change the total, once a change id", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			CampaignPath
			Body adjustmentBody
		}) (*struct{ Body adjustmentAnswer }, error) {
			adj, err := stock.Adjust(ctx, sluice.Adjustment{ChangeID: in.Body.ChangeID, Campaign: in.ID, Asked: in.Body.Delta},
				actorBecause(ctx, in.Body.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body adjustmentAnswer }{
				adjustmentAnswer{adj.ChangeID, adj.Asked, adj.Applied, adj.Total, adj.Revision},
			}, nil
		})
}
