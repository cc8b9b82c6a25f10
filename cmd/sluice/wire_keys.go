package main

import (
	"context"
	"time"
)

// How often each node tells the ledger which API keys were used, and how long it waits for that.
const (
	saveKeyUses    = time.Minute
	keyUsesTimeout = 5 * time.Second
)

// tendKeys has the ledger told when API keys were last used: every minute, and once more when the server stops, after
// its listeners have.
func (p *parts) tendKeys(s *server) {
	save := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, keyUsesTimeout)
		defer cancel()
		saved := make(chan error, 1)
		go func() { saved <- p.keys.SaveUses(ctx) }() // a transaction under way heeds no context, and ends by itself
		select {
		case err := <-saved:
			if err != nil {
				s.log.Warn("it is not recorded yet when API keys were last used; it is tried again", "err", err)
			}
		case <-ctx.Done():
		}
	}
	tending, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(saveKeyUses)
		defer tick.Stop()
		for {
			select {
			case <-tending.Done():
				return
			case <-tick.C:
				save(tending)
			}
		}
	}()
	s.onStop("the last uses of API keys", func(ctx context.Context) error { cancel(); <-done; save(ctx); return nil })
}
