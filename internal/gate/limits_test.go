package gate_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// TestLimiterRates lets one key come as fast as it may for ten seconds and counts.
func TestLimiterRates(t *testing.T) {
	for _, tt := range []struct {
		rate       float64
		atOnce, in int // in ten seconds, those at once included
	}{
		{3, 3, 32}, {1, 1, 10}, {0.5, 1, 5}, {10, 10, 109}, {1000, 1000, 10_999}, {2.5, 2, 26}, {8000, 8000, 87_999},
	} {
		l := gate.NewLimiter(64)
		come := func(at time.Duration) (n int) {
			for {
				if _, ok := l.Take(1, tt.rate, at); !ok {
					return n
				}
				n++
			}
		}
		atOnce := come(time.Hour)
		total := atOnce
		for at := time.Duration(0); at < 10*time.Second; at += 125 * time.Microsecond {
			total += come(time.Hour + at)
		}
		if atOnce != tt.atOnce || math.Abs(float64(total-tt.in)) > 1+0.01*float64(tt.in) {
			t.Errorf("rate %v: %d at once, want %d; %d in ten seconds, want %d", tt.rate, atOnce, tt.atOnce, total, tt.in)
		}
		// Whoever waits as long as told gets in, and not a tick sooner.
		come(time.Hour + 10*time.Second)
		wait, _ := l.Take(1, tt.rate, time.Hour+10*time.Second)
		if _, ok := l.Take(1, tt.rate, time.Hour+10*time.Second+wait-125*time.Microsecond); ok {
			t.Errorf("rate %v: in before the wait was over", tt.rate)
		}
		if _, ok := l.Take(1, tt.rate, time.Hour+10*time.Second+wait); !ok {
			t.Errorf("rate %v: refused after the wait", tt.rate)
		}
	}
}

// TestLimiterForgetsNobodyEarly: as long as keys fit, each is held to its rate.
func TestLimiterForgetsNobodyEarly(t *testing.T) {
	const keys = 20_000
	l := gate.NewLimiter(4 * keys)
	early := 0
	for round := range 2 {
		for key := range uint64(keys) {
			if _, ok := l.Take(key, 1, 0); ok != (round == 0) {
				early++
			}
		}
	}
	if early > keys/1000 {
		t.Errorf("%d of %d keys were not held to their rate", early, keys)
	}
}

// TestLimiterUnderPressure: of many parallel claims of one key exactly the burst gets in.
func TestLimiterUnderPressure(t *testing.T) {
	l := gate.NewLimiter(64)
	var in atomic.Int64
	var crowd sync.WaitGroup
	for range 50 {
		crowd.Go(func() {
			for range 200 {
				if _, ok := l.Take(7, 10, 0); ok {
					in.Add(1)
				}
			}
		})
	}
	crowd.Wait()
	if in.Load() != 10 {
		t.Errorf("%d got in, want 10", in.Load())
	}
}

// TestPerUserRates: a campaign's switch beats the server's switch, that the campaign's setting, that the default.
func TestPerUserRates(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.PerUserRate = 2 })
	n := 0
	burst := func() (got int) {
		n++
		for {
			if d := r.Claim(t.Context(), r.request(t, fmt.Sprintf("user-%d", n))); d.Reason == sluice.ReasonTooFrequent {
				return got
			}
			got++
		}
	}
	want := func(what string, n int) {
		t.Helper()
		if got := burst(); got != n {
			t.Errorf("%s: %d at once, want %d", what, got, n)
		}
	}
	want("default", 2)
	c := spring()
	c.Protection.PerUserRate = 4
	r.PutCampaign(c)
	want("campaign", 4)
	server := set(sluice.SwitchPerUserRate, "", 5)
	r.SetSwitches([]sluice.SwitchSetting{server})
	want("server's switch", 5)
	r.SetSwitches([]sluice.SwitchSetting{server, set(sluice.SwitchPerUserRate, "spring", 7)})
	want("campaign's switch", 7)
	r.SetSwitches([]sluice.SwitchSetting{server, set(sluice.SwitchPerUserRate, "spring", 0)})
	want("campaign's switch at zero", 5)
	r.SetSwitches([]sluice.SwitchSetting{{Name: sluice.SwitchPerUserRate, Value: 9}})
	want("a cleared switch", 4)
}

