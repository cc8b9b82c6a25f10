package gate

import "github.com/sluice-sale/sluice"

// checkEligibility asks for the campaign's token claims, then for its audience. A campaign whose audience was not
// uploaded yet lets nobody in.
func (g *Gate) checkEligibility(w *walk) bool {
	for i := range w.entry.required {
		if !w.entry.required[i].metBy(w.token.identity.Claims) {
			return w.refuse(sluice.ReasonNotEligible)
		}
	}
	if w.entry.campaign.Eligibility.Audience && !w.entry.audience.has(w.token.key) {
		return w.refuse(sluice.ReasonNotEligible)
	}
	return false
}
