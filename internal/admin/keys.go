package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
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

// maxUses bounds the keys whose last use is written in one transaction.
const maxUses = 500

// useStep is how exact the last use of a key is kept in memory: a key that is used all the time is noted this often.
const useStep sluice.Millis = 5_000

// KeyLedger keeps API keys; writes leave their audit row in the same transaction, but for UseAPIKeys.
type KeyLedger interface {
	APIKeys(ctx context.Context) ([]sluice.APIKey, error)
	CreateAPIKey(ctx context.Context, k sluice.APIKey, a sluice.Actor) error
	// RotateAPIKey gives a key a new secret, and the key as it is then. ErrNotFound: there is none. ErrConflict: it is
	// revoked.
	RotateAPIKey(ctx context.Context, id string, r sluice.KeyRotation, a sluice.Actor) (sluice.APIKey, error)
	// RevokeAPIKey gives the key as it is then; revoking twice changes nothing. ErrNotFound: there is none.
	RevokeAPIKey(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.APIKey, error)
	// UseAPIKeys records when keys were last used. It may be repeated: the latest moment stays, whoever tells of it.
	UseAPIKeys(ctx context.Context, uses []sluice.KeyUse) error
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

	mu   sync.Mutex         // guards writers of ring, and uses
	uses map[string]*keyUse // by the key's id: they outlive a ring
	ring atomic.Pointer[keyring]

	saving sync.Mutex // one SaveUses at a time
}

// keyring is what is in force, by secret and by id. It never changes once it is in place.
type keyring struct {
	byHash map[[sha256.Size]byte]*heldKey // by every secret that is good, or was when the ring was made
	byID   map[string]*heldKey
}

type heldKey struct {
	key sluice.APIKey
	use *keyUse
}

// keyUse is when a key was last used.
type keyUse struct {
	at    atomic.Int64 // ms; written on the road of requests
	saved atomic.Int64 // what the ledger has been told
}

// NewKeys makes the desk. Until Load has run, only the bootstrap keys are known.
func NewKeys(cfg KeysConfig) *Keys {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &Keys{cfg: cfg, uses: map[string]*keyUse{}}
	for _, b := range cfg.Bootstrap {
		if b != "" {
			d.bootstrap = append(d.bootstrap, sha256.Sum256([]byte(b)))
		}
	}
	d.ring.Store(d.ringOf(nil))
	return d
}

// ringOf makes the ring of those of all that are in force. d.mu is held.
func (d *Keys) ringOf(all []sluice.APIKey) *keyring {
	r := &keyring{byHash: make(map[[sha256.Size]byte]*heldKey, len(all)), byID: make(map[string]*heldKey, len(all))}
	for _, k := range all {
		if k.RevokedAt != 0 {
			continue
		}
		use := d.uses[k.ID]
		if use == nil {
			use = &keyUse{}
			d.uses[k.ID] = use
		}
		h := &heldKey{k, use}
		r.byID[k.ID], r.byHash[k.Hash] = h, h
		if k.Old.Until != 0 {
			r.byHash[k.Old.Hash] = h
		}
	}
	return r
}

// replace puts a ring in force in which k is as it is now. d.mu is held.
func (d *Keys) replace(k sluice.APIKey) {
	old := d.ring.Load()
	all := make([]sluice.APIKey, 0, len(old.byID)+1)
	for id, h := range old.byID {
		if id != k.ID {
			all = append(all, h.key)
		}
	}
	d.ring.Store(d.ringOf(append(all, k)))
}

// Load reads the keys that are in force: at start, and when another node has changed them.
func (d *Keys) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.cfg.Ledger.APIKeys(ctx)
	if err != nil {
		return fmt.Errorf("admin: load the API keys: %w", err)
	}
	d.ring.Store(d.ringOf(all))
	return nil
}

