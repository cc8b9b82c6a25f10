package gate

import (
	"context"

	"github.com/sluice-sale/sluice"
)

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
	held := g.cfg.Holding != nil && w.entry.campaign.Kind == sluice.KindGoods && w.entry.campaign.Goods.PriceMinor > 0
	if held && !g.hold(w) {
		return true
	}
	w.decision = g.admitter.Admit(w.ctx, sluice.Claim{
		ID: w.id, Campaign: w.entry.campaign.ID, User: w.token.identity.User, RequestID: w.req.RequestID,
		Quantity: w.quantity, Source: sluice.SourceClaim, At: w.now,
	})
	if held && placeless(w.decision.Reason) {
		// Lost or not: a place that nobody needs is found to be free when it is asked for.
		_ = g.cfg.Holding.Free(context.WithoutCancel(w.ctx), w.token.identity.User, w.device, w.id)
	}
	return true
}

// placeless says whether the claim has no order that its place is for. Of one that is not known nobody can say; one
// whose request id is another claim's already has that claim's id, and the place is that one's.
func placeless(r sluice.Reason) bool {
	return r != sluice.ReasonUnavailable && r != sluice.ReasonRequestIDReused && !r.Admitted()
}

// holdRetryMS is when a claim of which nobody knows whether it has a place is tried again.
const holdRetryMS = 500

// hold takes a place among the user's and the device's unpaid orders; false where the walk has its answer.
func (g *Gate) hold(w *walk) bool {
	claims, ok, err := g.cfg.Holding.Hold(w.ctx, w.token.identity.User, w.device, w.id,
		w.entry.campaign.Goods.UnpaidWindowSec)
	switch {
	case err != nil:
		w.decision = sluice.Decision{Reason: sluice.ReasonBusy, RetryAfterMS: holdRetryMS}
	case !ok:
		w.decision = sluice.Decision{Reason: sluice.ReasonLimitReached, Claims: claims}
	}
	return err == nil && ok
}
