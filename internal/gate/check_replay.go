package gate

import "github.com/sluice-sale/sluice"

// checkReplay gives the recorded answer of a claim that is known, before any rule that changes with time, and joins a
// copy that is in flight. It takes no token from the checks below. Without a request id each call is a new claim.
func (g *Gate) checkReplay(w *walk) bool {
	if w.req.RequestID == "" {
		return false
	}
	w.id = sluice.NewClaimID(w.entry.campaign.ID, w.token.identity.User, sluice.SourceClaim, w.req.RequestID)
	w.hasID = true
	d, known := g.admitter.Replay(w.ctx, w.entry.campaign.ID, w.id, w.quantity)
	if known {
		w.decision = d
	}
	return known
}
