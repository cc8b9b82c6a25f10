package sqldb

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// maxLookups bounds the ids of one query.
const maxLookups = 500

// ClaimRecords looks claims up, in as few queries as there can be. What the ledger has no row of is absent.
func (db *DB) ClaimRecords(
	ctx context.Context, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.ClaimRecord, error) {
	found := make(map[sluice.ClaimID]sluice.ClaimRecord, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), maxLookups)
		args := make([]any, n)
		for i := range args {
			args[i] = ids[i][:]
		}
		rows, err := db.claimRecords(ctx, `WHERE o.claim_id IN (`+questionMarks(n)+`)`, args...)
		if err != nil {
			return nil, readFailed(err, fmt.Sprintf("%d claims", n))
		}
		for i := range rows {
			found[rows[i].ID] = rows[i].ClaimRecord
		}
		ids = ids[n:]
	}
	return found, nil
}
