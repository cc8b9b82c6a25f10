package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/coupon"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/metrics"
	"github.com/sluice-sale/sluice/internal/order"
	"github.com/sluice-sale/sluice/internal/settle"
	"github.com/sluice-sale/sluice/internal/sqldb"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// parts are the mechanisms and adapters of one server, put together. This file is the only one that knows them all.
type parts struct {
	ledger    *sqldb.DB
	admission *memory.Admission
	tokens    *gate.Tokens
	gate      *gate.Gate
	board     *board

	keys      *admin.Keys
	campaigns *admin.Campaigns
	stock     *admin.Stock
	grants    *admin.Grants
	switches  *admin.Switches
	blocklist *admin.Blocklist
	audience  *admin.Audience
	reports   *admin.Reports
	orders    *order.Desk
	coupons   *coupon.Desk

	expirer  atomic.Pointer[upkeep.Expirer]
	shortest atomic.Int64  // of the unpaid windows of all campaigns, ms; zero while there is none
	freezing sync.Map      // campaigns whose freeze is not recorded yet
	ended    chan struct{} // closed when the server stops
}

// openParts opens and joins everything that does not listen. What it opens is on the server's list of stops at once,
// so that a failure half way leaves nothing open.
func openParts(ctx context.Context, s *server) (*parts, error) {
	p := &parts{ended: make(chan struct{})}
	s.onStop("freezes", func(context.Context) error { close(p.ended); return nil })
	if err := p.openLedger(ctx, s); err != nil {
		return nil, notOpened(s.cfg.Data, err)
	}
	if err := s.makeSecrets(); err != nil {
		return nil, err
	}
	p.admission = memory.New(memory.Config{
		Log: s.log, Doubt: func(campaign, note string) { p.freeze(s, campaign, note) },
		BatchDone: func(_ int, took time.Duration) { s.metrics.Admitted(took) },
	}, p.ledger)
	p.ledger.SetPermit(p.admission)
	s.onStop("admission", func(context.Context) error { p.admission.Close(); return nil })
	if err := p.openGate(ctx, s); err != nil {
		return nil, err
	}
	p.board = &board{gate: p.gate, logDecisions: s.cfg.DecisionLog.On}
	p.openDesks(s)
	s.metrics.Watch(p.sources(s))
	return p, p.load(ctx)
}

