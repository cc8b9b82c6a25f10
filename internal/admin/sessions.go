package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// What a node remembers of sessions. A session that another node closed is let in here for sessionFresh at most, unless
// the ledger is away: then what was good lately goes on, since that is when operators need their console.
const (
	sessionFresh   = time.Second
	sessionStale   = 10 * time.Minute
	maxSessionMemo = 1024
)

// SessionLedger keeps sessions; writes leave their audit row in the same transaction.
type SessionLedger interface {
	OpenSession(ctx context.Context, s sluice.Session, a sluice.Actor) error
	// Session gives the one whose secret has this SHA-256, expired or not. ErrNotFound: there is none.
	Session(ctx context.Context, hash [32]byte) (sluice.Session, error)
	Sessions(ctx context.Context, now sluice.Millis) ([]sluice.Session, error)
	// CloseSession gives the session as it was. ErrNotFound: there is none, or no more.
	CloseSession(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.Session, error)
}

// SessionsConfig puts the desk of sessions together. Ledger and Keys are required.
type SessionsConfig struct {
	Ledger SessionLedger
	Keys   *Keys
	Now    func() time.Time // default time.Now
}

// Sessions is the desk of browser sessions: a cookie stands for the key that it was opened with, for as long as that
// key is in force and sluice.SessionLife at most.
type Sessions struct {
	cfg SessionsConfig

	mu   sync.Mutex // guards memo
	memo map[[32]byte]sessionMemo
}

type sessionMemo struct {
	session sluice.Session
	at      time.Time
}

// NewSessions makes the desk.
func NewSessions(cfg SessionsConfig) *Sessions {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Sessions{cfg: cfg, memo: map[[32]byte]sessionMemo{}}
}

// Open makes a session of k, whose Hash must be set, and gives its secret, which is kept nowhere. Merchants have no
// console.
func (d *Sessions) Open(
	ctx context.Context, k sluice.APIKey, agent string, a sluice.Actor,
) (secret string, s sluice.Session, err error) {
	if k.Role == sluice.RoleMerchant || !k.Role.Valid() {
		return "", s, sluice.NewFault(sluice.ErrInvalid, "NOT_AN_OPERATOR", "a merchant's key opens no session")
	}
	var raw [sluice.SessionSecretBytes]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails
	secret = base64.RawURLEncoding.EncodeToString(raw[:])
	agent = strings.ToValidUTF8(agent[:min(len(agent), sluice.MaxSessionAgent)], "")
	now := sluice.MillisOf(d.cfg.Now())
	s = sluice.Session{
		ID: newID("ses"), KeyID: k.ID, Name: k.Name, Role: k.Role, Hash: sha256.Sum256([]byte(secret)),
		Proof: proofOf(secret, k.Hash), Addr: a.Addr, Agent: agent, CreatedAt: now, ExpiresAt: now + sluice.SessionLife,
	}
	if err := d.cfg.Ledger.OpenSession(ctx, s, a); err != nil {
		return "", s, fmt.Errorf("admin: open a session: %w", err)
	}
	return secret, s, nil
}

// proofOf ties a session to the very key that opened it. Whoever reads the ledger cannot try keys against it: the
// secret is not there.
func proofOf(secret string, key [32]byte) [32]byte {
	return sha256.Sum256(append([]byte("sluice session\x00"+secret+"\x00"), key[:]...))
}

// Who says whom a secret stands for; ErrNotFound where it is unknown, expired or closed, or its key is no more.
func (d *Sessions) Who(ctx context.Context, secret string) (sluice.APIKey, sluice.Session, error) {
	hash, now := sha256.Sum256([]byte(secret)), d.cfg.Now()
	s, err := d.find(ctx, hash, now)
	if err != nil {
		return sluice.APIKey{}, s, err
	}
	if s.ExpiresAt <= sluice.MillisOf(now) || subtle.ConstantTimeCompare(s.Hash[:], hash[:]) != 1 {
		return sluice.APIKey{}, s, fmt.Errorf("admin: session %s is over: %w", s.ID, sluice.ErrNotFound)
	}
	k, ok := d.cfg.Keys.fitting(s.KeyID, func(key [32]byte) bool {
		proof := proofOf(secret, key)
		return subtle.ConstantTimeCompare(proof[:], s.Proof[:]) == 1
	})
	if !ok {
		return k, s, fmt.Errorf("admin: the key of session %s is no more: %w", s.ID, sluice.ErrNotFound)
	}
	return k, s, nil
}

func (d *Sessions) find(ctx context.Context, hash [32]byte, now time.Time) (sluice.Session, error) {
	d.mu.Lock()
	known, ok := d.memo[hash]
	d.mu.Unlock()
	age := now.Sub(known.at)
	if ok && age >= 0 && age < sessionFresh {
		return known.session, nil
	}
	s, err := d.cfg.Ledger.Session(ctx, hash)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		if len(d.memo) >= maxSessionMemo {
			clear(d.memo)
		}
		d.memo[hash] = sessionMemo{s, now}
	case errors.Is(err, sluice.ErrNotFound):
		delete(d.memo, hash)
	case ok && age < sessionStale:
		return known.session, nil
	}
	return s, err
}

// List gives the sessions that are in force, newest first; those whose key is gone are not.
func (d *Sessions) List(ctx context.Context) ([]sluice.Session, error) {
	all, err := d.cfg.Ledger.Sessions(ctx, sluice.MillisOf(d.cfg.Now()))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s sluice.Session) bool { return !d.cfg.Keys.has(s.KeyID) }), nil
}

// Close ends a session: on this node at once, on others within sessionFresh.
func (d *Sessions) Close(ctx context.Context, id string, a sluice.Actor) (sluice.Session, error) {
	s, err := d.cfg.Ledger.CloseSession(ctx, id, a, sluice.MillisOf(d.cfg.Now()))
	if err != nil {
		return s, err
	}
	d.mu.Lock()
	delete(d.memo, s.Hash)
	d.mu.Unlock()
	return s, nil
}

// fitting gives the key in force under id, under the secret of it whose hash fits, and notes that it was used; of the
// bootstrap keys any may.
func (d *Keys) fitting(id string, fits func(hash [32]byte) bool) (sluice.APIKey, bool) {
	if id == bootstrapID {
		for _, hash := range d.bootstrap {
			if fits(hash) {
				return sluice.APIKey{ID: bootstrapID, Name: "bootstrap", Role: sluice.RoleAdmin, Hash: hash}, true
			}
		}
		return sluice.APIKey{}, false
	}
	h, ok := d.ring.Load().byID[id]
	if !ok {
		return sluice.APIKey{}, false
	}
	now := sluice.MillisOf(d.cfg.Now())
	for _, hash := range [][32]byte{h.key.Hash, h.key.Old.Hash} {
		if k, good := h.as(hash, now); good && fits(hash) {
			h.use.note(now)
			return k, true
		}
	}
	return sluice.APIKey{}, false
}

// has says whether a key of this id is in force.
func (d *Keys) has(id string) bool {
	if id == bootstrapID {
		return len(d.bootstrap) > 0
	}
	_, ok := d.ring.Load().byID[id]
	return ok
}
