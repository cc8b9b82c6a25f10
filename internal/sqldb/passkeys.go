package sqldb

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// passKeyState is a pass key as the audit log shows it: nothing of the secret.
type passKeyState struct {
	Seq      int64         `json:"seq"`
	ActiveAt sluice.Millis `json:"active_at_ms"`
	KeptFrom int64         `json:"kept_from"`
}

// PassKeys reads the keys of passes, the newest first.
func (db *DB) PassKeys(ctx context.Context) ([]sluice.PassKey, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT seq, secret, created_ms, active_ms FROM pass_keys ORDER BY seq DESC`)
	if err != nil {
		return nil, translate(err, "read the pass keys")
	}
	defer func() { _ = rows.Close() }()
	var all []sluice.PassKey
	for rows.Next() {
		var k sluice.PassKey
		var secret []byte
		if err := rows.Scan(&k.Seq, &secret, &k.CreatedAt, &k.ActiveAt); err != nil {
			return nil, translate(err, "read the pass keys")
		}
		if copy(k.Secret[:], secret) != len(k.Secret) {
			return nil, fmt.Errorf("sqldb: pass key %d has %d bytes", k.Seq, len(secret))
		}
		all = append(all, k)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the pass keys")
	}
	return all, nil
}

// AddPassKey records k and forgets the keys before keepFrom, with an audit row. ErrConflict: there is a key of that
// number, which another node has made at the same time; nothing is written then.
func (db *DB) AddPassKey(ctx context.Context, k sluice.PassKey, keepFrom int64, a sluice.Actor) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		_, err := t.exec(`INSERT INTO pass_keys (seq, secret, created_ms, active_ms) VALUES (?, ?, ?, ?)`,
			k.Seq, k.Secret[:], k.CreatedAt, k.ActiveAt)
		if isUnique(err) {
			return sluice.NewFault(sluice.ErrConflict, "PASS_KEY_EXISTS", "another node has made this key at the same time")
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM pass_keys WHERE seq < ?`, keepFrom)
		}
		if err != nil {
			return err
		}
		t.settings = true
		return t.audit(k.CreatedAt, a, "pass_key.add", fmt.Sprintf("pass_key/%d", k.Seq), nil,
			passKeyState{k.Seq, k.ActiveAt, keepFrom})
	})
}