// KeyByHash says whom the secret with this SHA-256 stands for, and notes that the key was used; ErrNotFound where it is
// unknown, revoked, or the grace of its rotation is over. Hash of the key that it gives is the one that was asked for.
// It does no I/O and takes no lock. Only hashes are compared, of which whoever guesses keys cannot choose a prefix;
// bootstrap keys in constant time besides.
func (d *Keys) KeyByHash(_ context.Context, hash [sha256.Size]byte) (sluice.APIKey, error) {
	boot := 0
	for i := range d.bootstrap {
		boot |= subtle.ConstantTimeCompare(hash[:], d.bootstrap[i][:])
	}
	if boot == 1 {
		return sluice.APIKey{ID: bootstrapID, Name: "bootstrap", Role: sluice.RoleAdmin, Hash: hash}, nil
	}
	if h, ok := d.ring.Load().byHash[hash]; ok {
		now := sluice.MillisOf(d.cfg.Now())
		if k, good := h.as(hash, now); good {
			h.use.note(now)
			return k, nil
		}
	}
	return sluice.APIKey{}, sluice.ErrNotFound
}

// as gives the key under one of its secrets; false where that is not good at now.
func (h *heldKey) as(hash [sha256.Size]byte, now sluice.Millis) (sluice.APIKey, bool) {
	k := h.key
	if subtle.ConstantTimeCompare(k.Hash[:], hash[:]) == 1 {
		return k, true
	}
	if subtle.ConstantTimeCompare(k.Old.Hash[:], hash[:]) == 1 && now < k.Old.Until {
		k.Hash = hash
		return k, true
	}
	return sluice.APIKey{}, false
}

// note says that the key is used at now. Of many at once one writes, and no more often than useStep asks.
func (u *keyUse) note(now sluice.Millis) {
	if at := u.at.Load(); int64(now)-at >= int64(useStep) {
		u.at.CompareAndSwap(at, int64(now))
	}
}

// SaveUses tells the ledger when keys were last used, of those that were since it was told last. What fails stays to be
// told the next time. Nothing on the road of requests waits for it; while one is under way, another does nothing.
func (d *Keys) SaveUses(ctx context.Context) error {
	if !d.saving.TryLock() {
		return nil
	}
	defer d.saving.Unlock()
	d.mu.Lock()
	var due []sluice.KeyUse
	for id, u := range d.uses {
		if at := u.at.Load(); at > u.saved.Load() {
			due = append(due, sluice.KeyUse{ID: id, At: sluice.Millis(at)})
		}
	}
	d.mu.Unlock()
	for len(due) > 0 {
		n := min(len(due), maxUses)
		if err := d.cfg.Ledger.UseAPIKeys(ctx, due[:n]); err != nil {
			return fmt.Errorf("admin: save when %d API keys were used: %w", len(due), err)
		}
		d.mu.Lock()
		for _, u := range due[:n] {
			d.uses[u.ID].saved.Store(int64(u.At))
		}
		d.mu.Unlock()
		due = due[n:]
	}
	return nil
}

// List gives every key, revoked ones too, in the order of their making. When one was last used is what the ledger and
// this node know; what another node has seen comes within a minute or so.
func (d *Keys) List(ctx context.Context) ([]sluice.APIKey, error) {
	all, err := d.cfg.Ledger.APIKeys(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range all {
		all[i] = d.used(all[i])
	}
	return all, err
}

// used is k with what this node knows of its last use. d.mu is held.
func (d *Keys) used(k sluice.APIKey) sluice.APIKey {
	if u := d.uses[k.ID]; u != nil {
		k.LastUsed = max(k.LastUsed, sluice.Millis(u.at.Load()))
	}
	return k
}

// newSecret makes a key's secret, its prefix and its hash.
func newSecret() (secret, prefix string, hash [sha256.Size]byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails
	secret = keyPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return secret, secret[:shownPrefix], sha256.Sum256([]byte(secret))
}

// Create makes a key of k's name, role, scope and merchant, and gives its secret, which is shown this once and kept
// nowhere. Whether its maker may give that much is not asked here.
func (d *Keys) Create(
	ctx context.Context, k sluice.APIKey, a sluice.Actor,
) (made sluice.APIKey, secret string, err error) {
	if err := checkKey(&k); err != nil {
		return k, "", err
	}
	secret, prefix, hash := newSecret()
	k = sluice.APIKey{ID: newID("key"), Name: k.Name, Role: k.Role, Scope: k.Scope, MerchantID: k.MerchantID,
		Prefix: prefix, Hash: hash, CreatedAt: sluice.MillisOf(d.cfg.Now())}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ring.Load().byID) >= maxKeys {
		return k, "", full("TOO_MANY_KEYS", "keys", maxKeys)
	}
	if err := d.cfg.Ledger.CreateAPIKey(ctx, k, a); err != nil {
		return k, "", err
	}
	d.replace(k)
	return k, secret, nil
}

