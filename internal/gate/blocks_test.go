package gate_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

func TestAddressBlocks(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(c *gate.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	var list []sluice.Block
	for _, v := range []string{
		"198.51.100.7", "203.0.113.0/24", "203.0.113.128/25", "10.1.2.3/8", "2001:db8::/32", "2001:db8:1::1",
		"fe80::1%eth0",
		"::ffff:192.0.2.128/121", "::ffff:198.18.0.1", "nonsense", "1.2.3.4/33", "",
	} {
		list = append(list, sluice.Block{ID: v, Scope: sluice.BlockAddress, Value: v})
	}
	r.SetBlocks(append(list, sluice.Block{ID: "odd", Scope: "planet", Value: "earth"}))
	for addr, want := range map[string]string{
		"198.51.100.7": "198.51.100.7", "198.51.100.8": "", "203.0.113.5": "203.0.113.0/24",
		"203.0.113.200": "203.0.113.128/25", "203.0.112.255": "", "10.255.0.1": "10.1.2.3/8", "11.0.0.0": "",
		"2001:db8:ffff::": "2001:db8::/32",
		"2001:db8:1::1":   "2001:db8:1::1", "2001:db9::": "", "fe80::1": "fe80::1%eth0", "fe80::1%wlan0": "fe80::1%eth0",
		"192.0.2.130": "::ffff:192.0.2.128/121", "192.0.2.7": "", "198.18.0.1": "::ffff:198.18.0.1",
		"::ffff:203.0.113.5": "203.0.113.0/24", "::": "",
	} {
		req := r.request(t, "user at "+addr)
		req.Addr = netip.MustParseAddr(addr)
		if want == "" {
			r.claim(t, req, sluice.ReasonConfirmed)
		} else if d := r.claim(t, req, sluice.ReasonBlocked); d.Reference != want {
			t.Errorf("%s: by %q, want %q", addr, d.Reference, want)
		}
	}
	req := r.request(t, "user of no address")
	req.Addr = netip.Addr{}
	r.claim(t, req, sluice.ReasonConfirmed)
	text := log.String()
	if n := strings.Count(text, "cannot be read"); n != 3 || !strings.Contains(text, "planet") {
		t.Errorf("what could not be taken over was not told: %s", text)
	}
}

// TestAddressBlocksByBruteForce compares the tables with a walk over the list.
func TestAddressBlocksByBruteForce(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.PerUserRate = 1e6 })
	random := rand.New(rand.NewPCG(1, 2))
	addr := func() netip.Addr {
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, 0, byte(random.IntN(4)), byte(random.IntN(256))})
		}
		return netip.AddrFrom16([16]byte{
			0x20, 1, 13: byte(random.IntN(2)), 14: byte(random.IntN(4)), 15: byte(random.IntN(256)),
		})
	}
	var list []sluice.Block
	var nets []netip.Prefix
	for i := range 200 {
		a := addr()
		p := netip.PrefixFrom(a, a.BitLen()-random.IntN(7))
		nets = append(nets, p.Masked())
		list = append(list, sluice.Block{ID: fmt.Sprint(i), Scope: sluice.BlockAddress, Value: p.String()})
	}
	r.SetBlocks(list)
	req := r.request(t, "alice")
	for range 5000 {
		req.Addr = addr()
		want := sluice.ReasonConfirmed
		for _, p := range nets {
			if p.Contains(req.Addr) {
				want = sluice.ReasonBlocked
			}
		}
		r.claim(t, req, want)
	}
}

func TestBlocksExpire(t *testing.T) {
	for _, scope := range []sluice.BlockScope{sluice.BlockAddress, sluice.BlockUser, sluice.BlockDevice} {
		r := newRig(t, nil)
		value := map[sluice.BlockScope]string{
			sluice.BlockAddress: "192.0.2.7", sluice.BlockUser: "alice", sluice.BlockDevice: "telephone",
		}[scope]
		req := r.request(t, "alice")
		req.Device = "telephone"
		r.SetBlocks([]sluice.Block{
			{ID: "short", Scope: scope, Value: value, ExpiresAt: r.clock.in(time.Minute)},
			{ID: "long", Scope: scope, Value: value, ExpiresAt: r.clock.in(2 * time.Minute)},
			{ID: "over", Scope: scope, Value: value, ExpiresAt: r.clock.in(-time.Minute)},
		})
		r.clock.advance(2*time.Minute - time.Millisecond)
		if d := r.claim(t, req, sluice.ReasonBlocked); d.Reference != "long" {
			t.Errorf("%s: by %q", scope, d.Reference)
		}
		r.clock.advance(time.Millisecond)
		r.claim(t, req, sluice.ReasonConfirmed)
		r.SetBlocks([]sluice.Block{{ID: "for good", Scope: scope, Value: value}})
		r.claim(t, req, sluice.ReasonBlocked)
		r.SetBlocks(nil)
		r.claim(t, req, sluice.ReasonConfirmed)
	}
}

