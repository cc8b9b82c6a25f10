package risk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/risk"
)

// orders is what the ledger has.
type orders struct {
	mu     sync.Mutex
	states map[sluice.ClaimID]sluice.OrderState
	asked  int
}

func (o *orders) OrderStates(
	_ context.Context, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.OrderState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	out := map[sluice.ClaimID]sluice.OrderState{}
	for _, id := range ids {
		if s, ok := o.states[id]; ok {
			out[id] = s
		}
	}
	return out, nil
}

func (o *orders) set(id sluice.ClaimID, s sluice.OrderState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.states[id] = s
}

func claimOf(user string, n int) sluice.ClaimID {
	return sluice.NewClaimID(fmt.Sprint("c", n), user, sluice.SourceClaim, fmt.Sprint("r", n))
}

func TestHolding(t *testing.T) {
	now := start
	o := &orders{states: map[sluice.ClaimID]sluice.OrderState{}}
	h := risk.NewHolding(risk.HoldingConfig{PerUser: 2, PerDevice: 3, Holders: memory.NewHeldPlaces(), Orders: o,
		Now: func() time.Time { return now }})
	hold := func(user, device string, n int) ([]sluice.ClaimID, bool) {
		t.Helper()
		claims, ok, err := h.Hold(t.Context(), user, device, claimOf(user, n), 900)
		if err != nil {
			t.Fatal(err)
		}
		return claims, ok
	}
	for n := range 2 {
		if _, ok := hold("u1", "d1", n); !ok {
			t.Fatal("no place for claim ", n)
		}
		o.set(claimOf("u1", n), sluice.OrderUnpaid)
	}
	claims, ok := hold("u1", "d1", 2)
	if ok || !slices.Contains(claims, claimOf("u1", 0)) || len(claims) != 2 {
		t.Fatalf("a third order: %v, %v", claims, ok)
	}
	if _, ok := hold("u1", "d1", 1); !ok {
		t.Fatal("a claim that has a place was refused")
	}
	asked := o.asked
	for range 50 {
		hold("u1", "d1", 2)
	}
	if o.asked != asked {
		t.Errorf("a refusal that is given again asked the ledger %d times", o.asked-asked)
	}
	o.set(claimOf("u1", 0), sluice.OrderPaid)
	now = now.Add(time.Second)
	if _, ok := hold("u1", "d1", 2); !ok {
		t.Fatal("paid, and still no place")
	}
	// The device: u1 has two on it, one more user has the third.
	if _, ok := hold("u2", "d1", 7); !ok {
		t.Fatal("the device has no third place")
	}
	if _, ok := hold("u3", "d1", 8); ok {
		t.Fatal("the device has a fourth place")
	}
	if _, ok := hold("u3", "d2", 8); !ok {
		t.Fatal("the user's place was not given back when the device had none")
	}
	if err := h.Free(t.Context(), "u3", "d2", claimOf("u3", 8)); err != nil {
		t.Fatal(err)
	}
}

// TestHoldingIsExact: of many claims at once only so many find a place, and whatever is paid makes room again.
func TestHoldingIsExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := &orders{states: map[sluice.ClaimID]sluice.OrderState{}}
	var mu sync.Mutex
	held := map[sluice.ClaimID]bool{}
	now := start
	h := risk.NewHolding(risk.HoldingConfig{PerUser: 3, Holders: memory.NewHeldPlaces(), Orders: o,
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 30 {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				id := claimOf("u1", round*100+i)
				if _, ok, err := h.Hold(t.Context(), "u1", "", id, 900); err == nil && ok {
					mu.Lock()
					held[id] = true
					mu.Unlock()
					o.set(id, sluice.OrderUnpaid)
				}
			}()
		}
		wg.Wait()
		if len(held) != 3 {
			t.Fatalf("round %d: %d unpaid orders", round, len(held))
		}
		for id := range held {
			if r.IntN(2) == 0 {
				o.set(id, sluice.OrderClosed)
				delete(held, id)
			}
		}
		now = now.Add(time.Second)
	}
}
