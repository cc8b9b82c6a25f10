package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// JobDesk starts what takes longer than a call, and shows it.
type JobDesk interface {
	// Start begins a job and gives it at once; the same ID again gives the same job.
	Start(ctx context.Context, j sluice.Job, a sluice.Actor) (sluice.Job, error)
	List(ctx context.Context, q sluice.JobQuery) ([]sluice.Job, error)
	Get(ctx context.Context, id string) (sluice.Job, error)
	Cancel(ctx context.Context, id string, a sluice.Actor) (sluice.Job, error)
}

// The kinds of jobs that calls of this listener start.
const (
	jobReplay   = "dead_letters.replay"
	jobDiscard  = "dead_letters.discard"
	jobRehearse = "rehearsal"
)

type (
	jobBody struct {
		ID         string     `json:"id,omitempty" maxLength:"64" doc:"Made by the caller, so that it may ask again"`
		Kind       string     `json:"kind,omitempty" doc:"Required: dead_letters.replay or dead_letters.discard"`
		IDs        []int64    `json:"ids,omitempty" nullable:"false" doc:"These dead letters, at most 500"`
		CampaignID string     `json:"campaign_id,omitempty" maxLength:"64" doc:"Only of this campaign"`
		UserID     string     `json:"user_id,omitempty" maxLength:"64" doc:"Only of this user"`
		AsOf       *time.Time `json:"as_of,omitempty" nullable:"false" doc:"Required without ids; what failed later is left"`
		Reason     string     `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	rehearsalBody struct {
		ID      string  `json:"id,omitempty" maxLength:"64" doc:"Of the job, made by the caller, so that it may ask again"`
		Buyers  int     `json:"buyers,omitempty" doc:"1 to 20000; default 2000"`
		Seconds float64 `json:"seconds,omitempty" doc:"Over how long they come, up to 60; default 5"`
		Reason  string  `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	jobAnswer struct {
		ID         string          `json:"id"`
		Kind       string          `json:"kind"`
		State      sluice.JobState `json:"state" enum:"running,done,failed,cancelled"`
		Object     string          `json:"object,omitempty" doc:"What it is about, such as campaign/spring"`
		Author     string          `json:"author" doc:"The name of the API key"`
		Reason     string          `json:"reason,omitempty"`
		Total      int64           `json:"total" doc:"-1: not known"`
		Done       int64           `json:"done"`
		Failed     int64           `json:"failed"`
		Node       string          `json:"node" doc:"That works on it"`
		Ask        any             `json:"ask,omitempty" doc:"What was asked for"`
		Result     any             `json:"result,omitempty" doc:"By kind"`
		FaultCode  string          `json:"fault_code,omitempty" doc:"What kind: STOPPED, INTERRUPTED, LIST_GONE …"`
		Fault      string          `json:"fault,omitempty" doc:"Why it failed or stopped, in English"`
		Cancelling bool            `json:"cancelling,omitempty" doc:"Somebody wants it to stop"`
		CreatedAt  time.Time       `json:"created_at"`
		BeatAt     time.Time       `json:"beat_at" doc:"When its node told of it last"`
		EndedAt    *time.Time      `json:"ended_at,omitempty"`
	}
	jobOutput     struct{ Body jobAnswer }
	jobListOutput struct {
		Body struct {
			Items      []jobAnswer `json:"items" nullable:"false"`
			NextBefore int64       `json:"next_before_ms,omitempty" doc:"before_ms of the next page"`
		}
	}
	jobListInput struct {
		State  string `query:"state" enum:"running,done,failed,cancelled"`
		Kind   string `query:"kind" maxLength:"64"`
		Object string `query:"object" maxLength:"200" doc:"Such as campaign/spring"`
		Before int64  `query:"before_ms" minimum:"0" doc:"Made before this moment"`
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	}
	// JobPath is exported because huma passes over what is embedded and is not.
	JobPath struct {
		ID string `path:"id" maxLength:"64"`
	}
)

func jobAnswerOf(j *sluice.Job) jobAnswer {
	a := jobAnswer{ID: j.ID, Kind: j.Kind, State: j.State, Object: j.Object, Author: j.Author, Reason: j.Reason,
		Total: j.Total, Done: j.Done, Failed: j.Failed, Node: j.Node, FaultCode: j.Code, Fault: j.Fault, Cancelling: j.Cancel,
		CreatedAt: j.CreatedAt.Time(), BeatAt: j.BeatAt.Time(), EndedAt: moment(j.EndedAt)}
	if len(j.Ask) > 0 {
		a.Ask = j.Ask
	}
	if len(j.Result) > 0 {
		a.Result = j.Result
	}
	return a
}

// registerJobs adds what takes longer than a call.
func (a *Admin) registerJobs(api huma.API) {
	desk := a.deps.Jobs
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/jobs", "Bulk acts and rehearsals, the newest first", sluice.RoleViewer),
		func(ctx context.Context, in *jobListInput) (*jobListOutput, error) {
			all, err := desk.List(ctx, sluice.JobQuery{State: sluice.JobState(in.State), Kind: in.Kind, Object: in.Object,
				Before: sluice.Millis(in.Before), Limit: in.Limit})
			if err != nil {
				return nil, problemOf(err)
			}
			out := &jobListOutput{}
			out.Body.Items = answers(all, jobAnswerOf)
			if len(all) == in.Limit {
				out.Body.NextBefore = int64(all[len(all)-1].CreatedAt)
			}
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/jobs/{id}", "One of them", sluice.RoleViewer),
		func(ctx context.Context, in *JobPath) (*jobOutput, error) { return answerJob(desk.Get(ctx, in.ID)) })
	start := op("POST", "/v1/admin/jobs", "Start a bulk act that goes on by itself", sluice.RoleOperator)
	start.DefaultStatus = http.StatusAccepted
	start.Tags = append(start.Tags, "Dead letters") // which is all that it acts on: a scope has to allow both
	huma.Register(api, start, func(ctx context.Context, in *struct{ Body jobBody }) (*jobOutput, error) {
		j, err := a.lettersJob(&in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return answerJob(desk.Start(ctx, j, actorBecause(ctx, j.Reason)))
	})
	huma.Register(api, op("POST", "/v1/admin/jobs/{id}/cancel", "Stop one; what it has done stays done",
		sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			JobPath
			Body *reasonBody
		}) (*jobOutput, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return answerJob(desk.Cancel(ctx, in.ID, actorBecause(ctx, reason)))
		})
	rehearse := op("POST", "/v1/admin/campaigns/{id}/rehearsals",
		"Let the lab's crowd rush for a clone of the campaign, as a job", sluice.RoleOperator)
	rehearse.DefaultStatus = http.StatusAccepted
	rehearse.Description += " The clone is a load test without passes, and is ended afterwards; the job's result is kept."
	huma.Register(api, rehearse, func(ctx context.Context, in *struct {
		CampaignPath
		Body *rehearsalBody
	}) (*jobOutput, error) {
		j, err := a.rehearsalJob(ctx, in.ID, in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return answerJob(desk.Start(ctx, j, actorBecause(ctx, j.Reason)))
	})
}

func answerJob(j sluice.Job, err error) (*jobOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &jobOutput{jobAnswerOf(&j)}, nil
}

// lettersJob makes a job with dead letters. What it means is what had failed by as_of.
func (a *Admin) lettersJob(b *jobBody) (sluice.Job, error) {
	if b.Kind != jobReplay && b.Kind != jobDiscard {
		return sluice.Job{}, invalidField("kind", "must be "+jobReplay+" or "+jobDiscard)
	}
	now := sluice.MillisOf(a.cfg.Now())
	ask := struct {
		IDs      []int64       `json:"ids,omitempty"`
		Campaign string        `json:"campaign_id,omitempty"`
		User     string        `json:"user_id,omitempty"`
		AsOf     sluice.Millis `json:"as_of_ms"`
	}{b.IDs, b.CampaignID, b.UserID, now}
	switch {
	case len(b.IDs) > 500:
		return sluice.Job{}, invalidField("ids", "must be at most 500")
	case b.AsOf == nil && len(b.IDs) == 0:
		return sluice.Job{}, invalidField("as_of", "is required without ids: what failed later is left alone")
	case b.AsOf != nil:
		if ask.AsOf = sluice.MillisOf(*b.AsOf); ask.AsOf > now {
			return sluice.Job{}, invalidField("as_of", "must not be in the future")
		}
	}
	text, err := json.Marshal(ask)
	return sluice.Job{ID: b.ID, Kind: b.Kind, Object: "dead_letters", Reason: b.Reason, Ask: text}, err
}

func (a *Admin) rehearsalJob(ctx context.Context, campaign string, b *rehearsalBody) (sluice.Job, error) {
	if b == nil {
		b = &rehearsalBody{}
	}
	if b.Buyers == 0 {
		b.Buyers = 2000
	}
	if b.Seconds == 0 {
		b.Seconds = 5
	}
	switch {
	case b.Buyers < 1 || b.Buyers > 20_000:
		return sluice.Job{}, invalidField("buyers", "must be from 1 to 20000")
	case !(b.Seconds > 0 && b.Seconds <= 60):
		return sluice.Job{}, invalidField("seconds", "must be above 0 and at most 60")
	}
	if a.deps.Shelf != nil {
		if _, err := a.deps.Shelf.Get(ctx, campaign); err != nil {
			return sluice.Job{}, err
		}
	}
	text, err := json.Marshal(map[string]any{"campaign_id": campaign, "buyers": b.Buyers, "seconds": b.Seconds})
	return sluice.Job{ID: b.ID, Kind: jobRehearse, Object: "campaign/" + campaign, Reason: b.Reason, Ask: text}, err
}
