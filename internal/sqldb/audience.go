package sqldb

import (
	"context"
	"slices"
	"strings"

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
	for _, u := range users {
		if len(u) > sluice.MaxUserID { // which a database that ignores conflicts would cut off
			return 0, sluice.Invalid(sluice.FieldFault{Field: "users", Detail: "a user id has at most 64 bytes"})
		}
	}
	err = db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		added, t.settings = 0, true
		for some := range slices.Chunk(users, audienceRows) {
			n, err := t.putAudience(no, upload, some)
			if err != nil {
				return err
			}
			added += n
		}
		return nil
	})
	return added, err
}

// audienceRows are written by one statement. A shorter list is filled up with its last user, so that one prepared
// statement serves every length.
const audienceRows = 100

var (
	insertAudience = `INSERT OR IGNORE INTO audience (campaign_no, user_id, upload) VALUES ` +
		strings.Repeat(`(?, ?, ?), `, audienceRows-1) + `(?, ?, ?)`
	markAudience = `UPDATE audience SET upload = ? WHERE campaign_no = ? AND user_id IN (` +
		questionMarks(audienceRows) + `)`
	deleteAudience = `DELETE FROM audience WHERE campaign_no = ? AND user_id IN (` + questionMarks(audienceRows) + `)`
)

func (t *tx) putAudience(no, upload int64, users []string) (added int64, err error) {
	rows, marks := make([]any, 0, 3*audienceRows), make([]any, 0, audienceRows+2)
	marks = append(marks, upload, no)
	for i := range audienceRows {
		u := users[min(i, len(users)-1)]
		rows, marks = append(rows, no, u, upload), append(marks, u)
	}
	if added, err = t.exec(insertAudience, rows...); err != nil {
		return 0, err
	}
	if added < int64(len(users)) { // some were there
		_, err = t.exec(markAudience, marks...)
	}
	return added, err
}

// trimAudience deletes one chunk of those of another upload.
var trimAudience = perDialect{
	sqlite: `DELETE FROM audience WHERE campaign_no = ?1 AND user_id IN
		(SELECT user_id FROM audience WHERE campaign_no = ?1 AND upload <> ?2 LIMIT ?3)`,
	mysql: `DELETE FROM audience WHERE campaign_no = ? AND upload <> ? LIMIT ?`,
}

// TrimAudience takes out up to a chunk of those whom upload did not name, and says how many: zero means that none
// is left.
func (db *DB) TrimAudience(ctx context.Context, campaign string, upload int64) (removed int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		removed, err = t.exec(t.pick(trimAudience), no, upload, maxAudienceChunk)
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
		for some := range slices.Chunk(users, audienceRows) {
			args := []any{no}
			for i := range audienceRows {
				args = append(args, some[min(i, len(some)-1)])
			}
			n, err := t.exec(deleteAudience, args...)
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
