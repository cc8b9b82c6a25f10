package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

const blockColumns = `id, scope, value, reason, author, created_ms, expires_ms`

func scanBlock(scan func(...any) error) (b sluice.Block, err error) {
	err = scan(&b.ID, &b.Scope, &b.Value, &b.Reason, &b.Author, &b.CreatedAt, &b.ExpiresAt)
	return b, err
}

// blockState is a block as the audit log shows it.
type blockState struct {
	Scope     sluice.BlockScope `json:"scope"`
	Value     string            `json:"value"`
	Reason    string            `json:"reason,omitempty"`
	ExpiresAt sluice.Millis     `json:"expires_at_ms,omitempty"`
}

func shownBlock(b sluice.Block) blockState {
	return blockState{b.Scope, b.Value, b.Reason, b.ExpiresAt}
}

// Blocks reads every block that is in force at now, in the order of their ids.
func (db *DB) Blocks(ctx context.Context, now sluice.Millis) ([]sluice.Block, error) {
	return db.blocks(ctx, `SELECT `+blockColumns+` FROM blocklist
		WHERE expires_ms = 0 OR expires_ms > ? ORDER BY id`, now)
}

// BlocksPage reads up to limit blocks in force at now whose id is greater than after; scope and value narrow it
// where they are not empty.
func (db *DB) BlocksPage(
	ctx context.Context, scope sluice.BlockScope, value, after string, now sluice.Millis, limit int,
) ([]sluice.Block, error) {
	return db.blocks(ctx, `SELECT `+blockColumns+` FROM blocklist WHERE (expires_ms = 0 OR expires_ms > ?)
		AND id > ? AND (? = '' OR scope = ?) AND (? = '' OR value = ?) ORDER BY id LIMIT ?`,
		now, after, string(scope), string(scope), value, value, limit)
}

func (db *DB) blocks(ctx context.Context, query string, args ...any) ([]sluice.Block, error) {
	rows, err := db.rdb.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, translate(err, "read the blocklist")
	}
	defer rows.Close()
	var all []sluice.Block
	for rows.Next() {
		b, err := scanBlock(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the blocklist")
		}
		all = append(all, b)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the blocklist")
	}
	return all, nil
}

// Block reads one block by its id, in force or not. ErrNotFound: there is none.
func (db *DB) Block(ctx context.Context, id string) (sluice.Block, error) {
	b, err := scanBlock(db.rdb.QueryRowContext(ctx, `SELECT `+blockColumns+` FROM blocklist WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return b, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_BLOCK", "there is no block "+id)
	}
	if err != nil {
		return b, translate(err, "read block "+id)
	}
	return b, nil
}

// AddBlock records b. A block of the same scope and value is changed instead and keeps its id: that is the one
// given back. Repeating it changes nothing but the audit log.
func (db *DB) AddBlock(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error) {
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		var before any
		var old sluice.Block
		old, err := scanBlock(func(into ...any) error {
			return t.row(`SELECT `+blockColumns+` FROM blocklist WHERE scope = ? AND value = ?`,
				[]any{string(b.Scope), b.Value}, into...)
		})
		switch {
		case err == nil:
			before, b.ID, b.CreatedAt = shownBlock(old), old.ID, old.CreatedAt
		case !errors.Is(err, sluice.ErrNotFound):
			return fmt.Errorf("sqldb: block %s %s: %w", b.Scope, b.Value, err)
		}
		_, err = t.exec(`INSERT INTO blocklist (`+blockColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, author = excluded.author,
			expires_ms = excluded.expires_ms`,
			b.ID, string(b.Scope), b.Value, b.Reason, b.Author, b.CreatedAt, b.ExpiresAt)
		if err == nil { // of two servers that add it at once the second finds the id of the first
			err = t.row(`SELECT id FROM blocklist WHERE scope = ? AND value = ?`, []any{string(b.Scope), b.Value}, &b.ID)
		}
		if err != nil {
			return err
		}
		t.settings = true
		return t.audit(b.CreatedAt, a, "block.add", "block/"+b.ID, before, shownBlock(b))
	})
	return b, err
}

// RemoveBlock lifts a block and gives what it was. ErrNotFound: there is none.
func (db *DB) RemoveBlock(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (b sluice.Block, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		b, err = scanBlock(func(into ...any) error {
			return t.row(`SELECT `+blockColumns+` FROM blocklist WHERE id = ?`, []any{id}, into...)
		})
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_BLOCK", "there is no block "+id)
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM blocklist WHERE id = ?`, id); err != nil {
			return err
		}
		t.settings = true
		return t.audit(now, a, "block.remove", "block/"+id, shownBlock(b), nil)
	})
	return b, err
}

var dropBlocks = perDialect{
	sqlite: `DELETE FROM blocklist WHERE id IN
		(SELECT id FROM blocklist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?)`,
	mysql: `DELETE FROM blocklist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?`,
}

// DropExpiredBlocks deletes up to limit blocks that ended before `before`, and says how many. Blocks that have
// just ended are kept for support to look up, so that a cleaner passes a moment some days back.
func (db *DB) DropExpiredBlocks(ctx context.Context, before sluice.Millis, limit int) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		n, err = t.exec(t.pick(dropBlocks), before, limit)
		return err
	})
	return n, err
}
