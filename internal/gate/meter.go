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

// count adds one request of a source and gives what it counts now; fresh says that it is the first of this window.
func (m *meter) count(hash uint64, window uint16) (n uint64, fresh bool) {
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
		n, fresh = 1, true
		if old&tagMask == tag && old != 0 {
			n, fresh = cooled(old, window)+1, uint16(old>>countBits)-window != 0
		}
		if word.CompareAndSwap(old, tag|uint64(window)<<countBits|min(n, countMask)) {
			return n, fresh
		}
	}
}

// normal is how often the usual source of one kind comes to one campaign in a window. What a source sends above the
// bound does not count for it: else bots would raise what is normal.
type normal struct {
	window atomic.Uint32
	counts atomic.Uint64 // of this window: requests in the upper half, sources in the lower one
	before atomic.Uint32 // requests of a source in the last window that had enough sources, times 256; 0: none had
}

// bound gives the count above which a source is far above normal; 0 while it is not known.
func (n *normal) bound(kind source) float64 {
	counts, mean := n.counts.Load(), float64(n.before.Load())/256
	if sources := counts & (1<<32 - 1); sources >= knownFrom {
		mean = max(mean, float64(counts>>32)/float64(sources))
	}
	if mean == 0 {
		return 0
	}
	return max(timesNormal*mean, neverUnusual[kind])
}

// turn begins the next window where it is time. What others add in the same instant may go to either.
func (n *normal) turn(window uint16) {
	old := n.window.Load()
	if old == uint32(window) || !n.window.CompareAndSwap(old, uint32(window)) {
		return
	}
	counts := n.counts.Swap(0)
	if sources := counts & (1<<32 - 1); sources >= knownFrom {
		n.before.Store(uint32(min(float64(counts>>32)/float64(sources)*256, 1<<31)))
	}
}

// see takes in a request of a source that counts n now, and says how many times above normal that is: at most
// timesNormal for what is not unusual.
func (n *normal) see(kind source, count uint64, fresh bool, window uint16) (times float64) {
	n.turn(window)
	bound := n.bound(kind)
	above := bound > 0 && float64(count) > bound
	var add uint64
	if !above {
		add = 1 << 32
	}
	if fresh {
		add++
	}
	if add != 0 {
		n.counts.Add(add)
	}
	if bound == 0 {
		return 0
	}
	return float64(count) * timesNormal / bound
}

// levels are the normals of one campaign for one kind of request.
type levels [numSources]normal

// measure counts a request and says how many times above normal its device, address or subnet is, the highest of them;
// above timesNormal it is suspicious.
func (g *Gate) measure(l *levels, salt uint64, device string, addr netip.Addr, mono time.Duration) (times float64) {
	window := windowOf(mono)
	one := func(kind source, hash uint64) {
		n, fresh := g.meter.count(mix(hash, salt+uint64(kind)), window)
		times = max(times, l[kind].see(kind, n, fresh, window))
	}
	if device != "" {
		one(sourceDevice, maphash.String(g.seed, device))
	}
	if addr.IsValid() {
		full, subnet := g.addressHashes(addr)
		one(sourceAddress, full)
		one(sourceSubnet, subnet)
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
	st.Times = max(g.measure(&e.levels.asks, salt, s.Device, s.Addr, mono), e.levels.lately(g, e.salt, s, mono))
	st.Challenge = st.Challenge || e.need == needSolved || e.adaptive && suspicious(st.Times)
	return st, true
}

// standBlocked asks the blocklist and the risk rules, unless the allowlist has the buyer.
func (g *Gate) standBlocked(s *sluice.Subject, st *sluice.Standing) bool {
	if g.Allowed(s.User, "", s.Addr, s.Now) {
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
	if s.Addr.IsValid() {
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
