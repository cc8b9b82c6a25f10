package main

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// The agents' names, as they stand in metrics.
const (
	agentExpirer     = "expirer"
	agentCoupons     = "coupon_expirer"
	agentCleaner     = "cleaner"
	agentFunnel      = "funnel"
	agentPreheater   = "preheater"
	agentRearmer     = "rearmer"
	agentSweeper     = "sweeper"
	agentReleaser    = "releaser"
	agentReconciler  = "reconciler"
	agentAdjuster    = "adjuster"
	agentGateCleaner = "gate_cleaner"
)

// agentNames lists the agents that a server has, for the metrics.
func agentNames(cfg *config.Loaded) []string {
	names := []string{agentExpirer, agentCoupons, agentCleaner, agentFunnel}
	if cfg.Admission.IsURL() {
		names = append(names, agentPreheater, agentRearmer, agentSweeper, agentReleaser, agentReconciler, agentAdjuster,
			agentGateCleaner)
	}
	return names
}

// agent is what every agent of internal/upkeep offers.
type agent interface {
	Start()
	Stop()
}

type namedAgent struct {
	name string
	agent
}

// agentConfig is what all agents have in common: where several nodes share the ledger, one of them does each job.
func (p *parts) agentConfig(s *server, name string) upkeep.Config {
	c := upkeep.Config{Log: s.log, OnPiece: func(sweep sluice.Sweep, err error) {
		s.metrics.AgentRan(name, sweep.Done, err, time.Now())
	}}
	if s.shared() {
		c.Leader, c.Node = p.ledger, p.node.ID
	}
	return c
}

// startAgents starts what runs behind the sale.
func (p *parts) startAgents(s *server) {
	cleaner := p.agentConfig(s, agentCleaner)
	ran := cleaner.OnPiece
	cleaner.OnPiece = func(sweep sluice.Sweep, err error) {
		p.admission.Retire()
		ran(sweep, err)
	}
	expirer := upkeep.NewExpirer(p.agentConfig(s, agentExpirer), p.ledger)
	p.expirer.Store(expirer)
	all := []namedAgent{
		{agentExpirer, expirer},
		{agentCoupons, upkeep.NewCouponExpirer(p.agentConfig(s, agentCoupons), p.ledger)},
		{agentCleaner, upkeep.NewCleaner(upkeep.CleanerConfig{Config: cleaner}, p.ledger)},
		{agentFunnel, newFunnelKeeper(p, s)},
	}
	if p.remote != nil {
		p.remote.queue.start(s)
		all = append(all, p.gateAgents(s)...)
	}
	for _, x := range all {
		x.Start()
		s.onStop("the "+x.name, func(context.Context) error { x.Stop(); return nil })
	}
}

// gateAgents are those that stand between the gates in Redis and the ledger.
func (p *parts) gateAgents(s *server) []namedAgent {
	r := p.remote
	return []namedAgent{
		{agentRearmer, r.rearmer},
		{agentPreheater, upkeep.NewPreheater(upkeep.PreheaterConfig{Config: p.agentConfig(s, agentPreheater),
			Held: p.degradedByHand}, p.ledger, r.rearmer, r.reconciler, freezer{p, s})},
		{agentSweeper, upkeep.NewSweeper(upkeep.SweeperConfig{Config: p.agentConfig(s, agentSweeper)},
			upkeep.SweeperDeps{Campaigns: p.ledger, Gates: r.gates, Repairs: r.gates, Settler: p.ledger, Letters: p.ledger})},
		{agentReleaser, upkeep.NewReleaser(upkeep.ReleaserConfig{Config: p.agentConfig(s, agentReleaser)},
			upkeep.ReleaserDeps{Ops: p.ledger, Campaigns: p.ledger, Gates: r.gates, Repairs: r.gates})},
		{agentReconciler, r.reconciler},
		{agentAdjuster, upkeep.NewAdjuster(upkeep.AdjusterConfig{Config: p.agentConfig(s, agentAdjuster),
			Rearm: r.rearmer.Ask}, p.ledger, r.gates)},
		{agentGateCleaner, upkeep.NewGateCleaner(upkeep.GateCleanerConfig{Config: p.agentConfig(s, agentGateCleaner)},
			p.ledger, r.gates, r.gates)},
	}
}
