package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// Setting is one setting that is in force, secrets masked.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source" doc:"Where it came from"`
}

// Capabilities says what this server is made of, so that a page of a part that is not there is absent.
type Capabilities struct {
	Version   string   `json:"version"`
	Env       string   `json:"environment,omitempty" doc:"What operators call this installation"`
	Admission string   `json:"admission" enum:"memory,ledger,redis"`
	Ledger    string   `json:"ledger" enum:"sqlite,mysql"`
	Queue     string   `json:"queue,omitempty" doc:"redis, amqp; absent: claims are settled at once"`
	Sandbox   bool     `json:"sandbox" doc:"Payments are a sandbox: nobody pays with money"`
	Rehearse  bool     `json:"rehearsals" doc:"The lab's crowd can come"`
	Public    string   `json:"public_url,omitempty" doc:"Where buyers go, as this server knows it"`
	Jobs      []string `json:"jobs" nullable:"false" doc:"Kinds of jobs"`
	Parts     []string `json:"parts" nullable:"false" doc:"Groups of routes that there are, such as dead-letters"`
}

// SystemDesk tells how the server is set up and how it is.
type SystemDesk interface {
	Settings() []Setting
	Capabilities() Capabilities
	Health(ctx context.Context) sluice.Health
	Views(ctx context.Context) ([]sluice.CampaignView, error)
	// RefundsDue counts orders whose money came late or twice and has not gone back, up to a bound.
	RefundsDue(ctx context.Context) (int64, error)
	// Unpaid gives what unpaid orders of a campaign hold, as of some seconds ago.
	Unpaid(ctx context.Context, campaign string) (sluice.Unpaid, error)
}

// Bounds of the overview.
const (
	overviewSales = 20
	lowStock      = 0.1
	endingSoon    = 7 * 24 * time.Hour
	overviewRuns  = 100 // of the reconciler, the newest, in which drift is looked for
)

type (
	needAnswer struct {
		Kind       string `json:"kind" doc:"Such as frozen, drift, switch, part_down, dead_letters, refund_due, ending"`
		Urgency    string `json:"urgency" enum:"act,look"`
		CampaignID string `json:"campaign_id,omitempty"`
		Title      string `json:"title,omitempty" doc:"Of the campaign"`
		Detail     string `json:"detail"`
		Count      int64  `json:"count,omitempty"`
		SinceMS    int64  `json:"since_ms,omitempty"`
		By         string `json:"by,omitempty"`
	}
	saleAnswer struct {
		ID        string               `json:"id"`
		Title     string               `json:"title"`
		Kind      sluice.Kind          `json:"kind"`
		State     sluice.CampaignState `json:"state"`
		StartsAt  time.Time            `json:"starts_at"`
		EndsAt    time.Time            `json:"ends_at"`
		Total     int64                `json:"total"`
		Available int64                `json:"available"`
		Queued    int64                `json:"queued"`
		Held      int64                `json:"held"`
		Sold      int64                `json:"sold"`
		LoadTest  bool                 `json:"load_test,omitempty"`
	}
	overviewAnswer struct {
		AsOfMS int64        `json:"as_of_ms"`
		Needs  []needAnswer `json:"needs" nullable:"false" doc:"What needs a person, the most urgent first"`
		Next   *saleAnswer  `json:"next,omitempty" doc:"The next to open"`
		Live   []saleAnswer `json:"live" nullable:"false" doc:"Open now, at most 20"`
		Health liveHealth   `json:"health"`
	}
	settingsOutput struct {
		Body struct {
			Items []Setting `json:"items" nullable:"false"`
		}
	}
)

func saleOf(v *sluice.CampaignView) saleAnswer {
	return saleAnswer{v.ID, v.Title, v.Kind, v.State, v.StartsAt.Time(), v.EndsAt.Time(), v.Stock.Total, v.Available,
		v.Queued, v.Stock.Held, v.Stock.Sold, v.LoadTest}
}

