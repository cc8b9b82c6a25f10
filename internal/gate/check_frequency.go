package gate

import (
	"hash/maphash"

	"github.com/sluice-sale/sluice"
)

// checkFrequency bounds the claims a second of one user, then of one device, on one campaign. Addresses do not count.
// Users and devices are hashed with seeds of their own, so that a device named like a user is not taken for them.
func (g *Gate) checkFrequency(w *walk) bool {
	e := w.entry
	if e.pace.interval == 0 {
		return false
	}
	wait, ok := g.limiter.take(mix(w.token.hash, e.salt), e.pace, w.mono)
	if ok && w.device != "" {
		wait, ok = g.limiter.take(mix(maphash.String(g.seed, w.device), e.salt), e.pace, w.mono)
	}
	if ok {
		return false
	}
	w.decision.RetryAfterMS = max(1, wait.Milliseconds()+1)
	return w.refuse(sluice.ReasonTooFrequent)
}
