package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/analysis"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/challenge"
	"github.com/sluice-sale/sluice/internal/coupon"
	"github.com/sluice-sale/sluice/internal/fleet"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/order"
	"github.com/sluice-sale/sluice/internal/pass"
	"github.com/sluice-sale/sluice/internal/risk"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// parts are the mechanisms and adapters of one server, put together. The files wire*.go are the only ones that know
// them.
type parts struct {
	ledger     *sqldb.DB
	admission  admission
	verifier   admin.Verifier // recomputes campaigns, with whatever the permit is
	claims     api.Claims     // says what became of claims
	node       sluice.Node    // this one
	fleet      *fleet.Fleet   // nil where this is the only node
	remote     *remote        // nil where stock is not taken in a Redis
	tokens     *gate.Tokens
	gate       *gate.Gate
	passKeys   *pass.Keys
	passes     *pass.Desk
	challenges *challenge.Desk
	once       sluice.Once // what came once: on all nodes where there is a Redis, else on this one
	board      *board

	keys        *admin.Keys
	sessions    *admin.Sessions
	campaigns   *admin.Campaigns
	stock       *admin.Stock
	grants      *admin.Grants
	switches    *admin.Switches
	blocklist   *admin.Blocklist
	allowlist   *admin.Blocklist
	risk        *risk.Engine
	riskDesk    *risk.Desk
	riskService *risk.Service // nil where there is none
	holding     *risk.Holding // nil where nothing bounds unpaid orders
	audience    *admin.Audience
	reports     *admin.Reports
	analysis    *analysis.Desk
	reconcile   *admin.Reconcile
	orders      *order.Desk
	coupons     *coupon.Desk

	console consoleParts // what the console works with beside the desks above

	expirer  atomic.Pointer[upkeep.Expirer]
	reminder atomic.Pointer[reminder] // nil without a broker
	shortest atomic.Int64             // of the unpaid windows of all campaigns, ms; zero while there is none
	freezing sync.Map                 // campaigns whose freeze is not recorded yet
	ended    chan struct{}            // closed when the server stops
}

// openParts opens and joins everything that does not listen. What it opens is on the server's list of stops at once,
// so that a failure half way leaves nothing open.
func openParts(ctx context.Context, s *server) (*parts, error) {
	p := &parts{ended: make(chan struct{})}
	s.onStop("freezes", func(context.Context) error { close(p.ended); return nil })
	p.node = newNode(s)
	if err := p.openLedger(ctx, s); err != nil {
		return nil, notOpened(s.cfg, err)
	}
	if err := s.makeSecrets(); err != nil {
		return nil, err
	}
	if err := p.openAdmission(ctx, s); err != nil {
		return nil, err
	}
	p.ledger.SetPermit(p.admission)
	s.onStop("admission", func(context.Context) error { p.admission.Close(); return nil })
	if err := p.openPasses(ctx, s); err != nil {
		return nil, err
	}
	if err := p.openRisk(s); err != nil {
		return nil, err
	}
	if err := p.openGate(ctx, s); err != nil {
		return nil, err
	}
	p.passes = p.newPassDesk(s)
	p.board = &board{gate: p.gate, logDecisions: s.cfg.DecisionLog.On}
	if p.remote != nil {
		p.board.queue, p.board.degrade = p.remote.queue, p.remote.admission.Degrade
	}
	switches, err := p.openFleet(s)
	if err != nil {
		return nil, err
	}
	p.openDesks(s, switches)
	p.openConsole(s)
	s.metrics.Watch(p.sources(s))
	return p, p.load(ctx)
}

// openDesks puts the desks of operators, buyers and merchants on the ledger.
func (p *parts) openDesks(s *server, switches admin.SwitchesConfig) {
	var bootstrap []string
	for _, k := range s.cfg.Admin.Key {
		bootstrap = append(bootstrap, k.Reveal())
	}
	p.keys = admin.NewKeys(admin.KeysConfig{Ledger: p.ledger, Bootstrap: bootstrap})
	p.tendKeys(s)
	p.sessions = admin.NewSessions(admin.SessionsConfig{Ledger: p.ledger, Keys: p.keys})
	p.reconcile = admin.NewReconcile(p.reconciling(s))
	var gates admin.Gates
	if p.remote != nil {
		gates = p.reconcile
	}
	p.campaigns = admin.NewCampaigns(admin.CampaignsConfig{
		Ledger: p.ledger, Publisher: p, Permits: p.admission, Verifier: p.verifier, Noter: p.ledger, Log: s.log,
		Releases: p.ledger, MaxShards: p.maxShards(), Gates: gates,
	})
	p.stock = admin.NewStock(admin.StockConfig{Ledger: p.ledger, Adjuster: p.admission})
	p.grants = admin.NewGrants(admin.GrantsConfig{Ledger: p.ledger, Admitter: p.admission, Noter: p.ledger})
	switches.Board, switches.NoGates = p.board, p.remote == nil
	p.switches = admin.NewSwitches(switches)
	p.blocklist = admin.NewBlocklist(admin.BlocklistConfig{Ledger: p.ledger, Bulk: p.ledger, Gate: p.gate, Looks: p.gate})
	p.openRiskDesks()
	p.audience = admin.NewAudience(admin.AudienceConfig{
		Ledger: p.ledger, Campaigns: p.ledger, Gate: p.gate, Noter: p.ledger,
	})
	p.reports = admin.NewReports(admin.ReportsConfig{
		Ledger: p.ledger, Tally: p.gate.Tally(), Permits: p.admission, Verifier: p.verifier,
		Late: p.late(s),
	})
	p.analysis = analysis.NewDesk(analysis.DeskConfig{
		Ledger: reporting{p.ledger, p.reports}, Log: s.log,
		Logs: func() ([]string, error) { return analysis.Logs(decisionPath(s.cfg)) },
	})
	s.onStop("analysis", func(context.Context) error { p.analysis.Close(); return nil })
	p.orders = order.New(order.Config{
		Log: s.log, Sandbox: s.cfg.Sandbox(), ReadOnly: p.board.readOnly.Load,
		OnPayment: func(r sluice.PaymentResult, replay bool) {
			if !replay {
				s.metrics.Paid(r)
			}
		},
	}, p.ledger)
	p.coupons = coupon.New(coupon.Config{
		ReadOnly: p.board.readOnly.Load, OnUse: func(op sluice.CouponOp) { s.metrics.CouponStep(string(op)) },
	}, p.ledger)
}

