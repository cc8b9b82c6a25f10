package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// keyPrefix marks our keys, so that people and secret scanners know one when they see it.
const keyPrefix = "slk_"

// shownPrefix is how many characters of a key are kept to tell keys apart; 8 of 43 random ones.
const shownPrefix = len(keyPrefix) + 8

// maxKeys bounds how many keys may be in force.
const maxKeys = 10_000

// bootstrapID is the id of the key that the configuration sets; it has no row.
const bootstrapID = "key_bootstrap"

// KeyLedger keeps API keys; writes leave their audit row in the same transaction.
type KeyLedger interface {
	APIKeys(ctx context.Context) ([]sluice.APIKey, error)
	CreateAPIKey(ctx context.Context, k sluice.APIKey, a sluice.Actor) error
	// RevokeAPIKey gives the key as it is then; revoking twice changes nothing. ErrNotFound: there is none.
	RevokeAPIKey(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.APIKey, error)
}

// KeysConfig puts the desk of API keys together. Ledger is required.
type KeysConfig struct {
	Ledger    KeyLedger
	Bootstrap []string         // admin keys from the configuration, several so that they rotate; may be none
	Now       func() time.Time // default time.Now
}

// Keys is the desk of API keys, and knows whom a key stands for.
type Keys struct {
	cfg       KeysConfig
	bootstrap [][sha256.Size]byte

	mu    sync.Mutex // guards writers of known
	known atomic.Pointer[map[[sha256.Size]byte]sluice.APIKey]
}

// NewKeys makes the desk. Until Load has run, only the bootstrap keys are known.
func NewKeys(cfg KeysConfig) *Keys {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	k := &Keys{cfg: cfg}
	for _, b := range cfg.Bootstrap {
		if b != "" {
			k.bootstrap = append(k.bootstrap, sha256.Sum256([]byte(b)))
		}
	}
	k.known.Store(&map[[sha256.Size]byte]sluice.APIKey{})
	return k
}

// Load reads the keys that are in force: at start.
func (d *Keys) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.cfg.Ledger.APIKeys(ctx)
	if err != nil {
		return fmt.Errorf("admin: load the API keys: %w", err)
	}
	known := make(map[[sha256.Size]byte]sluice.APIKey, len(all))
	for _, k := range all {
		if k.RevokedAt == 0 {
			known[k.Hash] = k
		}
	}
	d.known.Store(&known)
	return nil
}

// KeyByHash says whom the key with this SHA-256 stands for; ErrNotFound where it is unknown or revoked. It does
// no I/O. Only hashes are compared, of which whoever guesses keys cannot choose a prefix; bootstrap keys in
// constant time besides.
func (d *Keys) KeyByHash(_ context.Context, hash [sha256.Size]byte) (sluice.APIKey, error) {
	boot := 0
	for i := range d.bootstrap {
		boot |= subtle.ConstantTimeCompare(hash[:], d.bootstrap[i][:])
	}
	if boot == 1 {
		return sluice.APIKey{ID: bootstrapID, Name: "bootstrap", Role: sluice.RoleAdmin, Hash: hash}, nil
	}
	if k, ok := (*d.known.Load())[hash]; ok {
		return k, nil
	}
	return sluice.APIKey{}, sluice.ErrNotFound
}

// List gives every key, revoked ones too, in the order of their making.
func (d *Keys) List(ctx context.Context) ([]sluice.APIKey, error) { return d.cfg.Ledger.APIKeys(ctx) }

// Create makes a key of k's name, role and merchant, and gives its secret, which is shown this once and kept
// nowhere.
func (d *Keys) Create(
	ctx context.Context, k sluice.APIKey, a sluice.Actor,
) (made sluice.APIKey, secret string, err error) {
	if err := checkKey(&k); err != nil {
		return k, "", err
	}
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails
	secret = keyPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	k = sluice.APIKey{ID: newID("key"), Name: k.Name, Role: k.Role, MerchantID: k.MerchantID,
		Prefix: secret[:shownPrefix], Hash: sha256.Sum256([]byte(secret)), CreatedAt: sluice.MillisOf(d.cfg.Now())}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(*d.known.Load()) >= maxKeys {
		return k, "", full("TOO_MANY_KEYS", "keys", maxKeys)
	}
	if err := d.cfg.Ledger.CreateAPIKey(ctx, k, a); err != nil {
		return k, "", err
	}
	known := maps.Clone(*d.known.Load())
	known[k.Hash] = k
	d.known.Store(&known)
	return k, secret, nil
}

// Revoke ends a key; it is refused from then on. Revoking twice is allowed.
func (d *Keys) Revoke(ctx context.Context, id string, a sluice.Actor) (sluice.APIKey, error) {
	if id == bootstrapID {
		return sluice.APIKey{}, sluice.NewFault(sluice.ErrConflict, "BOOTSTRAP_KEY",
			"this key comes from the configuration (SLUICE_ADMIN_KEY): change it there")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k, err := d.cfg.Ledger.RevokeAPIKey(ctx, id, a, sluice.MillisOf(d.cfg.Now()))
	if err != nil && !errors.Is(err, sluice.ErrUncertain) {
		return k, err
	}
	// A key whose revocation may or may not be on disk is refused all the same, until the next start.
	known := maps.Clone(*d.known.Load())
	maps.DeleteFunc(known, func(_ [sha256.Size]byte, k sluice.APIKey) bool { return k.ID == id })
	d.known.Store(&known)
	return k, err
}

func checkKey(k *sluice.APIKey) error {
	var f faults
	f.text("name", k.Name, 1, 100)
	if !k.Role.Valid() {
		f.add("role", "must be viewer, support, operator, admin or merchant")
	}
	switch {
	case k.Role == sluice.RoleMerchant:
		f.id("merchant_id", k.MerchantID, sluice.MaxCampaignID)
	case k.MerchantID != "":
		f.add("merchant_id", "must be absent unless the role is merchant")
	}
	return f.err()
}