// Rotate gives a key a new secret, shown this once, for the same id, name, role and scope. The secret before stays good
// for grace (0 to sluice.MaxKeyGrace ms), then dies by itself, on every node, without anybody doing anything; one that
// was in its grace already ends at once. A browser's session goes by the secret that it was opened with, and ends with
// it.
//
// The secret is in the answer and nowhere else. Where the answer is lost, rotating again is the cure, and until then
// what holds the old secret goes on. With the same rotation id the second one takes the place of the secret that nobody
// saw, and the old one keeps its grace; without an id, or under another one, the old secret ends there and then. After
// a grace of 0 the old one is gone either way.
//
// ErrInvalid: grace or rotation id is out of bounds. ErrConflict: the key is revoked, or comes from the configuration.
// ErrUncertain: it may have been done. The ledger is asked what is good now, as far as it answers; rotate again.
func (d *Keys) Rotate(
	ctx context.Context, id, rotation string, grace sluice.Millis, a sluice.Actor,
) (k sluice.APIKey, secret string, err error) {
	if id == bootstrapID {
		return k, "", bootstrapKey()
	}
	if err := checkRotation(rotation, grace); err != nil {
		return k, "", err
	}
	secret, prefix, hash := newSecret()
	d.mu.Lock()
	defer d.mu.Unlock()
	k, err = d.cfg.Ledger.RotateAPIKey(ctx, id, sluice.KeyRotation{ID: rotation, Hash: hash, Prefix: prefix,
		At: sluice.MillisOf(d.cfg.Now()), Grace: grace}, a)
	if errors.Is(err, sluice.ErrUncertain) {
		if all, read := d.cfg.Ledger.APIKeys(ctx); read == nil {
			d.ring.Store(d.ringOf(all))
		}
	}
	if err != nil {
		return k, "", err
	}
	d.replace(k)
	return d.used(k), secret, nil
}

// Revoke ends a key, whatever secrets it has; they are refused from then on. Revoking twice is allowed.
func (d *Keys) Revoke(ctx context.Context, id string, a sluice.Actor) (sluice.APIKey, error) {
	if id == bootstrapID {
		return sluice.APIKey{}, bootstrapKey()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k, err := d.cfg.Ledger.RevokeAPIKey(ctx, id, a, sluice.MillisOf(d.cfg.Now()))
	if err != nil && !errors.Is(err, sluice.ErrUncertain) {
		return k, err
	}
	// A key whose revocation may or may not be on disk is refused all the same, until the next start.
	d.replace(sluice.APIKey{ID: id, RevokedAt: 1})
	return d.used(k), err
}

func bootstrapKey() error {
	return sluice.NewFault(sluice.ErrConflict, "BOOTSTRAP_KEY",
		"this key comes from the configuration (SLUICE_ADMIN_KEY): change it there")
}

func checkRotation(id string, grace sluice.Millis) error {
	var f faults
	if id != "" {
		f.id("rotation_id", id, sluice.MaxRotationID)
	}
	within(&f, "grace_s", int64(grace)/1000, 0, int64(sluice.MaxKeyGrace)/1000)
	return f.err()
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
	if len(k.Scope.Areas) > sluice.MaxKeyAreas {
		f.add("areas", "must be at most %d", sluice.MaxKeyAreas)
	}
	for _, area := range k.Scope.Areas {
		f.id("areas", area, sluice.MaxCampaignID)
	}
	if k.Role == sluice.RoleMerchant && k.Scope.ReadOnly {
		f.add("read_only", "must be absent for role merchant: all its calls change something")
	}
	return f.err()
}
