package risk

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of holding.
const (
	refusedFor    = 500 * time.Millisecond // a refusal is given again without asking
	maxRefused    = 16_384
	heldGrace     = time.Hour // after its window a claim that is in no row never came to be
	maxHeldListed = 100
)

// Holders remember, for all nodes together, which claims each holder has that may be unpaid. Every call may be
// repeated. A holder's places are forgotten a day after the last one's window, not before.
type Holders interface {
	// Hold takes a place for the claim unless the holder has limit others; it then gives these. A claim that has a place
	// keeps it. It is atomic.
	Hold(ctx context.Context, holder string, c sluice.Held, limit int) (others []sluice.Held, ok bool, err error)
	// Free gives places back.
	Free(ctx context.Context, holder string, ids []sluice.ClaimID) error
}

// Orders says what the ledger has of claims.
type Orders interface {
	// OrderStates gives the state of those claims that have a row.
	OrderStates(ctx context.Context, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.OrderState, error)
}

// HoldingConfig sets a Holding up. A limit of zero is no limit. Holders and Orders are required.
type HoldingConfig struct {
	PerUser   int
	PerDevice int
	Holders   Holders
	Orders    Orders
	Now       func() time.Time // default time.Now
}

// Holding bounds the unpaid orders of one user and one device, over all campaigns. A place is taken before admission is
// asked and checked against the ledger when a holder's places are full, so that whoever pays may claim again, and
// nobody ever has more.
type Holding struct {
	cfg HoldingConfig

	mu      sync.Mutex
	refused map[holderKey]refusal // guarded by mu
}

type holderKey struct {
	by    by
	value string
}

type refusal struct {
	until  sluice.Millis
	claims []sluice.ClaimID
}

// NewHolding makes a Holding.
func NewHolding(cfg HoldingConfig) *Holding {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Holding{cfg: cfg, refused: map[holderKey]refusal{}}
}

func (k holderKey) text() string {
	if k.by == byDevice {
		return "d:" + k.value
	}
	return "u:" + k.value
}

// holders gives whom the limits count, and their limits.
func (h *Holding) holders(user, device string) (keys [2]holderKey, limits [2]int, n int) {
	if h.cfg.PerUser > 0 {
		keys[n], limits[n] = holderKey{byAccount, user}, h.cfg.PerUser
		n++
	}
	if h.cfg.PerDevice > 0 && device != "" {
		keys[n], limits[n] = holderKey{byDevice, device}, h.cfg.PerDevice
		n++
	}
	return keys, limits, n
}

// Hold takes a place for an order of user on device whose unpaid window is windowSec. Where there is none it gives the
// claims that have them. ErrUnavailable and the like: it is not known, and the claim must not go on.
func (h *Holding) Hold(
	ctx context.Context, user, device string, id sluice.ClaimID, windowSec int64,
) (claims []sluice.ClaimID, ok bool, err error) {
	now := sluice.MillisOf(h.cfg.Now())
	place := sluice.Held{ID: id, Until: now + sluice.Millis(windowSec*1000) + sluice.Millis(heldGrace.Milliseconds())}
	keys, limits, n := h.holders(user, device)
	for i := range n {
		claims, ok, err = h.one(ctx, keys[i], place, limits[i], now)
		if err == nil && ok {
			continue
		}
		for j := range i {
			if e := h.cfg.Holders.Free(ctx, keys[j].text(), []sluice.ClaimID{id}); err == nil {
				err = e
			}
		}
		return claims, false, err
	}
	return nil, true, nil
}

// one takes a place of one holder. Where they are full it looks which of the claims still are unpaid.
func (h *Holding) one(
	ctx context.Context, k holderKey, place sluice.Held, limit int, now sluice.Millis,
) (claims []sluice.ClaimID, ok bool, err error) {
	if claims, yes := h.again(k, now); yes {
		for _, id := range claims {
			if id == place.ID {
				return nil, true, nil
			}
		}
		return claims, false, nil
	}
	holder := k.text()
	others, ok, err := h.cfg.Holders.Hold(ctx, holder, place, limit)
	if err != nil || ok {
		return nil, ok, err
	}
	ids := make([]sluice.ClaimID, len(others))
	for i, o := range others {
		ids[i] = o.ID
	}
	states, err := h.cfg.Orders.OrderStates(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	var over []sluice.ClaimID
	for _, o := range others {
		state, known := states[o.ID]
		if known && state != sluice.OrderUnpaid || !known && now > o.Until {
			over = append(over, o.ID)
		}
	}
	if len(over) > 0 {
		if err := h.cfg.Holders.Free(ctx, holder, over); err != nil {
			return nil, false, err
		}
		if others, ok, err = h.cfg.Holders.Hold(ctx, holder, place, limit); err != nil || ok {
			return nil, ok, err
		}
	}
	for _, o := range others[:min(len(others), maxHeldListed)] {
		claims = append(claims, o.ID)
	}
	h.remember(holderKey{k.by, clone(k.value)}, refusal{now + sluice.Millis(refusedFor.Milliseconds()), claims})
	return claims, false, nil
}

func clone(s string) string { return string(append([]byte(nil), s...)) }

// again gives a refusal that is fresh enough to be given once more.
func (h *Holding) again(k holderKey, now sluice.Millis) ([]sluice.ClaimID, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.refused[k]
	return r.claims, ok && now < r.until
}

func (h *Holding) remember(k holderKey, r refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) >= maxRefused {
		clear(h.refused)
	}
	h.refused[k] = r
}

// Free gives back the places of a claim that did not come to be. An error is harmless: the places are found to be free
// when they are needed, at the latest an hour after the unpaid window.
func (h *Holding) Free(ctx context.Context, user, device string, id sluice.ClaimID) error {
	keys, _, n := h.holders(user, device)
	var err error
	for i := range n {
		if e := h.cfg.Holders.Free(ctx, keys[i].text(), []sluice.ClaimID{id}); e != nil {
			err = e
		}
	}
	return err
}

// Fill takes over the unpaid orders that the ledger has, where holders forget with the process.
func (h *Holding) Fill(ctx context.Context, user string, id sluice.ClaimID, due sluice.Millis) error {
	if h.cfg.PerUser == 0 {
		return nil
	}
	place := sluice.Held{ID: id, Until: due + sluice.Millis(heldGrace.Milliseconds())}
	_, _, err := h.cfg.Holders.Hold(ctx, holderKey{byAccount, user}.text(), place, 1<<30)
	return err
}
