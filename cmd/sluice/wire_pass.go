package main

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/pass"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// tendPassKeys is how often each node looks whether the key of passes is due.
const tendPassKeys = time.Minute

// openPasses reads the keys of passes, and makes the first one where there is none.
func (p *parts) openPasses(ctx context.Context, s *server) error {
	p.passKeys = pass.NewKeys(pass.KeysConfig{Ledger: p.ledger, RotateEvery: s.cfg.Pass.RotateEvery, Log: s.log})
	if err := p.passKeys.Tend(ctx); err != nil {
		return err
	}
	p.once = memory.NewOnce(memory.OnceConfig{Entries: s.cfg.Limits.Once})
	switch {
	case p.remote != nil:
		p.once = redis.NewOnce(p.remote.client)
	case s.cfg.Admission.Scheme() == "ledger": // several nodes, and nothing else that they share
		p.once = sqldb.NewOnce(p.ledger)
	}
	if err := p.openChallenges(s); err != nil {
		return err
	}
	tending, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(tendPassKeys)
		defer tick.Stop()
		for {
			select {
			case <-tending.Done():
				return
			case <-tick.C:
			}
			if err := p.passKeys.Tend(tending); err != nil && tending.Err() == nil {
				s.log.Warn("the keys of passes are not looked after; those in force stay in force", "err", err)
			}
		}
	}()
	s.onStop("the keys of passes", func(context.Context) error { cancel(); <-done; return nil })
	return nil
}

// newPassDesk puts the desk of passes on the gate.
func (p *parts) newPassDesk(s *server) *pass.Desk {
	cfg := pass.DeskConfig{Keys: p.passKeys, Gate: askingGate{p}, Challenges: p.challenges, TTL: s.cfg.Pass.TTL,
		Watcher: p.risk, Told: s.metrics.Pass}
	return pass.NewDesk(cfg)
}
