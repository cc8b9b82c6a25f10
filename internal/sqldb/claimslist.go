package sqldb

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluice-sale/sluice"
)

// ClaimRecords gives up to limit claims of a campaign as people look them up, in the order in which they were
// settled, after the cursor `after` (0: from the first), and the cursor of the next page, 0 where this is the
// last one.
func (db *DB) ClaimRecords(
	ctx context.Context, campaignID string, after int64, limit int,
) ([]sluice.ClaimRecord, int64, error) {
	limit = min(max(limit, 1), maxPage)
	c, err := db.Campaign(ctx, campaignID)
	if err != nil {
		return nil, 0, err
	}
	first, from := `SELECT seq FROM orders WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ?`, orderRows
	if c.Kind == sluice.KindCoupon {
		// The rows of one claim lie side by side: a page ends where a claim begins.
		first = `SELECT seq FROM coupons WHERE seq > ? AND seq <= ? AND n = 0 ORDER BY seq LIMIT 1 OFFSET ?`
		from = couponRows
	}
	lo, hi := seqRange(c.No)
	lo = max(after, lo)
	var next int64
	switch err := db.rdb.QueryRowContext(ctx, first, lo, hi, limit).Scan(&next); {
	case err == nil:
		hi = next - 1
		next = hi
	case !errors.Is(err, sql.ErrNoRows):
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	rows, err := db.rdb.QueryContext(ctx, from+`WHERE o.seq > ? AND o.seq <= ? ORDER BY o.seq`, lo, hi)
	if err != nil {
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	found, err := appendRecords(nil, rows, c.Kind == sluice.KindCoupon)
	if err != nil {
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	list := make([]sluice.ClaimRecord, len(found))
	for i := range found {
		list[i] = found[i].ClaimRecord
	}
	return list, next, nil
}
