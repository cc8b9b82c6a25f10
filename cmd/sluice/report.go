package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// reportCmd tells what happened in a campaign.
type reportCmd struct {
	ID        string   `arg:"" help:"The campaign's id."`
	Analysis  bool     `help:"Analyse its decisions: who was refused, whom the units went to, who looks like one hand."`
	Decisions []string `sep:"none" placeholder:"FILE" predictor:"file" help:"Analyse these logs; - is stdin."`
	Top       int      `default:"10" placeholder:"N" help:"Length of the lists of an analysis, 1 to 100. Default: 10."`
	adminFlags
}

// report is what the verb shows of a report.
type report struct {
	AsOf      time.Time        `json:"as_of"`
	Campaign  campaign         `json:"campaign"`
	Decisions map[string]int64 `json:"decisions"`
	Replayed  int64            `json:"replayed"`
	P50US     int64            `json:"p50_us"`
	P99US     int64            `json:"p99_us"`
	SellOutMS int64            `json:"sell_out_ms"`
	Rows      struct {
		Claims      int64            `json:"claims"`
		Grants      int64            `json:"grants"`
		Units       int64            `json:"units"`
		FirstUnitAt *time.Time       `json:"first_unit_at"`
		LastUnitAt  *time.Time       `json:"last_unit_at"`
		Orders      map[string]int64 `json:"orders"`
		Closes      map[string]int64 `json:"closes"`
		Coupons     map[string]int64 `json:"coupons"`
	} `json:"rows"`
	Holding struct {
		ExpiredUnits int64   `json:"expired_units"`
		ExpiredShare float64 `json:"expired_share"`
		TopUnits     int64   `json:"top_units"`
		Top          []struct {
			User    string `json:"user_id"`
			Orders  int64  `json:"orders"`
			Unpaid  int64  `json:"unpaid_units"`
			Expired int64  `json:"expired_units"`
		} `json:"top"`
	} `json:"holding"`
	Money struct {
		Currency  string `json:"currency"`
		Paid      int64  `json:"paid"`
		PaidMinor int64  `json:"paid_minor"`
		RefundDue int64  `json:"refund_due"`
		Refunded  int64  `json:"refunded"`
	} `json:"money"`
	Verification verification `json:"verification"`
}

// Run prints it; figures that do not hold are a failure.
func (c *reportCmd) Run(a *app) error {
	if c.Analysis || len(c.Decisions) > 0 {
		return c.analyse(a)
	}
	ok, v := true, verification{}
	err := ask(a, c.adminFlags, "GET", campaignPath(c.ID, "/report"), nil, func(r report) {
		a.showReport(r)
		ok, v = r.Verification.OK, r.Verification
	})
	if err != nil || ok {
		return err
	}
	return v.err(c.ID)
}

func (a *app) showReport(r report) {
	a.showCampaign(r.Campaign)
	a.say("")
	a.say("%s", a.paint.bold("Funnel"))
	var all int64
	for _, n := range r.Decisions {
		all += n
	}
	t := table{heads: []string{"  REASON", "CLAIMS>", "SHARE>", ""}}
	for _, reason := range byCount(r.Decisions) {
		n := r.Decisions[reason]
		share := float64(n) / float64(max(1, all))
		t.add("  "+reason, thousands(n), fmt.Sprintf("%.1f%%", 100*share), strings.Repeat("█", int(share*40+0.5)))
	}
	t.print(a)
	a.say("  all %s, and %s given again; p50 %s, p99 %s", thousands(all), some(r.Replayed, "recorded answer"),
		time.Duration(r.P50US)*time.Microsecond, time.Duration(r.P99US)*time.Microsecond)
	a.say("")
	a.say("%s", a.paint.bold("Rows"))
	a.say("  claims     %s (%s by hand), %s",
		thousands(r.Rows.Claims), thousands(r.Rows.Grants), some(r.Rows.Units, "unit"))
	if r.Rows.FirstUnitAt != nil {
		a.say("  units      first %s, last %s", when(r.Rows.FirstUnitAt), when(r.Rows.LastUnitAt))
	}
	if r.SellOutMS > 0 {
		a.say("  sold out   %s after the start", time.Duration(r.SellOutMS)*time.Millisecond)
	}
	for _, row := range []struct {
		name   string
		counts map[string]int64
	}{{"orders", r.Rows.Orders}, {"closed", r.Rows.Closes}, {"coupons", r.Rows.Coupons}} {
		if s := counts(row.counts); s != "" {
			a.say("  %-9s  %s", row.name, s)
		}
	}
	if r.Campaign.Kind == "goods" && r.Money.Currency != "" {
		a.say("  money      %s paid (%s %s in minor units), %s due back, %s refunded", thousands(r.Money.Paid),
			thousands(r.Money.PaidMinor), r.Money.Currency, thousands(r.Money.RefundDue), thousands(r.Money.Refunded))
	}
	a.showHolding(&r)
	a.say("")
	a.showVerification(r.Campaign.ID, r.Verification)
}

// showHolding names who held most without paying, where units expired or are unpaid.
func (a *app) showHolding(r *report) {
	h := &r.Holding
	if len(h.Top) == 0 {
		return
	}
	a.say("  holding    %s expired unpaid (%.1f %%); those who held most (%d) had %s without paying",
		some(h.ExpiredUnits, "unit"), 100*h.ExpiredShare, len(h.Top), some(h.TopUnits, "unit"))
	for _, x := range h.Top {
		a.say("             %s: %s, %s unpaid, %s expired", x.User, some(x.Orders, "order"), some(x.Unpaid, "unit"),
			thousands(x.Expired))
	}
}

// byCount orders the names by their counts, the largest first.
func byCount(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		if m[x] != m[y] {
			return int(m[y] - m[x])
		}
		return strings.Compare(x, y)
	})
}

func counts(m map[string]int64) string {
	var parts []string
	for _, k := range byCount(m) {
		parts = append(parts, k+" "+thousands(m[k]))
	}
	return strings.Join(parts, ", ")
}
