package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

const sessionColumns = `id, key_id, name, role, hash, proof, addr, agent, created_ms, expires_ms`

func scanSession(scan func(...any) error) (s sluice.Session, err error) {
	var hash, proof []byte
	err = scan(&s.ID, &s.KeyID, &s.Name, &s.Role, &hash, &proof, &s.Addr, &s.Agent, &s.CreatedAt, &s.ExpiresAt)
	copy(s.Hash[:], hash)
	copy(s.Proof[:], proof)
	return s, err
}

// sessionState is a session as the audit log shows it: nothing of the secret.
type sessionState struct {
	KeyID     string        `json:"key_id"`
	Agent     string        `json:"agent,omitempty"`
	ExpiresAt sluice.Millis `json:"expires_at_ms"`
}

func shownSession(s *sluice.Session) sessionState { return sessionState{s.KeyID, s.Agent, s.ExpiresAt} }

// OpenSession records s. What has expired is deleted, and of the same key's sessions the oldest give way to
// sluice.MaxKeySessions.
func (db *DB) OpenSession(ctx context.Context, s sluice.Session, a sluice.Actor) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		if _, err := t.exec(`DELETE FROM sessions WHERE expires_ms <= ?`, s.CreatedAt); err != nil {
			return err
		}
		old, err := t.sessionsOf(s.KeyID)
		if err != nil {
			return err
		}
		for ; len(old) >= sluice.MaxKeySessions; old = old[1:] {
			if _, err := t.exec(`DELETE FROM sessions WHERE id = ?`, old[0]); err != nil {
				return err
			}
		}
		_, err = t.exec(`INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.ID, s.KeyID, s.Name, string(s.Role), s.Hash[:], s.Proof[:], s.Addr, s.Agent, s.CreatedAt, s.ExpiresAt)
		if err != nil {
			return err
		}
		return t.audit(s.CreatedAt, a, "session.open", "session/"+s.ID, nil, shownSession(&s))
	})
}

// sessionsOf gives the ids of a key's sessions, oldest first.
func (t *tx) sessionsOf(key string) (ids []string, err error) {
	rows, err := t.rows(`SELECT id FROM sessions WHERE key_id = ? ORDER BY created_ms, id`, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Session reads the session whose secret has this SHA-256, expired or not; ErrNotFound: there is none.
func (db *DB) Session(ctx context.Context, hash [32]byte) (sluice.Session, error) {
	s, err := scanSession(db.rdb.QueryRowContext(ctx,
		`SELECT `+sessionColumns+` FROM sessions WHERE hash = ?`, hash[:]).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s, fmt.Errorf("sqldb: session: %w", sluice.ErrNotFound)
	case err != nil:
		return s, translate(err, "read a session")
	}
	return s, nil
}

// Sessions reads the sessions that have not expired at now, newest first, at most sluice.MaxListedSessions.
func (db *DB) Sessions(ctx context.Context, now sluice.Millis) (all []sluice.Session, err error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE expires_ms > ?
		ORDER BY created_ms DESC, id LIMIT ?`, now, sluice.MaxListedSessions)
	if err != nil {
		return nil, translate(err, "read the sessions")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		s, err := scanSession(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the sessions")
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the sessions")
	}
	return all, nil
}

// CloseSession deletes a session and gives it as it was. ErrNotFound: there is none, or no more.
func (db *DB) CloseSession(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (s sluice.Session, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		s, err = scanSession(func(into ...any) error {
			return t.row(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, []any{id}, into...)
		})
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_SESSION", "there is no session "+id)
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM sessions WHERE id = ?`, id); err != nil {
			return err
		}
		return t.audit(now, a, "session.close", "session/"+id, shownSession(&s), nil)
	})
	return s, err
}
