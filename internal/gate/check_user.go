package gate

// checkUser refuses users, then devices, on the blocklist.
func (g *Gate) checkUser(w *walk) bool {
	b := g.blocks.Load()
	return w.block(b.user(w.token.identity.User, w.now)) || w.block(b.device(w.device, w.now))
}
