package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// Published says that these campaigns are in force as they are, as after the start.
func (d *Campaigns) Published(all []sluice.Campaign) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range all {
		d.published[c.ID] = c
	}
}

// Reload puts in force what other nodes have changed: every campaign that differs from what this desk published last in
// more than its counts. It never goes back behind a change of this desk, since both take turns.
func (d *Campaigns) Reload(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.cfg.Ledger.Campaigns(ctx)
	if err != nil {
		return fmt.Errorf("admin: reload the campaigns: %w", err)
	}
	for _, c := range all {
		if old, ok := d.published[c.ID]; ok && sameRules(old, c) {
			continue
		}
		if e := d.cfg.Publisher.Publish(ctx, c); e != nil {
			err = errors.Join(err, fmt.Errorf("admin: publish %s: %w", c.ID, e))
			continue
		}
		d.published[c.ID] = c
	}
	return err
}
