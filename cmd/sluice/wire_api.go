package main

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/console"
	"github.com/sluice-sale/sluice/internal/storefront"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

func (p *parts) newPublic(s *server) (*api.Public, error) {
	pages, err := salePage(s)
	if err != nil {
		return nil, err
	}
	return api.NewPublic(api.PublicConfig{
		Logger: s.log, TLS: s.certs[0].config(), Origins: s.cfg.CORS.Origins, TrustedProxies: s.cfg.TrustedProxies,
		DecisionStatus: s.cfg.API.DecisionStatus, LoginURL: s.cfg.LoginURL, PayURL: s.cfg.PayURL,
		Sandbox:        s.cfg.Sandbox(),
		PaymentSecrets: s.cfg.Payment.Secret.Bytes(), MaxConns: s.cfg.Limits.Connections,
		ReadTimeout: s.cfg.Limits.ReadTimeout, IdleTimeout: s.cfg.Limits.IdleTimeout, MaxBody: int(s.cfg.Limits.Body),
		OnClaim:  func(_ sluice.Reason, took time.Duration) { s.metrics.Claim(took) },
		OnAnswer: s.metrics.Answer, OnPage: p.gate.PageOpen, Typical: p.typical,
	}, api.PublicDeps{
		Gate: p.gate, Claims: p.claims, Campaigns: shopWindow{p}, Orders: p.orders, Coupons: p.coupons, Keys: p.keys,
		Passes: p.passes, Receipts: receipts(p), Lost: lostClaims(p),
		Pages: pages, SignIn: devSignIn(s),
	})
}

// receipts are given where a gate can lose what it promised.
func receipts(p *parts) api.Receipts {
	if p.remote == nil {
		return nil
	}
	return p.passKeys
}

// lostClaims ends what gates have lost.
func lostClaims(p *parts) api.LostClaims {
	if p.remote == nil {
		return nil
	}
	return upkeep.NewLost(p.ledger, p.remote.gates, p.ledger)
}

// shopWindow gives the campaigns as buyers are told of them.
type shopWindow struct{ p *parts }

// Views gives every campaign; what a switch has closed or paused is in that state.
func (w shopWindow) Views(ctx context.Context) ([]sluice.CampaignView, error) {
	views, err := w.p.campaigns.Views(ctx)
	if set := w.p.board.set.Load(); set != nil {
		for i := range views {
			views[i].State = views[i].Told(*set)
		}
	}
	return views, err
}

// salePage gives the files of the sale page, nothing where it is off.
func salePage(s *server) (api.Pages, error) {
	if !s.cfg.Storefront.On {
		return nil, nil
	}
	return storefront.New(storefront.Config{
		Theme: s.cfg.Storefront.Theme, Images: s.cfg.Storefront.Images, Verifier: s.cfg.Challenge.Siteverify.Provider,
	})
}

// devTokens signs buyers in with any name.
type devTokens struct{ cfg *config.Loaded }

// Token makes a token as sluice token does; it lasts a day.
func (d devTokens) Token(user string) (string, time.Time, error) {
	expires := time.Now().Add(24 * time.Hour)
	token, err := buyerToken(d.cfg, user, "", nil, expires)
	return token, expires, err
}

// devSignIn gives nothing outside of development.
func devSignIn(s *server) api.SignIn {
	if !s.cfg.DevSignIn() {
		return nil
	}
	return devTokens{s.cfg}
}

func (p *parts) newAdmin(s *server) (*api.Admin, error) {
	pages, err := console.New()
	if err != nil {
		return nil, err
	}
	return api.NewAdmin(api.AdminConfig{
		Logger: s.log, Level: s.level, TLS: s.certs[1].config(), TrustedProxies: s.cfg.TrustedProxies,
	}, api.AdminDeps{
		Keys: p.keys, Sessions: p.sessions, Console: pages,
		Jobs: p.console.jobs, Preflight: p.console.preflights, System: system{p, s},
		Noter: p.ledger, Metrics: p.console.scraped, Ready: s.ready.list,
		Shelf: p.campaigns, Campaigns: p.campaigns,
		Stock: p.stock, Grants: p.grants, Audience: p.audience, Switches: p.switches, Nodes: nodeList{p},
		Blocklist: p.blocklist, Allowlist: p.allowlist, Risk: p.riskDesk,
		PassKeys: p.passKeys,
		KeyDesk:  p.keys, Audit: p.ledger, Events: p.ledger, Reports: p.reports, Analysis: p.analysis, Claims: p.ledger,
		Live:  p.newLive(s),
		Links: admin.NewLinks(admin.LinksConfig{Ledger: p.ledger, Campaigns: p.ledger, Reports: p.reports}),
		Lookup: admin.NewLookup(admin.LookupConfig{
			Ledger: p.ledger, Decisions: decisionReader{decisionPath(s.cfg)}.Decisions, Fired: p.riskDesk.Fired,
		}),
		Orders: p.orders, Payments: p.ledger, Coupons: p.coupons,
		DeadLetters: p.console.letters,
		Reconcile:   p.reconcile,
		Shards:      shardReader{p},
	})
}

// shardReader reads the shards of gates, where there are any.
type shardReader struct{ p *parts }

// Shards reads each shard of a campaign's gates as of one moment.
func (r shardReader) Shards(ctx context.Context, campaign string) ([]sluice.ShardState, error) {
	c, err := r.p.ledger.Campaign(ctx, campaign)
	if err != nil || r.p.remote == nil {
		return nil, err
	}
	return r.p.remote.gates.State(ctx, c)
}

// reconciling says what the desk of the reconciler works with. Where there is one store, gates and ledger cannot
// differ, and a comparison, of rows, counters and the permit, is made when somebody asks for it.
func (p *parts) reconciling(s *server) admin.ReconcileConfig {
	cfg := admin.ReconcileConfig{Ledger: p.ledger, Campaigns: p.ledger, Noter: p.ledger}
	if p.remote != nil {
		cfg.Reconciler, cfg.Rearmer = p.remote.reconciler, p.remote.rearmer
		return cfg
	}
	deps := upkeep.ReconcilerDeps{Campaigns: p.ledger, Rows: p.ledger, Runs: p.ledger, Freezer: freezer{p, s}}
	if !s.shared() { // what a node of several knows of a permit is older than the rows
		deps.Permits = p.admission
	}
	cfg.Reconciler = upkeep.NewReconciler(upkeep.ReconcilerConfig{
		Config: upkeep.Config{Log: s.log}, OnRun: s.metrics.Reconciled,
	}, deps)
	return cfg
}
