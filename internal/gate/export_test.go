package gate

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// Limiter opens the limiter to tests of its bounds.
type Limiter struct{ l *limiter }

// NewLimiter makes a limiter for keys keys.
func NewLimiter(keys int) Limiter { return Limiter{newLimiter(keys)} }

// Capacity gives how many keys it can remember.
func (l Limiter) Capacity() int { return l.l.capacity() }

// Remembered counts the words that hold a key under limit at mono.
func (l Limiter) Remembered(mono time.Duration) int {
	n := 0
	for i := range l.l.sets {
		for j := range l.l.sets[i] {
			if l.l.sets[i][j].Load()&tatMask > uint64(mono/tick) {
				n++
			}
		}
	}
	return n
}

// Take lets the key come, or says how long it has to wait.
func (l Limiter) Take(key uint64, rate float64, mono time.Duration) (time.Duration, bool) {
	return l.l.take(mix(maphash.Comparable(limiterSeed, key), 1), paceOf(rate), mono)
}

var limiterSeed = maphash.MakeSeed()

// ParseClaims reads a token's claims.
func ParseClaims(raw []byte) (user, device string, other map[string][]string, ok bool) {
	var c claims
	err := c.parse(raw)
	return c.subject, c.device, c.other, err == nil && c.sound()
}

// Measure counts a claim of a campaign's source, as the funnel does.
func (g *Gate) Measure(campaign, device string, addr netip.Addr) float64 {
	e := (*g.registry.Load())[campaign]
	return g.measure(&e.levels.claims, e.salt, device, false, addr, g.cfg.Mono())
}

// MeterSize gives the bytes of the meter's table.
func (g *Gate) MeterSize() int { return g.meter.size() }
