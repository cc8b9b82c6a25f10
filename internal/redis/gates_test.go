package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// house is a Redis with the gates of one campaign.
type house struct {
	t testing.TB
	*redis.Gates
	client *redis.Client
	c      sluice.Campaign
	all    map[string]sluice.Campaign
}

// on opens gates on a server, without arming anything.
func on(t testing.TB, url string, c sluice.Campaign) *house {
	t.Helper()
	client, err := redis.Open(t.Context(), redis.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	h := &house{t: t, client: client, c: c, all: map[string]sluice.Campaign{c.ID: c}}
	h.Gates = redis.NewGates(client, func(id string) (sluice.Campaign, bool) {
		c, ok := h.all[id]
		return c, ok
	})
	return h
}

// single opens gates on a Redis of the test's own, armed for epoch 1 with total units.
func single(
	t testing.TB, c sluice.Campaign, total int64, options ...servers.RedisOption,
) (*house, *servers.RedisServer) {
	t.Helper()
	server := servers.Redis(t, options...)
	h := on(t, server.URL(), c)
	h.arm(1, total)
	return h, server
}

// aSale is a campaign of one shard, live now.
func aSale(id string, limit int) sluice.Campaign {
	now := sluice.MillisOf(time.Now())
	return sluice.Campaign{
		ID: id, Kind: sluice.KindGoods, PerUserLimit: limit, StartsAt: now - 60_000, EndsAt: now + 3_600_000,
		Control: sluice.ControlOpen, Shards: 1,
	}
}

// arm opens an epoch with rows of the ledger, the stock spread evenly over what is free.
func (h *house) arm(epoch, total int64, rows ...sluice.ClaimRow) {
	h.t.Helper()
	if err := h.tryArm(epoch, total, rows...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) tryArm(epoch, total int64, rows ...sluice.ClaimRow) error {
	ctx := h.t.Context()
	h.c.Epoch = epoch
	h.all[h.c.ID] = h.c
	if _, err := h.Seal(ctx, h.c, epoch); err != nil {
		return err
	}
	for shard := range max(h.c.Shards, 1) {
		var mine []sluice.ClaimRow
		for _, r := range rows {
			if h.Home(h.c, r.ID.User()) == shard {
				mine = append(mine, r)
			}
		}
		if err := h.Join(ctx, h.c, shard, mine); err != nil {
			return err
		}
	}
	states := h.state()
	free := total
	for _, s := range states {
		free -= s.Live
	}
	for i, s := range states {
		n := int64(len(states))
		share := s.Live + free/n
		if int64(i) == 0 {
			share += free % n
		}
		if err := h.Arm(ctx, h.c, i, share); err != nil {
			return err
		}
	}
	return nil
}

func (h *house) state() []sluice.ShardState {
	h.t.Helper()
	s, err := h.State(h.t.Context(), h.c)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// claim makes the claim of a user under a request id.
func (h *house) claim(user, request string, quantity int) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID(h.c.ID, user, sluice.SourceClaim, request), Campaign: h.c.ID, User: user,
		RequestID: request, Quantity: quantity, At: sluice.MillisOf(time.Now()),
	}
}

// admit sends claims of one shard in one call.
func (h *house) admit(claims ...sluice.Claim) redis.AdmitReply {
	h.t.Helper()
	r, err := h.tryAdmit(h.t.Context(), claims...)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) tryAdmit(ctx context.Context, claims ...sluice.Claim) (redis.AdmitReply, error) {
	return h.Admit(ctx, redis.AdmitCall{Campaign: &h.c, Shard: h.Home(h.c, claims[0].ID.User()), Claims: claims})
}

// verdicts gives the verdicts of a reply.
func verdicts(r redis.AdmitReply) (all []redis.Verdict) {
	for _, c := range r.Claims {
		all = append(all, c.Verdict)
	}
	return all
}

func user(i int) string { return fmt.Sprintf("user-%d", i) }
