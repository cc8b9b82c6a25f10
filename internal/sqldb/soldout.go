package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// What nodes need that admit in the ledger itself and still answer losers without asking it.

// soldOutLease is how long a node may say SOLD_OUT by itself, in milliseconds.
const soldOutLease = 1000

// LeaseSoldOut lets a node say SOLD_OUT by itself for a second from the sending of this call, and says whether it
// may: only while no unit is free. Until all leases of a campaign are over a unit that came back is not sold by
// Admit, so that nobody holds a claim who is not among the holders that are read after this call.
func (db *DB) LeaseSoldOut(ctx context.Context, campaign string) (leased bool, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		leased = false
		no, _, err := t.lockCampaign(campaign)
		if err != nil {
			return err
		}
		var free int64
		if err := t.row(`SELECT total - held - sold FROM campaigns WHERE no = ?`, []any{no}, &free); err != nil || free > 0 {
			return err
		}
		now, err := t.now()
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO sold_out_leases (campaign_no, until_ms) VALUES (?, ?)
			ON CONFLICT (campaign_no) DO UPDATE SET until_ms = excluded.until_ms`, no, now+soldOutLease)
		leased = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("sqldb: lease of %s: %w", campaign, err)
	}
	return leased, nil
}

// leases finds which of the batch's campaigns have free units that must wait. It is a statement of its own, after the
// locks were taken: what it reads is as the locks found it.
func (b *batch) leases() error {
	for _, s := range b.sales {
		if s.stock.Free() <= 0 {
			continue
		}
		now, err := b.t.now()
		if err != nil {
			return err
		}
		var until int64
		err = b.t.row(`SELECT until_ms FROM sold_out_leases WHERE campaign_no = ?`, []any{s.no}, &until)
		if err != nil && !errors.Is(err, sluice.ErrNotFound) {
			return err
		}
		s.leased = now < until
	}
	return nil
}

// claimTable is the table of a campaign's claims.
func claimTable(k sluice.Kind) string {
	if k == sluice.KindCoupon {
		return `coupons`
	}
	return `orders`
}

// Holders gives the users of up to limit rows of a campaign's claims after the row after, rejected claims too, and
// the last of those rows: after itself where there are no more. Rows of a campaign are numbered in the order of their
// commits.
func (db *DB) Holders(
	ctx context.Context, campaign string, after int64, limit int,
) (users []sluice.UserKey, last int64, err error) {
	last = after
	c, err := db.Campaign(ctx, campaign)
	if err != nil {
		return nil, after, err
	}
	lo, hi := seqRange(c.No)
	rows, err := db.rdb.QueryContext(ctx, `SELECT seq, claim_id FROM `+claimTable(c.Kind)+`
		WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, max(after, lo), hi, min(max(limit, 1), maxHolders))
	if err != nil {
		return nil, after, translate(err, "holders of "+campaign)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id sql.RawBytes
		if err := rows.Scan(&last, &id); err != nil {
			return nil, after, translate(err, "holders of "+campaign)
		}
		var k sluice.UserKey
		copy(k[:], id)
		users = append(users, k)
	}
	if err := rows.Err(); err != nil {
		return nil, after, translate(err, "holders of "+campaign)
	}
	return users, last, nil
}

// Bounds of the above.
const (
	maxHolders    = 50_000
	maxLimitUsers = 64 // of one statement
)

// LastSold says when the claim was made that was settled last, of those that have units still; zero where there is
// none.
func (db *DB) LastSold(ctx context.Context, campaign string) (at sluice.Millis, err error) {
	c, err := db.Campaign(ctx, campaign)
	if err != nil {
		return 0, err
	}
	lo, hi := seqRange(c.No)
	err = db.rdb.QueryRowContext(ctx, `SELECT created_ms FROM `+claimTable(c.Kind)+`
		WHERE seq >= ? AND seq <= ? AND live_units > 0 ORDER BY seq DESC LIMIT 1`, lo, hi).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, translate(err, "the last claim of "+campaign)
	}
	return at, nil
}

// LimitClaims gives, for each of some users, their claims that take of the limit on a campaign or of its limit group.
func (db *DB) LimitClaims(
	ctx context.Context, campaign string, users []string,
) (map[string][]sluice.ClaimID, error) {
	all := map[string][]sluice.ClaimID{}
	for some := range slices.Chunk(users, maxLimitUsers) {
		ranges := make([]string, len(some))
		args := make([]any, 0, 1+3*len(some))
		args = append(args, campaign)
		for i, u := range some {
			lo, hi := userRange(u)
			ranges[i] = `claim_id BETWEEN ? AND ? AND user_id = ?`
			args = append(args, lo, hi, u)
		}
		where := ` WHERE limit_no = (SELECT limit_no FROM campaigns WHERE id = ?) AND limit_units > 0 AND (` +
			strings.Join(ranges, ` OR `) + `)`
		for _, table := range []string{`orders`, `coupons`} {
			rows, err := db.rdb.QueryContext(ctx, `SELECT DISTINCT user_id, claim_id FROM `+table+where, args...)
			if err != nil {
				return nil, translate(err, "claims of users")
			}
			if err := addClaimIDs(all, rows); err != nil {
				return nil, translate(err, "claims of users")
			}
		}
	}
	return all, nil
}

func addClaimIDs(all map[string][]sluice.ClaimID, rows *sql.Rows) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var user string
		var id []byte
		if err := rows.Scan(&user, &id); err != nil {
			return err
		}
		all[user] = append(all[user], sluice.ClaimID(id))
	}
	return rows.Err()
}
