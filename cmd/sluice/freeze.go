package main

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// freezeAgain is how long a freeze that could not be recorded waits for the next try.
const freezeAgain = time.Second

// freeze pauses a campaign whose invariants are in doubt; the server goes on. A store that cannot record it, which is
// often why there is a doubt, is asked again until it can.
func (p *parts) freeze(s *server, campaign, note string) {
	if _, under := p.freezing.LoadOrStore(campaign, true); under {
		return
	}
	s.log.Error("a campaign is frozen: its figures do not add up", "campaign", campaign, "note", note)
	if p.recordFreeze(s, campaign, note) {
		p.freezing.Delete(campaign)
		return
	}
	go func() {
		defer p.freezing.Delete(campaign)
		tick := time.NewTicker(freezeAgain)
		defer tick.Stop()
		for {
			select {
			case <-p.ended:
				return
			case <-tick.C:
				if p.recordFreeze(s, campaign, note) {
					return
				}
			}
		}
	}()
}

// recordFreeze says whether that is settled: the freeze is in force, or the campaign can no longer be frozen.
func (p *parts) recordFreeze(s *server, campaign, note string) bool {
	server := sluice.Actor{Name: "sluice", Role: sluice.RoleAdmin, Reason: note}
	// By way of the desk, so that a freeze and an operator's change are published in the order of the ledger.
	_, err := p.campaigns.Command(context.Background(), campaign, sluice.CommandFreeze, server)
	if err != nil {
		s.log.Error("the freeze was not recorded", "campaign", campaign, "err", err)
	}
	return !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain)
}
