package gate_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// crowd makes claims of buyers, each from a device and an address of its own unless it says otherwise.
type crowd struct {
	*rig
	tb testing.TB
}

func addressOf(n int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x0a000000+uint32(n)<<8) // each in a /24 of its own
	return netip.AddrFrom4(b)
}

func (c crowd) claim(user, device string, addr netip.Addr) sluice.Reason {
	req := c.request(c.tb, user)
	req.Device, req.Addr = device, addr
	return c.Claim(c.tb.Context(), req).Reason
}

// buyers lets n honest buyers, from number first on, come up to three times each, and says how many were challenged.
func (c crowd) buyers(first, n int) (challenged int) {
	for i := first; i < first+n; i++ {
		for range 1 + i%3 {
			if c.claim(fmt.Sprintf("buyer-%d", i), fmt.Sprintf("device-%d", i), addressOf(i)) == sluice.ReasonPassRequired {
				challenged++
			}
		}
	}
	return challenged
}

// TestAdaptive: what is far above the campaign's own normal is challenged, by device, address and subnet, and nobody
// else; it stays so in the next window, and is forgotten when it has been quiet.
func TestAdaptive(t *testing.T) {
	for what, who := range map[string]func(i int) (device string, addr netip.Addr){
		"device": func(i int) (string, netip.Addr) { return "farm", addressOf(1_000_000 + i) },
		"address": func(i int) (string, netip.Addr) {
			return fmt.Sprint("bot-", i), netip.MustParseAddr("192.0.2.1")
		},
		"subnet": func(i int) (string, netip.Addr) {
			return fmt.Sprint("bot-", i), netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		},
		"IPv6 subnet": func(i int) (string, netip.Addr) {
			a := netip.MustParseAddr("2001:db8::").As16()
			binary.BigEndian.PutUint32(a[12:], uint32(i))
			return fmt.Sprint("bot-", i), netip.AddrFrom16(a)
		},
	} {
		r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
		c := crowd{r, t}
		farm := func(n int) (free int) {
			for i := range n {
				device, addr := who(i)
				if c.claim(fmt.Sprintf("account-%d", i), device, addr) != sluice.ReasonPassRequired {
					free++
				}
			}
			return free
		}
		if n := c.buyers(0, 300); n != 0 {
			t.Errorf("%s: %d honest claims were challenged", what, n)
		}
		if free := farm(240); free < 5 || free > 60 {
			t.Errorf("%s: %d of 240 claims of a farm were let through, want 5 to 60", what, free)
		}
		r.clock.advance(10 * time.Second)
		if n := c.buyers(1000, 300); n != 0 {
			t.Errorf("%s: %d honest claims were challenged beside a farm", what, n)
		}
		if free := farm(240); free > 40 {
			t.Errorf("%s: %d of 240 claims of a farm were let through in the next window", what, free)
		}
		r.clock.advance(2 * time.Minute)
		c.buyers(2000, 300)
		if free := farm(5); free != 5 {
			t.Errorf("%s: two quiet minutes later only %d of 5 claims were let through", what, free)
		}
	}
}

// TestAdaptiveLetsSolversThrough: who is challenged and solves goes on.
func TestAdaptiveLetsSolversThrough(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	c.buyers(0, 100)
	req := r.request(t, "alice")
	req.Device = "farm"
	reason := sluice.ReasonNone
	for range 30 {
		reason = r.Claim(t.Context(), req).Reason
	}
	if reason != sluice.ReasonPassRequired {
		t.Fatalf("%s, want to be challenged", reason)
	}
	req.Pass = r.pass("alice", "farm", false)
	r.claim(t, req, sluice.ReasonPassRequired)
	req.Pass = r.pass("alice", "farm", true)
	r.claim(t, req, sluice.ReasonConfirmed)
}

// TestNormalIsMeasured: a campaign whose buyers all come often challenges none of them, and one whose normal is not
// known yet challenges nobody.
func TestNormalIsMeasured(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	for round := range 40 {
		for i := range 100 {
			got := c.claim(fmt.Sprintf("buyer-%d", i), fmt.Sprintf("device-%d", i), addressOf(i))
			if got == sluice.ReasonPassRequired {
				t.Fatalf("round %d: a usual buyer is challenged", round)
			}
		}
	}
	lone, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	for i := range 100 {
		if got := (crowd{lone, t}).claim("alice", "phone", addressOf(1)); got == sluice.ReasonPassRequired {
			t.Fatalf("claim %d of the only buyer is challenged", i)
		}
	}
}

// TestStandAgreesWithTheFunnel: who would be challenged at a claim is challenged by the desk of passes.
func TestStandAgreesWithTheFunnel(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	c.buyers(0, 100)
	for i := range 40 {
		c.claim(fmt.Sprintf("account-%d", i), "farm", addressOf(5000+i))
	}
	stand := func(user, device string) sluice.Standing {
		s, ok := r.Stand(&sluice.Subject{
			Campaign: "spring", User: user, Device: device, Addr: addressOf(9000), Now: r.clock.millis(),
		})
		if !ok {
			t.Fatal("the campaign is not known")
		}
		return s
	}
	if s := stand("account-77", "farm"); !s.Challenge || s.Times <= 5 {
		t.Errorf("a farm's device: %+v", s)
	}
	if s := stand("carol", "carols"); s.Challenge || s.Blocked || s.WaitMS != 0 {
		t.Errorf("a usual buyer: %+v", s)
	}
	for range 5 {
		stand("dave", "daves")
	}
	if s := stand("dave", "daves"); s.WaitMS <= 0 {
		t.Errorf("a sixth ask at once: %+v", s)
	}
	r.SetBlocks([]sluice.Block{{ID: "blk_1", Scope: sluice.BlockUser, Value: "erin"}})
	if s := stand("erin", "erins"); !s.Blocked || s.Reference != "blk_1" {
		t.Errorf("a blocked buyer: %+v", s)
	}
	if _, ok := r.Stand(&sluice.Subject{Campaign: "summer"}); ok {
		t.Error("a campaign that is none is known")
	}
}

