package sqldb

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

const (
	keyColumns  = `id, name, role, merchant_id, prefix, hash, created_ms, revoked_ms`
	termColumns = `key_id, areas, read_only, hash, old_hash, old_prefix, old_until_ms, rotated_ms, rotation_id`
)

// readKeys reads keys with all that they have. Those that an older version made, and those that nobody has narrowed or
// rotated, have no terms.
const readKeys = `SELECT k.id, k.name, k.role, k.merchant_id, k.prefix, COALESCE(t.hash, k.hash), k.created_ms,
	k.revoked_ms, COALESCE(t.areas, ''), COALESCE(t.read_only, 0), t.old_hash, COALESCE(t.old_prefix, ''),
	COALESCE(t.old_until_ms, 0), COALESCE(t.rotated_ms, 0), COALESCE(t.rotation_id, ''), COALESCE(u.used_ms, 0)
	FROM api_keys k LEFT JOIN api_key_terms t ON t.key_id = k.id LEFT JOIN api_key_uses u ON u.key_id = k.id`

func scanKey(scan func(...any) error) (k sluice.APIKey, err error) {
	var hash, old []byte
	var areas string
	err = scan(&k.ID, &k.Name, &k.Role, &k.MerchantID, &k.Prefix, &hash, &k.CreatedAt, &k.RevokedAt, &areas,
		&k.Scope.ReadOnly, &old, &k.Old.Prefix, &k.Old.Until, &k.RotatedAt, &k.RotationID, &k.LastUsed)
	copy(k.Hash[:], hash)
	copy(k.Old.Hash[:], old)
	if areas != "" {
		k.Scope.Areas = strings.Split(areas, ",")
	}
	return k, err
}

// keyState is a key as the audit log shows it: nothing of the secret.
type keyState struct {
	Name       string        `json:"name"`
	Role       sluice.Role   `json:"role"`
	Areas      []string      `json:"areas,omitempty"`
	ReadOnly   bool          `json:"read_only,omitempty"`
	MerchantID string        `json:"merchant_id,omitempty"`
	Prefix     string        `json:"prefix"`
	OldPrefix  string        `json:"old_prefix,omitempty"`
	OldUntil   sluice.Millis `json:"old_until_ms,omitempty"`
	RotatedAt  sluice.Millis `json:"rotated_at_ms,omitempty"`
	RevokedAt  sluice.Millis `json:"revoked_at_ms,omitempty"`
}

func shownKey(k sluice.APIKey) keyState {
	return keyState{k.Name, k.Role, k.Scope.Areas, k.Scope.ReadOnly, k.MerchantID, k.Prefix, k.Old.Prefix, k.Old.Until,
		k.RotatedAt, k.RevokedAt}
}

// APIKeys reads every key, revoked ones too, in the order of their making.
func (db *DB) APIKeys(ctx context.Context) ([]sluice.APIKey, error) {
	rows, err := db.rdb.QueryContext(ctx, readKeys+` ORDER BY k.created_ms, k.id`)
	if err != nil {
		return nil, translate(err, "read the API keys")
	}
	defer rows.Close()
	var all []sluice.APIKey
	for rows.Next() {
		k, err := scanKey(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the API keys")
		}
		all = append(all, k)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the API keys")
	}
	return all, nil
}

