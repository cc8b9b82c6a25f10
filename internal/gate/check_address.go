package gate

// checkAddress refuses addresses and networks on the blocklist. It is the only check that looks at the address: many
// honest buyers share one. The allowlist beats it.
func (g *Gate) checkAddress(w *walk) bool {
	b, found := g.blocks.Load().address(w.req.Addr, w.now)
	return found && !g.allowed(w) && g.blocked(w, b, true)
}
