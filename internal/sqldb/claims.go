package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-sale/sluice"
)

// Both tables as one list of rows of claims; a claim on coupons has as many as it has units.
const (
	orderRows = `SELECT o.seq, o.claim_id, c.id, o.user_id, o.request_id, o.source, o.quantity, o.created_ms, o.live_units,
		o.rejected, o.state, NULL, o.close_reason FROM orders o JOIN campaigns c ON c.no = o.campaign_no `
	couponRows = `SELECT o.seq, o.claim_id, c.id, o.user_id, o.request_id, o.source, o.quantity, o.created_ms,
		o.live_units, o.rejected, o.state, o.code, NULL FROM coupons o JOIN campaigns c ON c.no = o.campaign_no `
)

// maxUserClaims bounds what UserClaims answers.
const maxUserClaims = 10_000

type seqRecord struct {
	sluice.ClaimRecord
	seq int64
}

// ClaimRecord looks one claim up; ErrNotFound where the ledger has no such row.
func (db *DB) ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	found, err := db.claimRecords(ctx, `WHERE o.claim_id = ?1`, id[:])
	switch {
	case err != nil:
		return sluice.ClaimRecord{}, readFailed(err, "claim "+id.String())
	case len(found) == 0:
		return sluice.ClaimRecord{}, fmt.Errorf("sqldb: claim %s: %w", id, sluice.ErrNotFound)
	}
	return found[0].ClaimRecord, nil
}

// UserClaims gives a user's claims on a campaign, the oldest first; on all campaigns where campaignID is empty. It
// answers at most 10,000 rows of a user.
func (db *DB) UserClaims(ctx context.Context, user, campaignID string) ([]sluice.ClaimRecord, error) {
	var id sluice.ClaimID
	key := sluice.UserKeyOf(user)
	copy(id[:], key[:])
	lo, hi := claimRange(id)
	found, err := db.claimRecords(ctx,
		`WHERE o.claim_id BETWEEN ?1 AND ?2 AND o.user_id = ?3 AND (?4 = '' OR c.id = ?4) LIMIT ?5`,
		lo[:], hi[:], user, campaignID, maxUserClaims)
	if err != nil {
		return nil, readFailed(err, "claims of a user")
	}
	slices.SortStableFunc(found, func(a, b seqRecord) int {
		if a.At != b.At {
			return int(min(max(a.At-b.At, -1), 1))
		}
		return int(min(max(a.seq-b.seq, -1), 1))
	})
	list := make([]sluice.ClaimRecord, len(found))
	for i := range found {
		list[i] = found[i].ClaimRecord
	}
	return list, nil
}

// ClaimsByRequest finds the claims on a campaign that carry requestID, whoever made them. It reads the campaign's
// rows one after another, a few seconds for millions, since no index serves this rare question.
func (db *DB) ClaimsByRequest(ctx context.Context, campaignID, requestID string) ([]sluice.ClaimRecord, error) {
	c, err := db.Campaign(ctx, campaignID)
	if err != nil {
		return nil, err
	}
	lo, hi := seqRange(c.No)
	found, err := db.claimRecords(ctx, `WHERE o.seq BETWEEN ?1 AND ?2 AND o.request_id = ?3 LIMIT ?4`,
		lo, hi, requestID, maxUserClaims)
	if err != nil {
		return nil, readFailed(err, "claims of "+campaignID)
	}
	list := make([]sluice.ClaimRecord, len(found))
	for i := range found {
		list[i] = found[i].ClaimRecord
	}
	return list, nil
}

// seqRange gives the first and the last seq that a row of the campaign can have.
func seqRange(no int64) (lo, hi int64) { return no << 32, no<<32 | 0xffff_ffff }

// ClaimsPage gives up to limit claims of a campaign in the order in which they were settled, after the cursor
// after (0: from the first), and the cursor of the next page, 0 where this is the last one.
func (db *DB) ClaimsPage(
	ctx context.Context, campaignID string, after int64, limit int,
) ([]sluice.ClaimRecord, int64, error) {
	limit = min(max(limit, 1), maxPage)
	c, err := db.Campaign(ctx, campaignID)
	if err != nil {
		return nil, 0, err
	}
	rows, first := orderRows, `SELECT seq FROM orders WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT 1 OFFSET ?3`
	if c.Kind == sluice.KindCoupon { // the rows of one claim follow each other, from n = 0 on
		rows = couponRows
		first = `SELECT seq FROM coupons WHERE seq > ?1 AND seq <= ?2 AND n = 0 ORDER BY seq LIMIT 1 OFFSET ?3`
	}
	from, to := seqRange(c.No)
	from = max(after, from)
	var over, next int64 // the first row of the claim after this page, where there is one
	switch err := db.rdb.QueryRowContext(ctx, first, from, to, limit).Scan(&over); {
	case err == nil:
		to, next = over-1, over-1
	case !errors.Is(err, sql.ErrNoRows):
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	found, err := db.rdb.QueryContext(ctx, rows+`WHERE o.seq > ?1 AND o.seq <= ?2 ORDER BY o.seq`, from, to)
	if err != nil {
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	records, err := appendRecords(nil, found, c.Kind == sluice.KindCoupon)
	if err != nil {
		return nil, 0, readFailed(err, "claims of "+campaignID)
	}
	list := make([]sluice.ClaimRecord, len(records))
	for i := range records {
		list[i] = records[i].ClaimRecord
	}
	return list, next, nil
}

// claimRecords reads both tables and joins the rows of each claim.
func (db *DB) claimRecords(ctx context.Context, where string, args ...any) ([]seqRecord, error) {
	var list []seqRecord
	for _, from := range []string{orderRows, couponRows} {
		rows, err := db.rdb.QueryContext(ctx, from+where, args...)
		if err != nil {
			return nil, err
		}
		if list, err = appendRecords(list, rows, from == couponRows); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func appendRecords(list []seqRecord, rows *sql.Rows, coupons bool) ([]seqRecord, error) {
	defer func() { _ = rows.Close() }()
	at := map[sluice.ClaimID]int{}
	live := map[sluice.ClaimID]int64{}
	for rows.Next() {
		var r seqRecord
		var id []byte
		var request, rejected, code, closed sql.NullString
		var state string
		var units int64
		err := rows.Scan(&r.seq, &id, &r.Campaign, &r.User, &request, &r.Source, &r.Quantity, &r.At, &units, &rejected,
			&state, &code, &closed)
		if err != nil {
			return nil, err
		}
		copy(r.ID[:], id)
		i, more := at[r.ID]
		if !more {
			i = len(list)
			at[r.ID] = i
			r.RequestID, r.Code = request.String, recordedReason(rejected.String)
			if coupons {
				r.Coupon = sluice.CouponState(state)
			} else {
				r.OrderState, r.Closed = sluice.OrderState(state), sluice.CloseReason(closed.String)
			}
			list = append(list, r)
		}
		if code.Valid {
			list[i].CouponCodes = append(list[i].CouponCodes, code.String)
		}
		live[r.ID] += units
		list[i].State = recordedState(list[i].Code, live[r.ID])
	}
	return list, rows.Err()
}