// registerServer adds what tells of the server itself.
func (a *Admin) registerServer(api huma.API) {
	desk := a.deps.System
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/overview", "What needs a person now, and the sales", sluice.RoleViewer),
		func(ctx context.Context, _ *struct{}) (*struct{ Body overviewAnswer }, error) {
			all, err := desk.Views(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			refunds, err := desk.RefundsDue(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			out := a.overview(all, desk.Health(ctx), refunds)
			if a.deps.Switches != nil {
				set, err := a.deps.Switches.Settings(ctx)
				if err != nil {
					return nil, problemOf(err)
				}
				out.switched(set)
			}
			if err := a.owing(ctx, &out, all); err != nil {
				return nil, problemOf(err)
			}
			out.name(all)
			slices.SortStableFunc(out.Needs, func(a, b needAnswer) int { return cmp.Compare(a.Urgency, b.Urgency) })
			return &struct{ Body overviewAnswer }{out}, nil
		})
	huma.Register(api,
		withoutScope(op("GET", "/v1/admin/capabilities", "What this server is made of", sluice.RoleViewer)),
		func(context.Context, *struct{}) (*struct{ Body Capabilities }, error) {
			c := desk.Capabilities()
			c.Parts = a.partNames()
			return &struct{ Body Capabilities }{c}, nil
		})
	huma.Register(api, op("GET", "/v1/admin/config", "The settings in force, secrets masked", sluice.RoleOperator),
		func(context.Context, *struct{}) (*settingsOutput, error) {
			out := &settingsOutput{}
			out.Body.Items = desk.Settings()
			return out, nil
		})
}

// partNames lists the nouns of the routes that are registered.
func (a *Admin) partNames() []string {
	seen := map[string]bool{}
	for path := range a.api.OpenAPI().Paths {
		if rest, ok := strings.CutPrefix(path, "/v1/admin/"); ok {
			noun, _, _ := strings.Cut(rest, "/")
			seen[noun] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// overview gathers what needs a person from what is known of campaigns and parts.
func (a *Admin) overview(all []sluice.CampaignView, h sluice.Health, refunds int64) overviewAnswer {
	now := sluice.MillisOf(a.cfg.Now())
	o := overviewAnswer{AsOfMS: int64(now), Needs: []needAnswer{}, Live: []saleAnswer{},
		Health: liveHealth{h.Parts, h.Alive, h.Dead, h.InForce, h.Skew.Milliseconds(), h.Letters}}
	for i := range all {
		o.campaign(&all[i], now)
	}
	o.parts(&h)
	if h.Letters > 0 {
		o.need(needAnswer{Kind: "dead_letters", Urgency: "act", Count: h.Letters,
			Detail: "messages failed their tries; replay or discard them"})
	}
	if refunds > 0 {
		o.need(needAnswer{Kind: "refund_due", Urgency: "act", Count: refunds,
			Detail: "orders whose money came late or twice; refund them"})
	}
	return o
}

func (o *overviewAnswer) need(n needAnswer) { o.Needs = append(o.Needs, n) }

func (o *overviewAnswer) campaign(v *sluice.CampaignView, now sluice.Millis) {
	switch v.State {
	case sluice.StateFrozen, sluice.StatePaused:
		urgency := "look"
		if v.State == sluice.StateFrozen {
			urgency = "act"
		}
		o.need(needAnswer{Kind: string(v.State), Urgency: urgency, CampaignID: v.ID, Detail: v.ControlNote,
			SinceMS: int64(v.UpdatedAt)})
	case sluice.StateScheduled:
		if o.Next == nil || v.StartsAt.Time().Before(o.Next.StartsAt) {
			s := saleOf(v)
			o.Next = &s
		}
	}
	if v.State == sluice.StateLive || v.State == sluice.StateSoldOut {
		if len(o.Live) < overviewSales {
			o.Live = append(o.Live, saleOf(v))
		}
	}
	if v.LoadTest {
		return
	}
	if until := v.Coupon.ValidUntil; v.State != sluice.StateDraft && until > now && until < now.Add(endingSoon) {
		o.need(needAnswer{Kind: "coupons_ending", Urgency: "look", CampaignID: v.ID, SinceMS: int64(until),
			Detail: "its coupons end within seven days"})
	}
	if v.State != sluice.StateLive {
		return
	}
	if total := v.Stock.Total; total > 0 && float64(v.Available) < lowStock*float64(total) {
		o.need(needAnswer{Kind: "low_stock", Urgency: "look", CampaignID: v.ID, Count: v.Available,
			Detail: "less than a tenth of the units is left"})
	}
	if v.EndsAt < now.Add(endingSoon) {
		o.need(needAnswer{Kind: "ending", Urgency: "look", CampaignID: v.ID, SinceMS: int64(v.EndsAt),
			Detail: "ends within seven days"})
	}
}

func (o *overviewAnswer) parts(h *sluice.Health) {
	for _, name := range []string{"ledger", "redis", "broker", "payments"} {
		if state, ok := h.Parts[name]; ok && state != sluice.PartUp {
			o.need(needAnswer{Kind: "part_down", Urgency: "act", Detail: name + ": " + string(state)})
		}
	}
	if h.Dead > 0 {
		o.need(needAnswer{Kind: "node_dead", Urgency: "act", Count: int64(h.Dead), Detail: "nodes are silent"})
	}
	if h.InForce < h.Alive {
		o.need(needAnswer{Kind: "settings_old", Urgency: "look", Count: int64(h.Alive - h.InForce),
			Detail: "nodes work with older settings"})
	}
	if h.Skew >= maxSkew {
		o.need(needAnswer{Kind: "clock_skew", Urgency: "act", Detail: "a node's clock is off by " + h.Skew.String()})
	}
}

// owing adds what orders and the reconciler have: units that fall due, and drift that nobody has mended.
func (a *Admin) owing(ctx context.Context, o *overviewAnswer, all []sluice.CampaignView) error {
	asked := 0
	for i := range all {
		v := &all[i]
		if v.Kind != sluice.KindGoods || v.Stock.Held == 0 || v.LoadTest || asked == overviewSales {
			continue
		}
		asked++
		u, err := a.deps.System.Unpaid(ctx, v.ID)
		if err != nil {
			return err
		}
		if u.Minute > 0 {
			o.need(needAnswer{Kind: "unpaid_expiring", Urgency: "look", CampaignID: v.ID, Count: u.Minute,
				SinceMS: int64(u.NextAt), Detail: "units of unpaid orders come back within a minute"})
		}
	}
	if a.deps.Reconcile == nil {
		return nil
	}
	runs, err := a.deps.Reconcile.Runs(ctx, "", "", overviewRuns)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range runs.Items {
		r := &runs.Items[i]
		if r.Mode == sluice.RunOne && r.OK {
			continue // one difference was repaired: of the others it says nothing
		}
		if !seen[r.Campaign] && (!r.OK || r.Error != "") {
			o.need(needAnswer{Kind: "drift", Urgency: "act", CampaignID: r.Campaign, Count: r.Drift, SinceMS: int64(r.StartedAt),
				Detail: "the last comparison of gates and ledger did not come out"})
		}
		seen[r.Campaign] = true
	}
	return nil
}

// name adds the titles of campaigns.
func (o *overviewAnswer) name(all []sluice.CampaignView) {
	titles := make(map[string]string, len(all))
	for i := range all {
		titles[all[i].ID] = all[i].Title
	}
	for i := range o.Needs {
		o.Needs[i].Title = titles[o.Needs[i].CampaignID]
	}
}

// maxSkew is what a node's clock may be off by on the night of a sale.
const maxSkew = 50 * time.Millisecond

// switched adds the switches that stop or narrow something.
func (o *overviewAnswer) switched(all []sluice.SwitchSetting) {
	for _, s := range all {
		if !s.Set || s.Value == 0 {
			continue
		}
		urgency := "look"
		switch s.Name {
		case sluice.SwitchClosed, sluice.SwitchPaused, sluice.SwitchReadOnly, sluice.SwitchPaymentsDown,
			sluice.SwitchDegraded:
			urgency = "act"
		}
		o.need(needAnswer{Kind: "switch", Urgency: urgency, CampaignID: s.Campaign, Detail: s.Name + ": " + s.Reason,
			SinceMS: int64(s.At), By: s.Author})
	}
}
