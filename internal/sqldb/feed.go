package sqldb

import (
	"context"
	"fmt"
	"strings"
)

// The feed where several transactions write events at once. A row has no place in it until it is committed; then
// whoever reads the feed gives it the next one, under a lock that all readers share. So a reader who keeps the last
// id it has dealt with can miss nothing: what commits later gets a later place. The rows of one campaign are
// written under its lock, so that their numbers, in whose order places are given, are in the order of their
// commits.

// maxPlaced bounds the events that get their places in one transaction.
const maxPlaced = 500

// placeEvents gives every committed event its place, up to what limit events can need.
func (db *DB) placeEvents(ctx context.Context, limit int) error {
	for placed := 0; placed <= limit; placed += maxPlaced {
		var open bool
		err := db.rdb.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM events WHERE seq IS NULL)`).Scan(&open)
		if err != nil || !open {
			return err
		}
		n := 0
		err = db.write(ctx, laneBackground, func(t *tx) (err error) {
			n, err = t.placeEvents()
			return err
		})
		if err != nil || n < maxPlaced {
			return err
		}
	}
	return nil
}

func (t *tx) placeEvents() (int, error) {
	var last int64
	err := t.row(`SELECT value FROM counters WHERE name = 'events' FOR UPDATE`, nil, &last)
	if err != nil {
		return 0, err
	}
	rows, err := t.rows(`SELECT id FROM events WHERE seq IS NULL ORDER BY id LIMIT ?`, maxPlaced)
	if err != nil {
		return 0, err
	}
	var ids []string
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		ids = append(ids, fmt.Sprint(id))
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	list := strings.Join(ids, `, `)
	_, err = t.conn.ExecContext(t.ctx, `UPDATE events SET seq = ? + FIELD(id, `+list+`) WHERE id IN (`+list+`)`, last)
	if err != nil {
		return 0, err
	}
	_, err = t.exec(`UPDATE counters SET value = value + ? WHERE name = 'events'`, len(ids))
	return len(ids), err
}
