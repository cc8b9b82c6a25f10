package sqldb

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// A decrease whose units are in gates elsewhere is done in two steps. It is written down first, so that it is done
// once whoever dies on the way; then the gates give up what is available; then it is carried out here, if the epoch
// is still the one in which the gates answered. Otherwise they were armed anew with the old total, and give up the
// units again. Its revision is the campaign's next one and becomes the campaign's only at the end: a gate that is
// armed meanwhile has not taken it.

// BeginAdjustment writes down a decrease that is to be done; the answer is Pending, with its revision and the epoch
// in which the gates are to be asked. A change id that is known answers what it stands for, pending or done; under
// another delta or campaign it is an ErrConflict Fault CHANGE_ID_REUSED. While another adjustment of the campaign is
// under way, here or on its way to the gates, it is an ErrConflict Fault ADJUSTMENT_PENDING.
func (db *DB) BeginAdjustment(
	ctx context.Context, a sluice.Adjustment, actor sluice.Actor,
) (is sluice.Adjustment, err error) {
	if a.Asked >= 0 {
		return a, sluice.Invalid(sluice.FieldFault{Field: "delta", Detail: "is no decrease"})
	}
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		no, epoch, err := t.lockCampaign(a.Campaign)
		if err != nil {
			return err
		}
		var known bool
		if is, known, err = t.adjusted(a); err != nil || known {
			return err
		}
		if err := t.noneIsPending(a.Campaign, true); err != nil {
			return err
		}
		is = a
		err = t.row(`SELECT total, revision + 1 FROM campaigns WHERE no = ?`, []any{no}, &is.Total, &is.Revision)
		if err != nil {
			return err
		}
		is.Applied, is.Pending, is.Epoch = 0, true, epoch
		_, err = t.exec(`INSERT INTO adjustments (change_id, campaign_no, delta, applied, total, revision, state, at_ms)
			VALUES (?, ?, ?, 0, ?, ?, 'pending', ?)`, a.ChangeID, no, a.Asked, is.Total, is.Revision, a.At)
		if isUnique(err) {
			return errMoved
		}
		if err != nil {
			return err
		}
		return t.audit(a.At, actor, "campaign.adjust", "campaign/"+a.Campaign, nil, adjustmentEvent(is))
	})
	if err != nil {
		return a, fmt.Errorf("sqldb: begin adjustment %s of %s: %w", a.ChangeID, a.Campaign, err)
	}
	return is, nil
}

// noneIsPending refuses while a decrease of the campaign is under way; with ops also while an adjustment is on its way
// to the gates.
func (t *tx) noneIsPending(campaign string, ops bool) error {
	if !t.db.cfg.Remote {
		return nil
	}
	var n int64
	err := t.row(`SELECT COUNT(*) FROM adjustments a JOIN campaigns c ON c.no = a.campaign_no
		WHERE c.id = ? AND a.state = 'pending'`, []any{campaign}, &n)
	if err == nil && n == 0 && ops {
		err = t.row(`SELECT COUNT(*) FROM permit_ops p JOIN campaigns c ON c.no = p.campaign_no
			WHERE c.id = ? AND p.kind = 'adjust'`, []any{campaign}, &n)
	}
	if err == nil && n > 0 {
		return sluice.NewFault(sluice.ErrConflict, "ADJUSTMENT_PENDING", "another adjustment of the campaign is under way")
	}
	return err
}

// FinishAdjustment carries out a pending decrease of which the gates gave up -done.Applied units, in the epoch
// done.Epoch. Where the campaign is in another epoch by now nothing is written and the answer is Pending, with that
// epoch: the gates have to be asked again. An adjustment that is done answers as recorded. ErrConflict Fault
// STOCK_TAKEN: so many units are not free here, since claims are on their way to the gates; it stays pending.
// ErrNotFound: no such change id.
func (db *DB) FinishAdjustment(ctx context.Context, done sluice.Adjustment) (is sluice.Adjustment, err error) {
	now, taken, changeID := sluice.MillisOf(db.cfg.Now()), -done.Applied, done.ChangeID
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		var campaign string
		err := t.row(`SELECT c.id FROM adjustments a JOIN campaigns c ON c.no = a.campaign_no WHERE a.change_id = ?`,
			[]any{changeID}, &campaign)
		if err != nil {
			return err
		}
		no, _, err := t.lockCampaign(campaign)
		if err != nil {
			return err
		}
		is, err = scanAdjustment(scanFunc(func(into ...any) error {
			return t.row(`SELECT `+adjustmentColumns+` WHERE a.change_id = ?`, []any{changeID}, into...)
		}))
		if err != nil || !is.Pending || is.Epoch != done.Epoch {
			return err
		}
		if taken < 0 || taken > -is.Asked {
			return sluice.Invalid(sluice.FieldFault{Field: "taken", Detail: "is not between nothing and what was asked"})
		}
		return t.decrease(&is, no, taken, now)
	})
	if err != nil {
		return is, fmt.Errorf("sqldb: finish adjustment %s: %w", changeID, err)
	}
	return is, nil
}

func (t *tx) decrease(a *sluice.Adjustment, no, taken int64, now sluice.Millis) error {
	n, err := t.exec(`UPDATE campaigns SET total = total - ?, revision = ?, updated_ms = ?
		WHERE no = ? AND epoch = ? AND held + sold <= total - ?`, taken, a.Revision, now, no, a.Epoch, taken)
	if err != nil {
		return err
	}
	if n == 0 {
		return sluice.NewFault(sluice.ErrConflict, "STOCK_TAKEN", "the units are held or sold")
	}
	if err := t.row(`SELECT total FROM campaigns WHERE no = ?`, []any{no}, &a.Total); err != nil {
		return err
	}
	a.Applied, a.Pending = -taken, false
	n, err = t.exec(`UPDATE adjustments SET state = 'done', applied = ?, total = ?
		WHERE change_id = ? AND state = 'pending'`, a.Applied, a.Total, a.ChangeID)
	if err != nil {
		return err
	}
	if n == 0 {
		return errMoved
	}
	t.touch(a.Campaign)
	t.settings = true
	return t.event(now, "campaign.adjusted", no, a.Campaign, adjustmentEvent(*a))
}

// PendingAdjustments lists the decreases that are not done yet, each with the epoch in which its campaign is now: the
// gates of that epoch have to be asked.
func (db *DB) PendingAdjustments(ctx context.Context) ([]sluice.Adjustment, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+adjustmentColumns+` WHERE a.state = 'pending' ORDER BY c.no`)
	if err != nil {
		return nil, translate(err, "pending adjustments")
	}
	defer func() { _ = rows.Close() }()
	var list []sluice.Adjustment
	for rows.Next() {
		a, err := scanAdjustment(rows)
		if err != nil {
			return nil, translate(err, "pending adjustments")
		}
		list = append(list, a)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "pending adjustments")
	}
	return list, nil
}