// TestNarrowBlockExpires: behind a narrow block that is over, a wide one still holds.
func TestNarrowBlockExpires(t *testing.T) {
	r := newRig(t, nil)
	r.SetBlocks([]sluice.Block{
		{ID: "narrow", Scope: sluice.BlockAddress, Value: "192.0.2.7", ExpiresAt: r.clock.in(time.Minute)},
		{ID: "wide", Scope: sluice.BlockAddress, Value: "192.0.0.0/16"},
	})
	for _, want := range []string{"narrow", "wide"} {
		if d := r.claim(t, r.request(t, "alice"), sluice.ReasonBlocked); d.Reference != want {
			t.Errorf("by %q, want %q", d.Reference, want)
		}
		r.clock.advance(time.Minute)
	}
}

func TestEligibility(t *testing.T) {
	r := newRig(t, nil)
	c := spring()
	c.Eligibility.Claims = map[string][]string{"tier": {"gold", "platinum"}, "level": {"7"}}
	r.PutCampaign(c)
	for i, tt := range []struct {
		claims jwt.MapClaims
		want   sluice.Reason
	}{
		{jwt.MapClaims{"tier": "gold", "level": 7}, sluice.ReasonConfirmed},
		{jwt.MapClaims{"tier": []string{"silver", "platinum"}, "level": "7"}, sluice.ReasonConfirmed},
		{jwt.MapClaims{"tier": "gold"}, sluice.ReasonNotEligible},
		{jwt.MapClaims{"tier": "Gold", "level": 7}, sluice.ReasonNotEligible},
		{jwt.MapClaims{"tier": []string{}, "level": 7}, sluice.ReasonNotEligible},
		{jwt.MapClaims{"Tier": "gold", "level": 7}, sluice.ReasonNotEligible},
		{nil, sluice.ReasonNotEligible},
	} {
		req := r.request(t, "")
		req.Token = sign(t, fmt.Sprint("user-", i), tt.claims)
		r.claim(t, req, tt.want)
	}
}

func TestAudience(t *testing.T) {
	r := newRig(t, nil)
	c := spring()
	c.Eligibility.Audience = true
	var users []sluice.UserKey
	for i := range 1000 {
		users = append(users, sluice.UserKeyOf(fmt.Sprint("invited-", i)), sluice.UserKeyOf(fmt.Sprint("invited-", i)))
	}
	r.SetAudience("spring", users) // before the campaign asks for it
	r.claim(t, r.request(t, "stranger"), sluice.ReasonConfirmed)
	r.PutCampaign(c)
	r.claim(t, r.request(t, "stranger"), sluice.ReasonNotEligible)
	for i := range 1000 {
		r.claim(t, r.request(t, fmt.Sprint("invited-", i)), sluice.ReasonConfirmed)
	}
	r.claim(t, r.request(t, "Invited-1"), sluice.ReasonNotEligible)
	r.SetAudience("spring", []sluice.UserKey{})
	r.claim(t, r.request(t, "invited-2"), sluice.ReasonNotEligible)
	r.SetAudience("spring", []sluice.UserKey{sluice.UserKeyOf("stranger")})
	r.claim(t, r.request(t, "stranger"), sluice.ReasonConfirmed)
	r.SetAudience("spring", nil)
	r.claim(t, r.request(t, "stranger"), sluice.ReasonNotEligible)
	r.SetAudience("spring", []sluice.UserKey{sluice.UserKeyOf("stranger")})
	r.DropCampaign("spring")
	r.PutCampaign(c)
	r.claim(t, r.request(t, "stranger"), sluice.ReasonNotEligible)
}
