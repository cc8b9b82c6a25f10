package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// LinkDesk makes links to reports, takes them back and opens them. One that was taken back shows nothing as soon as
// TakeBack has answered, on any node.
type LinkDesk interface {
	Make(ctx context.Context, campaign, note string, life time.Duration, a sluice.Actor,
	) (secret string, l sluice.ReportLink, err error)
	List(ctx context.Context, campaign string) ([]sluice.ReportLink, error)
	TakeBack(ctx context.Context, campaign, id string, a sluice.Actor) (sluice.ReportLink, error)
	// Open gives the report of a secret. ErrNotFound: it is wrong, or over.
	Open(ctx context.Context, secret string) (sluice.ReportLink, sluice.CampaignReport, error)
}

// sharedPage is where the console shows a report to whoever has a link. The secret stands behind the #, which browsers
// send to nobody.
const sharedPage = "/shared/report#"

type (
	linkBody struct {
		LifeSec int64  `json:"life_s,omitempty" doc:"How long it works: 3600 to 7776000, an hour to 90 days; absent: 7 days"`
		Note    string `json:"note,omitempty" doc:"For whom it is: up to 100 bytes, shown in the list of links"`
		Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	linkAnswer struct {
		ID         string    `json:"id"`
		CampaignID string    `json:"campaign_id"`
		Path       string    `json:"path,omitempty" doc:"The link, behind the console's address. Shown this once"`
		Note       string    `json:"note,omitempty"`
		Author     string    `json:"author" doc:"Whose key made it"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at"`
	}
	linkOutput     struct{ Body linkAnswer }
	linkListOutput struct {
		Body struct {
			Items []linkAnswer `json:"items" nullable:"false"`
		}
	}
	sharedCampaign struct {
		ID       string               `json:"id"`
		Kind     sluice.Kind          `json:"kind" enum:"goods,coupon"`
		Title    string               `json:"title"`
		StartsAt time.Time            `json:"starts_at"`
		EndsAt   time.Time            `json:"ends_at"`
		State    sluice.CampaignState `json:"state" enum:"draft,scheduled,live,paused,frozen,sold_out,ended"`
	}
	// sharedReport is reportAnswer without what is about persons or only for operators: top holders, merchants, notes,
	// protection.
	sharedReport struct {
		AsOf         time.Time        `json:"as_of"`
		ExpiresAt    time.Time        `json:"expires_at" doc:"Of the link"`
		LoadTest     bool             `json:"load_test" doc:"Marked as a load test"`
		Campaign     sharedCampaign   `json:"campaign"`
		Decisions    map[string]int64 `json:"decisions" doc:"By reason, over all buckets"`
		Replayed     int64            `json:"replayed"`
		P50US        int64            `json:"p50_us"`
		P99US        int64            `json:"p99_us"`
		SellOutMS    int64            `json:"sell_out_ms,omitempty" doc:"From the start to the last unit, where it sold out"`
		Rows         rowsAnswer       `json:"rows"`
		Money        moneyAnswer      `json:"money"`
		Buckets      []bucketAnswer   `json:"buckets" nullable:"false"`
		Verification verificationBody `json:"verification"`
	}
	// SharedInput is the secret of a link. Exported, since huma reads no others where it is embedded.
	SharedInput struct {
		Authorization string `header:"Authorization" maxLength:"128" hidden:"true"`
	}
)

func linkAnswerOf(l *sluice.ReportLink) linkAnswer {
	return linkAnswer{ID: l.ID, CampaignID: l.Campaign, Note: l.Note, Author: l.Author, CreatedAt: l.CreatedAt.Time(),
		ExpiresAt: l.ExpiresAt.Time()}
}

func sharedReportOf(l *sluice.ReportLink, r *sluice.CampaignReport) sharedReport {
	a := reportAnswerOf(r)
	return sharedReport{
		AsOf: a.AsOf, ExpiresAt: l.ExpiresAt.Time(), LoadTest: a.LoadTest,
		Campaign: sharedCampaign{a.Campaign.ID, a.Campaign.Kind, a.Campaign.Title, a.Campaign.StartsAt, a.Campaign.EndsAt,
			a.Campaign.State},
		Decisions: a.Decisions, Replayed: a.Replayed, P50US: a.P50US, P99US: a.P99US, SellOutMS: a.SellOutMS,
		Rows: a.Rows, Money: a.Money, Buckets: a.Buckets, Verification: a.Verification,
	}
}

// registerReportLinks adds links to reports, and what they show.
func (a *Admin) registerReportLinks(api huma.API) {
	desk := a.deps.Links
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/campaigns/{id}/report/links",
		"The links to a campaign's report that are in force, newest first", sluice.RoleViewer),
		func(ctx context.Context, in *CampaignPath) (*linkListOutput, error) {
			all, err := desk.List(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &linkListOutput{}
			out.Body.Items = make([]linkAnswer, len(all))
			for i := range all {
				out.Body.Items[i] = linkAnswerOf(&all[i])
			}
			return out, nil
		})
	create := op("POST", "/v1/admin/campaigns/{id}/report/links",
		"Make a link to a campaign's report, shown this once: whoever has it needs no key", sluice.RoleOperator)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *struct {
		CampaignPath
		Body linkBody
	}) (*linkOutput, error) {
		if in.Body.LifeSec < 0 || in.Body.LifeSec > int64(sluice.MaxLinkLife/1000) { // as a duration it might overflow
			return nil, invalidField("life_s", "must be from 3600 (an hour) to 7776000 (90 days)")
		}
		secret, l, err := desk.Make(ctx, in.ID, in.Body.Note, time.Duration(in.Body.LifeSec)*time.Second,
			actorBecause(ctx, in.Body.Reason))
		if err != nil {
			return nil, problemOf(err)
		}
		out := &linkOutput{linkAnswerOf(&l)}
		out.Body.Path = sharedPage + secret
		return out, nil
	})
	huma.Register(api, op("DELETE", "/v1/admin/campaigns/{id}/report/links/{link}",
		"Take a link back: it shows nothing from then on", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			CampaignPath
			Link   string `path:"link" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*linkOutput, error) {
			l, err := desk.TakeBack(ctx, in.ID, in.Link, actorBecause(ctx, in.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &linkOutput{linkAnswerOf(&l)}, nil
		})
	a.registerShared(api)
}

// sharedOp describes a call that needs the secret of a link and no key.
func sharedOp(path, summary string) huma.Operation {
	o := op("GET", path, summary, anybody)
	o.Description = "Needs no key but the secret of a link, as POST /v1/admin/campaigns/{id}/report/links gives it " +
		"behind the #. 401 LINK_ENDED: it is wrong, has ended, or was taken back."
	o.Security, o.Tags = []map[string][]string{{"reportLink": {}}}, []string{"Campaigns"} // no key, so no area of keys
	return o
}

// registerShared adds what whoever has a link can read: one report, as JSON and for a spreadsheet.
func (a *Admin) registerShared(api huma.API) {
	huma.Register(api, sharedOp("/v1/admin/shared/report", "The report that a link is for, without personal data"),
		func(ctx context.Context, in *SharedInput) (*struct{ Body sharedReport }, error) {
			l, r, err := a.openLink(ctx, in.Authorization)
			if err != nil {
				return nil, err
			}
			return &struct{ Body sharedReport }{sharedReportOf(&l, &r)}, nil
		})
	o := sharedOp("/v1/admin/shared/report.csv", "The same report for a spreadsheet")
	csvResponse(&o)
	huma.Register(api, o, func(ctx context.Context, in *struct {
		SharedInput
		Part string `query:"part" enum:"summary,seconds" default:"summary" doc:"The figures, or the sale by time"`
	}) (*csvOutput, error) {
		_, r, err := a.openLink(ctx, in.Authorization)
		if err != nil {
			return nil, err
		}
		return reportCSV(&r, in.Part)
	})
}

// openLink checks the secret of a link. Wrong, expired and revoked ones get the same answer. Addresses that guess are
// held back as those that guess keys, and counted apart: a link that has ended must not keep an operator out.
func (a *Admin) openLink(ctx context.Context, header string) (
	l sluice.ReportLink, r sluice.CampaignReport, err error,
) {
	refused := newProblem(http.StatusUnauthorized, "LINK_ENDED", "this link is wrong, has ended, or was taken back")
	secret, addr := bearer([]byte(header)), infoOf(ctx).addr
	if len(secret) == 0 {
		return l, r, refused // nobody has guessed anything
	}
	hash := sha256.Sum256(secret)
	if !a.linkGuesses.known(hash) && !a.linkGuesses.may(addr) {
		p := newProblem(http.StatusTooManyRequests, codeTooManyFailures, "too many links that are wrong or have ended")
		p.RetryAfter = failureRefill.Milliseconds()
		return l, r, p
	}
	l, r, err = a.deps.Links.Open(ctx, string(secret))
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		a.linkGuesses.bad(addr, hash)
		return l, r, refused
	case err != nil:
		return l, r, problemOf(err)
	}
	a.linkGuesses.good(hash)
	return l, r, nil
}
