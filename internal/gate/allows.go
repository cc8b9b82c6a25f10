package gate

import (
	"net/netip"

	"github.com/sluice-sale/sluice"
)

// SetAllowed replaces the allowlist: whom neither the blocklist nor risk rules touch. It has the form of the blocklist.
func (g *Gate) SetAllowed(list []sluice.Block) { g.allows.Store(newBlocks(list, g.cfg.Logger)) }

// Allowed says whether the user, the device or the address is on the allowlist. It does not allocate.
func (g *Gate) Allowed(user, device string, addr netip.Addr, now sluice.Millis) bool {
	a := g.allows.Load()
	if len(a.users) == 0 && len(a.devices) == 0 && len(a.tables) == 0 {
		return false
	}
	if _, ok := a.address(addr, now); ok {
		return true
	}
	if user != "" {
		if _, ok := a.user(user, now); ok {
			return true
		}
	}
	if device == "" {
		return false
	}
	_, ok := a.device(device, now)
	return ok
}

// AllowedSubject says whether s is on the allowlist; a device only where the token names it. It does not allocate.
func (g *Gate) AllowedSubject(s *sluice.Subject) bool {
	device := ""
	if s.Vouched {
		device = s.Device
	}
	return g.Allowed(s.User, device, s.Addr, s.Now)
}

// allowed says whether w's buyer is on the allowlist; a device where the token names it, since anybody can say a
// device's name. Before the identity check it verifies the token by itself, where
// somebody is allowed by name.
func (g *Gate) allowed(w *walk) bool {
	if w.token != nil {
		return g.Allowed(w.token.identity.User, w.token.identity.Device, w.req.Addr, w.now)
	}
	if a := g.allows.Load(); len(a.users) > 0 || len(a.devices) > 0 {
		if v, ok := g.cfg.Tokens.verify(w.req.Token, w.now.Time()); ok {
			return g.Allowed(v.identity.User, v.identity.Device, w.req.Addr, w.now)
		}
	}
	return g.Allowed("", "", w.req.Addr, w.now)
}
