package sqldb

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// maxAudienceChunk bounds the users of one write: a chunk shares its transaction with claims.
const maxAudienceChunk = 2000

// PutAudience lets users claim on a campaign that asks for an audience, marks them with upload, and says how many
// are new. It is idempotent. At most maxAudienceChunk users a call.
func (db *DB) PutAudience(
	ctx context.Context, campaign string, upload int64, users []string,
) (added int64, err error) {
	if len(users) > maxAudienceChunk {
		return 0, sluice.Invalid(sluice.FieldFault{Field: "users", Detail: "at most 2,000 a write"})
	}
	err = db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		added, t.settings = 0, true
		for _, u := range users {
			n, err := t.exec(`INSERT OR IGNORE INTO audience (campaign_no, user_id, upload) VALUES (?, ?, ?)`, no, u, upload)
			if err != nil {
				return err
			}
			if added += n; n == 0 {
				_, err = t.exec(`UPDATE audience SET upload = ? WHERE campaign_no = ? AND user_id = ?`, upload, no, u)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return added, err
}

// TrimAudience takes out up to a chunk of those whom upload did not name, and says how many: zero means that none
// is left.
func (db *DB) TrimAudience(ctx context.Context, campaign string, upload int64) (removed int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		removed, err = t.exec(`DELETE FROM audience WHERE campaign_no = ? AND user_id IN
			(SELECT user_id FROM audience WHERE campaign_no = ? AND upload <> ? LIMIT ?)`, no, no, upload, maxAudienceChunk)
		t.settings = removed > 0
		return err
	})
	return removed, err
}

// DropAudience takes users out of a campaign's audience and says how many were in it. At most maxAudienceChunk a
// call.
func (db *DB) DropAudience(ctx context.Context, campaign string, users []string) (removed int64, err error) {
	if len(users) > maxAudienceChunk {
		return 0, sluice.Invalid(sluice.FieldFault{Field: "users", Detail: "at most 2,000 a write"})
	}
	err = db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		removed, t.settings = 0, true
		for _, u := range users {
			n, err := t.exec(`DELETE FROM audience WHERE campaign_no = ? AND user_id = ?`, no, u)
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}

// AudiencePage reads up to limit users of a campaign's audience after the user `after`, in the order of their
// ids.
func (db *DB) AudiencePage(ctx context.Context, campaign, after string, limit int) ([]string, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT user_id FROM audience
		WHERE campaign_no = (SELECT no FROM campaigns WHERE id = ?) AND user_id > ?
		ORDER BY user_id LIMIT ?`, campaign, after, limit)
	if err != nil {
		return nil, translate(err, "read the audience of "+campaign)
	}
	defer rows.Close()
	var users []string
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			return nil, translate(err, "read the audience of "+campaign)
		}
		users = append(users, u)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the audience of "+campaign)
	}
	return users, nil
}
