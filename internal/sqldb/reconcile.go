package sqldb

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sluice-sale/sluice"
)

// Bounds of what a run keeps of its findings: a gate that forgot everything differs by every claim.
const (
	maxFound      = 1000
	maxFaultBytes = 2000
)

// RecordRun keeps a comparison of a gate with the ledger. Of more than 1,000 findings the first are kept; Drift counts
// all of them. It gives the run's number.
func (db *DB) RecordRun(ctx context.Context, r sluice.ReconcileRun) (id int64, err error) {
	found, err := json.Marshal(r.Found[:min(len(r.Found), maxFound)])
	if err != nil {
		return 0, fmt.Errorf("sqldb: run of %s: %w", r.Campaign, err)
	}
	err = db.write(ctx, laneBackground, func(t *tx) error {
		id, err = t.insert(`INSERT INTO reconcile_runs (campaign, epoch, started_ms, took_ms, ok, total, available,
			in_transfer, queued, held, sold, claims, drift, found, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Campaign, r.Epoch, r.StartedAt, r.TookMS, r.OK, r.Total, r.Available, r.InTransfer,
			r.Queued, r.Held, r.Sold, r.Claims, r.Drift, string(found), cutText(r.Error, maxFaultBytes))
		if err == nil && r.Mode != sluice.RunRepairs {
			_, err = t.exec(`INSERT INTO run_modes (run, mode) VALUES (?, ?)`, id, string(r.Mode))
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sqldb: run of %s: %w", r.Campaign, err)
	}
	return id, nil
}

// Runs gives the comparisons of a campaign, newest first; of all campaigns where it is empty.
func (db *DB) Runs(
	ctx context.Context, campaign, cursor string, limit int,
) (page sluice.Page[sluice.ReconcileRun], err error) {
	before, err := cursorOf(cursor)
	if err != nil {
		return page, err
	}
	if limit <= 0 {
		limit = sluice.DefaultPage
	}
	limit = min(limit, sluice.MaxPage)
	rows, err := db.rdb.QueryContext(ctx, `SELECT id, campaign, epoch, started_ms, took_ms, ok, total, available,
		in_transfer, queued, held, sold, claims, drift, found, fault, COALESCE(mode, '') FROM reconcile_runs
		LEFT JOIN run_modes ON run = id WHERE id < ? AND (? = '' OR campaign = ?) ORDER BY id DESC LIMIT ?`,
		before, campaign, campaign, limit+1)
	if err != nil {
		return page, translate(err, "read the runs")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r sluice.ReconcileRun
		var found string
		err := rows.Scan(&r.ID, &r.Campaign, &r.Epoch, &r.StartedAt, &r.TookMS, &r.OK, &r.Total, &r.Available,
			&r.InTransfer, &r.Queued, &r.Held, &r.Sold, &r.Claims, &r.Drift, &found, &r.Error, &r.Mode)
		if err != nil {
			return page, translate(err, "read the runs")
		}
		if err := json.Unmarshal([]byte(found), &r.Found); err != nil {
			return page, fmt.Errorf("sqldb: run %d: %w", r.ID, err)
		}
		if len(page.Items) == limit {
			page.Next = strconv.FormatInt(page.Items[limit-1].ID, 10)
			break
		}
		page.Items = append(page.Items, r)
	}
	if err := rows.Err(); err != nil {
		return page, translate(err, "read the runs")
	}
	return page, nil
}

// DropRuns deletes up to limit runs that began before `before`, and says how many.
func (db *DB) DropRuns(ctx context.Context, before sluice.Millis, limit int) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		ids, err := t.numbers(`SELECT id FROM reconcile_runs WHERE started_ms < ? ORDER BY started_ms LIMIT ?`, before, limit)
		if err != nil {
			return err
		}
		n = 0
		for _, id := range ids {
			if _, err := t.exec(`DELETE FROM run_modes WHERE run = ?`, id); err != nil {
				return err
			}
			gone, err := t.exec(`DELETE FROM reconcile_runs WHERE id = ?`, id)
			if err != nil {
				return err
			}
			n += gone
		}
		return nil
	})
	return n, err
}

// numbers runs a query for one column of numbers.
func (t *tx) numbers(query string, args ...any) (list []int64, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

// cursorOf reads the cursor of a list that is paged by a number, newest first.
func cursorOf(cursor string) (before int64, err error) {
	if cursor == "" {
		return 1 << 62, nil
	}
	if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
		return 0, sluice.Invalid(sluice.FieldFault{Field: "cursor", Detail: "is not one that a page gave"})
	}
	return before, nil
}

// cutText gives at most n bytes of s, none of them half a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
