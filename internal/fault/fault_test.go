package fault_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/fault"
)

func TestStore(t *testing.T) {
	own := errors.New("own")
	for _, tc := range []struct {
		kind fault.Kind
		did  bool
		want error
	}{
		{fault.Refuse, false, fault.ErrInjected}, {fault.Lose, true, fault.ErrInjected}, {fault.None, true, own},
	} {
		var s fault.Store
		call := s.Next("commit", tc.kind)
		did := false
		do := func() error { did = true; return own }
		if err := s.Around("begin", do); !did || !errors.Is(err, own) {
			t.Errorf("another step: %v", err)
		}
		did = false
		if err := s.Around("commit", do); did != tc.did || !errors.Is(err, tc.want) {
			t.Errorf("kind %d: done %v, %v", tc.kind, did, err)
		}
		<-call.Entered()
		if err := s.Around("commit", func() error { return nil }); err != nil {
			t.Errorf("kind %d, the call after: %v", tc.kind, err)
		}
	}
}

func TestStoreHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s fault.Store
		call := s.Next("commit", fault.Hold)
		done := make(chan error)
		go func() { done <- s.Around("commit", func() error { return nil }) }()
		<-call.Entered()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a held step went on: %v", err)
		default:
		}
		call.Release()
		call.Release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

type counting struct{ settles, loads int }

func (c *counting) Settle(context.Context, []sluice.Claim) ([]sluice.Outcome, error) {
	c.settles++
	return make([]sluice.Outcome, 1), nil
}

func (c *counting) Load(context.Context, string, func(sluice.Campaign), func([]sluice.ClaimRow) error) error {
	c.loads++
	return nil
}

func TestFlaky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(seed uint64) (kinds []string, f *fault.Flaky, inner *counting) {
			inner = &counting{}
			f = fault.NewFlaky(inner, seed, fault.Rates{Refused: 0.2, Lost: 0.2, Slow: 0.2, Delay: time.Second})
			for range 100 {
				before, start := inner.settles, time.Now()
				out, err := f.Settle(t.Context(), nil)
				did, slow := inner.settles > before, time.Since(start) > 0
				switch {
				case errors.Is(err, sluice.ErrUnavailable) && !did && out == nil:
					kinds = append(kinds, "refused")
				case errors.Is(err, sluice.ErrUncertain) && did && out == nil:
					kinds = append(kinds, "lost")
				case err == nil && did && slow:
					kinds = append(kinds, "slow")
				case err == nil && did && len(out) == 1:
					kinds = append(kinds, "well")
				default:
					t.Fatalf("done %v, %v %v", did, out, err)
				}
			}
			return kinds, f, inner
		}
		a, f, inner := run(1)
		b, _, _ := run(1)
		c, _, _ := run(2)
		if !slices.Equal(a, b) || slices.Equal(a, c) {
			t.Error("the seed does not decide")
		}
		for _, k := range []fault.Kind{fault.None, fault.Refuse, fault.Lose, fault.Hold} {
			if n := f.Broken(k); n < 5 {
				t.Errorf("%d of 100 calls were of kind %d", n, k)
			}
		}
		f.Heal()
		for range 50 {
			if err := f.Load(t.Context(), "g", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if inner.loads != 50 {
			t.Errorf("%d loads", inner.loads)
		}
	})
}
