package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/client/internal/fakeserver"
)

// TestQueued: a queued claim is waited for by long poll, and given back as it is where patience ends first.
func TestQueued(t *testing.T) {
	tests := []struct {
		settle time.Duration
		opts   client.ClaimOptions
		state  client.State
		polls  int
	}{
		{3 * time.Second, client.ClaimOptions{}, client.Confirmed, 1},
		{25 * time.Second, client.ClaimOptions{}, client.Confirmed, 3},
		{3 * time.Second, client.ClaimOptions{NoWait: true}, client.Queued, 0},
		{time.Hour, client.ClaimOptions{}, client.Queued, 6},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
			s.Settle = tt.settle
			s.Script(fakeserver.Queued)
			claim, err := c.Claim(t.Context(), "spring", tt.opts)
			if err != nil || claim.State != tt.state {
				t.Fatalf("settled after %v: got %+v, %v", tt.settle, claim, err)
			}
			if got := s.Counts(); got.Polls != tt.polls || got.Posts != 1 {
				t.Errorf("settled after %v: the server saw %+v, want %d polls", tt.settle, got, tt.polls)
			}
			if tt.opts.NoWait {
				claim, err = c.WaitForOutcome(t.Context(), claim)
				if err != nil || !claim.Won() || claim.RequestID == "" {
					t.Errorf("waited for it: %+v, %v", claim, err)
				}
			}
		})
	}
}

// TestQueuedIsFoundByAsking: the answer QUEUED was lost, the question finds the claim, the wait goes on.
func TestQueuedIsFoundByAsking(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Settle = 3 * time.Second
		s.Script(fakeserver.Queued)
		first, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1", NoWait: true})
		if err != nil || first.State != client.Queued {
			t.Fatalf("got %+v, %v", first, err)
		}
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1", Resume: true})
		if err != nil || !claim.Won() || claim.ID != first.ID {
			t.Errorf("got %+v, %v", claim, err)
		}
		if got := s.Counts(); got.Posts != 1 || got.Asks != 1 {
			t.Errorf("the server saw %+v", got)
		}
	})
}

func TestLookups(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fakeserver.Server, c *client.Client) {
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.FindClaim(t.Context(), "spring", "r1")
		if err != nil || found.ID != claim.ID || found.RequestID != "r1" {
			t.Errorf("by request id: %+v, %v", found, err)
		}
		if _, err = c.FindClaim(t.Context(), "spring", "r2"); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("by an unknown request id: %v", err)
		}
		if found, err = c.LookupClaim(t.Context(), claim.ID); err != nil || found.OrderID != claim.OrderID {
			t.Errorf("by claim id: %+v, %v", found, err)
		}
		if _, err = c.LookupClaim(t.Context(), "clm_other"); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("by an unknown claim id: %v", err)
		}
	})
}

// TestClockSkew: the client's own clock may be an hour off either way; the start is met by the server's.
func TestClockSkew(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, -7 * time.Minute, 0, time.Hour} {
		bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
			s.Skew, s.Delay = skew, 60*time.Millisecond
			later := goods("later", 1, 1)
			starts := time.Now().Add(skew + 10*time.Minute)
			later.StartsAt, later.EndsAt = sluice.MillisOf(starts), sluice.MillisOf(starts.Add(time.Hour))
			s.Add(later)

			clock, err := c.SyncTime(t.Context())
			if err != nil || clock.RTT != s.Delay {
				t.Fatalf("clock %+v, %v", clock, err)
			}
			if off := (clock.Offset() - skew).Abs(); off > clock.RTT/2 {
				t.Errorf("skew %v: the clock is off by %v", skew, off)
			}
			found, err := c.WaitForStart(t.Context(), "later")
			if err != nil || found.ID != "later" {
				t.Fatalf("got %+v, %v", found, err)
			}
			late := time.Now().Add(skew).Sub(starts)
			if late < 0 || late > 100*time.Millisecond {
				t.Errorf("skew %v: the start was met %v after it", skew, late)
			}
			claim, err := c.Claim(t.Context(), "later", client.ClaimOptions{})
			if err != nil || !claim.Won() || s.Counts().Posts != 1 {
				t.Errorf("skew %v: %+v, %v", skew, claim, err)
			}
		})
	}
}

// TestTooEarly: a claim that comes a moment too early waits for the start and goes out again.
func TestTooEarly(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		later := goods("later", 1, 1)
		later.StartsAt = sluice.MillisOf(time.Now().Add(300 * time.Millisecond))
		s.Add(later)
		claim, err := c.Claim(t.Context(), "later", client.ClaimOptions{})
		if err != nil || !claim.Won() || s.Counts().Posts != 2 {
			t.Errorf("got %+v, %v after %d posts", claim, err, s.Counts().Posts)
		}
	})
}
