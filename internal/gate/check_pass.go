package gate

// checkPass is the place of the pass. No pass can be issued yet, so only campaigns with pass mode off can be created,
// and this check lets every claim of theirs through. Passes bring the reasons PASS_REQUIRED, PASS_INVALID and
// SIGNATURE_INVALID here, and NOT_STARTED for a buyer's own slot.
func (g *Gate) checkPass(*walk) bool { return false }
