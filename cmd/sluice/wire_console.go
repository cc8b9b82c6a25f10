package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/lab"
)

// Bounds of what the console asks for.
const (
	rehearsalUnits = 10_000 // of a clone, at most
	rehearsalConns = 256
	rehearsalTime  = 5 * time.Minute
	maxRefundsDue  = 200 // that the overview counts
)

// consoleParts are the desks that the console works with beside those of the API.
type consoleParts struct {
	jobs       *admin.Jobs
	letters    *admin.DeadLetters
	scraped    *watchedMetrics
	preflights *admin.Preflights
	unpaid     unpaidLooks
}

// system tells the console how the server is set up and how it is.
type system struct {
	p *parts
	s *server
}

// Settings lists what is in force, secrets masked.
func (y system) Settings() []api.Setting {
	all := []api.Setting{}
	for _, x := range y.s.cfg.Masked() {
		all = append(all, api.Setting(x))
	}
	return all
}

// Capabilities says what the server is made of.
func (y system) Capabilities() api.Capabilities {
	c := api.Capabilities{Version: buildInfo().Version, Env: y.s.cfg.Environment, Admission: "memory", Ledger: "sqlite",
		Sandbox: y.s.cfg.Sandbox(), Rehearse: y.s.rehearses()}
	switch {
	case y.p.remote != nil:
		c.Admission, c.Queue = "redis", "redis"
		if y.p.remote.queue.publisher != nil {
			c.Queue = "amqp"
		}
	case y.s.shared():
		c.Admission = "ledger"
	}
	if y.s.shared() {
		c.Ledger = "mysql"
	}
	if y.s.publicNow.Load() != nil && y.s.publicLn != nil {
		c.Public = y.s.publicURL()
	}
	c.Jobs = []string{}
	for kind := range y.p.jobKinds(y.s) {
		c.Jobs = append(c.Jobs, kind)
	}
	slices.Sort(c.Jobs)
	return c
}

// Health says how the parts are.
func (y system) Health(ctx context.Context) sluice.Health { return y.p.health(ctx) }

// Views gives every campaign.
func (y system) Views(ctx context.Context) ([]sluice.CampaignView, error) {
	return y.p.campaigns.Views(ctx)
}

// RefundsDue counts orders whose money has to go back.
func (y system) RefundsDue(ctx context.Context) (int64, error) {
	page, err := y.p.ledger.Orders(ctx, sluice.OrderQuery{RefundDue: true, NoLoadTests: true,
		Limit: maxRefundsDue},
		sluice.MillisOf(time.Now()))
	return int64(len(page.Items)), err
}

// unpaidFresh is how old the unpaid orders of the overview may be: everybody who looks shares one reading.
const unpaidFresh = 5 * time.Second

// unpaidLooks are the last readings.
type unpaidLooks struct {
	mu  sync.Mutex
	all map[string]sluice.Unpaid
}

// Unpaid gives what unpaid orders of a campaign hold.
func (y system) Unpaid(ctx context.Context, campaign string) (sluice.Unpaid, error) {
	l, now := &y.p.console.unpaid, sluice.MillisOf(time.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if u, ok := l.all[campaign]; ok && u.At > now.Add(-unpaidFresh) && u.At <= now {
		return u, nil
	}
	u, err := y.p.ledger.Unpaid(ctx, campaign, now)
	if err != nil {
		return u, err
	}
	if l.all == nil || len(l.all) > maxRefundsDue {
		l.all = map[string]sluice.Unpaid{}
	}
	l.all[campaign] = u
	return u, nil
}

// watchedMetrics notes when somebody read the metrics last: whoever does raises the alarms.
type watchedMetrics struct {
	http.Handler
	read atomic.Int64 // Unix ms
}

// ServeHTTP answers, and notes it.
func (w *watchedMetrics) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.read.Store(time.Now().UnixMilli())
	w.Handler.ServeHTTP(out, r)
}

// jobKinds says what this server can do in the background.
func (p *parts) jobKinds(s *server) map[string]admin.Work {
	kinds := map[string]admin.Work{"dead_letters.discard": admin.LettersWork(p.console.letters.Discard)}
	if p.driver() != nil {
		kinds["dead_letters.replay"] = admin.LettersWork(p.console.letters.Replay)
	}
	for _, list := range []struct {
		name string
		desk *admin.Blocklist
	}{{"blocklist", p.blocklist}, {"allowlist", p.allowlist}} {
		kinds[list.name+".import"] = list.desk.ImportWork
	}
	if s.rehearses() {
		kinds[admin.RehearsalKind] = p.rehearse(s)
	}
	return kinds
}

