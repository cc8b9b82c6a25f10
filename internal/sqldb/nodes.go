package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Beat writes a node's heartbeat. SeenAt is the database's clock, whatever n says.
func (db *DB) Beat(ctx context.Context, n sluice.Node) error {
	flushed := n.Flushed
	if flushed == nil {
		flushed = map[string]int64{}
	}
	text, err := json.Marshal(flushed)
	if err != nil {
		return fmt.Errorf("sqldb: heartbeat of %s: %w", n.ID, err)
	}
	standing, err := json.Marshal(n.Standing)
	if err != nil {
		return fmt.Errorf("sqldb: heartbeat of %s: %w", n.ID, err)
	}
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		now, err := t.now()
		if err != nil {
			return err
		}
		if n.Standing.Known() {
			if _, err := t.exec(`REPLACE INTO node_standings (id, standing) VALUES (?, ?)`, n.ID, string(standing)); err != nil {
				return err
			}
		}
		changed, err := t.exec(`UPDATE nodes SET name = ?, version = ?, addr = ?, started_ms = ?, seen_ms = ?, settings = ?,
			skew_ms = ?, flushed = ? WHERE id = ?`,
			n.Name, n.Version, n.Addr, n.StartedAt, now, n.Settings, n.SkewMS, string(text), n.ID)
		if err != nil || changed > 0 {
			return err
		}
		_, err = t.exec(`INSERT INTO nodes (id, name, version, addr, started_ms, seen_ms, settings, skew_ms, flushed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			n.ID, n.Name, n.Version, n.Addr, n.StartedAt, now, n.Settings, n.SkewMS, string(text))
		if isUnique(err) { // two heartbeats of one node at once: either will do
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: heartbeat of %s: %w", n.ID, err)
	}
	return nil
}

// Leave takes a node that stops out of the list, so that nobody waits for it.
func (db *DB) Leave(ctx context.Context, id string) error {
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		if _, err := t.exec(`DELETE FROM node_standings WHERE id = ?`, id); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM nodes WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: node %s leaves: %w", id, err)
	}
	return nil
}

// DropNodes forgets nodes that have been silent for longer than silent, and says how many.
func (db *DB) DropNodes(ctx context.Context, silent time.Duration) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		now, err := t.now()
		if err != nil {
			return err
		}
		before := now - silent.Milliseconds()
		_, err = t.exec(`DELETE FROM node_standings WHERE id IN (SELECT id FROM nodes WHERE seen_ms < ?)`, before)
		if err != nil {
			return err
		}
		n, err = t.exec(`DELETE FROM nodes WHERE seen_ms < ?`, before)
		return err
	})
	return n, err
}

// Nodes lists every node that has a heartbeat, dead ones too, in the order of their ids. SeenAt and AgeMS are by the
// database's clock.
func (db *DB) Nodes(ctx context.Context) ([]sluice.Node, error) {
	now, err := db.Clock(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT n.id, name, version, addr, started_ms, seen_ms, settings, skew_ms,
		flushed, COALESCE(standing, '{}') FROM nodes n LEFT JOIN node_standings s ON s.id = n.id ORDER BY n.id`)
	if err != nil {
		return nil, translate(err, "read the nodes")
	}
	defer func() { _ = rows.Close() }()
	var all []sluice.Node
	for rows.Next() {
		var n sluice.Node
		var flushed, standing string
		err := rows.Scan(&n.ID, &n.Name, &n.Version, &n.Addr, &n.StartedAt, &n.SeenAt, &n.Settings, &n.SkewMS, &flushed,
			&standing)
		if err != nil {
			return nil, translate(err, "read the nodes")
		}
		err = errors.Join(json.Unmarshal([]byte(flushed), &n.Flushed), json.Unmarshal([]byte(standing), &n.Standing))
		if err != nil {
			return nil, fmt.Errorf("sqldb: node %s: %w", n.ID, err)
		}
		n.AgeMS = max(0, int64(now-n.SeenAt))
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the nodes")
	}
	return all, nil
}

// SettingsRev gives the revision of what every node keeps a copy of: campaigns, switches, blocklist, audience and keys.
// It moves in the transaction of every write of theirs.
func (db *DB) SettingsRev(ctx context.Context) (rev int64, err error) {
	err = db.rdb.QueryRowContext(ctx, `SELECT rev FROM settings_rev WHERE one = 1`).Scan(&rev)
	if err != nil {
		return 0, translate(err, "the settings' revision")
	}
	return rev, nil
}
