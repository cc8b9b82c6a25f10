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
	// DropDeadLetters deletes letters that are over; those that are kept for a person stay.
	DropDeadLetters(ctx context.Context, before sluice.Millis, limit int) (int64, error)
	DropRuns(ctx context.Context, before sluice.Millis, limit int) (int64, error)
	// DropNodes forgets nodes that have been silent for so long by the store's own clock, all of them at once.
	DropNodes(ctx context.Context, silent time.Duration) (int64, error)
}

// CleanerConfig adds to Config how long things are kept. Zero values mean the defaults given.
type CleanerConfig struct {
	Config
	KeepBuckets time.Duration // of the funnel, after their second; default 400 days
	KeepBlocks  time.Duration // after they ran out; default 90 days
	KeepLetters time.Duration // dead letters, after they were replayed or discarded; default 90 days
	KeepRuns    time.Duration // of the reconciler; default 90 days
	KeepNodes   time.Duration // that fell silent; default 24 h
}

// Cleaner deletes what nobody needs any more, every 10 minutes by default.
type Cleaner struct{ *agent }

// NewCleaner makes the agent; Start sets it going.
func NewCleaner(cfg CleanerConfig, store Store) *Cleaner {
	if cfg.Every <= 0 {
		cfg.Every = 10 * time.Minute
	}
	for _, keep := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&cfg.KeepBuckets, 400 * day}, {&cfg.KeepBlocks, 90 * day}, {&cfg.KeepLetters, 90 * day},
		{&cfg.KeepRuns, 90 * day}, {&cfg.KeepNodes, day},
	} {
		if *keep.v <= 0 {
			*keep.v = keep.def
		}
	}
	return &Cleaner{newAgent("cleaner", cfg.Config, func(
		ctx context.Context, now sluice.Millis, most int,
	) (s sluice.Sweep, err error) {
		for _, old := range []struct {
			drop func(ctx context.Context, before sluice.Millis, limit int) (int64, error)
			keep time.Duration
		}{
			{store.DropBuckets, cfg.KeepBuckets}, {store.DropExpiredBlocks, cfg.KeepBlocks},
			{store.DropDeadLetters, cfg.KeepLetters}, {store.DropRuns, cfg.KeepRuns},
		} {
			n, err := old.drop(ctx, now.Add(-old.keep), most)
			if err != nil {
				return s, err
			}
			s.Done += int(n)
			if n >= int64(most) {
				s.Next = now
			}
		}
		silent, err := store.DropNodes(ctx, cfg.KeepNodes)
		s.Done += int(silent)
		return s, err
	})}
}

const day = 24 * time.Hour
