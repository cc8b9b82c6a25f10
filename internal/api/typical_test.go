package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// TestQueuedTellsTheTypicalWait: in the answer to a claim, and to one who asks for it; and when to ask again.
func TestQueuedTellsTheTypicalWait(t *testing.T) {
	for _, tt := range []struct {
		typical time.Duration
		want    string
	}{
		{0, `"retry_after_ms":100,"typical_ms":0`},
		{30 * time.Millisecond, `"retry_after_ms":100,"typical_ms":30`},
		{850 * time.Millisecond, `"retry_after_ms":850,"typical_ms":850`},
		{time.Minute, `"retry_after_ms":2000,"typical_ms":60000`},
	} {
		claims := &fakeClaims{}
		queued := record("alice", "r1", sluice.ClaimQueued)
		queued.Code = sluice.ReasonQueued
		claims.put(queued)
		gate := &fakeGate{campaign: spring()}
		gate.decide = func(context.Context, *sluice.ClaimRequest) sluice.Decision {
			return sluice.Decision{
				Reason: sluice.ReasonQueued, State: sluice.ClaimQueued, HasID: true, ID: queued.ID, Quantity: 1,
			}
		}
		p := public(t, api.PublicConfig{Typical: func() time.Duration { return tt.typical }},
			api.PublicDeps{Gate: gate, Claims: claims})
		for _, ask := range [][2]string{
			{"POST", "/v1/campaigns/spring/claims"}, {"GET", "/v1/claims/" + queued.ID.String()},
			{"GET", "/v1/campaigns/spring/claims?request_id=r1"},
		} {
			if got := do(p, peer, ask[0], ask[1], "", alice); !strings.Contains(got.body, tt.want) {
				t.Errorf("%s %s: %s, want %s", ask[0], ask[1], got.body, tt.want)
			}
		}
	}
}
