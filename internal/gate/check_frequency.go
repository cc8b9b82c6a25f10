package gate

import (
	"hash/maphash"

	"github.com/sluice-sale/sluice"
)

// checkFrequency bounds the claims a second of one user, then of one device, on one campaign, slower where risk rules
// say so. Addresses do not count.
// Users and devices are hashed with seeds of their own, so that a device named like a user is not taken for them.
func (g *Gate) checkFrequency(w *walk) bool {
	e := w.entry
	if e.adaptive {
		w.times = g.measure(&e.levels.claims, e.salt, w.device, w.vouched(), w.req.Addr, w.mono)
	}
	if e.pace.interval == 0 {
		return false
	}
	pace := e.pace.slower(w.verdict.Slow)
	wait, ok := g.limiter.take(mix(w.token.hash, e.salt), pace, w.mono)
	if ok && w.device != "" {
		wait, ok = g.limiter.take(mix(maphash.String(g.seed, w.device), e.salt), pace, w.mono)
	}
	if ok {
		return false
	}
	w.decision.RetryAfterMS = max(1, wait.Milliseconds()+1)
	return w.refuse(sluice.ReasonTooFrequent)
}
