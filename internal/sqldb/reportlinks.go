package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

const linkColumns = `id, campaign, hash, note, key_id, author, created_ms, expires_ms`

func scanLink(scan func(...any) error) (l sluice.ReportLink, err error) {
	var hash []byte
	err = scan(&l.ID, &l.Campaign, &hash, &l.Note, &l.KeyID, &l.Author, &l.CreatedAt, &l.ExpiresAt)
	copy(l.Hash[:], hash)
	return l, err
}

// linkState is a link as the audit log shows it: nothing of the secret.
type linkState struct {
	ID        string        `json:"id"`
	Note      string        `json:"note,omitempty"`
	Author    string        `json:"author"`
	ExpiresAt sluice.Millis `json:"expires_at_ms"`
}

func shownLink(l *sluice.ReportLink) linkState { return linkState{l.ID, l.Note, l.Author, l.ExpiresAt} }

// CreateReportLink records l, with an audit row. Of all campaigns, what has expired is deleted. ErrNotFound: there is
// no such campaign. ErrConflict: it has sluice.MaxReportLinks in force.
func (db *DB) CreateReportLink(ctx context.Context, l sluice.ReportLink, a sluice.Actor) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		if _, _, err := t.lockCampaign(l.Campaign); err != nil { // so that nobody counts beside us
			return err
		}
		if _, err := t.exec(`DELETE FROM report_links WHERE expires_ms <= ?`, l.CreatedAt); err != nil {
			return err
		}
		var n int
		if err := t.row(`SELECT COUNT(*) FROM report_links WHERE campaign = ?`, []any{l.Campaign}, &n); err != nil {
			return err
		}
		if n >= sluice.MaxReportLinks {
			return sluice.NewFault(sluice.ErrConflict, "TOO_MANY_LINKS", fmt.Sprintf(
				"there are %d links to this report in force, which is the most: take one back", sluice.MaxReportLinks))
		}
		_, err := t.exec(`INSERT INTO report_links (`+linkColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			l.ID, l.Campaign, l.Hash[:], l.Note, l.KeyID, l.Author, l.CreatedAt, l.ExpiresAt)
		if err != nil {
			return err
		}
		return t.audit(l.CreatedAt, a, "report_link.create", "campaign/"+l.Campaign, nil, shownLink(&l))
	})
}

// ReportLink reads the link whose secret has this SHA-256, expired or not; ErrNotFound: there is none.
func (db *DB) ReportLink(ctx context.Context, hash [32]byte) (sluice.ReportLink, error) {
	l, err := scanLink(db.rdb.QueryRowContext(ctx,
		`SELECT `+linkColumns+` FROM report_links WHERE hash = ?`, hash[:]).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return l, fmt.Errorf("sqldb: link to a report: %w", sluice.ErrNotFound)
	case err != nil:
		return l, translate(err, "read a link to a report")
	}
	return l, nil
}

// ReportLinks reads the links to a campaign's report that have not expired at now, newest first, at most
// sluice.MaxReportLinks.
func (db *DB) ReportLinks(
	ctx context.Context, campaign string, now sluice.Millis,
) (all []sluice.ReportLink, err error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+linkColumns+` FROM report_links WHERE campaign = ? AND expires_ms > ?
		ORDER BY created_ms DESC, id DESC LIMIT ?`, campaign, now, sluice.MaxReportLinks)
	if err != nil {
		return nil, translate(err, "read the links to a report")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		l, err := scanLink(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the links to a report")
		}
		all = append(all, l)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the links to a report")
	}
	return all, nil
}

// DeleteReportLink takes a link to a campaign's report back, with an audit row, and gives it as it was. ErrNotFound:
// there is none, or no more.
func (db *DB) DeleteReportLink(
	ctx context.Context, campaign, id string, a sluice.Actor, now sluice.Millis,
) (l sluice.ReportLink, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		l, err = scanLink(func(into ...any) error {
			return t.row(`SELECT `+linkColumns+` FROM report_links WHERE id = ? AND campaign = ?`, []any{id, campaign}, into...)
		})
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_LINK", "there is no link "+id+" to this report")
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM report_links WHERE id = ?`, id); err != nil {
			return err
		}
		return t.audit(now, a, "report_link.delete", "campaign/"+campaign, shownLink(&l), nil)
	})
	return l, err
}
