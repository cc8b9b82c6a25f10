package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// PreheaterConfig adds to Config when campaigns are armed and verified. Zero values mean the defaults given.
type PreheaterConfig struct {
	Config
	Ahead time.Duration // of the start, when a campaign is armed and verified; default 30 min
	Again time.Duration // ahead of the start, when it is verified once more; default 1 min
	Last  time.Duration // ahead of the start, when it must have been verified; default 2 s
	// OnPreheat is told of each verification; may be nil.
	OnPreheat func(campaign string, ok bool)
	// Held says that no gate is to be armed for now, nor to be judged; may be nil.
	Held func() bool
}

// Arming builds gates. The re-armer does.
type Arming interface {
	Armed(ctx context.Context, c sluice.Campaign) (bool, error)
	Rearm(ctx context.Context, campaign string, from int64, cause sluice.EpochCause) (epoch int64, err error)
}

// Verifying compares gates with the ledger. The reconciler does.
type Verifying interface {
	Verify(ctx context.Context, campaign string, permit func() sluice.Permit) (sluice.Verification, error)
}

// Preheater arms campaigns ahead of their start and verifies that permit = ledger before they open. A campaign whose
// figures differ, or that could not be verified, is frozen with the reason: it does not open by itself. One that is not
// armed does not open either: there is no gate.
type Preheater struct {
	*agent
	cfg       PreheaterConfig
	campaigns Campaigns
	arming    Arming
	verifying Verifying
	freezer   Freezer
	verified  map[string]verified // only the agent's own piece uses it
}

// verified says for which epoch a campaign was verified, and how often.
type verified struct {
	epoch int64
	early bool // after it was armed
	late  bool // shortly before the start
}

// NewPreheater makes the agent; Start sets it going. It looks every 500 ms by default, so that a campaign that is
// created into its window is on sale within a second.
func NewPreheater(
	cfg PreheaterConfig, campaigns Campaigns, arming Arming, verifying Verifying, freezer Freezer,
) *Preheater {
	if cfg.Every <= 0 {
		cfg.Every = 500 * time.Millisecond
	}
	if cfg.Ahead <= 0 {
		cfg.Ahead = defaultAhead
	}
	if cfg.Again <= 0 {
		cfg.Again = time.Minute
	}
	if cfg.Last <= 0 {
		cfg.Last = 2 * time.Second
	}
	p := &Preheater{
		cfg: cfg, campaigns: campaigns, arming: arming, verifying: verifying, freezer: freezer,
		verified: map[string]verified{},
	}
	p.agent = newAgent("preheater", cfg.Config, p.preheat)
	return p
}

// Wake has the preheater look now: a campaign was created or changed. It never blocks.
func (p *Preheater) Wake() { p.wakeAt(1) }

func (p *Preheater) preheat(ctx context.Context, now sluice.Millis, _ int) (w sluice.Sweep, err error) {
	if p.cfg.Held != nil && p.cfg.Held() {
		return w, nil
	}
	all, err := p.campaigns.Campaigns(ctx)
	if err != nil {
		return w, err
	}
	for _, c := range all {
		if c.Control == sluice.ControlDraft || now < c.StartsAt.Add(-p.cfg.Ahead) || now >= endOf(&c) {
			delete(p.verified, c.ID)
			continue
		}
		done, e := p.campaign(ctx, c, now)
		if done {
			w.Done++
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("upkeep: preheat %s: %w", c.ID, e))
		}
	}
	return w, err
}

// campaign arms one campaign where it is not armed, and verifies it where that is due; it says whether it did either.
func (p *Preheater) campaign(ctx context.Context, c sluice.Campaign, now sluice.Millis) (did bool, err error) {
	armed, err := p.arming.Armed(ctx, c)
	if err == nil && !armed {
		c.Epoch, err = p.arming.Rearm(ctx, c.ID, c.Epoch, sluice.EpochPlanned)
		if errors.Is(err, sluice.ErrConflict) {
			return false, nil // another node is at it
		}
		did = err == nil
	}
	if err != nil {
		return did, err
	}
	is := p.verified[c.ID]
	if is.epoch != c.Epoch {
		is = verified{epoch: c.Epoch}
	}
	late := now >= c.StartsAt.Add(-p.cfg.Again)
	if is.early && (is.late || !late) || c.Control != sluice.ControlOpen || !did && now >= c.StartsAt {
		return did, nil // of a campaign that is on sale the reconciler knows more
	}
	return true, p.verify(ctx, c, now, is, late)
}

// verify compares a campaign that is armed, and freezes it where it may not open.
func (p *Preheater) verify(ctx context.Context, c sluice.Campaign, now sluice.Millis, is verified, late bool) error {
	v, err := p.verifying.Verify(ctx, c.ID, nil)
	switch {
	case err != nil && (is.early || now < c.StartsAt.Add(-p.cfg.Last) || now >= c.StartsAt):
		return err // there is time, it was verified before, or it is on sale: the reconciler compares it
	case err != nil:
		p.refuse(c, fmt.Sprintf("preheat: permit and ledger could not be compared before the opening: %v", err))
	case !v.OK:
		p.refuse(c, fmt.Sprintf("preheat: permit and ledger differ by %d units: total %d, available %d, queued %d, "+
			"held %d, sold %d", v.Drift, v.Total, v.Available, v.Queued, v.Held, v.Sold))
	}
	is.early, is.late = true, late
	p.verified[c.ID] = is
	if p.cfg.OnPreheat != nil {
		p.cfg.OnPreheat(c.ID, err == nil && v.OK)
	}
	return err
}

func (p *Preheater) refuse(c sluice.Campaign, why string) {
	p.agent.cfg.Log.Error("a campaign does not open: permit and ledger differ", "campaign", c.ID, "why", why)
	p.freezer.Freeze(c.ID, why)
}
