package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// NodeList tells of the servers of this fleet.
type NodeList interface {
	// Nodes lists them, dead ones too, in the order of their names.
	Nodes(ctx context.Context) ([]sluice.Node, error)
	// Self is the one that is asked.
	Self() sluice.Node
}

type (
	nodeAnswer struct {
		ID        string    `json:"id" doc:"New with each start of the node"`
		Name      string    `json:"name"`
		Self      bool      `json:"self" doc:"The node that answers"`
		Alive     bool      `json:"alive" doc:"Its last heartbeat is less than 5 s old"`
		AgeMS     int64     `json:"age_ms" doc:"Since its last heartbeat"`
		Version   string    `json:"version"`
		Addr      string    `json:"addr" doc:"Of its operators' listener"`
		StartedAt time.Time `json:"started_at"`
		Settings  int64     `json:"settings" doc:"The revision of the settings that are in force on it"`
		InForce   bool      `json:"in_force" doc:"No node has later settings in force"`
		SkewMS    int64     `json:"skew_ms" doc:"Its clock less the ledger's"`
		// Both are absent where it admits without a Redis, or has not told.
		Epochs  map[string]int64 `json:"epochs,omitempty" doc:"By campaign that runs or is about to: the epoch it admits in"`
		Breaker *nodeBreaker     `json:"breaker,omitempty" doc:"Of its way to Redis"`
	}
	nodeBreaker struct {
		Open      bool     `json:"open"`
		Campaigns []string `json:"campaigns" nullable:"false" doc:"Those for which it does not ask Redis now"`
	}
	nodeListOutput struct {
		Body struct {
			Items []nodeAnswer `json:"items" nullable:"false"`
			Alive int          `json:"alive"`
		}
	}
)

// registerNodes adds the list of nodes.
func (a *Admin) registerNodes(api huma.API) {
	desk := a.deps.Nodes
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/nodes", "The servers of this fleet", sluice.RoleViewer),
		func(ctx context.Context, _ *struct{}) (*nodeListOutput, error) {
			all, err := desk.Nodes(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			return nodesOf(all, desk.Self().ID), nil
		})
}

func nodesOf(all []sluice.Node, self string) *nodeListOutput {
	out := &nodeListOutput{}
	out.Body.Items = []nodeAnswer{}
	var latest int64
	for _, n := range all {
		latest = max(latest, n.Settings)
	}
	for _, n := range all {
		is := nodeAnswer{
			ID: n.ID, Name: n.Name, Self: n.ID == self, Alive: n.Alive(), AgeMS: n.AgeMS, Version: n.Version, Addr: n.Addr,
			StartedAt: n.StartedAt.Time(), Settings: n.Settings, InForce: n.Settings == latest, SkewMS: n.SkewMS,
		}
		if s := n.Standing; s.Epochs != nil {
			is.Epochs, is.Breaker = s.Epochs, &nodeBreaker{len(s.Cut) > 0, append([]string{}, s.Cut...)}
		}
		out.Body.Items = append(out.Body.Items, is)
		if n.Alive() {
			out.Body.Alive++
		}
	}
	return out
}
