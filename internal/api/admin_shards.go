package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ShardDesk reads the shards of a campaign's gates, each as of one moment. Those that do not answer are left out and
// are the error. None, and no error, where stock is not taken in gates that have shards. ErrNotFound: no such campaign.
type ShardDesk interface {
	Shards(ctx context.Context, campaign string) ([]sluice.ShardState, error)
}

type (
	shardAnswer struct {
		Shard     int   `json:"shard" doc:"From 0"`
		Armed     bool  `json:"armed" doc:"False: there is no gate, and all figures are 0"`
		Open      bool  `json:"open" doc:"It admits; false between two epochs"`
		Epoch     int64 `json:"epoch"`
		Revision  int64 `json:"revision" doc:"Of the total that it has heard of"`
		Available int64 `json:"available" doc:"Units that can be admitted here, those given back among them"`
		Out       int64 `json:"out" doc:"Units on their way to another shard"`
		Queued    int64 `json:"queued" doc:"Units admitted here and not in the ledger yet"`
		Live      int64 `json:"live" doc:"Units of live claims, queued ones among them"`
		Backlog   int64 `json:"backlog" doc:"Messages that wait to be carried to the ledger"`
	}
	shardsOutput struct {
		Body struct {
			At    time.Time     `json:"at"`
			Items []shardAnswer `json:"items" nullable:"false" doc:"Empty where stock is not taken in Redis"`
			Error string        `json:"error,omitempty" doc:"Shards are missing: they did not answer"`
		}
	}
)

// registerShards adds the look at the shards of a campaign's gates.
func (a *Admin) registerShards(api huma.API) {
	desk := a.deps.Shards
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/campaigns/{id}/shards", "What each shard of a campaign's gates holds",
		sluice.RoleViewer), func(ctx context.Context, in *CampaignPath) (*shardsOutput, error) {
		all, err := desk.Shards(ctx, in.ID)
		if err != nil && len(all) == 0 {
			return nil, problemOf(err)
		}
		out := &shardsOutput{}
		out.Body.At, out.Body.Items = time.Now().UTC(), make([]shardAnswer, len(all))
		if err != nil {
			out.Body.Error = err.Error()
		}
		for i := range all {
			s := &all[i]
			out.Body.Items[i] = shardAnswer{Shard: s.Shard, Armed: s.Armed, Open: s.Open, Epoch: s.Epoch, Revision: s.Revision,
				Available: s.Available + s.Returning, Out: s.Out, Queued: s.Queued, Live: s.Live, Backlog: s.Backlog}
		}
		return out, nil
	})
}
