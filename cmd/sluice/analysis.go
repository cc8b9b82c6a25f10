package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/analysis"
)

// analysisEvery is how often a server is asked whether its analysis is made.
const analysisEvery = 500 * time.Millisecond

// shownSeconds is how many rows of the funnel by time the text shows; --json has all.
const shownSeconds = 20

// reporting is what the desk of analyses asks of the ledger and of the reports.
type reporting struct {
	campaigns interface {
		Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	}
	*admin.Reports
}

func (r reporting) Campaign(ctx context.Context, id string) (sluice.Campaign, error) {
	return r.campaigns.Campaign(ctx, id)
}

// analyse reads the logs that were given, or has the server read its own.
func (c *reportCmd) analyse(a *app) error {
	if c.Top < 1 || c.Top > analysis.MaxTop {
		return usage("--top must be 1 to %d", analysis.MaxTop)
	}
	var r sluice.Analysis
	var err error
	if len(c.Decisions) > 0 {
		r, err = c.analyseFiles(a)
	} else {
		r, err = c.askAnalysis(a)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	a.showAnalysis(&r, c.Top)
	return nil
}

func (c *reportCmd) analyseFiles(a *app) (sluice.Analysis, error) {
	var paths []string
	for _, p := range c.Decisions {
		found := []string{p}
		if p != "-" {
			logs, err := analysis.Logs(p)
			if err != nil {
				return sluice.Analysis{}, err
			}
			if len(logs) > 0 {
				found = logs
			}
		}
		for _, f := range found {
			if !slices.Contains(paths, f) {
				paths = append(paths, f)
			}
		}
	}
	shown := newProgress(a.err, false)
	r, err := analysis.Files(a.ctx, analysis.Config{Campaign: c.ID, Top: c.Top}, paths, a.in, func(done, of int64) {
		shown.at("bytes read:", done, of)
	})
	shown.end()
	if errors.Is(err, fs.ErrNotExist) {
		return r, &failure{code: exitUsage, err: err, next: "the log is decisions.log in the server's data folder"}
	}
	if err == nil && r.Lines == 0 {
		err = fmt.Errorf("there is no decision on %s among %s lines", c.ID, thousands(r.Others+r.Unread))
	}
	return r, err
}

// askAnalysis asks the server until its analysis is made.
func (c *reportCmd) askAnalysis(a *app) (sluice.Analysis, error) {
	o, err := c.operator(a)
	if err != nil {
		return sluice.Analysis{}, err
	}
	shown := newProgress(a.err, false)
	defer shown.end()
	for path := campaignPath(c.ID, "/analysis?anew=true"); ; path = campaignPath(c.ID, "/analysis") {
		var raw []byte
		if err := o.call(a.ctx, "GET", path, nil, &raw); err != nil {
			return sluice.Analysis{}, err
		}
		var j sluice.AnalysisJob
		if err := json.Unmarshal(raw, &j); err != nil {
			return sluice.Analysis{}, fmt.Errorf("the answer of %s is not what this version expects: %w", path, err)
		}
		switch {
		case j.State == "failed":
			return sluice.Analysis{}, errors.New(j.Error)
		case j.Analysis != nil:
			return *j.Analysis, nil
		}
		shown.at("bytes read by the server:", j.Read, j.Of)
		wait := time.NewTimer(analysisEvery)
		select {
		case <-a.ctx.Done():
			wait.Stop()
			return sluice.Analysis{}, a.ctx.Err()
		case <-wait.C:
		}
	}
}

func (a *app) showAnalysis(r *sluice.Analysis, top int) {
	a.say("%s", a.paint.bold("Analysis of "+r.Campaign))
	from := map[sluice.AnalysisSource]string{
		sluice.SourceDecisions: "the decision log", sluice.SourceDatabase: "the ledger",
	}[r.Source]
	a.say("  %s, from %s; %s on other campaigns, %s unreadable", some(r.Lines, "decision"), from,
		some(r.Others, "line"), thousands(r.Unread))
	if len(r.Missing) > 0 {
		a.say("  not known: %s (the switch decision_log has them written down)", strings.Join(r.Missing, "; "))
	}
	for _, d := range r.Distinct {
		a.say("  %s different by %s, ±%.1f%%", thousands(d.Count), d.Kind, 100*d.Error)
	}
	a.showFunnel(r)
	a.say("")
	a.say("%s", a.paint.bold("Units"))
	u := r.Units
	share := func(n int64) string {
		return fmt.Sprintf("%s (%.1f%%)", thousands(n), 100*float64(n)/float64(max(1, u.Total)))
	}
	if r.Source == sluice.SourceDatabase {
		a.say("  %s", thousands(u.Total))
	} else {
		a.say("  %s: %s to normal buyers, %s to challenged ones, %s to slowed ones", thousands(u.Total), share(u.Normal),
			share(u.Challenged), share(u.Slowed))
	}
	for _, h := range r.Holders {
		a.showTop("  most units by "+h.Kind, h, min(top, 3))
	}
	a.showRules(r.Rules)
	for _, ref := range r.Refusals {
		a.say("")
		a.say("%s", a.paint.bold("Most "+ref.Reason))
		for _, t := range ref.Tops {
			a.showTop("  by "+t.Kind, t, top)
		}
	}
	a.showClusters(r.Clusters, top)
}

func (a *app) showFunnel(r *sluice.Analysis) {
	a.say("")
	a.say("%s", a.paint.bold("Funnel"))
	t := table{heads: []string{"  REASON", "CLAIMS>", "SHARE>", "REPLAYED>"}}
	for _, x := range r.Reasons {
		t.add("  "+x.Reason, thousands(x.Count), fmt.Sprintf("%.1f%%", 100*x.Share), thousands(x.Replayed))
	}
	t.print(a)
	a.say("")
	if r.StartsMS > 0 {
		a.say("  by time, seconds after the start")
	} else {
		a.say("  by time")
	}
	for i, s := range r.Seconds {
		if i == shownSeconds {
			a.say("  … and %d more rows (--json has all)", len(r.Seconds)-i)
			break
		}
		when := time.UnixMilli(s.StartMS).UTC().Format(time.TimeOnly)
		if r.StartsMS > 0 {
			when = fmt.Sprintf("%+.0f", float64(s.StartMS-r.StartsMS)/1000)
		}
		a.say("  %8s  %s", when, counts(s.Counts))
	}
}

func (a *app) showTop(head string, t sluice.TopList, top int) {
	exact := "exact"
	if t.Error > 0 {
		exact = "at most " + thousands(t.Error) + " too high"
	}
	var parts []string
	for _, x := range t.Items[:min(top, len(t.Items))] {
		parts = append(parts, x.Key+" "+thousands(x.Count))
	}
	a.say("%s (%s): %s", head, exact, strings.Join(parts, ", "))
}

func (a *app) showRules(rules []sluice.RuleTotal) {
	if len(rules) == 0 {
		return
	}
	a.say("")
	t := table{heads: []string{"RULE", "DECISIONS>", "BLOCKED>", "CHALLENGED>", "SLOWED>", "UNITS>"}}
	for _, x := range rules {
		t.add(x.Rule, thousands(x.Decisions), thousands(x.Blocked), thousands(x.Challenged), thousands(x.Slowed),
			thousands(x.Units))
	}
	t.print(a)
}

func (a *app) showClusters(all []sluice.Cluster, top int) {
	if len(all) == 0 {
		return
	}
	a.say("")
	a.say("%s", a.paint.bold("Accounts that look like one hand"))
	t := table{heads: []string{"  BY", "WHICH", "ACCOUNTS>", "CLAIMS>", "UNITS>", "WHY"}}
	for _, x := range all[:min(len(all), 2*top)] {
		t.add("  "+cmp.Or(x.Kind, "?"), x.Key, thousands(x.Accounts), thousands(x.Claims), thousands(x.Units), x.Why)
	}
	t.print(a)
}
