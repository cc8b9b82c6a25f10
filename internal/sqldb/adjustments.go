package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

const adjustmentColumns = `a.change_id, c.id, a.delta, a.applied, a.total, a.revision, a.at_ms,
	a.state = 'pending', c.epoch
	FROM adjustments a JOIN campaigns c ON c.no = a.campaign_no`

func scanAdjustment(row scanner) (a sluice.Adjustment, err error) {
	err = row.Scan(&a.ChangeID, &a.Campaign, &a.Asked, &a.Applied, &a.Total, &a.Revision, &a.At, &a.Pending, &a.Epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = sluice.ErrNotFound
	}
	return a, err
}

// Adjustment reads what a change id did; ErrNotFound where it was never used.
func (db *DB) Adjustment(ctx context.Context, changeID string) (sluice.Adjustment, error) {
	a, err := scanAdjustment(db.rdb.QueryRowContext(ctx, `SELECT `+adjustmentColumns+` WHERE a.change_id = ?`, changeID))
	if err != nil {
		return a, readFailed(err, "adjustment "+changeID)
	}
	return a, nil
}

// RecordAdjustment changes a campaign's total and writes down the change id, once: a change id that is known answers
// what it did then; under another delta or for another campaign it is an ErrConflict Fault CHANGE_ID_REUSED.
//
// An increase applies what was asked. For a decrease the caller has taken -a.Applied units from the permit before;
// where they are not free in the ledger nothing is written and the answer is an ErrConflict Fault STOCK_TAKEN. The
// permit hears of it after the commit. ErrUnavailable: nothing was done. ErrUncertain: repeat it under the
// same change id.
func (db *DB) RecordAdjustment(
	ctx context.Context, a sluice.Adjustment, actor sluice.Actor,
) (sluice.Adjustment, error) {
	if a.Asked == 0 || a.Asked < 0 && (a.Applied > 0 || a.Applied < a.Asked) {
		return a, sluice.Invalid(sluice.FieldFault{Field: "delta", Detail: "cannot be applied as it stands"})
	}
	if a.Asked > 0 {
		a.Applied = a.Asked
	}
	return db.adjustment(ctx, a, false, actor)
}

// AdjustFree is RecordAdjustment where there is no permit but the ledger: a decrease takes what is free here.
func (db *DB) AdjustFree(
	ctx context.Context, a sluice.Adjustment, actor sluice.Actor,
) (sluice.Adjustment, error) {
	a.Applied = max(0, a.Asked)
	return db.adjustment(ctx, a, true, actor)
}

func (db *DB) adjustment(
	ctx context.Context, a sluice.Adjustment, free bool, actor sluice.Actor,
) (done sluice.Adjustment, err error) {
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) (err error) {
		done, err = t.adjust(a, free, actor)
		return err
	})
	if err != nil {
		return a, fmt.Errorf("sqldb: adjustment %s of %s: %w", a.ChangeID, a.Campaign, err)
	}
	return done, nil
}

// adjust carries out an adjustment; free says that a decrease takes what the ledger has free.
func (t *tx) adjust(a sluice.Adjustment, free bool, actor sluice.Actor) (sluice.Adjustment, error) {
	if _, _, err := t.lockCampaign(a.Campaign); err != nil {
		return a, err
	}
	was, known, err := t.adjusted(a)
	if err != nil || known {
		return was, err
	}
	if err := t.noneIsPending(a.Campaign, false); err != nil {
		return a, err
	}
	c, err := t.campaign(a.Campaign)
	if err != nil {
		return a, err
	}
	if free && a.Asked < 0 {
		a.Applied = -min(-a.Asked, max(0, c.Stock.Free()))
	}
	if c.Stock.Total+a.Applied > sluice.MaxTotal {
		detail := fmt.Sprintf("the total would pass %d", sluice.MaxTotal)
		return a, sluice.NewFault(sluice.ErrInvalid, "TOTAL_TOO_LARGE", detail)
	}
	before := c
	c.Stock.Total += a.Applied
	c.Revision++
	a.Total, a.Revision, a.Epoch, c.UpdatedAt = c.Stock.Total, c.Revision, c.Epoch, a.At
	n, err := t.exec(`UPDATE campaigns SET total = total + ?, revision = revision + 1, updated_ms = ?
		WHERE no = ? AND held + sold <= total + ?`, a.Applied, a.At, c.No, a.Applied)
	if err != nil {
		return a, err
	}
	if n == 0 {
		return a, sluice.NewFault(sluice.ErrConflict, "STOCK_TAKEN", "the units are held or sold")
	}
	if _, err = t.exec(`INSERT INTO adjustments (change_id, campaign_no, delta, applied, total, revision, state, at_ms)
		VALUES (?, ?, ?, ?, ?, ?, 'done', ?)`, a.ChangeID, c.No, a.Asked, a.Applied, a.Total, a.Revision, a.At); err != nil {
		if isUnique(err) && t.db.dialect == dialectMySQL { // another node was first with the change id
			return a, errMoved
		}
		return a, err
	}
	t.touch(c.ID)
	t.settings = true
	t.permits = append(t.permits, sluice.PermitOp{
		Kind: sluice.PermitAdjust, Campaign: c.ID, Units: a.Applied, Revision: a.Revision,
	})
	if err := t.event(a.At, "campaign.adjusted", c.No, c.ID, adjustmentEvent(a)); err != nil {
		return a, err
	}
	return a, t.audit(a.At, actor, "campaign.adjust", "campaign/"+c.ID, auditView(&before), auditView(&c))
}

// adjusted gives what the change id of a stands for; false where it stands for nothing yet.
func (t *tx) adjusted(a sluice.Adjustment) (was sluice.Adjustment, known bool, err error) {
	was, err = scanAdjustment(scanFunc(func(into ...any) error {
		return t.row(`SELECT `+adjustmentColumns+` WHERE a.change_id = ?`, []any{a.ChangeID}, into...)
	}))
	switch {
	case err == nil && was.Campaign == a.Campaign && was.Asked == a.Asked:
		return was, true, nil
	case err == nil:
		return a, false, sluice.NewFault(sluice.ErrConflict, "CHANGE_ID_REUSED",
			"the change id stands for another adjustment")
	case errors.Is(err, sluice.ErrNotFound):
		return a, false, nil
	}
	return a, false, err
}

// scanFunc is a row by its one method.
type scanFunc func(into ...any) error

// Scan reads the row.
func (f scanFunc) Scan(into ...any) error { return f(into...) }

func adjustmentEvent(a sluice.Adjustment) any {
	return struct {
		Campaign string `json:"campaign_id"`
		ChangeID string `json:"change_id"`
		Asked    int64  `json:"asked"`
		Applied  int64  `json:"applied"`
		Total    int64  `json:"total"`
		Revision int64  `json:"revision"`
	}{a.Campaign, a.ChangeID, a.Asked, a.Applied, a.Total, a.Revision}
}
