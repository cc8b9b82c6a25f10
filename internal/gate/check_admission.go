package gate

import "github.com/sluice-sale/sluice"

// checkAdmission asks for the units. It always answers. The request id is handed on as it lies in the connection's
// buffer: an Admitter copies it where it keeps the claim, so that one that is refused costs no allocation.
func (g *Gate) checkAdmission(w *walk) bool {
	if w.quantity < 1 {
		// The body was to be refused before the funnel; should a caller forget, nothing may be taken or minted.
		return w.refuse(sluice.ReasonLimitReached)
	}
	if !w.hasID {
		w.id = sluice.NewClaimID(w.entry.campaign.ID, w.token.identity.User, sluice.SourceClaim, "")
		w.hasID = true
	}
	w.decision = g.admitter.Admit(w.ctx, sluice.Claim{
		ID: w.id, Campaign: w.entry.campaign.ID, User: w.token.identity.User, RequestID: w.req.RequestID,
		Quantity: w.quantity, Source: sluice.SourceClaim, At: w.now,
	})
	return true
}
