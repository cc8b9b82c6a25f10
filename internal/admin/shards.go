package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// How often a change of shards is tried while another node arms the campaign, and the pause between two tries.
const (
	reshardTries = 50
	reshardPause = 100 * time.Millisecond
)

// checkShards says whether a new campaign can have the shards that it asks for. Campaigns of one limit group lie side
// by side, shard by shard, so that one script sees all that a user has: they have equally many.
func (d *Campaigns) checkShards(ctx context.Context, s *sluice.CampaignSpec) error {
	var f faults
	if most := max(1, d.cfg.MaxShards); s.Shards > most {
		f.add("shards", "must be 1: only gates in Redis have shards")
		return f.err()
	}
	other, err := inGroup(ctx, d.cfg.Ledger, s.LimitGroup, func(c *sluice.Campaign) bool {
		return int64(max(1, c.Shards)) != max(1, s.Shards)
	})
	if err == nil && other != nil {
		f.add("shards", "must be %d, as campaign %s of the limit group has", max(1, other.Shards), other.ID)
		err = f.err()
	}
	return err
}

// inGroup gives the first campaign of a limit group that is so; nil where there is none.
func inGroup(
	ctx context.Context, ledger campaignLister, group string, is func(*sluice.Campaign) bool,
) (*sluice.Campaign, error) {
	if group == "" {
		return nil, nil
	}
	all, err := ledger.Campaigns(ctx)
	for i := range all {
		if all[i].LimitGroup == group && is(&all[i]) {
			return &all[i], err
		}
	}
	return nil, err
}

type campaignLister interface {
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
}

// checkReshard says whether a campaign can have another number of shards.
func (d *Campaigns) checkReshard(ctx context.Context, c sluice.Campaign, shards *int64) error {
	if shards == nil || *shards == int64(max(1, c.Shards)) {
		return nil
	}
	var f faults
	switch within(&f, "shards", *shards, 1, sluice.MaxShards); {
	case len(f) > 0:
	case d.cfg.Gates == nil:
		f.add("shards", "must be 1: only gates in Redis have shards")
	case c.Control == sluice.ControlEnded || c.Control != sluice.ControlDraft && d.now() >= c.EndsAt:
		f.add("shards", "cannot change once the campaign has ended: clone it")
	default:
		return aloneInGroup(ctx, d.cfg.Ledger, c)
	}
	return f.err()
}

// aloneInGroup refuses to change the shards of one campaign of a limit group, whose campaigns have equally many.
func aloneInGroup(ctx context.Context, ledger campaignLister, c sluice.Campaign) error {
	other, err := inGroup(ctx, ledger, c.LimitGroup, func(o *sluice.Campaign) bool { return o.ID != c.ID })
	if err == nil && other != nil {
		var f faults
		f.add("shards", "must stay %d, as campaign %s of the limit group has", max(1, c.Shards), other.ID)
		err = f.err()
	}
	return err
}

// reshard moves a campaign to other gates and gives it as it is then.
func (d *Campaigns) reshard(ctx context.Context, id string, shards int, a sluice.Actor) (sluice.CampaignView, error) {
	if err := d.moveGates(ctx, id, shards, a); err != nil {
		if errors.Is(err, sluice.ErrConflict) || errors.Is(err, sluice.ErrUnavailable) {
			d.cfg.Log.Warn("the shards of a campaign did not change", "campaign", id, "shards", shards, "err", err)
			err = sluice.NewFault(sluice.ErrUnavailable, "BUSY", fmt.Sprintf("the campaign's gates are being armed or "+
				"cannot be reached, and its shards have not changed; what else was asked for has: ask for shards %d again", shards))
		}
		return sluice.CampaignView{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return sluice.CampaignView{}, unknown(err, id)
	}
	return d.publish(ctx, c)
}

// moveGates waits for its turn where the gates are being armed, as they are just after a campaign was made.
func (d *Campaigns) moveGates(ctx context.Context, id string, shards int, a sluice.Actor) error {
	tick := time.NewTicker(reshardPause)
	defer tick.Stop()
	for try := 1; ; try++ {
		_, err := d.cfg.Gates.Rearm(ctx, id, shards, a)
		if try == reshardTries || !errors.Is(err, sluice.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// oneFault joins the fields of faults into one; an error that is no fault of a field goes before them.
func oneFault(errs ...error) error {
	var all []sluice.FieldFault
	for _, err := range errs {
		var f *sluice.Fault
		if err != nil && (!errors.As(err, &f) || len(f.Fields) == 0) {
			return err
		}
		if f != nil {
			all = append(all, f.Fields...)
		}
	}
	return sluice.Invalid(all...)
}
