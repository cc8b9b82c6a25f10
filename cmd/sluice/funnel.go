package main

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// funnelKeeper writes the gate's finished buckets to the ledger, once a second, and what is left at its end.
type funnelKeeper struct {
	flush  func(ctx context.Context) error
	finish func(ctx context.Context) error // with the buckets that are still filling
	ran    func(error)
	every  time.Duration
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once
}

func newFunnelKeeper(p *parts, s *server) *funnelKeeper {
	return &funnelKeeper{
		every: time.Second, stop: make(chan struct{}), done: make(chan struct{}),
		flush: func(ctx context.Context) error {
			return p.gate.Tally().Flush(func(campaign string, buckets []sluice.Bucket) error {
				return p.ledger.KeepBuckets(ctx, campaign, buckets)
			})
		},
		finish: func(ctx context.Context) error {
			return p.gate.Tally().Finish(func(campaign string, buckets []sluice.Bucket) error {
				return p.ledger.KeepBuckets(ctx, campaign, buckets)
			})
		},
		ran: func(err error) {
			if err != nil {
				s.log.Warn("the funnel was not written; it is tried again", "err", err)
			}
			s.metrics.AgentRan(agentFunnel, 0, err, time.Now())
		},
	}
}

// lateBuckets is how long after its end another node's bucket is in the ledger, as a rule: it is closed after a quarter
// of a second, handed on within a second, and written.
const lateBuckets = 3 * time.Second

// late is how much older than this node's own the others' buckets may be.
func (p *parts) late(s *server) time.Duration {
	if s.shared() {
		return lateBuckets
	}
	return 0
}

// Start begins the work.
func (k *funnelKeeper) Start() { go k.run() }

func (k *funnelKeeper) run() {
	defer close(k.done)
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.ran(k.flush(context.Background()))
		case <-k.stop:
			k.ran(k.finish(context.Background()))
			return
		}
	}
}

// Stop writes what there is and ends. It is idempotent.
func (k *funnelKeeper) Stop() {
	k.once.Do(func() { close(k.stop) })
	<-k.done
}
