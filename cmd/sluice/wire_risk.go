package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/metrics"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/risk"
)

// addressRule is the name of the rule that holding.per_address stands for.
const addressRule = "holding-per-address"

// riskRules reads the rules of the configuration. What is wrong with them is found when it is loaded.
func riskRules(cfg *config.Config) (all []sluice.RiskRule, faults []config.Fault) {
	texts := cfg.Risk.Rules
	if n := cfg.Holding.PerAddress; n > 0 {
		texts = append(texts[:len(texts):len(texts)],
			fmt.Sprintf("%s (on): orders per address > %d in 15m -> challenge", addressRule, n))
	}
	const key = "risk.rules"
	seen := map[string]bool{}
	for i, text := range texts {
		r, err := risk.FileRule(text)
		switch {
		case err != nil:
			faults = append(faults, config.Fault{Key: key, Value: strconv.Quote(text),
				Problem: fmt.Sprintf("item %d: %v", i+1, err)})
		case seen[r.ID]:
			faults = append(faults, config.Fault{Key: key, Value: strconv.Quote(text),
				Problem: fmt.Sprintf("item %d: there are two rules %s", i+1, r.ID)})
		}
		seen[r.ID] = true
		all = append(all, r)
	}
	if len(all) > sluice.MaxRiskRules {
		faults = append(faults, config.Fault{Key: key,
			Problem: fmt.Sprintf("has %d rules, more than %d", len(all), sluice.MaxRiskRules)})
	}
	return all, faults
}

// judgeRules finds the faults of risk rules, so that every verb that reads the configuration names them.
func judgeRules(cfg *config.Config) []config.Fault {
	_, faults := riskRules(cfg)
	return faults
}

// openRisk makes the risk rules, which the gate asks, and what bounds unpaid orders.
func (p *parts) openRisk(s *server) error {
	rules, faults := riskRules(&s.cfg.Config)
	if len(faults) > 0 { // settings that were not loaded
		return config.Faults(faults)
	}
	cfg := risk.Config{
		Ledger: p.ledger, Node: p.node.ID, File: rules, AgeClaim: s.cfg.Risk.AccountAgeClaim, Log: s.log,
		Allowed: func(x *sluice.Subject) bool { return p.gate.AllowedSubject(x) },
	}
	if p.remote != nil {
		cfg.Exchange = redis.NewExchange(p.remote.client)
	}
	if s.cfg.Risk.ServiceURL != "" {
		service := risk.ServiceConfig{URL: s.cfg.Risk.ServiceURL, Budget: s.cfg.Risk.ServiceBudget,
			Closed: s.cfg.Risk.ServiceFailure == "closed"}
		if t := s.cfg.Risk.ServiceToken; len(t) > 0 {
			service.Token = t[0].Reveal()
		}
		p.riskService = risk.NewService(service)
	}
	p.risk = risk.New(cfg)
	if s.cfg.Holding.PerUser > 0 || s.cfg.Holding.PerDevice > 0 {
		p.holding = risk.NewHolding(risk.HoldingConfig{PerUser: s.cfg.Holding.PerUser, PerDevice: s.cfg.Holding.PerDevice,
			Holders: p.holders(s), Orders: p.ledger})
	}
	p.risk.Start()
	s.onStop("risk rules", func(context.Context) error { p.risk.Stop(); return nil })
	return nil
}

// holders says where it is kept who holds unpaid orders: where the permits are.
func (p *parts) holders(s *server) risk.Holders {
	switch {
	case p.remote != nil:
		return redis.NewHeldPlaces(p.remote.client)
	case s.shared():
		return p.ledger.HeldPlaces()
	}
	return memory.NewHeldPlaces()
}

// openRiskDesks makes the desks of rules and allowlist.
func (p *parts) openRiskDesks() {
	p.allowlist = admin.NewBlocklist(admin.BlocklistConfig{
		Ledger: p.ledger.Allowlist(), Bulk: p.ledger.Allowlist(), Gate: allower{p}, Allows: true,
	})
	var spread func(context.Context)
	if p.fleet != nil {
		spread = func(ctx context.Context) { p.fleet.Spread(ctx) }
	}
	p.riskDesk = risk.NewDesk(p.ledger, p.risk, spread)
}

// allower puts the allowlist in force.
type allower struct{ p *parts }

// SetBlocks replaces it.
func (a allower) SetBlocks(all []sluice.Block) { a.p.gate.SetAllowed(all) }

// loadRisk puts in force what the ledger has, before the first claim. What one process remembers of unpaid orders it
// reads from the ledger.
func (p *parts) loadRisk(ctx context.Context) error {
	if err := p.allowlist.Load(ctx); err != nil {
		return err
	}
	if err := p.risk.Load(ctx); err != nil {
		return err
	}
	if p.holding == nil || p.remote != nil || p.fleet != nil {
		return nil
	}
	return p.ledger.UnpaidHolders(ctx, func(user string, id sluice.ClaimID, due sluice.Millis) error {
		return p.holding.Fill(ctx, user, id, due)
	})
}

func (p *parts) riskMetrics() metrics.Risk {
	stats, records, unrecorded := p.risk.Stats()
	m := metrics.Risk{Records: records, Unrecorded: unrecorded}
	for _, s := range stats {
		m.Acts = append(m.Acts, metrics.RiskActs{Rule: s.Rule, Mode: string(s.Mode), Action: s.Action, N: s.Acts})
	}
	if p.riskService != nil {
		m.Asks = p.riskService.Asked()
	}
	return m
}

// askingGate is the gate as the desk of passes sees it: with what the risk service says, where there is one. Claims
// never wait for that.
type askingGate struct{ p *parts }

// Stand says how s looks to the gate and to the risk service.
func (a askingGate) Stand(s *sluice.Subject) (sluice.Standing, bool) {
	st, ok := a.p.gate.Stand(s)
	if !ok || st.Blocked || st.Closed || st.WaitMS > 0 || a.p.riskService == nil ||
		a.p.gate.AllowedSubject(s) {
		return st, ok
	}
	v := a.p.riskService.Ask(context.Background(), s)
	st.Challenge = st.Challenge || v.Challenge
	st.Blocked, st.Reference = v.Block, v.Reference
	return st, ok
}
