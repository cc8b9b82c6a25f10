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

// list is a table of users, devices and addresses: the blocklist or the allowlist.
type list struct {
	table, noun, unknown string
}

var (
	blockList = list{"blocklist", "block", "UNKNOWN_BLOCK"}
	allowList = list{"allowlist", "allow", "UNKNOWN_ALLOWED"}
)

// Allowlist is the ledger of the allowlist, with the methods that the blocklist has.
type Allowlist struct{ db *DB }

// Allowlist gives it.
func (db *DB) Allowlist() Allowlist { return Allowlist{db} }

// Blocks reads every entry that is in force at now, in the order of their ids.
func (a Allowlist) Blocks(ctx context.Context, now sluice.Millis) ([]sluice.Block, error) {
	return a.db.inForce(ctx, allowList, now)
}

// BlocksPage reads a page of what is in force.
func (a Allowlist) BlocksPage(
	ctx context.Context, scope sluice.BlockScope, value, after string, now sluice.Millis, limit int,
) ([]sluice.Block, error) {
	return a.db.listPage(ctx, allowList, scope, value, after, now, limit)
}

// Block reads one entry by its id, in force or not. ErrNotFound: there is none.
func (a Allowlist) Block(ctx context.Context, id string) (sluice.Block, error) {
	return a.db.listed(ctx, allowList, id)
}

// AddBlock records an entry; a known scope and value keep their id.
func (a Allowlist) AddBlock(ctx context.Context, b sluice.Block, by sluice.Actor) (sluice.Block, error) {
	all, err := a.AddBlocks(ctx, []sluice.Block{b}, by)
	return all[0], err
}

// AddBlocks records entries in one transaction.
func (a Allowlist) AddBlocks(ctx context.Context, all []sluice.Block, by sluice.Actor) ([]sluice.Block, error) {
	return a.db.addListed(ctx, allowList, all, by)
}

// RemoveBlock takes an entry away and gives what it was. ErrNotFound: there is none.
func (a Allowlist) RemoveBlock(
	ctx context.Context, id string, by sluice.Actor, now sluice.Millis,
) (sluice.Block, error) {
	return a.db.removeListed(ctx, allowList, id, by, now)
}

// Blocks reads every block that is in force at now, in the order of their ids.
func (db *DB) Blocks(ctx context.Context, now sluice.Millis) ([]sluice.Block, error) {
	return db.inForce(ctx, blockList, now)
}

func (db *DB) inForce(ctx context.Context, l list, now sluice.Millis) ([]sluice.Block, error) {
	return db.listRows(ctx, `SELECT `+blockColumns+` FROM `+l.table+`
		WHERE expires_ms = 0 OR expires_ms > ? ORDER BY id`, now)
}

// BlocksPage reads up to limit blocks in force at now whose id is greater than after; scope and value narrow it
// where they are not empty.
func (db *DB) BlocksPage(
	ctx context.Context, scope sluice.BlockScope, value, after string, now sluice.Millis, limit int,
) ([]sluice.Block, error) {
	return db.listPage(ctx, blockList, scope, value, after, now, limit)
}

func (db *DB) listPage(
	ctx context.Context, l list, scope sluice.BlockScope, value, after string, now sluice.Millis, limit int,
) ([]sluice.Block, error) {
	return db.listRows(ctx, `SELECT `+blockColumns+` FROM `+l.table+` WHERE (expires_ms = 0 OR expires_ms > ?)
		AND id > ? AND (? = '' OR scope = ?) AND (? = '' OR value = ?) ORDER BY id LIMIT ?`,
		now, after, string(scope), string(scope), value, value, limit)
}

func (db *DB) listRows(ctx context.Context, query string, args ...any) ([]sluice.Block, error) {
	rows, err := db.rdb.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, translate(err, "read a list")
	}
	defer rows.Close()
	var all []sluice.Block
	for rows.Next() {
		b, err := scanBlock(rows.Scan)
		if err != nil {
			return nil, translate(err, "read a list")
		}
		all = append(all, b)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read a list")
	}
	return all, nil
}

// Block reads one block by its id, in force or not. ErrNotFound: there is none.
func (db *DB) Block(ctx context.Context, id string) (sluice.Block, error) {
	return db.listed(ctx, blockList, id)
}

