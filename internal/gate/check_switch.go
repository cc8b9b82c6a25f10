package gate

import "github.com/sluice-sale/sluice"

// checkSwitch is the fuse: the server's closed and read_only switches, then the campaign's own closed switch.
func (g *Gate) checkSwitch(w *walk) bool {
	if w.switches.closed || w.entry != nil && w.entry.closed {
		return w.refuse(sluice.ReasonClosed)
	}
	return false
}
