package upkeep

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Store is what the cleaner takes old rows out of. Each method deletes at most limit rows that ended before the moment
// given, in one transaction that claims and payments go before, and says how many there were.
type Store interface {
	DropBuckets(ctx context.Context, before sluice.Millis, limit int) (int64, error)
	DropExpiredBlocks(ctx context.Context, before sluice.Millis, limit int) (int64, error)
}

// CleanerConfig adds to Config how long things are kept. Zero values mean the defaults given.
type CleanerConfig struct {
	Config
	KeepBuckets time.Duration // of the funnel, after their second; default 400 days
	KeepBlocks  time.Duration // after they ran out; default 90 days
}

// Cleaner deletes what nobody needs any more, every 10 minutes by default.
type Cleaner struct{ *agent }

// NewCleaner makes the agent; Start sets it going.
func NewCleaner(cfg CleanerConfig, store Store) *Cleaner {
	if cfg.Every <= 0 {
		cfg.Every = 10 * time.Minute
	}
	if cfg.KeepBuckets <= 0 {
		cfg.KeepBuckets = 400 * 24 * time.Hour
	}
	if cfg.KeepBlocks <= 0 {
		cfg.KeepBlocks = 90 * 24 * time.Hour
	}
	return &Cleaner{newAgent("cleaner", cfg.Config, func(
		ctx context.Context, now sluice.Millis, most int,
	) (s sluice.Sweep, err error) {
		buckets, err := store.DropBuckets(ctx, now.Add(-cfg.KeepBuckets), most)
		if err != nil {
			return s, err
		}
		blocks, err := store.DropExpiredBlocks(ctx, now.Add(-cfg.KeepBlocks), most)
		s.Done = int(buckets + blocks)
		if max(buckets, blocks) >= int64(most) {
			s.Next = now
		}
		return s, err
	})}
}