// TestMeterHoldsAFarmInAFlood: addresses by the hundred thousand, each seen once, do not make the meter forget who is
// far above normal, nor grow.
func TestMeterHoldsAFarmInAFlood(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.MeterKeys = 1 << 14 })
	p := spring()
	p.Protection = sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000}
	r.PutCampaign(p)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	src := rand.New(rand.NewPCG(seed, 0))
	size, free, came := r.MeterSize(), 0, 0
	for i := range 200_000 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], src.Uint32()|1<<31)
		r.Measure("spring", fmt.Sprint("device-", i), netip.AddrFrom4(b))
		if i%50 == 0 {
			came++
			if r.Measure("spring", "farm", netip.MustParseAddr("192.0.2.1")) <= 5 {
				free++
			}
		}
	}
	if free > came/10 {
		t.Errorf("%d of %d claims of a farm were let through", free, came)
	}
	if r.MeterSize() != size || size > 1<<14*8 {
		t.Errorf("the meter has %d bytes, then %d", size, r.MeterSize())
	}
}

// TestNormalIsNotTheBots: bots from nearly half of the addresses, who send nearly all of the requests before the
// opening, do not make that the normal.
func TestNormalIsNotTheBots(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	free := 0
	for round := range 100 {
		if round < 20 {
			c.buyers(round, 1)
		}
		for bot := range 16 {
			device := fmt.Sprintf("made-up-%d-%d", bot, round)
			if c.claim(fmt.Sprintf("account-%d-%d", bot, round), device, addressOf(9000+bot)) != sluice.ReasonPassRequired {
				free++
			}
		}
	}
	if free > 16*40 {
		t.Errorf("%d of 1,600 claims of sixteen bots were let through", free)
	}
}

// TestSharedAddress: people behind one address whose devices the shop vouches for are not challenged for it, also where
// a bot has it too; a device that many accounts share is, and so is who brings a device id of its own making.
func TestSharedAddress(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	c.buyers(0, 100)
	carrier := netip.MustParseAddr("100.64.0.1")
	claim := func(user, device string) sluice.Reason {
		req := r.request(t, user)
		req.Token, req.Addr = sign(t, user, jwt.MapClaims{"did": device}), carrier
		return r.Claim(t.Context(), req).Reason
	}
	for i := range 300 {
		if got := claim(fmt.Sprintf("person-%d", i), fmt.Sprintf("phone-%d", i)); got == sluice.ReasonPassRequired {
			t.Fatalf("person %d behind the carrier is challenged", i)
		}
	}
	for i := range 60 {
		c.claim(fmt.Sprintf("forger-%d", i), fmt.Sprintf("made-up-%d", i), carrier)
	}
	if got := c.claim("forger", "made-up", carrier); got != sluice.ReasonPassRequired {
		t.Errorf("a forger after sixty others: %s", got)
	}
	if got := claim("late", "another phone"); got == sluice.ReasonPassRequired {
		t.Errorf("a person beside a forger: %s", got)
	}
	for i := range 12 {
		claim(fmt.Sprintf("account-%d", i), "rack")
	}
	if got := claim("account", "rack"); got != sluice.ReasonPassRequired {
		t.Errorf("a device of thirteen accounts: %s", got)
	}
}

func BenchmarkMeasure(b *testing.B) {
	r, _ := passRig(b, sluice.Protection{Pass: sluice.PassAdaptive})
	addr, i := addressOf(7), 0
	devices := make([]string, 1000)
	for i := range devices {
		devices[i] = fmt.Sprint("device-", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Measure("spring", devices[i%1000], addr)
		i++
	}
}

// TestVouchedAddressCountsOnce: however many people whom the shop vouches for come from one address, it is one source
// among the campaign's, and does not move what is normal for the others.
func TestVouchedAddressCountsOnce(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 1000})
	c := crowd{r, t}
	for i := range 40 * 20 {
		c.claim(fmt.Sprintf("buyer-%d", i), "", addressOf(i%40))
	}
	for i := range 500 {
		req := r.request(t, "x")
		req.Token, req.Addr = sign(t, fmt.Sprintf("person-%d", i), jwt.MapClaims{"did": fmt.Sprintf("phone-%d", i)}),
			netip.MustParseAddr("100.64.0.1")
		r.Claim(t.Context(), req)
	}
	for i := range 70 { // normal is 16 at least
		if got := c.claim(fmt.Sprintf("late-%d", i), "", addressOf(99)); got == sluice.ReasonPassRequired {
			t.Fatalf("claim %d of an address is challenged", i)
		}
	}
}
