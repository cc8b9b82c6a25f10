package gate_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/pass"
)

// opening is when the campaigns of these tests begin; they last an hour.
var opening = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

var secret = []byte("a secret of thirty-two bytes, no less")

// clocks are a wall clock and one that never jumps, set by hand.
type clocks struct{ wall, mono atomic.Int64 }

func (c *clocks) now() time.Time                   { return time.UnixMilli(c.wall.Load()).UTC() }
func (c *clocks) since() time.Duration             { return time.Duration(c.mono.Load()) }
func (c *clocks) setWall(t time.Time)              { c.wall.Store(t.UnixMilli()) }
func (c *clocks) advance(d time.Duration)          { c.wall.Add(d.Milliseconds()); c.mono.Add(int64(d)) }
func (c *clocks) millis() sluice.Millis            { return sluice.Millis(c.wall.Load()) }
func (c *clocks) in(d time.Duration) sluice.Millis { return c.millis().Add(d) }

// admitter answers as a test says and counts what it is asked.
type admitter struct {
	answer   sluice.Decision
	known    map[sluice.ClaimID]sluice.Decision
	soldOut  atomic.Bool
	admitted atomic.Int64
}

func (a *admitter) Admit(_ context.Context, c sluice.Claim) sluice.Decision {
	a.admitted.Add(1)
	d := a.answer
	d.ID, d.HasID, d.Quantity = c.ID, true, c.Quantity
	return d
}

func (a *admitter) Replay(
	_ context.Context, _ string, id sluice.ClaimID, _ int,
) (sluice.Decision, bool) {
	d, ok := a.known[id]
	return d, ok
}

func (a *admitter) SoldOut(string) bool { return a.soldOut.Load() }

// rig is a gate on clocks and an admitter of its own, with the campaign "spring" live.
type rig struct {
	*gate.Gate
	clock    *clocks
	admitter *admitter
	tokens   *gate.Tokens
	passes   *pass.Keys
}

func newRig(tb testing.TB, edit func(*gate.Config)) *rig {
	tb.Helper()
	r := &rig{clock: new(clocks), admitter: &admitter{
		answer: sluice.Decision{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed},
		known:  map[sluice.ClaimID]sluice.Decision{},
	}}
	r.clock.setWall(opening.Add(time.Minute))
	tokens, err := gate.NewTokens(tb.Context(), gate.TokenConfig{Secrets: [][]byte{secret}, Now: r.clock.now})
	if err != nil {
		tb.Fatal(err)
	}
	r.tokens = tokens
	r.passes = newPasses(tb, r.clock.now)
	cfg := gate.Config{Passes: r.passes, Tokens: tokens, Now: r.clock.now, Mono: r.clock.since, LimiterKeys: 1 << 12}
	if edit != nil {
		edit(&cfg)
	}
	r.Gate = gate.New(cfg, r.admitter)
	tb.Cleanup(func() { r.Close(); tokens.Close() })
	r.PutCampaign(spring())
	return r
}

func spring() sluice.Campaign {
	return sluice.Campaign{
		ID: "spring", Kind: sluice.KindGoods, Control: sluice.ControlOpen, PerUserLimit: 1,
		StartsAt: sluice.MillisOf(opening), EndsAt: sluice.MillisOf(opening.Add(time.Hour)),
	}
}

// sign makes an HS256 token that lasts for the whole day of the opening.
func sign(tb testing.TB, user string, more jwt.MapClaims) []byte {
	tb.Helper()
	c := jwt.MapClaims{"sub": user, "exp": opening.Add(24 * time.Hour).Unix()}
	for k, v := range more {
		c[k] = v
	}
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(s)
}

func (r *rig) request(tb testing.TB, user string) *sluice.ClaimRequest {
	return &sluice.ClaimRequest{
		Campaign: "spring", Token: sign(tb, user, nil), Addr: netip.MustParseAddr("192.0.2.7"), At: r.clock.millis(),
	}
}

func (r *rig) claim(tb testing.TB, req *sluice.ClaimRequest, want sluice.Reason) sluice.Decision {
	tb.Helper()
	d := r.Claim(tb.Context(), req)
	if d.Reason != want {
		tb.Fatalf("%s on %s: %s, want %s", req.RequestID, req.Campaign, d.Reason, want)
	}
	return d
}

func TestAdmits(t *testing.T) {
	r := newRig(t, nil)
	d := r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	if d.Kind != sluice.KindGoods || d.Quantity != 1 || d.ID.User() != sluice.UserKeyOf("alice") {
		t.Errorf("decision %+v", d)
	}
}
