package admin

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Adjuster changes the total of a campaign: a decrease takes what the permit has before the ledger hears of it.
// It is idempotent by the change id; another delta under a known id is an ErrConflict.
type Adjuster interface {
	Adjust(ctx context.Context, a sluice.Adjustment, actor sluice.Actor) (sluice.Adjustment, error)
}

// CampaignReader reads one campaign. ErrNotFound: there is none.
type CampaignReader interface {
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
}

// StockConfig puts the desk of stock together. Ledger and Adjuster are required.
type StockConfig struct {
	Ledger   CampaignReader
	Adjuster Adjuster
	Now      func() time.Time // default time.Now
}

// Stock is the one door by which totals change.
type Stock struct{ cfg StockConfig }

// NewStock makes the desk.
func NewStock(cfg StockConfig) *Stock {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Stock{cfg: cfg}
}

// Adjust changes the total by a.Asked under a.ChangeID and says what was done: a decrease takes only what is
// available.
func (d *Stock) Adjust(ctx context.Context, a sluice.Adjustment, actor sluice.Actor) (sluice.Adjustment, error) {
	var f faults
	f.text("change_id", a.ChangeID, 1, sluice.MaxReference)
	within(&f, "delta", a.Asked, -sluice.MaxTotal, sluice.MaxTotal)
	if a.Asked == 0 {
		f.add("delta", "must not be 0")
	}
	if err := f.err(); err != nil {
		return sluice.Adjustment{}, err
	}
	if _, err := d.cfg.Ledger.Campaign(ctx, a.Campaign); err != nil {
		return sluice.Adjustment{}, unknown(err, a.Campaign)
	}
	a.At = sluice.MillisOf(d.cfg.Now())
	done, err := d.cfg.Adjuster.Adjust(ctx, a, actor)
	return done, unknown(err, a.Campaign)
}
