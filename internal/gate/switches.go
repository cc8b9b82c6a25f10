package gate

import (
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// switches is a snapshot of everything that operators have set.
type switches struct {
	set         map[switchKey]float64
	closed      bool // for everyone: closed or read_only
	paused      bool // for everyone
	decisionLog bool
}

type switchKey struct{ name, campaign string }

// SetSwitches replaces all switch settings: what is not in the list, or not Set, is at its default. The gate heeds
// closed, read_only, paused, challenge_all, max_rate, per_user_rate and decision_log. In force for every claim that
// begins afterwards.
func (g *Gate) SetSwitches(settings []sluice.SwitchSetting) {
	s := &switches{set: map[switchKey]float64{}}
	for _, x := range settings {
		if x.Set {
			s.set[switchKey{strings.Clone(x.Name), strings.Clone(x.Campaign)}] = x.Value
		}
	}
	s.closed = s.on(sluice.SwitchClosed, "") || s.on(sluice.SwitchReadOnly, "")
	s.paused = s.on(sluice.SwitchPaused, "")
	s.decisionLog = s.on(sluice.SwitchDecisionLog, "")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.switches.Store(s)
	rate, ok := s.set[switchKey{sluice.SwitchMaxRate, ""}]
	if !ok {
		rate = g.cfg.MaxRate
	}
	g.server.setRate(rate)
	g.renew()
}

func (s *switches) on(name, campaign string) bool { return s.set[switchKey{name, campaign}] != 0 }

// perUserRate gives the claims a second of one user: the campaign's switch, the server's switch, the campaign's own
// setting, the default; zero passes on to the next.
func (s *switches) perUserRate(c *sluice.Campaign, byDefault float64) float64 {
	rates := []float64{
		s.set[switchKey{sluice.SwitchPerUserRate, c.ID}], s.set[switchKey{sluice.SwitchPerUserRate, ""}],
		c.Protection.PerUserRate, byDefault,
	}
	return rates[max(0, slices.IndexFunc(rates, func(r float64) bool { return r > 0 }))]
}

// maxRate gives the campaign's claims a second to admission; zero means no bound. Its switch, where set, beats its
// setting, also with zero.
func (s *switches) maxRate(c *sluice.Campaign) float64 {
	if r, ok := s.set[switchKey{sluice.SwitchMaxRate, c.ID}]; ok {
		return r
	}
	return c.Protection.MaxRate
}
