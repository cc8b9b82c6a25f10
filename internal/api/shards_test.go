package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

type shardDesk struct{}

func (shardDesk) Shards(_ context.Context, campaign string) ([]sluice.ShardState, error) {
	some := []sluice.ShardState{
		{Shard: 0, Armed: true, Open: true, Epoch: 7, Available: 30, Returning: 2, Live: 8, Queued: 3},
		{Shard: 1, Armed: true, Epoch: 6, Out: 5, Backlog: 4},
	}
	switch campaign {
	case "whole":
		return some, nil
	case "half":
		return some[:1], errors.New("shard 1 is away")
	case "away":
		return nil, sluice.ErrUnavailable
	case "none":
		return nil, nil
	}
	return nil, sluice.ErrNotFound
}

// TestShardsAreShownOneByOne: what answers is shown, with what did not; nothing passes for none.
func TestShardsAreShownOneByOne(t *testing.T) {
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Shards: shardDesk{}})
	for _, tt := range []struct {
		id     string
		status int
		says   []string
	}{
		{"whole", 200, []string{
			`{"shard":0,"armed":true,"open":true,"epoch":7,"revision":0,"available":32,"out":0,"queued":3,"live":8,`,
			`{"shard":1,"armed":true,"open":false,"epoch":6,"revision":0,"available":0,"out":5,"queued":0,"live":0,`,
			`"backlog":4}`}},
		{"half", 200, []string{`"available":32`, `"error":"shard 1 is away"`}},
		{"away", 503, nil},
		{"none", 200, []string{`"items":[]`}},
		{"who", 404, nil},
	} {
		got := ask(a, "GET", "/v1/admin/campaigns/"+tt.id+"/shards", "", as("viewer"))
		if got.status != tt.status {
			t.Errorf("%s: %d, want %d: %s", tt.id, got.status, tt.status, got.body)
		}
		for _, says := range tt.says {
			if !strings.Contains(got.body, says) {
				t.Errorf("%s: %s is missing: %s", tt.id, says, got.body)
			}
		}
	}
}
