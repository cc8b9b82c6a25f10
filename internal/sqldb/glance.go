package sqldb

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// Glance reads a campaign as it is at one moment between two transactions, at which also is called: what that reads of
// the permit belongs to the same moment. also must be quick.
func (db *DB) Glance(ctx context.Context, id string, also func()) (c sluice.Campaign, err error) {
	err = db.snapshot(ctx, id, func(now sluice.Campaign) { c = now; also() }, func(*snapshot) error { return nil })
	return c, err
}

// maxUnpaidRows bounds the unpaid orders that one look at a campaign reads.
const maxUnpaidRows = 100_000

// Unpaid sums what unpaid orders of a campaign hold, by when they fall due. It reads them, up to a hundred thousand,
// the next ones first.
func (db *DB) Unpaid(ctx context.Context, campaign string, now sluice.Millis) (u sluice.Unpaid, err error) {
	clock, err := db.readClock(ctx)
	if err != nil {
		return u, err
	}
	u.At, u.Stopped = now, clock.Since != 0
	rows, err := db.rdb.QueryContext(ctx, `SELECT d.wave, COUNT(*), SUM(d.live_units), MIN(d.due_ms) FROM
		(SELECT o.due_ms - o.due_ms % ? AS wave, o.live_units, o.due_ms FROM orders o WHERE o.state = 'unpaid'
		AND o.campaign_no = (SELECT no FROM campaigns WHERE id = ?) ORDER BY o.due_ms LIMIT ?) d
		GROUP BY d.wave ORDER BY d.wave`, sluice.UnpaidWaveWidth, campaign, maxUnpaidRows)
	if err != nil {
		return u, translate(err, "the unpaid orders of "+campaign)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var wave, first sluice.Millis
		var orders, units int64
		if err := rows.Scan(&wave, &orders, &units, &first); err != nil {
			return u, translate(err, "the unpaid orders of "+campaign)
		}
		u.Orders, u.Units = u.Orders+orders, u.Units+units
		if u.Stopped {
			continue
		}
		at := clock.Wall(wave, now)
		if u.NextAt == 0 {
			u.NextAt = clock.Wall(first, now)
		}
		if at < now+60_000 {
			u.Minute += units
		}
		if len(u.Waves) < sluice.MaxUnpaidWaves {
			u.Waves = append(u.Waves, sluice.UnpaidWave{At: at, Units: units})
		}
	}
	if err := rows.Err(); err != nil {
		return u, translate(err, "the unpaid orders of "+campaign)
	}
	return u, nil
}
