package gate

// checkAddress refuses addresses and networks on the blocklist. It is the only check that looks at the address: many
// honest buyers share one.
func (g *Gate) checkAddress(w *walk) bool {
	return w.block(g.blocks.Load().address(w.req.Addr, w.now))
}
