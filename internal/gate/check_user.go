package gate

// checkUser refuses users, then devices, on the blocklist, then whom the risk rules block. What the rules want else
// is done at the checks of frequency and pass. The allowlist beats both.
func (g *Gate) checkUser(w *walk) bool {
	if g.allowed(w) {
		return false
	}
	b := g.blocks.Load()
	if w.block(b.user(w.token.identity.User, w.now)) || w.block(b.device(w.device, w.now)) {
		return true
	}
	if g.cfg.Suspicion == nil {
		return false
	}
	w.verdict = g.cfg.Suspicion.Look(w.subject())
	return w.block(block{reference: w.verdict.Reference}, w.verdict.Block)
}
