package memory

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a Once.
const (
	DefaultOnceEntries = 1 << 20 // about 100 bytes each; a node that sees 8,000 signed claims a second for two minutes
	onceShards         = 64
	onceTick           = time.Second
)

// OnceConfig of a Once. Zero values mean the defaults.
type OnceConfig struct {
	Entries int // how many keys are remembered at a time, from 64
}

// Once remembers in this process what was there once. It is bounded, and fails closed: a key is forgotten when its
// time is over, never before. While all places are taken a new key is an error (ErrUnavailable), so that nobody can
// push an old key out to use it again. Safe for concurrent use; it does no I/O.
type Once struct {
	seeds  [2]maphash.Seed
	each   int                  // places of a shard
	mono   func() time.Duration // a clock that is never set
	shards [onceShards]onceShard
}

// onceKey is a key's hash. Its seeds are this process's own, so that nobody can look for keys that collide.
type onceKey [2]uint64

// onceShard has a part of the keys, by their hashes.
type onceShard struct {
	mu    sync.Mutex
	known map[onceKey]struct{}
	due   map[int64][]onceKey // by the tick in which they are forgotten
	swept int64               // everything due before this tick is forgotten
}

// NewOnce makes a Once that remembers nothing.
func NewOnce(cfg OnceConfig) *Once {
	if cfg.Entries == 0 {
		cfg.Entries = DefaultOnceEntries
	}
	start := time.Now()
	o := &Once{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, each: max(cfg.Entries/onceShards, 1),
		mono: func() time.Duration { return time.Since(start) },
	}
	for i := range o.shards {
		o.shards[i].known, o.shards[i].due = map[onceKey]struct{}{}, map[int64][]onceKey{}
	}
	return o
}

// First says whether key comes for the first time within ttl (1 ms to sluice.MaxOnceTTL, kept up to 2 s longer).
// ErrInvalid: the ttl is out of its bounds. ErrUnavailable: all places are taken; the key was not remembered.
func (o *Once) First(_ context.Context, key string, ttl time.Duration) (bool, error) {
	if err := sluice.CheckOnceTTL(ttl); err != nil {
		return false, err
	}
	k := onceKey{maphash.String(o.seeds[0], key), maphash.String(o.seeds[1], key)}
	now := int64(o.mono() / onceTick)
	end := now + int64((ttl+onceTick-1)/onceTick)
	s := &o.shards[k[0]%onceShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	if _, known := s.known[k]; known {
		return false, nil
	}
	if len(s.known) >= o.each {
		return false, fmt.Errorf("memory: once: all %d places are taken: %w", o.each*onceShards, sluice.ErrUnavailable)
	}
	s.known[k] = struct{}{}
	s.due[end] = append(s.due[end], k)
	return true, nil
}

// Len gives how many keys are remembered.
func (o *Once) Len() (n int) {
	now := int64(o.mono() / onceTick)
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		s.sweep(now)
		n += len(s.known)
		s.mu.Unlock()
	}
	return n
}

// sweep forgets what was due before now: each key costs its own removal, once.
func (s *onceShard) sweep(now int64) {
	if len(s.due) == 0 {
		s.swept = now
		return
	}
	for ; s.swept < now; s.swept++ {
		for _, k := range s.due[s.swept] {
			delete(s.known, k)
		}
		delete(s.due, s.swept)
	}
}
