package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// DeadLetterDesk shows messages that failed their bounded tries, and ends them.
type DeadLetterDesk interface {
	List(ctx context.Context, q sluice.DeadLetterQuery) (sluice.Page[sluice.DeadLetter], sluice.Millis, error)
	Get(ctx context.Context, id int64) (sluice.DeadLetter, error)
	// Replay and Discard do a bounded number of those that q selects and say whether others are left.
	Replay(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor) (sluice.DeadLetterRun, error)
	Discard(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor) (sluice.DeadLetterRun, error)
}

type (
	deadLetterAnswer struct {
		ID         int64      `json:"id"`
		State      string     `json:"state" enum:"kept,replayed,discarded"`
		Error      string     `json:"error" doc:"Of the last try"`
		Tries      int        `json:"tries"`
		FirstAt    time.Time  `json:"first_at" doc:"When it failed first"`
		LastAt     time.Time  `json:"last_at" doc:"When it failed last"`
		ClaimID    string     `json:"claim_id,omitempty" doc:"Absent where the message cannot be read"`
		CampaignID string     `json:"campaign_id,omitempty"`
		UserID     string     `json:"user_id,omitempty"`
		RequestID  string     `json:"request_id,omitempty"`
		Source     string     `json:"source,omitempty" enum:"claim,grant"`
		Quantity   int        `json:"quantity,omitempty"`
		Epoch      int64      `json:"epoch,omitempty"`
		ClaimedAt  *time.Time `json:"claimed_at,omitempty"`
		Raw        []byte     `json:"raw,omitempty" doc:"The message as it came, base64; of one letter only"`
	}
	deadLetterBody struct {
		IDs        []int64    `json:"ids,omitempty" nullable:"false" doc:"These letters, at most 500"`
		CampaignID string     `json:"campaign_id,omitempty" maxLength:"64" doc:"Only of this campaign"`
		UserID     string     `json:"user_id,omitempty" maxLength:"64" doc:"Only of this user"`
		AsOf       *time.Time `json:"as_of,omitempty" nullable:"false" doc:"Required without ids; what failed later is left"`
		Reason     string     `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	deadLetterRun struct {
		Done   int       `json:"done" doc:"Letters that were replayed or discarded"`
		Failed int       `json:"failed" doc:"Of those: messages that still cannot be read, and are kept again"`
		More   bool      `json:"more" doc:"Others are left: make the same call again"`
		AsOf   time.Time `json:"as_of"`
	}
	deadLetterOutput     struct{ Body deadLetterAnswer }
	deadLetterRunOutput  struct{ Body deadLetterRun }
	deadLetterPageOutput struct {
		Body struct {
			Items      []deadLetterAnswer `json:"items" nullable:"false"`
			NextCursor string             `json:"next_cursor,omitempty"`
			AsOf       time.Time          `json:"as_of" doc:"Name it in a bulk that means what is listed"`
		}
	}
	deadLetterListInput struct {
		PageInput
		State      string `query:"state" enum:"kept,replayed,discarded,all" default:"kept"`
		CampaignID string `query:"campaign_id" maxLength:"64"`
		UserID     string `query:"user_id" maxLength:"64"`
	}
)

func deadLetterAnswerOf(d *sluice.DeadLetter, whole bool) deadLetterAnswer {
	a := deadLetterAnswer{
		ID: d.ID, State: string(d.State), Error: d.Error, Tries: d.Tries, FirstAt: d.FirstAt.Time(), LastAt: d.LastAt.Time(),
		CampaignID: d.Campaign,
	}
	if c := &d.Claim; c.ID != (sluice.ClaimID{}) {
		a.ClaimID, a.UserID, a.RequestID, a.Source = c.ID.String(), c.User, c.RequestID, c.Source.String()
		a.Quantity, a.Epoch, a.ClaimedAt = c.Quantity, c.Epoch, moment(c.At)
	}
	if whole {
		a.Raw = d.Raw
	}
	return a
}

// registerDeadLetters adds the dead letters.
func (a *Admin) registerDeadLetters(api huma.API) {
	desk := a.deps.DeadLetters
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/dead-letters",
		"Messages that failed their tries, the newest first", sluice.RoleSupport),
		func(ctx context.Context, in *deadLetterListInput) (*deadLetterPageOutput, error) {
			q := sluice.DeadLetterQuery{Campaign: in.CampaignID, User: in.UserID, Cursor: in.Cursor, Limit: in.Limit}
			if in.State != "all" {
				q.State = sluice.DeadLetterState(in.State)
			}
			page, asOf, err := desk.List(ctx, q)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &deadLetterPageOutput{}
			out.Body.NextCursor, out.Body.AsOf = page.Next, asOf.Time()
			out.Body.Items = make([]deadLetterAnswer, len(page.Items))
			for i := range page.Items {
				out.Body.Items[i] = deadLetterAnswerOf(&page.Items[i], false)
			}
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/dead-letters/{id}", "One of them, with the message as it came",
		sluice.RoleSupport),
		func(ctx context.Context, in *struct {
			ID int64 `path:"id" minimum:"1"`
		}) (*deadLetterOutput, error) {
			d, err := desk.Get(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			return &deadLetterOutput{deadLetterAnswerOf(&d, true)}, nil
		})
	bulk := func(path, summary string, do deadLetterBulk) {
		huma.Register(api, op("POST", path, summary, sluice.RoleOperator),
			func(ctx context.Context, in *struct{ Body deadLetterBody }) (*deadLetterRunOutput, error) {
				b := &in.Body
				q := sluice.DeadLetterQuery{IDs: b.IDs, Campaign: b.CampaignID, User: b.UserID}
				if b.AsOf != nil {
					q.AsOf = sluice.MillisOf(*b.AsOf)
				}
				run, err := do(ctx, q, actorBecause(ctx, b.Reason))
				if err != nil {
					return nil, problemOf(err)
				}
				return &deadLetterRunOutput{deadLetterRun{run.Done, run.Failed, run.More, run.AsOf.Time()}}, nil
			})
	}
	bulk("/v1/admin/dead-letters/replay", "Hand them to the settler again, with new tries, at a bounded pace",
		func(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor) (sluice.DeadLetterRun, error) {
			return desk.Replay(ctx, q, by)
		})
	bulk("/v1/admin/dead-letters/discard",
		"Give them up: a claim that the ledger does not know is rejected, and its units go back",
		func(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor) (sluice.DeadLetterRun, error) {
			return desk.Discard(ctx, q, by)
		})
}

// deadLetterBulk is what is done with dead letters in bulk.
type deadLetterBulk = func(context.Context, sluice.DeadLetterQuery, sluice.Actor) (sluice.DeadLetterRun, error)
