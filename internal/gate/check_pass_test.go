package gate_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/pass"
)

// passLedger keeps pass keys in memory.
type passLedger struct{ keys []sluice.PassKey }

func (l *passLedger) PassKeys(context.Context) ([]sluice.PassKey, error) { return l.keys, nil }

func (l *passLedger) AddPassKey(_ context.Context, k sluice.PassKey, _ int64, _ sluice.Actor) error {
	l.keys = append([]sluice.PassKey{k}, l.keys...)
	return nil
}

// nonces remembers in memory, or fails.
type nonces struct {
	seen   sync.Map
	broken bool
	asked  int
}

func (n *nonces) First(_ context.Context, key string, _ time.Duration) (bool, error) {
	n.asked++
	if n.broken {
		return false, errors.New("the store is away")
	}
	_, was := n.seen.LoadOrStore(key, true)
	return !was, nil
}

func newPasses(tb testing.TB, now func() time.Time) *pass.Keys {
	tb.Helper()
	k := pass.NewKeys(pass.KeysConfig{Ledger: &passLedger{}, Now: now})
	if err := k.Tend(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return k
}

// pass gives a pass that is good for an hour.
func (r *rig) pass(user, device string, solved bool) string {
	now := r.clock.millis()
	text, err := r.passes.Issue(now, "spring", user, device, sluice.Pass{From: now, Until: now + 3600_000, Solved: solved})
	if err != nil {
		panic(err)
	}
	return text
}

// alicesSlotIs50s is a seed that gives alice a slot of about 50 s of 60.
const alicesSlotIs50s = "6e00000000000000000000000000000000000000000000000000000000000000"

// spread spreads the opening, which is now, over a minute.
func (s *stage) spread(seed string) {
	s.campaign.StartsAt = s.clock.millis()
	s.campaign.Protection.SpreadSec, s.campaign.Protection.SpreadSeed = 60, seed
}

// passRig is a gate with passes on, for a campaign with these settings.
func passRig(tb testing.TB, p sluice.Protection) (*rig, *nonces) {
	tb.Helper()
	n := &nonces{}
	r := newRig(tb, func(c *gate.Config) { c.Nonces = n })
	c := spring()
	c.Protection = p
	r.PutCampaign(c)
	return r, n
}

// TestPassAlways: a claim needs its own pass, of which copies serve retries.
func TestPassAlways(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAlways})
	req := r.request(t, "alice")
	req.Device = "phone"
	for _, tt := range []struct {
		what, pass string
		want       sluice.Reason
	}{
		{"none", "", sluice.ReasonPassRequired},
		{"nonsense", "nonsense", sluice.ReasonPassInvalid},
		{"another user's", r.pass("bob", "phone", true), sluice.ReasonPassInvalid},
		{"another device's", r.pass("alice", "laptop", true), sluice.ReasonPassInvalid},
		{"without device", r.pass("alice", "", true), sluice.ReasonPassInvalid},
		{"own", r.pass("alice", "phone", false), sluice.ReasonConfirmed},
		{"own, again", r.pass("alice", "phone", false), sluice.ReasonConfirmed},
	} {
		r.clock.advance(time.Second)
		req.Pass = tt.pass
		if d := r.Claim(t.Context(), req); d.Reason != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, d.Reason, tt.want)
		}
	}
	r.clock.advance(2 * time.Hour)
	c := spring()
	c.Protection.Pass, c.EndsAt = sluice.PassAlways, sluice.MillisOf(opening.Add(24*time.Hour))
	r.PutCampaign(c)
	r.claim(t, req, sluice.ReasonPassInvalid)
}

// TestChallengeAll: while the switch is on a pass without a challenge is not enough, in whatever mode.
func TestChallengeAll(t *testing.T) {
	for _, mode := range []sluice.PassMode{"", sluice.PassOff, sluice.PassAdaptive, sluice.PassAlways} {
		r, _ := passRig(t, sluice.Protection{Pass: mode})
		free, solved := r.request(t, "alice"), r.request(t, "bob")
		free.Pass, solved.Pass = r.pass("alice", "", false), r.pass("bob", "", true)
		r.claim(t, free, sluice.ReasonConfirmed)
		for _, campaign := range []string{"", "spring"} {
			r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchChallengeAll, campaign, 1)})
			r.claim(t, free, sluice.ReasonPassRequired)
			r.claim(t, solved, sluice.ReasonConfirmed)
			r.SetSwitches(nil)
			r.clock.advance(time.Second)
		}
		r.claim(t, free, sluice.ReasonConfirmed)
	}
}

// sign signs req at the gate's time.
func (r *rig) signRequest(req *sluice.ClaimRequest, nonce string) {
	s := &req.Signature
	*s = sluice.RequestSignature{
		Timestamp: strconv.AppendInt(nil, int64(r.clock.millis()), 10), Nonce: []byte(nonce), Method: []byte("POST"),
		Path: []byte("/v1/campaigns/spring/claims"), Body: []byte("{}"),
	}
	key, _ := r.passes.SigningKey(req.Pass)
	mac := pass.Sign(key, s)
	s.MAC = mac[:]
}

