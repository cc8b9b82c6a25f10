package gate

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// need is what a campaign asks of every claim.
type need uint8

const (
	needNothing need = iota
	needPass
	needSolved // a pass for which a challenge was solved
)

// nonceTTL is how long a nonce is remembered: a timestamp is good from a minute before the server's clock to a minute
// after it, and some seconds for the clocks of other nodes.
const nonceTTL = 2*sluice.SignatureSkewMS*time.Millisecond + 10*time.Second

// checkPass asks for a pass where the campaign, the switch challenge_all, a risk rule or the buyer's own rate wants
// one; then for the signature, where the campaign wants it; then whether the buyer's slot of a spread opening has come.
// Only the nonce of a claim that is let through so far costs I/O, and only on campaigns with signatures.
func (g *Gate) checkPass(w *walk) bool {
	e := w.entry
	needs := e.need
	if w.verdict.Challenge || e.adaptive && suspicious(w.times) {
		needs = needSolved
	}
	spread := e.hasSeed && w.now < e.campaign.SpreadEnds()
	if needs == needNothing && !spread || g.cfg.Passes == nil {
		return false
	}
	if needs != needNothing {
		if w.req.Pass == "" {
			return w.refuse(sluice.ReasonPassRequired)
		}
		p, ok := g.cfg.Passes.Check(w.now, e.campaign.ID, w.token.identity.User, w.device, w.req.Pass)
		if !ok {
			return w.refuse(sluice.ReasonPassInvalid)
		}
		if needs == needSolved && !p.Solved {
			return w.refuse(sluice.ReasonPassRequired)
		}
		w.solved = p.Solved
		if e.campaign.Protection.Signature && !g.signed(w) {
			return w.refuse(sluice.ReasonSignatureInvalid)
		}
	}
	if spread {
		// The seed's lot and not the pass's: a pass may be older than the campaign's wish to be spread.
		draw := e.seed.Draw(w.token.identity.User)
		slot := e.campaign.StartsAt + sluice.Millis(sluice.SpreadMS(draw, e.campaign.Protection.SpreadSec))
		if w.now < slot {
			w.decision.StartsInMS = int64(slot - w.now)
			return w.refuse(sluice.ReasonNotStarted)
		}
	}
	return e.campaign.Protection.Signature && g.repeated(w)
}

// signed checks everything about a claim's signature but whether its nonce is new.
func (g *Gate) signed(w *walk) bool {
	s := &w.req.Signature
	at, ok := timestamp(s.Timestamp)
	if !ok || at < w.now-sluice.SignatureSkewMS || at > w.now+sluice.SignatureSkewMS || !validNonce(s.Nonce) {
		return false
	}
	return g.cfg.Passes.Signed(w.req.Pass, s)
}

// repeated refuses a nonce that was used before, on any node. Where that cannot be asked the buyer comes again with
// another one.
func (g *Gate) repeated(w *walk) bool {
	if g.cfg.Nonces == nil {
		return false
	}
	user := sluice.UserKeyOf(w.token.identity.User)
	key := make([]byte, 0, 6+sluice.MaxCampaignID+2*len(user)+sluice.MaxNonce+2)
	key = append(append(key, "nonce:"...), w.entry.campaign.ID...)
	key = append(hex.AppendEncode(append(key, ':'), user[:]), ':')
	key = append(key, w.req.Signature.Nonce...)
	first, err := g.cfg.Nonces.First(w.ctx, string(key), nonceTTL)
	if err != nil {
		w.decision.RetryAfterMS = minRetryMS + rand.Int64N(maxRetryJitterMS)
		return w.refuse(sluice.ReasonBusy)
	}
	if !first {
		return w.refuse(sluice.ReasonSignatureInvalid)
	}
	return false
}

// timestamp reads Unix milliseconds, up to 15 digits.
func timestamp(b []byte) (sluice.Millis, bool) {
	if len(b) == 0 || len(b) > 15 || b[0] == '-' || b[0] == '+' {
		return 0, false
	}
	var room [15]byte
	n, err := strconv.ParseInt(string(room[:copy(room[:], b)]), 10, 64)
	return sluice.Millis(n), err == nil
}

// validNonce says whether b is MinNonce to MaxNonce of A-Z a-z 0-9 - _.
func validNonce(b []byte) bool {
	if len(b) < sluice.MinNonce || len(b) > sluice.MaxNonce {
		return false
	}
	for _, x := range b {
		switch {
		case x >= '0' && x <= '9', x >= 'a' && x <= 'z', x >= 'A' && x <= 'Z', x == '-', x == '_':
		default:
			return false
		}
	}
	return true
}
