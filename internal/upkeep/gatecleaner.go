package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// GateCleanerConfig adds to Config how long gates are kept. Zero values mean the defaults given.
type GateCleanerConfig struct {
	Config
	KeepGate   time.Duration // after the end of the campaign; default 300 s
	KeepClaims time.Duration // the claims of its users, from which replays are answered; default 3 days
}

// GateCleaner deletes the keys of campaigns that are over: no key of a live sale has an expiry. It goes slice by slice,
// so that no big key stops the gates of others, and waits for whatever is not settled.
type GateCleaner struct {
	*agent
	cfg       GateCleanerConfig
	campaigns Campaigns
	gates     Gates
	repairs   Repairs
	gone      map[string]int64 // by campaign: the epoch of which nothing is left; only the agent's own piece uses it
}

// NewGateCleaner makes the agent; Start sets it going. It looks every 10 s by default.
func NewGateCleaner(cfg GateCleanerConfig, campaigns Campaigns, gates Gates, repairs Repairs) *GateCleaner {
	if cfg.Every <= 0 {
		cfg.Every = 10 * time.Second
	}
	if cfg.KeepGate <= 0 {
		cfg.KeepGate = defaultKeepGate
	}
	if cfg.KeepClaims <= 0 {
		cfg.KeepClaims = defaultKeepClaims
	}
	g := &GateCleaner{cfg: cfg, campaigns: campaigns, gates: gates, repairs: repairs, gone: map[string]int64{}}
	g.agent = newAgent("gate_cleaner", cfg.Config, g.clean)
	return g
}

func (g *GateCleaner) clean(ctx context.Context, now sluice.Millis, most int) (w sluice.Sweep, err error) {
	all, err := g.campaigns.Campaigns(ctx)
	if err != nil {
		return w, err
	}
	for _, c := range all {
		end := endOf(&c)
		if !armedOnce(&c) || g.gone[c.ID] == c.Epoch || now <= end.Add(g.cfg.KeepGate) {
			continue
		}
		n, more, e := g.campaign(ctx, c, now > end.Add(g.cfg.KeepClaims), most)
		w.Done += n
		if more {
			w.Next = now
		}
		err = errors.Join(err, e)
	}
	return w, err
}

// campaign deletes up to most slices of one campaign.
func (g *GateCleaner) campaign(
	ctx context.Context, c sluice.Campaign, claims bool, most int,
) (n int, more bool, err error) {
	states, err := g.gates.State(ctx, c)
	if err != nil {
		return 0, false, err
	}
	for _, s := range states {
		if s.Queued > 0 {
			return 0, false, nil // the sweeper's turn
		}
	}
	if !anyArmed(states) && !claims {
		return 0, false, nil
	}
	for n < most {
		more, err := g.repairs.Drop(ctx, c, claims)
		if errors.Is(err, sluice.ErrConflict) {
			return n, false, nil // a claim came in between
		}
		if err != nil {
			return n, false, err
		}
		n++
		if !more {
			if claims {
				g.gone[c.ID] = c.Epoch
			}
			return n, false, nil
		}
	}
	return n, true, nil
}
