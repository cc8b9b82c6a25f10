package sqldb

import (
	"context"
	"errors"

	"github.com/sluice-sale/sluice"
)

const keyColumns = `id, name, role, merchant_id, prefix, hash, created_ms, revoked_ms`

func scanKey(scan func(...any) error) (k sluice.APIKey, err error) {
	var hash []byte
	err = scan(&k.ID, &k.Name, &k.Role, &k.MerchantID, &k.Prefix, &hash, &k.CreatedAt, &k.RevokedAt)
	copy(k.Hash[:], hash)
	return k, err
}

// keyState is a key as the audit log shows it: nothing of the secret.
type keyState struct {
	Name       string        `json:"name"`
	Role       sluice.Role   `json:"role"`
	MerchantID string        `json:"merchant_id,omitempty"`
	Prefix     string        `json:"prefix"`
	RevokedAt  sluice.Millis `json:"revoked_at_ms,omitempty"`
}

func shownKey(k sluice.APIKey) keyState {
	return keyState{k.Name, k.Role, k.MerchantID, k.Prefix, k.RevokedAt}
}

// APIKeys reads every key, revoked ones too, in the order of their making.
func (db *DB) APIKeys(ctx context.Context) ([]sluice.APIKey, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+keyColumns+` FROM api_keys ORDER BY created_ms, id`)
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
			k.ID, k.Name, string(k.Role), k.MerchantID, k.Prefix, k.Hash[:], k.CreatedAt, k.RevokedAt)
		if err != nil {
			return err
		}
		t.settings = true
		return t.audit(k.CreatedAt, a, "api_key.create", "api_key/"+k.ID, nil, shownKey(k))
	})
}

// RevokeAPIKey ends a key and its sessions at now, and gives it. Revoking a revoked key changes nothing. ErrNotFound:
// there is none.
func (db *DB) RevokeAPIKey(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (k sluice.APIKey, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		k, err = scanKey(func(into ...any) error {
			return t.row(`SELECT `+keyColumns+` FROM api_keys WHERE id = ?`, []any{id}, into...)
		})
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_KEY", "there is no API key "+id)
		}
		if err != nil || k.RevokedAt != 0 {
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
