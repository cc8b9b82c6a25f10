package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/settle"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// remote is what a server has that takes stock in a Redis.
type remote struct {
	client     *redis.Client
	control    *redis.Control
	gates      *redis.Gates
	admission  *redis.Admission
	results    *settle.Results
	rearmer    *upkeep.Rearmer
	reconciler *upkeep.Reconciler
	nudges     *nudges
	queue      *queue
}

// remoteAdmission is admission by the gates in Redis, which are armed by the re-armer.
type remoteAdmission struct {
	*redis.Admission
	rearmer *upkeep.Rearmer
}

// ReadBack arms a campaign anew.
func (r remoteAdmission) ReadBack(ctx context.Context, campaign string) error {
	return r.rearmer.ReadBack(ctx, campaign)
}

// openRedis takes stock in a Redis, and everything that stands on that.
func (p *parts) openRedis(ctx context.Context, s *server) (err error) {
	r := &remote{nudges: &nudges{heard: make(chan struct{}, 1)}}
	p.remote = r
	tlsConfig, err := redisTLS(&s.cfg.Config)
	if err != nil {
		return err
	}
	with := redis.Config{
		URL: s.cfg.Admission.Reveal(), Prefix: s.cfg.Redis.Prefix, TLS: tlsConfig, Dial: s.cfg.Redis.DialTimeout,
		Timeout: s.cfg.Redis.Timeout, Name: "sluice-" + p.node.Name, Log: s.log,
	}
	err = s.await(ctx, "Redis", func(ctx context.Context) (err error) {
		r.client, err = redis.Open(ctx, with)
		return err
	})
	if err != nil {
		return &failure{code: exitFailed, err: err, next: "sluice doctor"}
	}
	s.onStop("Redis", func(context.Context) error { r.client.Close(); return nil })
	if r.control, err = redis.NewControl(r.client); err != nil {
		return err
	}
	r.nudges.client = r.client
	r.gates = redis.NewGates(r.client, p.campaign)
	p.openRearming(s)
	find := &finder{}
	r.results = settle.NewResults(settle.ResultsConfig{Log: s.log, Promised: find.promised}, p.ledger, find)
	p.claims = r.results
	if r.queue, err = p.openQueue(ctx, s); err != nil {
		return err
	}
	deps := redis.AdmissionDeps{
		Gates: r.gates, Client: r.client, Ledger: p.ledger, Adjustments: p.ledger, Fleet: p.ledger,
		Outcomes: r.results, Publisher: r.queue.confirming(),
	}
	spare := p.openSpare(s)
	deps.Direct = spare
	r.admission = redis.NewAdmission(p.admissionConfig(s), deps)
	find.in.Store(r.admission)
	p.admission = withSpare{remoteAdmission{r.admission, r.rearmer}, spare}
	r.queue.listen(p, s)
	return nil
}

func (p *parts) admissionConfig(s *server) redis.AdmissionConfig {
	return redis.AdmissionConfig{
		Node: p.node.ID, Log: s.log, Ack: sluice.AckLevel(s.cfg.AdmissionAck), LedgerWait: s.cfg.AdmissionAckWait,
		CallTime: s.cfg.Redis.Timeout, MaxBacklog: int64(s.cfg.Backlog), Policy: redis.Policy(s.cfg.Degraded.Policy),
		DegradeAfter: s.cfg.Degraded.After, DirectRate: s.cfg.Degraded.Rate,
		Doubt:     func(campaign string, epoch int64, _ string) { p.remote.rearmer.Doubt(campaign, epoch) },
		BatchDone: func(_ int, took time.Duration) { s.metrics.Admitted(took) },
	}
}

// openRearming makes who arms gates and who compares them with the ledger.
func (p *parts) openRearming(s *server) {
	r := p.remote
	r.rearmer = upkeep.NewRearmer(upkeep.RearmConfig{
		Config:  p.agentConfig(s, agentRearmer),
		Held:    p.degradedByHand,
		OnArmed: func(_ string, _ int64, cause sluice.EpochCause, _ time.Duration) { s.metrics.Armed(cause) },
	}, upkeep.RearmDeps{
		Campaigns: p.ledger, Epochs: p.ledger, Rows: p.ledger, Armory: r.gates, Gates: r.gates, Repairs: r.gates,
		Settler: p.ledger,
	})
	r.reconciler = upkeep.NewReconciler(upkeep.ReconcilerConfig{
		Config: p.agentConfig(s, agentReconciler), OnRun: s.metrics.Reconciled,
	},
		upkeep.ReconcilerDeps{
			Campaigns: p.ledger, Rows: p.ledger, Runs: p.ledger, Freezer: freezer{p, s}, Gates: r.gates, Repairs: r.gates,
			Settler: p.ledger, Letters: p.ledger, Doubt: r.rearmer.Doubt, Rearm: r.rearmer.Ask,
		})
	p.verifier = r.reconciler
}

// campaign says what this node knows of a campaign.
func (p *parts) campaign(id string) (sluice.Campaign, bool) {
	if p.gate == nil {
		return sluice.Campaign{}, false
	}
	c, ok := p.gate.Campaign(id)
	if !ok {
		return sluice.Campaign{}, false
	}
	return *c, true
}

// KindOf says what a campaign sells.
func (p *parts) KindOf(ctx context.Context, id string) (sluice.Kind, error) {
	if c, ok := p.campaign(id); ok {
		return c.Kind, nil
	}
	c, err := p.ledger.Campaign(ctx, id)
	return c.Kind, err
}

// freezer pauses campaigns for agents, which do not wait for it.
type freezer struct {
	p *parts
	s *server
}

// Freeze pauses one.
func (f freezer) Freeze(campaign, why string) { go f.p.freeze(f.s, campaign, why) }

// finder asks admission for claims that are on their way, once there is one.
type finder struct {
	in atomic.Pointer[redis.Admission]
}

// Find gives such a claim.
func (f *finder) Find(ctx context.Context, id sluice.ClaimID) (sluice.Claim, bool, error) {
	if a := f.in.Load(); a != nil {
		return a.Find(ctx, id)
	}
	return sluice.Claim{}, false, nil
}

// promised says whether this node itself will be told of the claim's outcome.
func (f *finder) promised(id sluice.ClaimID) bool {
	a := f.in.Load()
	return a != nil && a.Holds(id)
}

// nudges carries "look at the settings now" over the channel that all nodes listen to.
type nudges struct {
	client *redis.Client
	heard  chan struct{} // one place
}

// Nudge tells all nodes.
func (n *nudges) Nudge(ctx context.Context) error { return n.client.Nudge(ctx, 0) }

// hear is told by the listener.
func (n *nudges) hear(int64) {
	select {
	case n.heard <- struct{}{}:
	default:
	}
}

// Listen calls back at each nudge.
func (n *nudges) Listen(ctx context.Context, nudged func()) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.heard:
			nudged()
		}
	}
}
