package redis

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// sliceRounds bounds the pieces of scanCount that one call of Drop deletes of a key.
const sliceRounds = 20

// Drop deletes a slice of a campaign's keys and says whether there is more: first everything but the claims of its
// users, and with claims set these too. ErrConflict while claims are not settled or the outbox has entries: a unit
// would be forgotten. No key is deleted whole before it is small: a server that deletes a big one answers nobody.
func (g *Gates) Drop(ctx context.Context, c sluice.Campaign, claims bool) (more bool, err error) {
	for shard := range shardsOf(&c) {
		k := g.c.keys.of(&c, shard)
		// The gate goes first: from then on nobody is admitted, nor the rest missed.
		what := func() string { return fmt.Sprintf("%s/%d", c.ID, shard) }
		answer, err := g.c.run(ctx, g.c.scripts.drop, what, []string{k.gate, k.pending, k.outbox}, nil)
		if err != nil {
			return true, err
		}
		if in := (reader{answer: answer}); in.int() != 1 {
			return true, fmt.Errorf("redis: drop %s: %w", what(),
				sluice.NewFault(sluice.ErrConflict, "NOT_SETTLED", "claims of the campaign are not settled yet"))
		}
		hashes := []string{k.marks, k.pending}
		if claims {
			hashes = append(hashes, k.claims)
		}
		for _, key := range hashes {
			if more, err := g.dropHash(ctx, key); more || err != nil {
				return true, err
			}
		}
		if err := g.unlink(ctx, k.holders); err != nil { // one piece of memory, given back in one step
			return true, err
		}
	}
	return false, nil
}

// unlink deletes keys whose memory another thread gives back.
func (g *Gates) unlink(ctx context.Context, keys ...string) error {
	ctx, cancel := g.c.limited(ctx)
	defer cancel()
	return sorted(g.c.rdb.Do(ctx, g.c.rdb.B().Unlink().Key(keys...).Build()).Error(), "unlink %v", keys)
}

// dropHash deletes some pieces of a hash, and the rest at once where it is small.
func (g *Gates) dropHash(ctx context.Context, key string) (more bool, err error) {
	cursor := uint64(0)
	for range sliceRounds {
		call, cancel := g.c.limited(ctx)
		entry, err := g.c.rdb.Do(call, g.c.rdb.B().Hscan().Key(key).Cursor(cursor).Count(scanCount).Build()).AsScanEntry()
		if err == nil && len(entry.Elements) > 0 {
			fields := make([]string, 0, len(entry.Elements)/2)
			for i := 0; i < len(entry.Elements); i += 2 {
				fields = append(fields, entry.Elements[i])
			}
			err = g.c.rdb.Do(call, g.c.rdb.B().Hdel().Key(key).Field(fields...).Build()).Error()
		}
		cancel()
		if err != nil {
			return true, sorted(err, "delete of %s", key)
		}
		if cursor = entry.Cursor; cursor == 0 {
			return false, nil // what a scan sees from beginning to end is all there was
		}
	}
	return true, nil
}