// load puts in force what operators have set, before the first claim.
func (p *parts) load(ctx context.Context) error {
	for _, load := range []func(context.Context) error{p.keys.Load, p.switches.Load, p.blocklist.Load, p.loadRisk} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *parts) openGate(ctx context.Context, s *server) (err error) {
	if p.tokens, err = newTokens(ctx, s); err != nil {
		return err
	}
	s.onStop("the tokens' keys", func(context.Context) error { p.tokens.Close(); return nil })
	file := newDecisionLog(s.cfg.DecisionLog, decisionPath(s.cfg))
	s.onStop("the decision log's file", func(context.Context) error { return file.Close() })
	cfg := gate.Config{
		Tokens: p.tokens, Logger: s.log, MaxRate: s.cfg.Capacity.Rate, DecisionLog: file,
		Passes: p.passKeys, Nonces: p.once, Suspicion: p.risk,
	}
	if p.holding != nil {
		cfg.Holding = p.holding
	}
	p.gate = gate.New(cfg, p.admission)
	s.onStop("the decision log", func(context.Context) error { p.gate.Close(); return nil })
	return nil
}

// newTokens says whose tokens are believed.
func newTokens(ctx context.Context, s *server) (*gate.Tokens, error) {
	cfg := gate.TokenConfig{
		Secrets: s.cfg.JWT.Secret.Bytes(), KeyFile: s.cfg.JWT.KeyFile, JWKSURL: s.cfg.JWT.JWKSURL,
		Issuer: s.cfg.JWT.Issuer, Audience: s.cfg.JWT.Audience, Leeway: s.cfg.JWT.Leeway, Logger: s.log,
	}
	if cfg.Leeway == 0 {
		cfg.Leeway = -1 // none: zero means the gate's default
	}
	for _, path := range s.cfg.JWT.PublicKeys {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("jwt.public_keys: %w", err)
		}
		cfg.PublicKeys = append(cfg.PublicKeys, pem)
	}
	return gate.NewTokens(ctx, cfg)
}

// arm loads every campaign into admission and then into the gate: who is let through finds units.
func (p *parts) arm(ctx context.Context, s *server, progress func(campaign string, rows, of int64)) error {
	all, err := p.ledger.Campaigns(ctx)
	if err != nil {
		return err
	}
	if err := p.admission.Arm(ctx, all, progress); err != nil {
		return err
	}
	for _, c := range all {
		p.noteWindow(c)
		// Also where none is asked for yet: an edit may ask for the audience that was uploaded before.
		if _, err := p.audience.Load(ctx, c.ID); err != nil {
			return err
		}
	}
	p.admit(all)
	p.follow()
	p.campaigns.Published(all)
	return p.join(ctx, s)
}

// admit lets the gate know what was read at the start; of what an operator has published since, it knows better.
func (p *parts) admit(all []sluice.Campaign) {
	p.gate.PutCampaigns(slices.DeleteFunc(all, func(c sluice.Campaign) bool {
		_, known := p.gate.Campaign(c.ID)
		return known
	}))
}

// Publish puts a committed campaign in force: in admission first, since the gate lets claims through to it.
func (p *parts) Publish(ctx context.Context, c sluice.Campaign) error {
	if err := p.admission.Put(ctx, c); err != nil {
		return err
	}
	p.gate.PutCampaign(c)
	p.follow()
	p.noteWindow(c)
	if p.fleet != nil {
		p.fleet.Changed()
	}
	return nil
}

// maxShards is how many shards a campaign's gate can have: there are none but in a Redis.
func (p *parts) maxShards() int64 {
	if p.remote == nil {
		return 1
	}
	return sluice.MaxShards
}
