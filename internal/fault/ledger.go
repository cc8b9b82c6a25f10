package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Ledger is what admission settles through and loads from.
type Ledger interface {
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	Load(ctx context.Context, campaign string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error) error
}

// Rates says how often calls are broken, each between 0 and 1, and how long a slow call waits before it is carried
// out.
type Rates struct {
	Refused, Lost, Slow float64
	Delay               time.Duration
}

// Flaky breaks calls of a ledger at random; the same seed and the same order of calls give the same faults. A
// refused call is ErrUnavailable, one whose answer is lost ErrUncertain. It is safe for concurrent use.
type Flaky struct {
	ledger Ledger
	rates  Rates

	mu     sync.Mutex
	rng    *rand.Rand
	broken map[Kind]int
}

// NewFlaky wraps a ledger.
func NewFlaky(ledger Ledger, seed uint64, rates Rates) *Flaky {
	return &Flaky{ledger: ledger, rates: rates, rng: rand.New(rand.NewPCG(seed, 0)), broken: map[Kind]int{}}
}

// Broken counts the calls that were broken in a way.
func (f *Flaky) Broken(k Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken[k]
}

// Heal ends all faults.
func (f *Flaky) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rates = Rates{}
}

// draw decides about one call. One number decides, so that the kinds do not shift each other.
func (f *Flaky) draw() (Kind, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x, r, kind := f.rng.Float64(), f.rates, None
	switch {
	case x < r.Refused:
		kind = Refuse
	case x < r.Refused+r.Lost:
		kind = Lose
	case x < r.Refused+r.Lost+r.Slow:
		kind = Hold
	}
	f.broken[kind]++
	return kind, r.Delay
}

// Settle settles, or fails.
func (f *Flaky) Settle(ctx context.Context, claims []sluice.Claim) (out []sluice.Outcome, err error) {
	err = f.call(ctx, func() error {
		out, err = f.ledger.Settle(ctx, claims)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Load loads, or fails.
func (f *Flaky) Load(
	ctx context.Context, campaign string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error,
) error {
	return f.call(ctx, func() error { return f.ledger.Load(ctx, campaign, begin, each) })
}

func (f *Flaky) call(ctx context.Context, do func() error) error {
	kind, delay := f.draw()
	switch kind {
	case Refuse:
		return fmt.Errorf("%w: %w", ErrInjected, sluice.ErrUnavailable)
	case Lose:
		_ = do()
		return fmt.Errorf("%w: %w", ErrInjected, sluice.ErrUncertain)
	case Hold:
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", sluice.ErrUnavailable, ctx.Err())
		}
	}
	return do()
}
