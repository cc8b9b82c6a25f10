package gate

import (
	"hash/maphash"
	"math/bits"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of the meter.
const (
	// DefaultMeterKeys bounds the addresses, subnets and devices, of all campaigns together, whose requests are counted
	// at once; 8 bytes each: 8 MB.
	DefaultMeterKeys = 1 << 20
	meterWindow      = 10 * time.Second
	timesNormal      = 5
	// knownFrom is how many sources have to come in a window until its normal counts as known.
	knownFrom = 16
	// vouchedMost is what requests from devices that the shop vouches for raise their address and subnet to, at most.
	vouchedMost = 4
	// coolBits: of what came in the window before a quarter is remembered, so that who was far above stays above.
	coolBits = 2
)

// source is what requests are told apart by. Many honest people share an address or a subnet, nobody but bots a
// device with many: so many requests in a window are never unusual.
type source int

const (
	sourceDevice source = iota
	sourceAddress
	sourceSubnet
	numSources
)

var neverUnusual = [numSources]float64{sourceDevice: 10, sourceAddress: 30, sourceSubnet: 60}

// meter counts the requests of each source on each campaign, in windows of ten seconds, in a table of fixed size. A
// word holds 24 bits of the source's hash, 16 of the window, 24 of the count. In a full set the source that counts
// least is forgotten. There is no lock and nothing to sweep.
type meter struct {
	sets []limiterSet
	mask uint64
}

const (
	countBits  = 24
	countMask  = 1<<countBits - 1
	windowBits = 16
	tagMask    = ^uint64(1<<(countBits+windowBits) - 1)
)

func newMeter(keys int) *meter {
	l := newLimiter(keys)
	return &meter{sets: l.sets, mask: l.mask}
}

func windowOf(mono time.Duration) uint16 { return uint16(mono / meterWindow) }

// cooled gives what a word still counts in window.
func cooled(word uint64, window uint16) uint64 {
	elapsed := uint(window - uint16(word>>countBits))
	return word & countMask >> min(coolBits*elapsed, countBits)
}

// count adds one request of a source, where it counts less than most, and gives what it counts now; fresh says that it
// is the first of this window, more that it counts more than before.
func (m *meter) count(hash uint64, window uint16, most uint64) (n uint64, fresh, more bool) {
	set, tag := &m.sets[hash&m.mask], hash&tagMask
	for {
		word, old := &set[0], set[0].Load()
		for i := range set {
			v := set[i].Load()
			if v&tagMask == tag && v != 0 {
				word, old = &set[i], v
				break
			}
			if cooled(v, window) < cooled(old, window) {
				word, old = &set[i], v
			}
		}
		n, fresh, more = 1, true, true
		if old&tagMask == tag && old != 0 {
			n, fresh = cooled(old, window), uint16(old>>countBits)-window != 0
			if more = n < most; !more && !fresh {
				return n, false, false
			}
			n = max(min(n+1, most), n)
		}
		if word.CompareAndSwap(old, tag|uint64(window)<<countBits|min(n, countMask)) {
			return n, fresh, more
		}
	}
}

// normal is how often the usual source of one kind comes to one campaign in a window: the median of its sources. Bots
// who send most of the requests from few sources do not raise it, as they would a mean, before half of the sources are
// theirs. The median is found among steps a half of a power of two wide, anew when a
// source comes or reaches another step.
type normal struct {
	window  atomic.Uint32
	sources [medianSteps]atomic.Int32 // of this window, by what they have sent
	median  atomic.Uint32             // of this window; 0: not enough sources
	before  atomic.Uint32             // of the last window that had enough sources; 0: none had
}

// medianSteps reach to what nobody sends in a window whose median is asked: 1, 2, 3, 4, 6, 8, 12 … 32,768.
const medianSteps = 30

func stepOf(count uint64) int {
	if count < 4 {
		return int(max(1, count)) - 1
	}
	top := bits.Len64(count) - 1
	return min(medianSteps-1, 2*top-1+int(count>>(top-1)&1))
}

// stepStart is the least count of a step.
func stepStart(step int) uint32 {
	if step < 3 {
		return uint32(step + 1)
	}
	return uint32(2+(step-3)%2) << ((step - 3) / 2) << 1
}

// bound gives the count above which a source is far above normal; 0 while it is not known.
func (n *normal) bound(kind source) float64 {
	usual := max(n.median.Load(), n.before.Load())
	if usual == 0 {
		return 0
	}
	return max(timesNormal*float64(usual), neverUnusual[kind])
}

// turn begins the next window where it is time. What others add in the same instant may go to either.
func (n *normal) turn(window uint16) {
	old := n.window.Load()
	if old == uint32(window) || !n.window.CompareAndSwap(old, uint32(window)) {
		return
	}
	if m := n.median.Swap(0); m != 0 {
		n.before.Store(m)
	}
	for i := range n.sources {
		n.sources[i].Store(0)
	}
}

// see takes in that a source counts n now, and says how many times above normal that is: at most timesNormal for what
// is not unusual.
func (n *normal) see(kind source, count uint64, fresh, more bool, window uint16) (times float64) {
	n.turn(window)
	step := stepOf(count)
	switch {
	case fresh:
		n.sources[step].Add(1)
		n.find()
	case more && step > 0 && step != stepOf(count-1):
		n.sources[step-1].Add(-1)
		n.sources[step].Add(1)
		n.find()
	}
	bound := n.bound(kind)
	if bound == 0 {
		return 0
	}
	return float64(count) * timesNormal / bound
}

// find keeps the median of this window's sources, once they are enough.
func (n *normal) find() {
	var all, below int32
	var cells [medianSteps]int32
	for i := range cells {
		cells[i] = max(0, n.sources[i].Load())
		all += cells[i]
	}
	if all < knownFrom {
		return
	}
	for i, c := range cells {
		if below += c; 2*below >= all {
			n.median.Store(stepStart(i))
			return
		}
	}
}

// levels are the normals of one campaign for one kind of request.
type levels [numSources]normal

// measure counts a request and says how many times above normal its device, address or subnet is, the highest of them;
// above timesNormal it is suspicious. A device that the shop vouches for, and that is itself not unusual, speaks for
// its request: the people behind a carrier's address do not make it unusual, nor suffer where others have.
func (g *Gate) measure(
	l *levels, salt uint64, device string, vouched bool, addr netip.Addr, mono time.Duration,
) (times float64) {
	window := windowOf(mono)
	most := uint64(countMask)
	one := func(kind source, hash uint64) float64 {
		n, fresh, more := g.meter.count(mix(hash, salt+uint64(kind)), window, most)
		return l[kind].see(kind, n, fresh, more, window)
	}
	if device != "" {
		times = one(sourceDevice, maphash.String(g.seed, device))
	}
	trusted := vouched && device != "" && !suspicious(times)
	if trusted {
		most = vouchedMost
	}
	if addr.IsValid() {
		full, subnet := g.addressHashes(addr)
		others := max(one(sourceAddress, full), one(sourceSubnet, subnet))
		if !trusted {
			times = max(times, others)
		}
	}
	return times
}

// addressHashes hashes an address and its subnet: the /24 of IPv4, the /64 of IPv6.
func (g *Gate) addressHashes(addr netip.Addr) (full, subnet uint64) {
	b := addr.As16()
	if addr.Is4() || addr.Is4In6() {
		return maphash.Bytes(g.seed, b[:]), maphash.Bytes(g.seed, b[:15])
	}
	return maphash.Bytes(g.seed, b[:]), maphash.Bytes(g.seed, b[:8])
}

// suspicious says whether what measure gave is above the bound.
func suspicious(times float64) bool { return times > timesNormal }

// limiter sets of asks for passes lie apart from those of claims.
const asksSalt = 0x5bd1e9955bd1e995

// Stand says how who asks for a pass looks, and counts the ask. False: there is no such campaign. It does no I/O.
func (g *Gate) Stand(s *sluice.Subject) (st sluice.Standing, ok bool) {
	e, ok := (*g.registry.Load())[s.Campaign]
	if !ok || e.campaign.Control == sluice.ControlDraft {
		return st, false
	}
	st.Campaign, st.Seed, st.HasSeed = e.campaign, e.seed, e.hasSeed
	mono := g.cfg.Mono()
	if g.standBlocked(s, &st) {
		return st, true
	}
	g.came(s.User, s.Device, s.Addr, s.Now, false)
	st.Closed = g.switches.Load().closed || e.closed
	salt := e.salt ^ asksSalt
	pace := paceOf(passRate)
	wait, in := g.limiter.take(mix(maphash.String(g.seed, s.User), salt), pace, mono)
	if in && s.Device != "" {
		wait, in = g.limiter.take(mix(maphash.String(g.seed, s.Device), salt+1), pace, mono)
	}
	if !in {
		st.WaitMS = max(1, wait.Milliseconds()+1)
	}
	st.Times = max(g.measure(&e.levels.asks, salt, s.Device, s.Vouched, s.Addr, mono), e.levels.lately(g, e.salt, s, mono))
	st.Challenge = st.Challenge || e.need == needSolved || e.adaptive && suspicious(st.Times)
	return st, true
}

// standBlocked asks the blocklist and the risk rules, unless the allowlist has the buyer.
func (g *Gate) standBlocked(s *sluice.Subject, st *sluice.Standing) bool {
	if g.AllowedSubject(s) {
		return false
	}
	b := g.blocks.Load()
	for _, found := range [...]func() (block, bool){
		func() (block, bool) { return b.address(s.Addr, s.Now) },
		func() (block, bool) { return b.user(s.User, s.Now) },
		func() (block, bool) { return b.device(s.Device, s.Now) },
	} {
		if x, is := found(); is {
			st.Blocked, st.Reference = true, x.reference
			g.hits.add(x.reference, s.Now)
			return true
		}
	}
	if g.cfg.Suspicion == nil {
		return false
	}
	v := g.cfg.Suspicion.Look(s)
	st.Challenge = v.Challenge
	st.Blocked, st.Reference = v.Block, v.Reference
	return v.Block
}

// passRate is how many times a second one user, and one device, may ask for a pass of one campaign, and how many times
// at once.
const passRate = 5

// campaignLevels are the normals of a campaign. They outlive its entry.
type campaignLevels struct{ claims, asks levels }

// lately says how far above normal the claims of a source are, and counts nothing.
func (c *campaignLevels) lately(g *Gate, salt uint64, s *sluice.Subject, mono time.Duration) (times float64) {
	window := windowOf(mono)
	look := func(kind source, hash uint64) {
		if bound := c.claims[kind].bound(kind); bound > 0 {
			times = max(times, float64(g.meter.get(mix(hash, salt+uint64(kind)), window))*timesNormal/bound)
		}
	}
	if s.Device != "" {
		look(sourceDevice, maphash.String(g.seed, s.Device))
	}
	if trusted := s.Vouched && s.Device != "" && !suspicious(times); s.Addr.IsValid() && !trusted {
		full, subnet := g.addressHashes(s.Addr)
		look(sourceAddress, full)
		look(sourceSubnet, subnet)
	}
	return times
}

// get gives what a source counts.
func (m *meter) get(hash uint64, window uint16) uint64 {
	set, tag := &m.sets[hash&m.mask], hash&tagMask
	for i := range set {
		if v := set[i].Load(); v&tagMask == tag && v != 0 {
			return cooled(v, window)
		}
	}
	return 0
}

// size gives the bytes of the table.
func (m *meter) size() int { return len(m.sets) * len(limiterSet{}) * bits.UintSize / 8 }
