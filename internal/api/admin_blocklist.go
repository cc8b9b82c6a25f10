package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// BlocklistDesk changes and reads the blocklist. What it answers is committed and in force.
type BlocklistDesk interface {
	Add(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error)
	Remove(ctx context.Context, id string, a sluice.Actor) (sluice.Block, error)
	Get(ctx context.Context, id string) (sluice.Block, error)
	List(ctx context.Context, scope sluice.BlockScope, value, after string, limit int) ([]sluice.Block, error)
}

type (
	blockBody struct {
		Scope     sluice.BlockScope `json:"scope,omitempty" doc:"Required: address, user or device"`
		Value     string            `json:"value,omitempty" doc:"Required: an IP address or network, a user id, a device id"`
		Reason    string            `json:"reason,omitempty" doc:"Why: for the audit log, up to 500 bytes"`
		ExpiresAt *time.Time        `json:"expires_at,omitempty" nullable:"false" doc:"Absent: until it is lifted"`
	}
	blockAnswer struct {
		ID        string            `json:"id" doc:"The reference that a blocked buyer is shown"`
		Scope     sluice.BlockScope `json:"scope" enum:"address,user,device"`
		Value     string            `json:"value"`
		Reason    string            `json:"reason,omitempty"`
		Author    string            `json:"author,omitempty"`
		CreatedAt time.Time         `json:"created_at"`
		ExpiresAt *time.Time        `json:"expires_at,omitempty"`
		HitsHour  *int64            `json:"hits_hour,omitempty" nullable:"false" doc:"Refused by it, on this node, in lists"`
	}
	blockOutput     struct{ Body blockAnswer }
	blockPageOutput struct {
		Body struct {
			Items      []blockAnswer `json:"items" nullable:"false"`
			NextCursor string        `json:"next_cursor,omitempty"`
			HitsSince  *time.Time    `json:"hits_since,omitempty" nullable:"false" doc:"Since when hits_hour is counted"`
		}
	}
)

func blockAnswerOf(b *sluice.Block) blockAnswer {
	return blockAnswer{b.ID, b.Scope, b.Value, b.Reason, b.Author, b.CreatedAt.Time(), moment(b.ExpiresAt), nil}
}

func answerBlock(b sluice.Block, err error) (*blockOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &blockOutput{blockAnswerOf(&b)}, nil
}

// registerBlocklist adds the blocklist and the allowlist, which beats it.
func (a *Admin) registerBlocklist(api huma.API) {
	if desk := a.deps.Blocklist; desk != nil {
		a.registerList(api, desk, listWords{"/v1/admin/blocklist", "The blocks in force",
			"One block, by the reference a buyer was shown", "Block an address, a network, a user or a device", "Lift a block",
			"The blocklist as CSV", "Add the blocks of a CSV, and change those that are there",
			"Whom a block would hit, before it is made"})
	}
	if desk := a.deps.Allowlist; desk != nil {
		a.registerList(api, desk, listWords{"/v1/admin/allowlist", "Whom neither blocklist nor risk rules touch",
			"One entry of the allowlist", "Allow an address, a network, a user or a device", "Take an entry off the allowlist",
			"The allowlist as CSV", "Add the entries of a CSV, and change those that are there", ""})
	}
}

// listWords are a list's path and what its calls do.
type listWords struct{ path, list, get, add, remove, export, imports, preview string }

func (a *Admin) registerList(api huma.API, desk BlocklistDesk, words listWords) {
	huma.Register(api, op("GET", words.path, words.list, sluice.RoleSupport),
		func(ctx context.Context, in *struct {
			PageInput
			Scope string `query:"scope" enum:"address,user,device"`
			Value string `query:"value" maxLength:"128" doc:"Only the block of exactly this address, network, user or device"`
		}) (*blockPageOutput, error) {
			page, err := desk.List(ctx, sluice.BlockScope(in.Scope), in.Value, in.Cursor, in.Limit+1)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &blockPageOutput{}
			if len(page) > in.Limit {
				page = page[:in.Limit]
				out.Body.NextCursor = page[in.Limit-1].ID
			}
			out.Body.Items = answers(page, blockAnswerOf)
			out.hits(desk)
			return out, nil
		})
	huma.Register(api, op("GET", words.path+"/{id}", words.get, sluice.RoleSupport),
		func(ctx context.Context, in *struct {
			ID string `path:"id" maxLength:"64"`
		}) (*blockOutput, error) {
			return answerBlock(desk.Get(ctx, in.ID))
		})
	add := op("POST", words.path, words.add, sluice.RoleOperator)
	add.DefaultStatus = http.StatusCreated
	huma.Register(api, add, func(ctx context.Context, in *struct{ Body blockBody }) (*blockOutput, error) {
		b := sluice.Block{Scope: in.Body.Scope, Value: in.Body.Value, Reason: in.Body.Reason}
		if in.Body.ExpiresAt != nil {
			b.ExpiresAt = sluice.MillisOf(*in.Body.ExpiresAt)
		}
		return answerBlock(desk.Add(ctx, b, actorBecause(ctx, in.Body.Reason)))
	})
	huma.Register(api, op("DELETE", words.path+"/{id}", words.remove, sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*blockOutput, error) {
			return answerBlock(desk.Remove(ctx, in.ID, actorBecause(ctx, in.Reason)))
		})
	if csv, ok := desk.(ListCSV); ok {
		a.registerListCSV(api, csv, words)
	}
	if jobs, ok := desk.(ListJobs); ok && a.deps.Jobs != nil {
		a.registerListJob(api, jobs, words)
	}
	if looks, ok := desk.(BlockLooks); ok && words.preview != "" {
		a.registerPreview(api, looks, words)
	}
}
