package gate

import (
	"strings"

	"github.com/sluice-sale/sluice"
)

// checkAdmission asks for the units. It always answers.
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
		ID: w.id, Campaign: w.entry.campaign.ID, User: w.token.identity.User,
		// Admission may go on with the claim after this call has run out of time, and the request's buffers with it.
		RequestID: strings.Clone(w.req.RequestID),
		Quantity:  w.quantity, Source: sluice.SourceClaim, At: w.now,
	})
	return true
}