// TestSignedClaims: stale, early, repeated and changed ones are refused, and only a claim that is otherwise good costs
// a look at the nonces.
func TestSignedClaims(t *testing.T) {
	r, n := passRig(t, sluice.Protection{Signature: true, PerUserRate: 1000})
	r.clock.advance(10 * time.Minute)
	req := r.request(t, "alice")
	r.claim(t, req, sluice.ReasonPassRequired)
	req.Pass = r.pass("alice", "", false)
	r.claim(t, req, sluice.ReasonSignatureInvalid)
	for _, nonce := range []string{"", "short", "0123456789abcde", "0123456789abcde ", "0123456789abcde\x00",
		string(make([]byte, 65))} {
		r.signRequest(req, nonce)
		r.claim(t, req, sluice.ReasonSignatureInvalid)
	}
	for _, at := range []string{"", "x", "-1", "+1", "1e3", "9999999999999999"} {
		r.signRequest(req, "0123456789abcdef")
		req.Signature.Timestamp = []byte(at)
		r.claim(t, req, sluice.ReasonSignatureInvalid)
	}
	for _, skew := range []time.Duration{-60_001 * time.Millisecond, 60_001 * time.Millisecond} {
		r.clock.wall.Add(skew.Milliseconds())
		r.signRequest(req, "0123456789abcdef")
		r.clock.wall.Add(-skew.Milliseconds())
		r.claim(t, req, sluice.ReasonSignatureInvalid)
	}
	r.signRequest(req, "0123456789abcdef")
	req.Signature.MAC[5] ^= 1
	r.claim(t, req, sluice.ReasonSignatureInvalid)
	req.Signature.MAC[5] ^= 1
	if n.asked != 0 {
		t.Fatalf("%d looks at the nonces", n.asked)
	}
	r.claim(t, req, sluice.ReasonConfirmed)
	r.claim(t, req, sluice.ReasonSignatureInvalid) // the same nonce
	r.signRequest(req, "0123456789abcdeg")
	r.claim(t, req, sluice.ReasonConfirmed)
	n.broken = true
	r.signRequest(req, "0123456789abcdeh")
	if d := r.claim(t, req, sluice.ReasonBusy); d.RetryAfterMS <= 0 {
		t.Error("BUSY says nothing of when to come again")
	}
}

// TestOwnSlot: before the slot NOT_STARTED with the time to it, from it on the claim is let through; after the spread
// nobody waits. Passes of all modes, and none, make no difference.
func TestOwnSlot(t *testing.T) {
	seed, _ := sluice.ParseSeed(alicesSlotIs50s)
	slot := sluice.SpreadMS(seed.Draw("alice"), 60)
	for _, mode := range []sluice.PassMode{sluice.PassOff, sluice.PassAdaptive, sluice.PassAlways} {
		r, _ := passRig(t, sluice.Protection{Pass: mode, SpreadSec: 60, SpreadSeed: alicesSlotIs50s, PerUserRate: 1000})
		r.clock.setWall(opening)
		req := r.request(t, "alice")
		if mode == sluice.PassAlways {
			text, err := r.passes.Issue(r.clock.millis(), "spring", "alice", "", sluice.Pass{
				From: r.clock.millis(), Until: r.clock.millis() + 3600_000, Draw: seed.Draw("alice"),
			})
			if err != nil {
				t.Fatal(err)
			}
			req.Pass = text
		}
		if d := r.claim(t, req, sluice.ReasonNotStarted); d.StartsInMS != slot {
			t.Errorf("%s: starts in %d ms, want %d", mode, d.StartsInMS, slot)
		}
		r.clock.wall.Add(slot - 1)
		if d := r.claim(t, req, sluice.ReasonNotStarted); d.StartsInMS != 1 {
			t.Errorf("%s: starts in %d ms, want 1", mode, d.StartsInMS)
		}
		r.clock.wall.Add(1)
		r.claim(t, req, sluice.ReasonConfirmed)
	}
}

// TestSlotIsTheSeeds: a pass that was given before the opening was spread has no lot, and gives no first place.
func TestSlotIsTheSeeds(t *testing.T) {
	seed, _ := sluice.ParseSeed(alicesSlotIs50s)
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAlways})
	r.clock.setWall(opening)
	req := r.request(t, "alice")
	req.Pass = r.pass("alice", "", true) // of a campaign that was not spread
	c := spring()
	c.Protection = sluice.Protection{Pass: sluice.PassAlways, SpreadSec: 60, SpreadSeed: alicesSlotIs50s}
	r.PutCampaign(c)
	d := r.claim(t, req, sluice.ReasonNotStarted)
	if want := sluice.SpreadMS(seed.Draw("alice"), 60); d.StartsInMS != want {
		t.Errorf("starts in %d ms, want %d", d.StartsInMS, want)
	}
}
