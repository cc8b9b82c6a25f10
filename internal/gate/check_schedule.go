package gate

import "github.com/sluice-sale/sluice"

// checkSchedule applies the window and the control, by the gate's clock, and the switch that pauses. Admission checks
// window and control again by its own.
func (g *Gate) checkSchedule(w *walk) bool {
	c := w.entry.campaign
	reason := c.Schedule(w.now)
	if reason == sluice.ReasonNone && (w.switches.paused || w.entry.paused) {
		reason = sluice.ReasonPaused
	}
	if reason == sluice.ReasonNone {
		return false
	}
	if reason == sluice.ReasonNotStarted {
		w.decision.StartsInMS = int64(c.StartsAt - w.now)
		if w.entry.adaptive { // who hammers before the opening is known at the opening
			g.measure(&w.entry.levels.claims, w.entry.salt, w.device, w.vouched(), w.req.Addr, w.mono)
		}
	}
	return w.refuse(reason)
}
