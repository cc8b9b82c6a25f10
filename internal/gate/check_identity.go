package gate

import "github.com/sluice-sale/sluice"

// checkIdentity verifies the bearer token. A device that the token names beats one that the client merely says.
func (g *Gate) checkIdentity(w *walk) bool {
	v, ok := g.cfg.Tokens.verify(w.req.Token, w.now.Time())
	if !ok {
		return w.refuse(sluice.ReasonUnauthenticated)
	}
	w.token = v
	w.device = v.identity.Device
	if w.device == "" {
		w.device = w.req.Device
	}
	return false
}
