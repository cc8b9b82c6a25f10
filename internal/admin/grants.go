package admin

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Admitter takes a claim to admission and waits for its outcome. A claim with a known id gets its recorded
// answer. An outcome that is not known is ReasonUnavailable: the same claim may be made again.
type Admitter interface {
	Admit(ctx context.Context, c sluice.Claim) sluice.Decision
}

// GrantsConfig puts the desk of grants together. Ledger, Admitter and Noter are required.
type GrantsConfig struct {
	Ledger   CampaignReader
	Admitter Admitter
	Noter    Noter
	Now      func() time.Time // default time.Now
	MaxLines int64            // lines of a bulk; default 1,000,000
	Window   int              // grants of a bulk under way at once: what one commit can carry; default 4096
}

// Grants issues claims by hand, inside total and limit.
type Grants struct{ cfg GrantsConfig }

// NewGrants makes the desk.
func NewGrants(cfg GrantsConfig) *Grants {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxLines == 0 {
		cfg.MaxLines = maxLines
	}
	if cfg.Window == 0 {
		cfg.Window = 4096
	}
	return &Grants{cfg: cfg}
}

func (d *Grants) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }

// Give issues one grant. Its decision is the admission's: a repeated grant id answers the same. The audit row is
// written first, so that no grant is without one; a refused grant has one too.
func (d *Grants) Give(ctx context.Context, campaign string, g sluice.Grant, a sluice.Actor) (sluice.Decision, error) {
	c, err := d.open(ctx, campaign)
	if err != nil {
		return sluice.Decision{}, err
	}
	f := checkGrant(&c, &g)
	if err := f.err(); err != nil {
		return sluice.Decision{}, err
	}
	err = d.cfg.Noter.Note(ctx, a, "grant.ask", "campaign/"+campaign, nil,
		map[string]any{"grant_id": g.ID, "user_id": g.User, "quantity": g.Quantity}, d.now())
	if err != nil {
		return sluice.Decision{}, err
	}
	return d.admit(ctx, &c, &g), nil
}

// open reads a campaign that grants may be made on.
func (d *Grants) open(ctx context.Context, campaign string) (sluice.Campaign, error) {
	c, err := d.cfg.Ledger.Campaign(ctx, campaign)
	if err != nil {
		return c, unknown(err, campaign)
	}
	if c.Control == sluice.ControlDraft {
		return c, sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_STATE", "cannot grant from a draft: publish it first")
	}
	return c, nil
}

func checkGrant(c *sluice.Campaign, g *sluice.Grant) (f faults) {
	f.text("grant_id", g.ID, 1, sluice.MaxReference)
	f.text("user_id", g.User, 1, sluice.MaxUserID)
	most := c.PerUserLimit
	if c.Kind == sluice.KindCoupon {
		most = min(most, sluice.MaxCouponQuantity)
	}
	within(&f, "quantity", g.Quantity, 1, most)
	return f
}

func (d *Grants) admit(ctx context.Context, c *sluice.Campaign, g *sluice.Grant) sluice.Decision {
	claim := sluice.Claim{
		ID: sluice.NewClaimID(c.ID, g.User, sluice.SourceGrant, g.ID), Campaign: c.ID, User: g.User, RequestID: g.ID,
		Quantity: g.Quantity, Source: sluice.SourceGrant, At: d.now(),
	}
	if c.Kind == sluice.KindCoupon {
		for range g.Quantity {
			claim.CouponCodes = append(claim.CouponCodes, sluice.NewCouponCode())
		}
	}
	return d.cfg.Admitter.Admit(ctx, claim)
}
