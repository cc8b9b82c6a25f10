package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// SweeperConfig adds to Config when a claim counts as left behind. Zero values mean the defaults given.
type SweeperConfig struct {
	Config
	After time.Duration // since it was admitted; default 30 s
	// OnSwept is told of each campaign where claims were settled; may be nil.
	OnSwept func(campaign string, claims int)
}

// SweeperDeps are the parts of the sweeper. All are required, but Letters.
type SweeperDeps struct {
	Campaigns Campaigns
	Gates     Gates
	Repairs   Repairs
	Settler   Settler
	Letters   Letters
}

// Sweeper is the sure road behind the queue: claims that a gate admitted and nobody settled are settled from the gate's
// own record, so that a message which was lost is late and no more. Dead letters are left to people.
type Sweeper struct {
	*agent
	cfg  SweeperConfig
	deps SweeperDeps
	door door
}

// NewSweeper makes the agent; Start sets it going. It looks every 5 s by default.
func NewSweeper(cfg SweeperConfig, deps SweeperDeps) *Sweeper {
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.After <= 0 {
		cfg.After = 30 * time.Second
	}
	s := &Sweeper{cfg: cfg, deps: deps, door: door{deps.Settler, deps.Repairs, deps.Letters}}
	s.agent = newAgent("sweeper", cfg.Config, s.sweep)
	return s
}

func (s *Sweeper) sweep(ctx context.Context, now sluice.Millis, _ int) (w sluice.Sweep, err error) {
	all, err := s.deps.Campaigns.Campaigns(ctx)
	if err != nil {
		return w, err
	}
	for _, c := range all {
		if !armedOnce(&c) || now > endOf(&c).Add(defaultKeepClaims) {
			continue
		}
		n, lag, e := s.campaign(ctx, c, now)
		w.Done += n
		w.Lag = max(w.Lag, lag)
		err = errors.Join(err, e)
	}
	return w, err
}

// campaign settles what one campaign's gates have left behind.
func (s *Sweeper) campaign(
	ctx context.Context, c sluice.Campaign, now sluice.Millis,
) (n int, lag sluice.Millis, err error) {
	states, err := s.deps.Gates.State(ctx, c) // of the shards that answer, with an error for the others
	before := now.Add(-s.cfg.After)
	var dead map[sluice.ClaimID]bool
	for _, state := range states {
		if state.Queued == 0 {
			continue
		}
		if dead == nil {
			d, e := s.door.dead(ctx, c.ID)
			if e != nil {
				return n, lag, errors.Join(err, e)
			}
			dead = d
		}
		e := s.deps.Gates.Pending(ctx, c, state.Shard, func(claims []sluice.Claim) error {
			var old []sluice.Claim
			for _, claim := range claims {
				if claim.At <= before && !dead[claim.ID] {
					old = append(old, claim)
					lag = max(lag, now-claim.At)
				}
			}
			done, err := s.door.settle(ctx, c, old)
			n += done
			return err
		})
		err = errors.Join(err, e)
	}
	if n > 0 {
		s.agent.cfg.Log.Warn("claims were left behind and are settled now", "campaign", c.ID, "claims", n, "oldest_ms", lag)
		if s.cfg.OnSwept != nil {
			s.cfg.OnSwept(c.ID, n)
		}
	}
	return n, lag, err
}