// openDesks puts the desks of operators, buyers and merchants on the ledger.
func (p *parts) openDesks(s *server) {
	var bootstrap []string
	for _, k := range s.cfg.Admin.Key {
		bootstrap = append(bootstrap, k.Reveal())
	}
	p.keys = admin.NewKeys(admin.KeysConfig{Ledger: p.ledger, Bootstrap: bootstrap})
	p.campaigns = admin.NewCampaigns(admin.CampaignsConfig{
		Ledger: p.ledger, Publisher: p, Permits: p.admission, Verifier: p.ledger, Noter: p.ledger, Log: s.log,
		Releases: p.ledger,
	})
	p.stock = admin.NewStock(admin.StockConfig{Ledger: p.ledger, Adjuster: p.admission})
	p.grants = admin.NewGrants(admin.GrantsConfig{Ledger: p.ledger, Admitter: p.admission, Noter: p.ledger})
	p.switches = admin.NewSwitches(admin.SwitchesConfig{Ledger: p.ledger, Board: p.board})
	p.blocklist = admin.NewBlocklist(admin.BlocklistConfig{Ledger: p.ledger, Gate: p.gate})
	p.audience = admin.NewAudience(admin.AudienceConfig{
		Ledger: p.ledger, Campaigns: p.ledger, Gate: p.gate, Noter: p.ledger,
	})
	p.reports = admin.NewReports(admin.ReportsConfig{
		Ledger: p.ledger, Tally: p.gate.Tally(), Permits: p.admission, Verifier: p.ledger,
	})
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
	for _, load := range []func(context.Context) error{p.keys.Load, p.switches.Load, p.blocklist.Load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// board puts switches in force in all parts that heed them.
type board struct {
	gate         *gate.Gate
	logDecisions bool // the decision log's state where its switch is not set
	readOnly     atomic.Bool
	set          atomic.Pointer[[]sluice.SwitchSetting]
}

// SetSwitches takes over all settings at once.
func (b *board) SetSwitches(all []sluice.SwitchSetting) {
	set := all
	logging := func(s sluice.SwitchSetting) bool { return s.Set && s.Name == sluice.SwitchDecisionLog }
	if b.logDecisions && !slices.ContainsFunc(all, logging) {
		set = append(slices.Clone(all), sluice.SwitchSetting{Name: sluice.SwitchDecisionLog, Value: 1, Set: true})
	}
	b.gate.SetSwitches(set)
	readOnly := false
	for _, s := range all {
		readOnly = readOnly || s.Set && s.Name == sluice.SwitchReadOnly && s.Campaign == "" && s.Value != 0
	}
	b.readOnly.Store(readOnly)
	b.set.Store(&all)
}

// openLedger turns the setting into an adapter. The configuration has refused what is not in this version.
func (p *parts) openLedger(ctx context.Context, s *server) (err error) {
	p.ledger, err = sqldb.Open(ctx, sqldb.Config{
		Path: ledgerPath(s.cfg), Log: s.log, CacheMB: int(s.cfg.SQLite.Cache >> 20), Readers: s.cfg.SQLite.Readers,
		MaxWaiting: s.cfg.SQLite.Waiting,
		Doubt:      func(campaign, note string) { p.freeze(s, campaign, note) },
		OnBatch: func(b sqldb.BatchStats) {
			p.wakeExpirer(b)
			s.metrics.Committed(metrics.Batch{Writes: b.Ops, Claims: b.Claims, Failed: b.Failed,
				Commit: seconds(b.Commit), Transaction: seconds(b.Seconds)})
		},
	})
	if err == nil {
		s.onStop("the ledger", func(context.Context) error { return p.ledger.Close() })
	}
	return err
}

// wakeExpirer tells of the earliest moment at which an order of this batch can fall due.
func (p *parts) wakeExpirer(b sqldb.BatchStats) {
	if e, window := p.expirer.Load(), p.shortest.Load(); e != nil && window > 0 && b.Claims > 0 && !b.Failed {
		e.Wake(sluice.MillisOf(time.Now()) + sluice.Millis(window))
	}
}

// noteWindow keeps the shortest unpaid window there is.
func (p *parts) noteWindow(c sluice.Campaign) {
	window := c.Goods.UnpaidWindowSec * 1000
	for window > 0 {
		old := p.shortest.Load()
		if old != 0 && old <= window || p.shortest.CompareAndSwap(old, window) {
			return
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (p *parts) openGate(ctx context.Context, s *server) (err error) {
	if p.tokens, err = newTokens(ctx, s); err != nil {
		return err
	}
	s.onStop("the tokens' keys", func(context.Context) error { p.tokens.Close(); return nil })
	file := newDecisionLog(s.cfg.DecisionLog, decisionPath(s.cfg))
	s.onStop("the decision log's file", func(context.Context) error { return file.Close() })
	p.gate = gate.New(gate.Config{
		Tokens: p.tokens, Logger: s.log, MaxRate: s.cfg.Capacity.Rate, DecisionLog: file,
	}, p.admission)
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
func (p *parts) arm(ctx context.Context, progress func(campaign string, rows, of int64)) error {
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
	return nil
}

// admit lets the gate know what was read at the start; of what an operator has published since, it knows better.
func (p *parts) admit(all []sluice.Campaign) {
	p.gate.PutCampaigns(slices.DeleteFunc(all, func(c sluice.Campaign) bool {
		_, known := p.gate.Campaign(c.ID)
		return known
	}))
}

// The agents' names, as they stand in metrics.
const (
	agentExpirer = "expirer"
	agentCoupons = "coupon_expirer"
	agentCleaner = "cleaner"
	agentFunnel  = "funnel"
)

// agentNames lists the agents, for the metrics.
func agentNames() []string { return []string{agentExpirer, agentCoupons, agentCleaner, agentFunnel} }

// agent is what every agent of internal/upkeep offers.
type agent interface {
	Start()
	Stop()
}

// startAgents starts what runs behind the sale.
func (p *parts) startAgents(s *server) {
	config := func(name string) upkeep.Config {
		return upkeep.Config{Log: s.log, OnPiece: func(sweep sluice.Sweep, err error) {
			s.metrics.AgentRan(name, sweep.Done, err, time.Now())
		}}
	}
	cleaner := config(agentCleaner)
	ran := cleaner.OnPiece
	cleaner.OnPiece = func(sweep sluice.Sweep, err error) {
		p.admission.Retire()
		ran(sweep, err)
	}
	expirer := upkeep.NewExpirer(config(agentExpirer), p.ledger)
	p.expirer.Store(expirer)
	for _, x := range []struct {
		name string
		agent
	}{
		{agentExpirer, expirer},
		{agentCoupons, upkeep.NewCouponExpirer(config(agentCoupons), p.ledger)},
		{agentCleaner, upkeep.NewCleaner(upkeep.CleanerConfig{Config: cleaner}, p.ledger)},
		{agentFunnel, newFunnelKeeper(p, s)},
	} {
		x.Start()
		s.onStop("the "+x.name, func(context.Context) error { x.Stop(); return nil })
	}
}

// Publish puts a committed campaign in force: in admission first, since the gate lets claims through to it.
func (p *parts) Publish(ctx context.Context, c sluice.Campaign) error {
	if err := p.admission.Put(ctx, c); err != nil {
		return err
	}
	p.gate.PutCampaign(c)
	p.noteWindow(c)
	return nil
}

// freezeAgain is how long a freeze that could not be recorded waits for the next try.
const freezeAgain = time.Second

// freeze pauses a campaign whose invariants are in doubt; the server goes on. A store that cannot record it, which is
// often why there is a doubt, is asked again until it can.
func (p *parts) freeze(s *server, campaign, note string) {
	if _, under := p.freezing.LoadOrStore(campaign, true); under {
		return
	}
	s.log.Error("a campaign is frozen: its figures do not add up", "campaign", campaign, "note", note)
	if p.recordFreeze(s, campaign, note) {
		p.freezing.Delete(campaign)
		return
	}
	go func() {
		defer p.freezing.Delete(campaign)
		tick := time.NewTicker(freezeAgain)
		defer tick.Stop()
		for {
			select {
			case <-p.ended:
				return
			case <-tick.C:
				if p.recordFreeze(s, campaign, note) {
					return
				}
			}
		}
	}()
}

// recordFreeze says whether that is settled: the freeze is in force, or the campaign can no longer be frozen.
func (p *parts) recordFreeze(s *server, campaign, note string) bool {
	server := sluice.Actor{Name: "sluice", Role: sluice.RoleAdmin, Reason: note}
	// By way of the desk, so that a freeze and an operator's change are published in the order of the ledger.
	_, err := p.campaigns.Command(context.Background(), campaign, sluice.CommandFreeze, server)
	if err != nil {
		s.log.Error("the freeze was not recorded", "campaign", campaign, "err", err)
	}
	return !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain)
}

func (p *parts) newPublic(s *server) (*api.Public, error) {
	return api.NewPublic(api.PublicConfig{
		Logger: s.log, TLS: s.certs[0].config(), Origins: s.cfg.CORS.Origins, TrustedProxies: s.cfg.TrustedProxies,
		DecisionStatus: s.cfg.API.DecisionStatus, LoginURL: s.cfg.LoginURL, PayURL: s.cfg.PayURL,
		PaymentSecrets: s.cfg.Payment.Secret.Bytes(), MaxConns: s.cfg.Limits.Connections,
		ReadTimeout: s.cfg.Limits.ReadTimeout, IdleTimeout: s.cfg.Limits.IdleTimeout, MaxBody: int(s.cfg.Limits.Body),
		OnClaim:  func(_ sluice.Reason, took time.Duration) { s.metrics.Claim(took) },
		OnAnswer: s.metrics.Answer,
	}, api.PublicDeps{
		Gate: p.gate, Claims: settle.NewResults(settle.ResultsConfig{Log: s.log}, p.ledger, nil),
		Campaigns: p.campaigns, Orders: p.orders, Coupons: p.coupons, Keys: p.keys,
	})
}

func (p *parts) newAdmin(s *server) (*api.Admin, error) {
	return api.NewAdmin(api.AdminConfig{
		Logger: s.log, Level: s.level, TLS: s.certs[1].config(), TrustedProxies: s.cfg.TrustedProxies,
	}, api.AdminDeps{
		Keys: p.keys, Noter: p.ledger, Metrics: s.metrics.Handler(), Ready: s.ready.list,
		Shelf: p.campaigns, Campaigns: p.campaigns,
		Stock: p.stock, Grants: p.grants, Audience: p.audience, Switches: p.switches, Blocklist: p.blocklist,
		KeyDesk: p.keys, Audit: p.ledger, Events: p.ledger, Reports: p.reports, Claims: p.ledger,
		Lookup: admin.NewLookup(admin.LookupConfig{Ledger: p.ledger}),
		Orders: p.orders, Payments: p.ledger, Coupons: p.coupons,
		DeadLetters: admin.NewDeadLetters(admin.DeadLettersConfig{Ledger: p.ledger, Log: s.log}),
	})
}

// scrapeTimeout bounds what one scrape reads from the ledger.
const scrapeTimeout = time.Second

// sources says where the metrics come from.
func (p *parts) sources(s *server) metrics.Sources {
	return metrics.Sources{
		Campaigns: func() []metrics.Campaign { return p.campaignMetrics(s) },
		Waiting:   p.admission.Waiting,
		Queues: func() []metrics.Length {
			urgent, claims, background := p.ledger.Queued()
			return []metrics.Length{
				{Name: "urgent", N: int64(urgent)}, {Name: "claims", N: int64(claims)}, {Name: "background", N: int64(background)},
			}
		},
		InFlight: func() (all []metrics.Length) {
			if public := s.publicNow.Load(); public != nil {
				for name, n := range public.InFlight() {
					all = append(all, metrics.Length{Name: name, N: n})
				}
			}
			return all
		},
		LogDrops: p.gate.DroppedLogLines,
		Ready:    func() bool { return len(s.ready.list()) == 0 },
		All:      func() [sluice.NumReasons]int64 { return p.gate.Tally().Totals().Reasons },
		Switches: func() []sluice.SwitchSetting { return *p.board.set.Load() },
	}
}

func (p *parts) campaignMetrics(s *server) []metrics.Campaign {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	views, err := p.campaigns.Views(ctx)
	if err != nil {
		s.log.Warn("the metrics have no campaigns", "err", err)
		return nil
	}
	slices.SortStableFunc(views, func(a, b sluice.CampaignView) int { return int(b.No - a.No) })
	all := make([]metrics.Campaign, 0, len(views))
	for _, v := range views {
		totals, _ := p.gate.Tally().Campaign(v.ID)
		all = append(all, metrics.Campaign{ID: v.ID, State: v.State, Total: v.Stock.Total, Available: v.Available,
			Queued: v.Queued, Held: v.Stock.Held, Sold: v.Stock.Sold, Decisions: totals.Reasons})
	}
	return all
}
