package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

const preflightColumns = `seq, campaign, at_ms, ok, checks, author, signed_ms, signed_by, reason`

func scanPreflight(scan func(...any) error) (p sluice.Preflight, err error) {
	var checks string
	err = scan(&p.Seq, &p.Campaign, &p.At, &p.OK, &checks, &p.Author, &p.SignedAt, &p.SignedBy, &p.Reason)
	if err == nil {
		err = json.Unmarshal([]byte(checks), &p.Checks)
	}
	return p, err
}

// preflightState is a run as the audit log shows it.
type preflightState struct {
	OK     bool                    `json:"ok"`
	Checks []sluice.PreflightCheck `json:"checks,omitempty"`
}

// RecordPreflight keeps a run of the checks and gives it with its number.
func (db *DB) RecordPreflight(ctx context.Context, p sluice.Preflight, a sluice.Actor) (sluice.Preflight, error) {
	checks, err := json.Marshal(p.Checks)
	if err != nil {
		return p, fmt.Errorf("sqldb: preflight of %s: %w", p.Campaign, err)
	}
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		ok := 0
		if p.OK {
			ok = 1
		}
		p.Seq, err = t.insert(`INSERT INTO preflights (campaign, at_ms, ok, checks, author, signed_ms, signed_by, reason)
			VALUES (?, ?, ?, ?, ?, 0, '', '')`, p.Campaign, p.At, ok, string(checks), p.Author)
		if err != nil {
			return err
		}
		return t.audit(p.At, a, "preflight.run", "campaign/"+p.Campaign, nil, preflightState{p.OK, p.Checks})
	})
	return p, err
}

// Preflight reads a campaign's latest run. ErrNotFound: there is none.
func (db *DB) Preflight(ctx context.Context, campaign string) (sluice.Preflight, error) {
	p, err := scanPreflight(db.rdb.QueryRowContext(ctx, `SELECT `+preflightColumns+` FROM preflights WHERE campaign = ?
		ORDER BY seq DESC LIMIT 1`, campaign).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return p, sluice.NewFault(sluice.ErrNotFound, "NO_PREFLIGHT", "the checks before the sale have not run yet")
	case err != nil:
		return p, translate(err, "read the checks of "+campaign)
	}
	return p, nil
}

// SignPreflight has a.Name sign the run seq of a campaign. ErrConflict: a later run has taken its place, or somebody
// has signed it.
func (db *DB) SignPreflight(
	ctx context.Context, campaign string, seq int64, a sluice.Actor, now sluice.Millis,
) (p sluice.Preflight, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		p, err = scanPreflight(func(into ...any) error {
			return t.row(`SELECT `+preflightColumns+` FROM preflights WHERE campaign = ? ORDER BY seq DESC LIMIT 1`,
				[]any{campaign}, into...)
		})
		switch {
		case errors.Is(err, sluice.ErrNotFound):
			return sluice.NewFault(sluice.ErrNotFound, "NO_PREFLIGHT", "the checks before the sale have not run yet")
		case err != nil:
			return err
		case p.Seq != seq || p.SignedAt != 0:
			return sluice.NewFault(sluice.ErrConflict, "PREFLIGHT_CHANGED",
				"the checks ran again, or somebody has signed them: look at them again")
		}
		p.SignedAt, p.SignedBy, p.Reason = now, a.Name, a.Reason
		if _, err := t.exec(`UPDATE preflights SET signed_ms = ?, signed_by = ?, reason = ? WHERE seq = ?`,
			now, a.Name, a.Reason, seq); err != nil {
			return err
		}
		return t.audit(now, a, "preflight.sign", "campaign/"+campaign, nil, preflightState{OK: p.OK})
	})
	return p, err
}
