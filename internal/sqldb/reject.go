package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// defaultLostGrace is how long after the arming of a later epoch a claim may still turn up.
const defaultLostGrace = time.Minute

// reject records a claim that was promised as rejected and gives its units back to the permit, both or neither. A
// claim that the ledger knows stays as it is, and its recorded outcome is given. ErrNotFound: there is no such
// campaign.
func (t *tx) reject(c sluice.Claim, why sluice.Reason) (out sluice.Outcome, err error) {
	no, _, err := t.lockCampaign(c.Campaign)
	if err != nil {
		return out, err
	}
	var limitNo, rows int64
	var kind sluice.Kind
	err = t.row(`SELECT kind, limit_no, claims FROM campaigns WHERE no = ?`, []any{no}, &kind, &limitNo, &rows)
	if err != nil {
		return out, err
	}
	if out, err = t.recordedClaim(c, kind); err != nil || out.Replayed {
		return out, err
	}
	insert := `INSERT INTO orders (seq, claim_id, limit_no, user_id, request_id, source, quantity, epoch, created_ms,
		rejected, state, live_units, limit_units, amount_minor, due_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'rejected', 0, 0, 0, 0)`
	if kind == sluice.KindCoupon {
		insert = `INSERT INTO coupons (seq, claim_id, limit_no, user_id, request_id, source, quantity, epoch, created_ms,
			rejected, state, live_units, limit_units, n, valid_from_ms, valid_until_ms)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'rejected', 0, 0, 0, 0, 0)`
	}
	_, err = t.exec(insert, no<<32|(rows+1), c.ID[:], limitNo, c.User, textOrNull(c.RequestID), int64(c.Source),
		c.Quantity, c.Epoch, c.At, why.String())
	if isUnique(err) {
		return out, errMoved
	}
	if err != nil {
		return out, err
	}
	if _, err = t.exec(`UPDATE campaigns SET claims = claims + 1 WHERE no = ?`, no); err != nil {
		return out, err
	}
	q := int64(c.Quantity)
	t.release(c.Campaign, c.ID, sluice.Effects{ReleaseUnits: q, ReleaseLimit: q})
	return sluice.Outcome{Reason: why, State: sluice.ClaimRejected}, nil
}

// recordedClaim gives what the ledger knows of a claim, without the codes of its coupons; not Replayed where it knows
// none.
func (t *tx) recordedClaim(c sluice.Claim, kind sluice.Kind) (out sluice.Outcome, err error) {
	query := `SELECT user_id, quantity, COALESCE(rejected, ''), live_units FROM orders WHERE claim_id = ?`
	if kind == sluice.KindCoupon { // of the rows of one claim the one that takes most
		query = `SELECT user_id, quantity, COALESCE(rejected, ''), live_units FROM coupons WHERE claim_id = ?
			ORDER BY live_units DESC, n LIMIT 1`
	}
	var user, rejected string
	var quantity int
	var live int64
	err = t.row(query, []any{c.ID[:]}, &user, &quantity, &rejected, &live)
	if errors.Is(err, sluice.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Replayed = true
	if user != c.User || quantity != c.Quantity {
		out.Reason = sluice.ReasonRequestIDReused
		return out, nil
	}
	out.Reason = recordedReason(rejected)
	out.State = recordedState(out.Reason, live)
	return out, nil
}

// Lost records that a claim which was promised under the epoch c.Epoch is lost, gives its units back and answers with
// the outcome: of the ledger's own row, where it has one after all. The caller has the claim from its owner's
// receipt, and has seen that no gate holds it. It is an ErrConflict Fault NOT_LOST unless some epoch since was opened
// because the one before it was lost (a planned one takes every claim along), an epoch after that is armed, the grace
// since then is over, and the campaign's epoch is still seen, under which the gates were looked at. ErrNotFound: there
// is no such campaign.
func (db *DB) Lost(ctx context.Context, c sluice.Claim, seen int64) (out sluice.Outcome, err error) {
	doing := "claim " + c.ID.String() + " is lost"
	// Whoever waits asks again and again until the grace is over. It is looked at first without the campaign's lock and
	// the connections that payments go by.
	notLost := sluice.NewFault(sluice.ErrConflict, "NOT_LOST", "the claim may still turn up")
	var armed int64
	err = db.rdb.QueryRowContext(ctx, armedSinceLost, db.graceOver(), c.Epoch, c.Campaign).Scan(&armed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return out, fmt.Errorf("sqldb: %s: campaign %s: %w", doing, c.Campaign, sluice.ErrNotFound)
	case err != nil:
		return out, translate(err, doing)
	case c.Epoch == 0 || armed == 0:
		return out, fmt.Errorf("sqldb: %s: %w", doing, notLost)
	}
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		_, epoch, err := t.lockCampaign(c.Campaign)
		if err != nil {
			return err
		}
		err = t.row(armedSinceLost, []any{db.graceOver(), c.Epoch, c.Campaign}, &armed)
		if err != nil {
			return err
		}
		if armed == 0 || epoch != seen {
			return notLost
		}
		out, err = t.reject(c, sluice.ReasonLost)
		return err
	})
	if err != nil {
		return sluice.Outcome{}, fmt.Errorf("sqldb: %s: %w", doing, err)
	}
	return out, nil
}

// armedSinceLost counts the epochs of a campaign that are armed since a moment and not before the last loss after an
// epoch.
const armedSinceLost = `SELECT (SELECT COUNT(*) FROM epochs a
	WHERE a.campaign_no = c.no AND a.armed_ms > 0 AND a.armed_ms <= ? AND a.epoch >= (SELECT MAX(l.epoch) FROM epochs l
		WHERE l.campaign_no = c.no AND l.cause = 'lost' AND l.epoch > ?)) FROM campaigns c WHERE c.id = ?`

// graceOver is the moment before which an epoch has to be armed for its grace to be over.
func (db *DB) graceOver() int64 { return db.cfg.Now().UnixMilli() - db.cfg.LostGrace.Milliseconds() }
