package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// Replicated returns nil once so many replicas have whatever was done at a shard before this call. ErrUnavailable:
// they do not, or nobody could be asked.
//
// WAIT looks at what its own connection wrote last. A write of no meaning stands in for that: replicas take writes in
// order, so that one which has this has all before it.
func (g *Gates) Replicated(ctx context.Context, c *sluice.Campaign, shard, replicas int) error {
	ctx, cancel := g.c.limited(ctx)
	defer cancel()
	wait := int64(1000)
	if end, ok := ctx.Deadline(); ok {
		wait = max(1, time.Until(end).Milliseconds()*3/4)
	}
	key := g.c.keys.of(c, shard).marks
	var have int64
	err := g.c.rdb.Dedicated(func(one rueidis.DedicatedClient) error {
		got := one.DoMulti(ctx, one.B().Hset().Key(key).FieldValue().FieldValue("w", "").Build(),
			one.B().Wait().Numreplicas(int64(replicas)).Timeout(wait).Build())
		err := got[0].Error()
		if err == nil {
			have, err = got[1].AsInt64()
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("redis: wait for replicas of %s/%d: %w: %w", c.ID, shard, sluice.ErrUnavailable, err)
	case have < int64(replicas):
		return fmt.Errorf("redis: %d of %d replicas have what %s/%d did: %w", have, replicas, c.ID, shard,
			sluice.ErrUnavailable)
	}
	return nil
}
