package pass

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of the keys.
const (
	DefaultRotateEvery = 24 * time.Hour
	// MaxKeys bounds the keys that are believed at once.
	MaxKeys = 16
	// activeAfterMS is how long a new key waits until it signs: by then every node that lives has loaded it.
	activeAfterMS = 10_000
	// keptMS is how long a key is believed after the next one has begun to sign: longer than the longest pass.
	keptMS = 2 * 3600 * 1000
	// tries at making a key while other nodes make the same one.
	maxTries = 4
)

// KeyLedger keeps the keys for all nodes.
type KeyLedger interface {
	// PassKeys gives every key, the newest first.
	PassKeys(ctx context.Context) ([]sluice.PassKey, error)
	// AddPassKey records k and forgets the keys before keepFrom, together. ErrConflict: there is one of that number.
	AddPassKey(ctx context.Context, k sluice.PassKey, keepFrom int64, a sluice.Actor) error
}

// KeysConfig sets Keys up. Ledger is required.
type KeysConfig struct {
	Ledger      KeyLedger
	RotateEvery time.Duration    // a key is replaced at this age; default DefaultRotateEvery
	Now         func() time.Time // default time.Now
	Log         *slog.Logger     // default: discard
}

// Keys are the keys of passes, and what reads and writes passes with them. Safe for concurrent use: readers see one
// snapshot, which a load replaces as a whole.
type Keys struct {
	cfg  KeysConfig
	mu   sync.Mutex // held while keys are loaded or made
	ring atomic.Pointer[[]*key]
}

// key is one key, ready to use.
type key struct {
	sluice.PassKey
	name string // as it stands in passes
	macs sync.Pool
}

// mac is a keyed hash and the room for what is hashed. Keying one anew costs as much as using it.
type mac struct {
	hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

// NewKeys makes Keys. Until Load has run there is none: no pass is believed, and none can be given.
func NewKeys(cfg KeysConfig) *Keys {
	if cfg.RotateEvery <= 0 {
		cfg.RotateEvery = DefaultRotateEvery
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keys{cfg: cfg}
	k.ring.Store(new([]*key))
	return k
}

// Load takes over the keys of the ledger.
func (k *Keys) Load(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.load(ctx)
}

func (k *Keys) load(ctx context.Context) error {
	all, err := k.cfg.Ledger.PassKeys(ctx)
	if err != nil {
		return fmt.Errorf("pass: load the keys: %w", err)
	}
	old, ring := *k.ring.Load(), make([]*key, 0, len(all))
	for _, pk := range all[:min(len(all), MaxKeys)] {
		if was := find(old, keyName(pk.Seq)); was != nil && was.PassKey == pk {
			ring = append(ring, was)
			continue
		}
		ring = append(ring, newKey(pk))
	}
	k.ring.Store(&ring)
	return nil
}

func newKey(pk sluice.PassKey) *key {
	k := &key{PassKey: pk, name: keyName(pk.Seq)}
	secret := pk.Secret
	k.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, secret[:]), buf: make([]byte, 0, 1024)} }
	return k
}

func find(ring []*key, name string) *key {
	for _, k := range ring {
		if k.name == name {
			return k
		}
	}
	return nil
}

// Tend loads the keys, and makes a new one where there is none or the newest is due: at the start and from time to
// time, on every node. Of nodes that do so at once one makes the key and the others take it.
func (k *Keys) Tend(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return err
	}
	ring, now := *k.ring.Load(), sluice.MillisOf(k.cfg.Now())
	if len(ring) > 0 && now < ring[0].CreatedAt.Add(k.cfg.RotateEvery) {
		return nil
	}
	_, err := k.add(ctx, false, sluice.Actor{Name: "server", Reason: "the key was due"})
	return err
}

// Rotate makes a new key, which signs as soon as every node has it, and gives its number. The keys before it are
// believed as long as a pass can live; with revoke they are forgotten, and every pass that was given with them with
// them. ErrConflict: there are MaxKeys that may still be needed.
func (k *Keys) Rotate(ctx context.Context, revoke bool, a sluice.Actor) (sluice.PassKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return sluice.PassKey{}, err
	}
	return k.add(ctx, revoke, a)
}

// List gives the keys in force on this node, the newest first, without their secrets.
func (k *Keys) List() []sluice.PassKey {
	ring := *k.ring.Load()
	all := make([]sluice.PassKey, len(ring))
	for i, x := range ring {
		all[i] = sluice.PassKey{Seq: x.Seq, CreatedAt: x.CreatedAt, ActiveAt: x.ActiveAt}
	}
	return all
}

// add makes the key after the newest. The caller holds mu and has loaded.
func (k *Keys) add(ctx context.Context, revoke bool, a sluice.Actor) (sluice.PassKey, error) {
	for range maxTries {
		next, keepFrom, err := k.next(revoke)
		if err != nil {
			return next, err
		}
		err = k.cfg.Ledger.AddPassKey(ctx, next, keepFrom, a)
		if err != nil && !errors.Is(err, sluice.ErrConflict) {
			return next, fmt.Errorf("pass: make key %d: %w", next.Seq, err)
		}
		if loaded := k.load(ctx); loaded != nil || err == nil {
			next.Secret = [32]byte{}
			return next, loaded
		}
		if !revoke {
			return (*k.ring.Load())[0].PassKey, nil // another node has made it
		}
	}
	return sluice.PassKey{}, fmt.Errorf("pass: other nodes make keys all the time: %w", sluice.ErrUnavailable)
}

// next draws the next key and says which of the old ones are still needed.
func (k *Keys) next(revoke bool) (next sluice.PassKey, keepFrom int64, err error) {
	ring, now := *k.ring.Load(), sluice.MillisOf(k.cfg.Now())
	next = sluice.PassKey{Seq: 1, CreatedAt: now, ActiveAt: now}
	_, _ = rand.Read(next.Secret[:]) // crypto/rand.Read never fails
	if len(ring) == 0 {
		return next, 1, nil
	}
	next.Seq, keepFrom = ring[0].Seq+1, ring[0].Seq
	if revoke {
		return next, next.Seq, nil
	}
	next.ActiveAt += activeAfterMS
	kept := 1
	for i := 1; i < len(ring) && ring[i-1].ActiveAt+keptMS > now; i++ {
		keepFrom = ring[i].Seq
		kept++
	}
	if kept >= MaxKeys {
		return next, 0, sluice.NewFault(sluice.ErrConflict, "TOO_MANY_PASS_KEYS",
			fmt.Sprintf("%d keys may still be needed, which is the most: wait, or revoke them", kept))
	}
	return next, keepFrom, nil
}

// Derived gives, of every key, a secret for another use, named by label: the one that signs now first. It is made
// anew with each call.
func (k *Keys) Derived(label string) [][]byte {
	first := k.signing(sluice.MillisOf(k.cfg.Now()))
	if first == nil {
		return nil
	}
	all := [][]byte{first.derive(label)}
	for _, x := range *k.ring.Load() {
		if x != first {
			all = append(all, x.derive(label))
		}
	}
	return all
}

func (x *key) derive(label string) []byte {
	h := hmac.New(sha256.New, x.Secret[:])
	_, _ = h.Write([]byte(domainDerive + label))
	return h.Sum(nil)
}

// signing gives the newest key that is active, else the oldest; nil while there is none.
func (k *Keys) signing(now sluice.Millis) *key {
	ring := *k.ring.Load()
	for _, x := range ring {
		if x.ActiveAt <= now {
			return x
		}
	}
	if len(ring) == 0 {
		return nil
	}
	return ring[len(ring)-1]
}