func (db *DB) listed(ctx context.Context, l list, id string) (sluice.Block, error) {
	b, err := scanBlock(db.rdb.QueryRowContext(ctx, `SELECT `+blockColumns+` FROM `+l.table+` WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return b, l.fault(id)
	}
	if err != nil {
		return b, translate(err, "read "+l.noun+" "+id)
	}
	return b, nil
}

func (l list) fault(id string) error {
	return sluice.NewFault(sluice.ErrNotFound, l.unknown, "the "+l.table+" has no entry "+id)
}

// AddBlock records b. A block of the same scope and value is changed instead and keeps its id: that is the one
// given back. Repeating it changes nothing but the audit log.
func (db *DB) AddBlock(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error) {
	all, err := db.AddBlocks(ctx, []sluice.Block{b}, a)
	return all[0], err
}

// AddBlocks records blocks in one transaction.
func (db *DB) AddBlocks(ctx context.Context, all []sluice.Block, a sluice.Actor) ([]sluice.Block, error) {
	return db.addListed(ctx, blockList, all, a)
}

func (db *DB) addListed(ctx context.Context, l list, all []sluice.Block, a sluice.Actor) ([]sluice.Block, error) {
	out := append([]sluice.Block(nil), all...)
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		copy(out, all)
		for i := range out {
			if err := t.addListed(l, &out[i], a); err != nil {
				return err
			}
		}
		t.settings = true
		return nil
	})
	return out, err
}

func (t *tx) addListed(l list, b *sluice.Block, a sluice.Actor) error {
	var before any
	old, err := scanBlock(func(into ...any) error {
		return t.row(`SELECT `+blockColumns+` FROM `+l.table+` WHERE scope = ? AND value = ?`,
			[]any{string(b.Scope), b.Value}, into...)
	})
	switch {
	case err == nil:
		before, b.ID, b.CreatedAt = shownBlock(old), old.ID, old.CreatedAt
	case !errors.Is(err, sluice.ErrNotFound):
		return fmt.Errorf("sqldb: %s %s %s: %w", l.noun, b.Scope, b.Value, err)
	}
	_, err = t.exec(`INSERT INTO `+l.table+` (`+blockColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, author = excluded.author,
		expires_ms = excluded.expires_ms`,
		b.ID, string(b.Scope), b.Value, b.Reason, b.Author, b.CreatedAt, b.ExpiresAt)
	if err == nil { // of two servers that add it at once the second finds the id of the first
		err = t.row(`SELECT id FROM `+l.table+` WHERE scope = ? AND value = ?`, []any{string(b.Scope), b.Value}, &b.ID)
	}
	if err != nil {
		return err
	}
	return t.audit(b.CreatedAt, a, l.noun+".add", l.noun+"/"+b.ID, before, shownBlock(*b))
}

// RemoveBlock lifts a block and gives what it was. ErrNotFound: there is none.
func (db *DB) RemoveBlock(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (sluice.Block, error) {
	return db.removeListed(ctx, blockList, id, a, now)
}

func (db *DB) removeListed(
	ctx context.Context, l list, id string, a sluice.Actor, now sluice.Millis,
) (b sluice.Block, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		b, err = scanBlock(func(into ...any) error {
			return t.row(`SELECT `+blockColumns+` FROM `+l.table+` WHERE id = ?`, []any{id}, into...)
		})
		if errors.Is(err, sluice.ErrNotFound) {
			return l.fault(id)
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM `+l.table+` WHERE id = ?`, id); err != nil {
			return err
		}
		t.settings = true
		return t.audit(now, a, l.noun+".remove", l.noun+"/"+id, shownBlock(b), nil)
	})
	return b, err
}

// What is dropped once it has been over for long, each with its limit.
var dropEnded = []perDialect{
	{
		sqlite: `DELETE FROM blocklist WHERE id IN
			(SELECT id FROM blocklist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?)`,
		mysql: `DELETE FROM blocklist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?`,
	},
	{
		sqlite: `DELETE FROM allowlist WHERE id IN
			(SELECT id FROM allowlist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?)`,
		mysql: `DELETE FROM allowlist WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?`,
	},
	{
		sqlite: `DELETE FROM risk_fired WHERE seq IN (SELECT seq FROM risk_fired WHERE until_ms < ? LIMIT ?)`,
		mysql:  `DELETE FROM risk_fired WHERE until_ms < ? LIMIT ?`,
	},
	{
		sqlite: `DELETE FROM holders WHERE (holder, claim_id) IN
			(SELECT holder, claim_id FROM holders WHERE until_ms < ? LIMIT ?)`,
		mysql: `DELETE FROM holders WHERE until_ms < ? LIMIT ?`,
	},
}

// DropExpiredBlocks deletes up to limit blocks that ended before `before`, as many entries of the allowlist, records of
// what risk rules did, and places of holders, and says how many went. Blocks that have just ended are kept for support
// to look up, so that a cleaner passes a moment some days back.
func (db *DB) DropExpiredBlocks(ctx context.Context, before sluice.Millis, limit int) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		n = 0
		for _, drop := range dropEnded {
			k, err := t.exec(t.pick(drop), before, limit)
			if err != nil {
				return err
			}
			n += k
		}
		return nil
	})
	return n, err
}
