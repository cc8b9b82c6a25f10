package gate

// checkUser refuses users, then devices, on the blocklist, then whom the risk rules block. What the rules want else
// is done at the checks of frequency and pass. The allowlist beats both. Of a campaign that is sold out the rules are
// asked for blocks in force only: nothing that they might find now would change the answer.
func (g *Gate) checkUser(w *walk) bool {
	if g.allowed(w) {
		return false
	}
	b := g.blocks.Load()
	if x, found := b.user(w.token.identity.User, w.now); g.blocked(w, x, found) {
		return true
	}
	if x, found := b.device(w.device, w.now); g.blocked(w, x, found) {
		return true
	}
	if g.cfg.Suspicion == nil {
		return false
	}
	s := w.subject()
	w.soldOut = g.admitter.SoldOut(s.Campaign)
	s.SoldOut = w.soldOut
	w.verdict = g.cfg.Suspicion.Look(s)
	return w.block(block{reference: w.verdict.Reference}, w.verdict.Block)
}
