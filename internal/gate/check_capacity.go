package gate

import (
	"math/rand/v2"
	"time"

	"github.com/sluice-sale/sluice"
)

// checkCapacity hands admission no more than it was measured to take: the campaign's bucket, then the server's. A claim
// that the server has no room for gives the campaign's token back.
func (g *Gate) checkCapacity(w *walk) bool {
	wait, ok := w.entry.bucket.take(w.mono)
	if !ok {
		return w.busy(wait)
	}
	if wait, ok = g.server.take(w.mono); !ok {
		w.entry.bucket.giveBack()
		return w.busy(wait)
	}
	return false
}

// busy tells when to come back, spread so that those refused together do not return together.
func (w *walk) busy(wait time.Duration) bool {
	w.decision.RetryAfterMS = wait.Milliseconds() + minRetryMS + rand.Int64N(maxRetryJitterMS)
	return w.refuse(sluice.ReasonBusy)
}
