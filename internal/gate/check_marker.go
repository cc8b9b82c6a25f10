package gate

import "github.com/sluice-sale/sluice"

// checkMarker refuses by what the node knows of a sold-out campaign. On one machine the marker is exact: it is lifted
// by whatever gives a unit back.
func (g *Gate) checkMarker(w *walk) bool {
	if w.soldOut || g.admitter.SoldOut(w.entry.campaign.ID) {
		return w.refuse(sluice.ReasonSoldOut)
	}
	return false
}
