package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-sale/sluice"
)

// scrape is the collector of everything that is read when Prometheus asks.
type scrape struct {
	set *Set
	cfg Config
}

// Describe sends nothing: the series depend on the campaigns there are (an "unchecked" collector). The reference
// page and its test hold the names.
func (*scrape) Describe(chan<- *prometheus.Desc) {}

// sink sends constant metrics.
type sink chan<- prometheus.Metric

func (to sink) send(d Def, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if d.Type == Counter {
		kind = prometheus.CounterValue
	}
	to <- prometheus.MustNewConstMetric(d.desc(), kind, v, labels...)
}

// Collect reads the sources.
func (c *scrape) Collect(ch chan<- prometheus.Metric) {
	to := sink(ch)
	to.send(buildInfo, 1, buildLabels(c.cfg)...)
	if !c.cfg.Started.IsZero() {
		to.send(uptime, time.Since(c.cfg.Started).Seconds())
	}
	for status := range c.set.answers {
		if n := c.set.answers[status].Load(); n > 0 {
			to.send(answers, float64(n), statusLabel(status))
		}
	}
	src := c.set.sources.Load()
	if src == nil {
		return
	}
	src.campaigns(to)
	src.lengths(to)
	src.risk(to)
	src.several(to)
}

func (src *Sources) lengths(to sink) {
	if src.Queues != nil {
		for _, q := range src.Queues() {
			to.send(queueLength, float64(q.N), q.Name)
		}
	}
	if src.InFlight != nil {
		for _, q := range src.InFlight() {
			to.send(inFlight, float64(q.N), q.Name)
		}
	}
	if src.Waiting != nil {
		to.send(claimsWaiting, float64(src.Waiting()))
	}
	if src.LogDrops != nil {
		to.send(logDrops, float64(src.LogDrops()))
	}
	if src.Ready != nil {
		to.send(ready, truth(src.Ready()))
	}
	if src.Switches != nil {
		for _, s := range src.Switches() {
			if s.Campaign == "" { // those of campaigns are told by the admin API: their number has no bound
				to.send(switches, s.Value, s.Name)
			}
		}
	}
}

// campaigns sends the series of each campaign, then those of "other" and of none, and all decisions by outcome.
func (src *Sources) campaigns(to sink) {
	var all, stray [sluice.NumReasons]int64
	if src.Campaigns != nil {
		list := src.Campaigns()
		other := Campaign{ID: "other"}
		for i := range list {
			c := &list[i]
			for r, n := range c.Decisions {
				stray[r] -= n
			}
			if i < MaxCampaigns {
				c.send(to)
			} else {
				other.add(c)
			}
		}
		if len(list) > MaxCampaigns {
			decisions(to, other.ID, other.Decisions)
			other.units(to)
		}
	}
	if src.All == nil {
		return
	}
	all = src.All() // read after the campaigns: it has at least what they have
	for r, n := range all {
		stray[r] = max(0, stray[r]+n)
	}
	decisions(to, "", stray)
	var admitted, refused, unknown int64
	for _, r := range sluice.Reasons() {
		switch {
		case r.Admitted():
			admitted += all[r]
		case r == sluice.ReasonUnavailable:
			unknown += all[r]
		default:
			refused += all[r]
		}
	}
	to.send(outcomes, float64(admitted), "admitted")
	to.send(outcomes, float64(all[sluice.ReasonNone]), "replayed")
	to.send(outcomes, float64(refused), "refused")
	to.send(outcomes, float64(unknown), "unknown")
}

func (c *Campaign) send(to sink) {
	decisions(to, c.ID, c.Decisions)
	c.units(to)
	for _, s := range sluice.CampaignStates() {
		to.send(campaignState, truth(s == c.State), c.ID, string(s))
	}
}

func (c *Campaign) units(to sink) {
	for _, u := range []struct {
		name string
		n    int64
	}{{"total", c.Total}, {"available", c.Available}, {"queued", c.Queued}, {"held", c.Held}, {"sold", c.Sold}} {
		to.send(units, float64(u.n), c.ID, u.name)
	}
}

func (c *Campaign) add(o *Campaign) {
	c.Total += o.Total
	c.Available += o.Available
	c.Queued += o.Queued
	c.Held += o.Held
	c.Sold += o.Sold
	for r, n := range o.Decisions {
		c.Decisions[r] += n
	}
}

func decisions(to sink, campaign string, counts [sluice.NumReasons]int64) {
	for r, n := range counts {
		switch reason := sluice.Reason(r); {
		case n <= 0:
		case reason == sluice.ReasonNone:
			to.send(claims, float64(n), campaign, "REPLAYED")
		default:
			to.send(claims, float64(n), campaign, reason.String())
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
