package main

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// healthTimeout bounds what one look at the parts asks of them.
const healthTimeout = time.Second

// newLive makes what the live screen looks at.
func (p *parts) newLive(s *server) *admin.Live {
	cfg := admin.LiveConfig{
		Ledger: p.ledger, Reports: p.reports, Health: p.health,
		Switches:  func() []sluice.SwitchSetting { return *p.board.set.Load() },
		RowsAlone: p.remote == nil && s.shared(),
	}
	if p.remote != nil {
		cfg.Degraded = p.remote.admission.Degraded
	}
	l := admin.NewLive(cfg)
	s.onStop("the live view", func(context.Context) error { l.Stop(); return nil })
	return l
}

// health says how the parts behind the sale are.
func (p *parts) health(ctx context.Context) sluice.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h := sluice.Health{Parts: map[string]sluice.PartState{}, Alive: 1, InForce: 1, Letters: -1}
	if n, _, err := p.ledger.DeadLetterCount(ctx); err == nil {
		h.Letters = n
	}
	_, err := p.ledger.SettingsRev(ctx)
	h.Parts["ledger"] = partState(err == nil)
	h.Parts["payments"] = sluice.PartUp
	for _, x := range *p.board.set.Load() {
		if x.Set && x.Name == sluice.SwitchPaymentsDown && x.Value != 0 {
			h.Parts["payments"] = sluice.PartMarked
		}
	}
	h.Passes, h.Pages = p.passes.Issued(), p.gate.PagesOpen()
	if p.fleet != nil {
		p.fleetHealth(ctx, &h)
	}
	return h
}

func (p *parts) fleetHealth(ctx context.Context, h *sluice.Health) {
	state := p.fleet.State(ctx)
	if p.remote != nil {
		h.Parts["redis"] = partState(state.RedisAnswers)
		if q := p.remote.queue; q.publisher != nil {
			h.Parts["broker"] = partState(q.brokerUp.Load())
		}
		if s, err := p.remote.queue.outbox.State(ctx); err == nil {
			h.Oldest = s.Oldest
		}
	}
	nodes, err := p.fleet.Nodes(ctx)
	if err != nil {
		return
	}
	h.Alive, h.Dead, h.InForce = 0, 0, 0
	self := p.fleet.Self().ID
	var latest int64
	for _, n := range nodes {
		latest = max(latest, n.Settings)
	}
	for _, n := range nodes {
		if !n.Alive() {
			h.Dead++
			continue
		}
		h.Alive++
		if n.ID != self { // its own are in already, as they are now
			for id, issued := range n.Standing.Passes {
				h.Passes[id] += issued
			}
			for id, open := range n.Standing.Pages {
				h.Pages[id] += open
			}
		}
		if n.Settings == latest {
			h.InForce++
		}
		h.Skew = max(h.Skew, time.Duration(max(n.SkewMS, -n.SkewMS))*time.Millisecond)
	}
}

func partState(up bool) sluice.PartState {
	if up {
		return sluice.PartUp
	}
	return sluice.PartDown
}