// CreateAPIKey records k. Its id and hash are random, so that a conflict is a fault of the caller.
func (db *DB) CreateAPIKey(ctx context.Context, k sluice.APIKey, a sluice.Actor) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		_, err := t.exec(`INSERT INTO api_keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			k.ID, k.Name, string(k.Role), k.MerchantID, k.Prefix, hashForAll(k), k.CreatedAt, k.RevokedAt)
		if err != nil {
			return err
		}
		if k.Scope.Narrow() {
			if err := t.putTerms(k); err != nil {
				return err
			}
		}
		t.settings = true
		return t.audit(k.CreatedAt, a, "api_key.create", "api_key/"+k.ID, nil, shownKey(k))
	})
}

// hashForAll is what stands in a key's own row, where nodes of a version that knows no scopes look: of a key with a
// scope something that no secret has. They refuse it, instead of letting it do all that its role may.
func hashForAll(k sluice.APIKey) []byte {
	if !k.Scope.Narrow() {
		return k.Hash[:]
	}
	var none [len(k.Hash)]byte
	_, _ = rand.Read(none[:]) // crypto/rand.Read never fails
	return none[:]
}

// putTerms writes what a key has beside its row.
func (t *tx) putTerms(k sluice.APIKey) error {
	old := []byte{}
	if k.Old.Until != 0 {
		old = k.Old.Hash[:]
	}
	_, err := t.exec(`REPLACE INTO api_key_terms (`+termColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, strings.Join(k.Scope.Areas, ","), k.Scope.ReadOnly, k.Hash[:], old, k.Old.Prefix, k.Old.Until, k.RotatedAt,
		k.RotationID)
	return err
}

// apiKey reads a key such that it stays as it is read. ErrNotFound: there is none.
func (t *tx) apiKey(id string) (sluice.APIKey, error) {
	var found string // the row that every change of a key takes first
	err := t.row(t.locking(`SELECT id FROM api_keys WHERE id = ?`), []any{id}, &found)
	if err == nil {
		return scanKey(func(into ...any) error { return t.row(readKeys+` WHERE k.id = ?`, []any{id}, into...) })
	}
	if errors.Is(err, sluice.ErrNotFound) {
		err = sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_KEY", "there is no API key "+id)
	}
	return sluice.APIKey{}, err
}

// RotateAPIKey gives a key that is in force a new secret, and the key as it is then: see sluice.APIKey.Rotated. A
// version that knows no rotations believes the new secret only. ErrNotFound: there is no such key. ErrConflict: it is
// revoked.
func (db *DB) RotateAPIKey(
	ctx context.Context, id string, r sluice.KeyRotation, a sluice.Actor,
) (k sluice.APIKey, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		if k, err = t.apiKey(id); err != nil {
			return err
		}
		if k.RevokedAt != 0 {
			return sluice.NewFault(sluice.ErrConflict, "KEY_REVOKED", "the API key "+id+" is revoked")
		}
		before := shownKey(k)
		k = k.Rotated(r)
		_, err := t.exec(`UPDATE api_keys SET prefix = ?, hash = ? WHERE id = ? AND revoked_ms = 0`,
			k.Prefix, hashForAll(k), id)
		if err != nil {
			return err
		}
		if err := t.putTerms(k); err != nil {
			return err
		}
		t.settings = true
		return t.audit(r.At, a, "api_key.rotate", "api_key/"+id, before, shownKey(k))
	})
	return k, err
}

// RevokeAPIKey ends a key, whatever secrets it has, and its sessions at now, and gives it. Revoking a revoked key
// changes nothing. ErrNotFound: there is none.
func (db *DB) RevokeAPIKey(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (k sluice.APIKey, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		if k, err = t.apiKey(id); err != nil || k.RevokedAt != 0 {
			return err
		}
		before := shownKey(k)
		k.RevokedAt = now
		if _, err = t.exec(`UPDATE api_keys SET revoked_ms = ? WHERE id = ?`, now, id); err != nil {
			return err
		}
		if _, err = t.exec(`DELETE FROM sessions WHERE key_id = ?`, id); err != nil {
			return err
		}
		t.settings = true
		return t.audit(now, a, "api_key.revoke", "api_key/"+id, before, shownKey(k))
	})
	return k, err
}

// laterUse has the database keep the later of two moments, so that nodes write the same row in any order.
var laterUse = perDialect{
	sqlite: insertUse + ` ON CONFLICT (key_id) DO UPDATE SET used_ms = max(used_ms, excluded.used_ms)`,
	mysql:  insertUse + ` ON DUPLICATE KEY UPDATE used_ms = GREATEST(used_ms, VALUES(used_ms))`,
}

const insertUse = `INSERT INTO api_key_uses (key_id, used_ms) VALUES (?, ?)`

// UseAPIKeys records when keys were last used; an earlier moment than is known changes nothing. It is background work
// of one transaction, leaves no audit row, and moves no revision: no node reads its keys anew for it.
func (db *DB) UseAPIKeys(ctx context.Context, uses []sluice.KeyUse) error {
	uses = slices.Clone(uses) // in the order of their ids, so that nodes do not wait for each other in a circle
	slices.SortFunc(uses, func(a, b sluice.KeyUse) int { return cmp.Compare(a.ID, b.ID) })
	return db.write(ctx, laneBackground, func(t *tx) error {
		for _, u := range uses {
			if _, err := t.exec(t.pick(laterUse), u.ID, u.At); err != nil {
				return err
			}
		}
		return nil
	})
}
