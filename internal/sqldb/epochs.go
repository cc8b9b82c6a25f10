package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// OpenEpoch moves a campaign from the epoch from to the next one, and says whether this call did it: false where the
// campaign is in another epoch already, or there is no such campaign. Rows that are read after it has returned are
// those to arm with. ErrUncertain: read the epochs before anything else.
func (db *DB) OpenEpoch(ctx context.Context, campaign string, from int64, cause sluice.EpochCause) (bool, error) {
	if cause != sluice.EpochPlanned && cause != sluice.EpochLost && cause != sluice.EpochDegraded {
		return false, sluice.Invalid(sluice.FieldFault{Field: "cause", Detail: "is planned, lost or degraded"})
	}
	return db.openEpoch(ctx, campaign, from, cause, nil)
}

// Reshard opens an epoch as OpenEpoch does, planned, from which on the campaign has another number of shards: whoever
// knows the epoch knows the shards.
func (db *DB) Reshard(ctx context.Context, campaign string, from int64, shards int) (bool, error) {
	if shards < 1 || shards > sluice.MaxShards {
		detail := fmt.Sprintf("is not from 1 to %d", sluice.MaxShards)
		return false, sluice.Invalid(sluice.FieldFault{Field: "shards", Detail: detail})
	}
	return db.openEpoch(ctx, campaign, from, sluice.EpochPlanned, func(t *tx, no int64) error {
		c, err := t.campaign(campaign)
		if err != nil {
			return err
		}
		c.Shards = shards
		text, err := marshalTerms(&c)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE campaigns SET terms = ? WHERE no = ?`, text, no)
		return err
	})
}

func (db *DB) openEpoch(
	ctx context.Context, campaign string, from int64, cause sluice.EpochCause, with func(t *tx, no int64) error,
) (bool, error) {
	opened := false
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		opened = false
		now := sluice.MillisOf(db.cfg.Now())
		no, epoch, err := t.lockCampaign(campaign)
		if errors.Is(err, sluice.ErrNotFound) {
			return nil
		}
		if err != nil || epoch != from {
			return err
		}
		epoch++
		_, err = t.exec(`UPDATE campaigns SET epoch = ?, updated_ms = ? WHERE no = ?`, epoch, now, no)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO epochs (campaign_no, epoch, cause, armed_ms) VALUES (?, ?, ?, 0)`,
			no, epoch, string(cause))
		if err != nil {
			return err
		}
		if with != nil {
			if err := with(t, no); err != nil {
				return err
			}
		}
		opened, t.settings = true, true
		note := epochNote{Campaign: campaign, Epoch: epoch, Cause: cause}
		return t.event(now, "campaign.epoch_opened", no, campaign, note)
	})
	if err != nil {
		return false, fmt.Errorf("sqldb: open an epoch of %s: %w", campaign, err)
	}
	return opened, nil
}

// epochNote is what events say of an epoch.
type epochNote struct {
	Campaign string            `json:"campaign_id"`
	Epoch    int64             `json:"epoch"`
	Cause    sluice.EpochCause `json:"cause,omitempty"`
}

// EpochArmed writes down that all shards of a campaign are armed for an epoch. Repeating it changes nothing, nor does
// an epoch that is not the campaign's any more.
func (db *DB) EpochArmed(ctx context.Context, campaign string, epoch int64) error {
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		no, now, err := t.lockCampaign(campaign)
		if err != nil || now != epoch {
			return err
		}
		at := sluice.MillisOf(db.cfg.Now())
		n, err := t.exec(`UPDATE epochs SET armed_ms = ? WHERE campaign_no = ? AND epoch = ? AND armed_ms = 0`, at, no, epoch)
		if err != nil || n == 0 {
			return err
		}
		t.settings = true
		return t.event(at, "campaign.epoch_armed", no, campaign, epochNote{Campaign: campaign, Epoch: epoch})
	})
	if err != nil {
		return fmt.Errorf("sqldb: epoch %d of %s is armed: %w", epoch, campaign, err)
	}
	return nil
}

// Epochs gives a campaign's epochs, the oldest first.
func (db *DB) Epochs(ctx context.Context, campaign string) ([]sluice.Epoch, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT e.epoch, e.cause, e.armed_ms FROM epochs e
		JOIN campaigns c ON c.no = e.campaign_no WHERE c.id = ? ORDER BY e.epoch`, campaign)
	if err != nil {
		return nil, translate(err, "epochs of "+campaign)
	}
	defer func() { _ = rows.Close() }()
	var list []sluice.Epoch
	for rows.Next() {
		e := sluice.Epoch{Campaign: campaign}
		if err := rows.Scan(&e.Epoch, &e.Cause, &e.ArmedAt); err != nil {
			return nil, translate(err, "epochs of "+campaign)
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "epochs of "+campaign)
	}
	return list, nil
}