// TestFrequencyIsPerCampaign: a rush on one campaign does not slow the same buyer down on another.
func TestFrequencyIsPerCampaign(t *testing.T) {
	r := newRig(t, nil)
	other := spring()
	other.ID = "other"
	r.PutCampaign(other)
	req := r.request(t, "alice")
	req.Device = "telephone"
	for range 3 {
		r.claim(t, req, sluice.ReasonConfirmed)
	}
	r.claim(t, req, sluice.ReasonTooFrequent)
	req.Campaign = "other"
	r.claim(t, req, sluice.ReasonConfirmed)
}

// TestCapacity: a bucket lets its burst through at once, then its rate; the server's bound holds over all campaigns,
// and what it refuses costs the campaign nothing.
func TestCapacity(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.MaxRate = 200 })
	c := spring()
	c.Protection.MaxRate = 100
	r.PutCampaign(c)
	free := spring()
	free.ID = "free"
	r.PutCampaign(free)
	n := 0
	take := func(campaign string, asks int) (got int) {
		for range asks {
			n++
			req := r.request(t, fmt.Sprintf("user-%d", n))
			req.Campaign = campaign
			if d := r.Claim(t.Context(), req); d.Reason.Admitted() {
				got++
			}
		}
		return got
	}
	want := func(what string, got, lo, hi int) {
		t.Helper()
		if got < lo || got > hi {
			t.Errorf("%s: %d, want %d to %d", what, got, lo, hi)
		}
	}
	want("the campaign's burst", take("spring", 400), 149, 151)
	want("what the server has left", take("free", 400), 149, 151)
	r.clock.advance(500 * time.Millisecond)
	want("half a second of the campaign", take("spring", 200), 49, 51)
	want("and of the server", take("free", 200), 49, 51)
	r.clock.advance(10 * time.Second)
	want("the server's whole burst", take("free", 400), 299, 301)
	want("nothing for the campaign", take("spring", 400), 0, 0)
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchMaxRate, "", 0)})
	want("a campaign that lost nothing to the server", take("spring", 400), 149, 151)
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchMaxRate, "", 0), set(sluice.SwitchMaxRate, "spring", 0)})
	want("no bound", take("spring", 400), 400, 400)
}

// TestWallClockJumps: neither limiter nor bucket heeds the wall clock; windows heed nothing else.
func TestWallClockJumps(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.MaxRate = 4 })
	for range 3 {
		r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	}
	r.claim(t, r.request(t, "alice"), sluice.ReasonTooFrequent)
	for i, jump := range []time.Duration{30 * time.Minute, -29 * time.Minute, time.Second, -time.Second} {
		r.clock.wall.Add(jump.Milliseconds())
		r.claim(t, r.request(t, "alice"), sluice.ReasonTooFrequent)
		if i < 3 {
			r.claim(t, r.request(t, fmt.Sprint("other-", i)), sluice.ReasonConfirmed)
		}
	}
	r.claim(t, r.request(t, "other"), sluice.ReasonBusy)
	r.clock.wall.Add(-time.Hour.Milliseconds())
	r.claim(t, r.request(t, "late"), sluice.ReasonNotStarted)
	r.clock.mono.Add(int64(time.Second))
	r.clock.wall.Add(time.Hour.Milliseconds())
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	r.clock.wall.Add(2 * time.Hour.Milliseconds())
	r.claim(t, r.request(t, "late"), sluice.ReasonEnded)
}

// TestRateRaised: whoever was held back by a slow rate does not wait out what it had promised.
func TestRateRaised(t *testing.T) {
	r := newRig(t, nil)
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchMaxRate, "spring", 0.001)})
	r.claim(t, r.request(t, "a"), sluice.ReasonConfirmed)
	r.claim(t, r.request(t, "b"), sluice.ReasonBusy)
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchMaxRate, "spring", 100)})
	r.claim(t, r.request(t, "b"), sluice.ReasonConfirmed)
}