// openConsole makes the desks that the console works with beside those of the API.
func (p *parts) openConsole(s *server) {
	p.console.letters = admin.NewDeadLetters(admin.DeadLettersConfig{
		Ledger: p.ledger, Driver: p.driver(), Decode: decodeMessage, Log: s.log,
	})
	p.console.jobs = admin.NewJobs(admin.JobsConfig{Ledger: p.ledger, Node: p.node.ID, Log: s.log, Kinds: p.jobKinds(s)})
	s.onStop("jobs", func(context.Context) error { p.console.jobs.Stop(); return nil })
	p.console.scraped = &watchedMetrics{Handler: s.metrics.Handler()}
	p.console.preflights = admin.NewPreflights(admin.PreflightConfig{
		Ledger: p.ledger, Campaigns: p.campaigns, Parts: p.checks(s),
		Rate: func(c *sluice.CampaignView) float64 { return c.Protection.MaxRate },
	})
}

// rehearses says whether the lab's crowd can come to this server: it makes buyers' tokens and asks the operators' API.
func (s *server) rehearses() bool {
	return len(s.cfg.JWT.Secret) > 0 && len(s.cfg.Admin.Key) > 0 && s.certs[0] == nil && s.certs[1] == nil
}

// rehearse has the crowd rush for a clone of a campaign and keeps what came of it.
func (p *parts) rehearse(s *server) admin.Work {
	return func(ctx context.Context, j sluice.Job, a sluice.Actor, told func(sluice.JobProgress)) (any, error) {
		var ask struct {
			Campaign string  `json:"campaign_id"`
			Buyers   int     `json:"buyers"`
			Seconds  float64 `json:"seconds"`
		}
		if err := json.Unmarshal(j.Ask, &ask); err != nil {
			return nil, fmt.Errorf("job %s: %w", j.ID, err)
		}
		if s.publicNow.Load() == nil || !s.certless() {
			return nil, sluice.NewFault(sluice.ErrConflict, "NO_REHEARSAL", "the public listener does not answer yet")
		}
		ctx, cancel := context.WithTimeout(ctx, rehearsalTime)
		defer cancel()
		a.Reason = "rehearsal " + j.ID
		clone, err := p.campaigns.RehearsalClone(ctx, ask.Campaign, rehearsalUnits, a)
		if err != nil {
			return nil, err
		}
		defer func() {
			if _, err := p.campaigns.Command(context.WithoutCancel(ctx), clone.ID, sluice.CommandEnd, a); err != nil {
				s.log.Error("the clone of a rehearsal is not ended: it stays open for an hour", "campaign", clone.ID, "err", err)
			}
		}()
		r, err := lab.Run(ctx, lab.Config{
			URL: s.publicURL(), AdminURL: s.adminURL(), AdminKey: s.cfg.Admin.Key[0].Reveal(),
			JWTSecret: s.cfg.JWT.Secret[0].Reveal(), Campaign: clone.ID, Kind: clone.Kind, Stock: clone.Stock.Total,
			Limit: clone.PerUserLimit, Buyers: ask.Buyers, Seconds: ask.Seconds, Shape: lab.ShapeBurst,
			Connections: min(ask.Buyers, rehearsalConns), Shared: true,
			Progress: func(x lab.Progress) {
				told(sluice.JobProgress{Total: x.Of, Done: x.Answered, Failed: x.Trouble})
			},
		})
		if err != nil {
			return nil, err
		}
		return rehearsalOf(&r, clone.ID, ask.Buyers), nil
	}
}

func (s *server) certless() bool { return strings.HasPrefix(s.publicURL(), "http://") }

func rehearsalOf(r *lab.Result, clone string, buyers int) admin.RehearsalResult {
	out := admin.RehearsalResult{Campaign: clone, OK: r.Verdict.OK, Verdict: r.Verdict.Sentence(), Buyers: buyers,
		Taken: r.Verdict.Sold, Stock: r.Verdict.Stock, Faults: r.Verdict.Broken()}
	if r.Speed != nil && r.Latency != nil {
		out.ClaimsPerS, out.P50MS, out.P99MS = r.Speed.ClaimsPerS, r.Latency.All.P50, r.Latency.All.P99
	}
	out.Details, _ = json.Marshal(map[string]any{"funnel": r.Funnel, "speed": r.Speed, "verdict": r.Verdict})
	return out
}
