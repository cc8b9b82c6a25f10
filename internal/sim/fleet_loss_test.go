package sim_test

import (
	"context"
	"slices"

	"github.com/redis/rueidis"
)

// keysOf gives the keys of a shard.
func (w *fleet) keysOf(ctx context.Context, shard int) (keys []string, err error) {
	c, err := w.campaign(ctx)
	if err != nil {
		return nil, err
	}
	tag := w.client.OutboxKey(&c, shard)
	tag = tag[:len(tag)-len("outbox")]
	var cursor uint64
	for {
		e, err := w.raw.Do(ctx, w.raw.B().Scan().Cursor(cursor).Match(escape(tag)+"*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			return nil, err
		}
		keys = append(keys, e.Elements...)
		if cursor = e.Cursor; cursor == 0 {
			slices.Sort(keys)
			return slices.Compact(keys), nil
		}
	}
}

// escape keeps a key's own text from being read as a pattern.
func escape(s string) (out string) {
	for _, r := range s {
		if r == '[' || r == ']' || r == '*' || r == '?' || r == '\\' {
			out += `\`
		}
		out += string(r)
	}
	return out
}

// lose keeps a copy of a shard, brings one back, or empties a shard. Whoever watches notices, and arms a new epoch
// soon.
func (w *fleet) lose(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	shard := w.rng.IntN(max(1, c.Shards))
	switch {
	case w.copied < 0 && w.chance(2):
		return w.copyShard(ctx, shard)
	case w.copied >= 0 && w.chance(2):
		shard = w.copied
		w.note("the old copy of shard %d comes back", shard)
		w.count("old copy")
		if err := w.drop(ctx, shard); err != nil {
			return err
		}
		for key, value := range w.copies {
			restore := w.raw.B().Restore().Key(key).Ttl(0).SerializedValue(value).Build()
			if err := w.raw.Do(ctx, restore).Error(); err != nil {
				return err
			}
		}
		w.copied, w.copies = -1, nil
	default:
		w.note("shard %d is emptied", shard)
		w.count("emptied")
		if err := w.drop(ctx, shard); err != nil {
			return err
		}
	}
	w.lost, w.everLost = true, true
	return nil
}

func (w *fleet) copyShard(ctx context.Context, shard int) error {
	keys, err := w.keysOf(ctx, shard)
	if err != nil {
		return err
	}
	w.copied, w.copies = shard, map[string]string{}
	for _, key := range keys {
		v, err := w.raw.Do(ctx, w.raw.B().Dump().Key(key).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return err
		}
		w.copies[key] = v
	}
	w.note("a copy of shard %d falls behind", shard)
	return nil
}

func (w *fleet) drop(ctx context.Context, shard int) error {
	keys, err := w.keysOf(ctx, shard)
	if err != nil || len(keys) == 0 {
		return err
	}
	return w.raw.Do(ctx, w.raw.B().Del().Key(keys...).Build()).Error()
}
