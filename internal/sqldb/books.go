package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// rowsChunk is how many claims one statement of ClaimRows asks for.
const rowsChunk = 256

// Totals gives a campaign's total, and what it has to be: what was created plus what all adjustments applied. Both are
// of one moment. They differ where somebody has changed the total behind the door of adjustments. ErrNotFound: there is
// no such campaign.
func (db *DB) Totals(ctx context.Context, campaign string) (total, accounted int64, err error) {
	row := db.rdb.QueryRowContext(ctx, `SELECT c.total, c.created_total + COALESCE(
		(SELECT SUM(a.applied) FROM adjustments a WHERE a.campaign_no = c.no AND a.state = 'done'), 0)
		FROM campaigns c WHERE c.id = ?`, campaign)
	if err = row.Scan(&total, &accounted); errors.Is(err, sql.ErrNoRows) {
		err = sluice.ErrNotFound
	}
	if err != nil {
		return 0, 0, readFailed(err, "totals of "+campaign)
	}
	return total, accounted, nil
}

// ClaimRows gives the rows that there are of these claims of a campaign, as Load does; coupons of one claim are summed.
// ErrNotFound: there is no such campaign.
func (db *DB) ClaimRows(
	ctx context.Context, campaign string, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.ClaimRow, error) {
	c, err := db.Campaign(ctx, campaign)
	if err != nil {
		return nil, err
	}
	found := make(map[sluice.ClaimID]sluice.ClaimRow, len(ids))
	for len(ids) > 0 {
		piece := ids[:min(len(ids), rowsChunk)]
		ids = ids[len(piece):]
		if err := db.claimRows(ctx, c, piece, found); err != nil {
			return nil, fmt.Errorf("sqldb: rows of %d claims of %s: %w", len(piece), campaign, err)
		}
	}
	return found, nil
}

func (db *DB) claimRows(
	ctx context.Context, c sluice.Campaign, ids []sluice.ClaimID, found map[sluice.ClaimID]sluice.ClaimRow,
) error {
	table := `orders`
	if c.Kind == sluice.KindCoupon {
		table = `coupons`
	}
	lo, hi := seqRange(c.No)
	args := make([]any, 0, rowsChunk+2)
	for i := range rowsChunk { // filled up with the last one, so that every length is one statement
		args = append(args, ids[min(i, len(ids)-1)][:])
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT claim_id, MAX(quantity), SUM(live_units), SUM(limit_units),
		MAX(COALESCE(rejected, '')), MAX(created_ms) FROM `+table+`
		WHERE claim_id IN (`+questionMarks(rowsChunk)+`) AND seq BETWEEN ? AND ? GROUP BY claim_id`, append(args, lo, hi)...)
	if err != nil {
		return translate(err, "query")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id []byte
		var rejected string
		var r sluice.ClaimRow
		if err := rows.Scan(&id, &r.Quantity, &r.LiveUnits, &r.LimitUnits, &rejected, &r.At); err != nil {
			return translate(err, "query")
		}
		copy(r.ID[:], id)
		if rejected != "" {
			r.Rejected = recordedReason(rejected)
		}
		found[r.ID] = r
	}
	if err := rows.Err(); err != nil {
		return translate(err, "query")
	}
	return nil
}
