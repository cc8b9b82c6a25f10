package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the comparison of clocks.
const (
	clockSamples = 5
	clockSpread  = 120 * time.Millisecond // the most that lies between two samples
	clockFresh   = time.Minute            // a comparison is made again this long before a start
)

// ServerClock is the server's clock as this process sees it. It runs on the monotonic clock: setting the machine's
// clock does not move it.
type ServerClock struct {
	at     time.Time // with its monotonic reading
	server time.Time // what the server's clock showed at that moment
	// RTT is the round trip of the best sample. The clock is off by half of it at most.
	RTT time.Duration
}

// Now gives the server's time.
func (s ServerClock) Now() time.Time { return s.server.Add(time.Since(s.at)) }

// Offset is how far the server's clock is ahead of this machine's, by the latter's present wall time.
func (s ServerClock) Offset() time.Duration {
	return s.Now().Sub(time.Now().Round(0)).Round(time.Millisecond)
}

// SyncTime compares clocks: five samples of GET /v1/time, of which the one with the shortest round trip counts. It
// fails only where every sample failed, with the error of the last.
func (c *Client) SyncTime(ctx context.Context) (ServerClock, error) {
	var best ServerClock
	var failed error
	for n := range clockSamples {
		if n > 0 {
			if err := c.pause(ctx, time.Duration(c.random()*float64(clockSpread))); err != nil {
				failed = err
				break
			}
		}
		sample, err := c.sampleTime(ctx)
		switch {
		case err != nil:
			failed = err
		case best.at.IsZero() || sample.RTT < best.RTT:
			best = sample
		}
	}
	if best.at.IsZero() {
		return best, fmt.Errorf("client: the server's time: %w", failed)
	}
	return best, nil
}

func (c *Client) sampleTime(ctx context.Context) (ServerClock, error) {
	var t struct {
		ServerTimeMS sluice.Millis `json:"server_time_ms"`
	}
	sent := time.Now()
	if _, err := c.once(ctx, call{method: http.MethodGet, path: "/v1/time"}, &t); err != nil {
		return ServerClock{}, err
	}
	rtt := time.Since(sent)
	if t.ServerTimeMS == 0 {
		return ServerClock{}, fmt.Errorf("client: no server_time_ms: %w", sluice.ErrUncertain)
	}
	return ServerClock{at: sent.Add(rtt / 2), server: t.ServerTimeMS.Time(), RTT: rtt}, nil
}

// WaitForStart waits until campaign has started by the server's clock, and gives the campaign. It is at most a
// round trip late and not early; where it still is early, by a clock that drifted, [Client.Claim] waits the rest.
// A start that is moved while this waits is noticed a minute before the old one.
func (c *Client) WaitForStart(ctx context.Context, campaign string) (*Campaign, error) {
	for {
		found, err := c.Campaign(ctx, campaign)
		if err != nil {
			return nil, err
		}
		clock, err := c.SyncTime(ctx)
		if err != nil {
			return nil, err
		}
		left := found.StartsAt.Sub(clock.Now()) + clock.RTT/2 + time.Millisecond
		if left <= clock.RTT/2+time.Millisecond {
			return found, nil
		}
		if left > 2*clockFresh { // compare again when it is near
			if err := c.pause(ctx, left-clockFresh); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.pause(ctx, left); err != nil {
			return nil, err
		}
		return found, nil
	}
}
