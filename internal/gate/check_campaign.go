package gate

import "github.com/sluice-sale/sluice"

// checkCampaign knows campaigns from memory, so that a made-up id costs no I/O. A draft is nobody's business yet.
func (g *Gate) checkCampaign(w *walk) bool {
	if w.entry == nil || w.entry.campaign.Control == sluice.ControlDraft {
		return w.refuse(sluice.ReasonUnknownCampaign)
	}
	return false
}
