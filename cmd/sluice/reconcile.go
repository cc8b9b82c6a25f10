package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// reconcileCmd is the verbs on comparisons of gates and ledger.
type reconcileCmd struct {
	List   reconcileList   `cmd:"" help:"List the comparisons that were made, the newest first."`
	Show   reconcileShow   `cmd:"" help:"Show one with every difference it found."`
	Run    reconcileRun    `cmd:"" help:"Compare campaigns now, and repair what differs; exit code 4 if one is off."`
	Repair reconcileRepair `cmd:"" help:"Repair one difference that a comparison found, and no other."`
	Rearm  reconcileRearm  `cmd:"" help:"Build a campaign's gates anew from the ledger, in a new epoch."`
}

type difference struct {
	Kind    string `json:"kind"`
	ClaimID string `json:"claim_id,omitempty"`
	Units   int64  `json:"units"`
	Detail  string `json:"detail"`
	Repair  string `json:"repair,omitempty"`
	Before  *sides `json:"before,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	After   *sides `json:"after,omitempty"`
	Alone   bool   `json:"alone"`
	Seen    string `json:"seen,omitempty"`
}

type sides struct {
	Gate   side `json:"gate"`
	Ledger side `json:"ledger"`
}

type side struct {
	State      string `json:"state"`
	Units      int64  `json:"units"`
	LimitUnits int64  `json:"limit_units"`
}

// String is both sides in a line.
func (s *sides) String() string {
	return fmt.Sprintf("gate %s %d, ledger %s %d", s.Gate.State, s.Gate.Units, s.Ledger.State, s.Ledger.Units)
}

type comparison struct {
	ID          int64        `json:"id"`
	Mode        string       `json:"mode"`
	CampaignID  string       `json:"campaign_id"`
	Epoch       int64        `json:"epoch"`
	StartedAt   *time.Time   `json:"started_at"`
	TookMS      int64        `json:"took_ms"`
	OK          bool         `json:"ok"`
	Total       int64        `json:"total"`
	Available   int64        `json:"available"`
	InTransfer  int64        `json:"in_transfer"`
	Queued      int64        `json:"queued"`
	Held        int64        `json:"held"`
	Sold        int64        `json:"sold"`
	Claims      int64        `json:"claims"`
	Drift       int64        `json:"drift"`
	Differences int          `json:"differences"`
	Found       []difference `json:"found"`
	Error       string       `json:"error,omitempty"`
}

// verdict is a comparison in a word.
func (c *comparison) verdict(a *app) string {
	switch {
	case c.Error != "":
		return a.paint.bad("failed")
	case c.Mode == "one" && c.OK:
		return a.paint.bold("one repaired")
	case !c.OK:
		return a.paint.bad("DIFFERS")
	case c.Differences > 0:
		return a.paint.bold("repaired")
	}
	return a.paint.good("ok")
}

type reconcileList struct {
	Campaign string `placeholder:"ID" help:"Only of this campaign."`
	adminFlags
}

// Run lists comparisons.
func (c *reconcileList) Run(a *app) error {
	q := url.Values{}
	if c.Campaign != "" {
		q.Set("campaign_id", c.Campaign)
	}
	return list(a, c.adminFlags, "/v1/admin/reconcile", q, func(all []comparison) {
		if len(all) == 0 {
			a.say("Nothing has been compared yet.")
			return
		}
		t := table{heads: []string{"RUN>", "CAMPAIGN", "STARTED", "TOOK>", "CLAIMS>", "DIFFERENCES>", "UNITS>", "VERDICT"}}
		for _, r := range all {
			t.add(strconv.FormatInt(r.ID, 10), r.CampaignID, when(r.StartedAt), fmt.Sprintf("%d ms", r.TookMS),
				thousands(r.Claims), strconv.Itoa(r.Differences), thousands(r.Drift), r.verdict(a))
		}
		t.print(a)
	})
}

type reconcileShow struct {
	ID int64 `arg:"" help:"The run, as list shows it."`
	adminFlags
}

// Run shows one comparison.
func (c *reconcileShow) Run(a *app) error {
	return ask(a, c.adminFlags, "GET", "/v1/admin/reconcile/"+strconv.FormatInt(c.ID, 10), nil, a.showComparison)
}

func (a *app) showComparison(r comparison) {
	if r.Mode == "one" { // it has no sums
		a.say("%s  %s in %d ms", a.paint.bold(r.CampaignID), r.verdict(a), r.TookMS)
		a.showDifferences(r)
		return
	}
	a.say("%s  %s: %s available + %s in transfer + %s queued + %s held + %s sold = %s of %s; %s claims compared in %d ms",
		a.paint.bold(r.CampaignID), r.verdict(a), thousands(r.Available), thousands(r.InTransfer), thousands(r.Queued),
		thousands(r.Held), thousands(r.Sold), thousands(r.Available+r.InTransfer+r.Queued+r.Held+r.Sold),
		thousands(r.Total), thousands(r.Claims), r.TookMS)
	a.showDifferences(r)
}

func (a *app) showDifferences(r comparison) {
	if r.Error != "" {
		a.say("  the comparison failed: %s", r.Error)
	}
	for _, d := range r.Found {
		done := d.Repair
		switch {
		case done == "" && d.Remedy != "" && r.Mode == "dry_run":
			done = "not repaired: this was a dry run"
		case done == "":
			done = "NOT EXPLAINED"
		}
		a.say("  %s  %s  %d units: %s; %s", d.Kind, d.ClaimID, d.Units, d.Detail, done)
		if d.Before != nil && d.After != nil && d.Repair == "" {
			a.say("    now %s; repaired: %s", d.Before, d.After)
		}
		if d.Alone && d.Repair == "" {
			a.say("    sluice reconcile repair %d %s", r.ID, d.ClaimID)
		}
	}
}

type reconcileRun struct {
	ID     []string `arg:"" help:"The campaigns."`
	DryRun bool     `help:"Compare and change nothing: no repair, no freeze."`
	Reason string   `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run compares campaigns one after the other.
func (c *reconcileRun) Run(a *app) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	var bad error
	results := []comparison{}
	for _, id := range c.ID {
		body := map[string]any{"campaign_id": id}
		if c.DryRun {
			body["dry_run"] = true
		}
		if c.Reason != "" {
			body["reason"] = c.Reason
		}
		var r comparison
		if err := o.call(a.ctx, "POST", "/v1/admin/reconcile", body, &r); err != nil {
			return err
		}
		if results = append(results, r); !a.json {
			a.showComparison(r)
		}
		if bad == nil && !r.OK {
			bad = &failure{code: exitVerify, err: fmt.Errorf("gate and ledger of %s differ", id), next: "sluice verify " + id}
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"items": results, "ok": bad == nil}); err != nil {
			return err
		}
	}
	return bad
}

type reconcileRepair struct {
	RunID   int64  `arg:"" name:"run" help:"The comparison that found it, as list shows it."`
	Claim   string `arg:"" help:"The claim that it is about."`
	Confirm string `placeholder:"ID" help:"The campaign's id once more: it cannot be undone."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run repairs one difference, if it is still what that comparison saw.
func (c *reconcileRepair) Run(a *app) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	at := "/v1/admin/reconcile/" + strconv.FormatInt(c.RunID, 10)
	var r comparison
	if err := o.call(a.ctx, "GET", at, nil, &r); err != nil {
		return err
	}
	if err := a.confirm("A repair at "+r.CampaignID, r.CampaignID, c.Confirm); err != nil {
		return err
	}
	body := map[string]any{"claim_id": c.Claim}
	for _, d := range r.Found {
		if d.ClaimID == c.Claim {
			body["seen"] = d.Seen
		}
	}
	if body["seen"] == nil {
		return &failure{code: exitUsage, err: fmt.Errorf("run %d found nothing about claim %s", c.RunID, c.Claim)}
	}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	type repaired struct {
		Run           comparison `json:"run"`
		Before, After sides
	}
	return ask(a, c.adminFlags, "POST", at+"/repair", body, func(r repaired) {
		a.say("before  %s", &r.Before)
		a.say("after   %s", &r.After)
		a.showComparison(r.Run)
	})
}

type reconcileRearm struct {
	ID     string `arg:"" help:"The campaign."`
	Shards int    `placeholder:"N" help:"Give it so many shards."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run builds gates anew.
func (c *reconcileRearm) Run(a *app) error {
	body := map[string]any{}
	if c.Shards != 0 {
		body["shards"] = c.Shards
	}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	type armed struct {
		CampaignID string `json:"campaign_id"`
		Epoch      int64  `json:"epoch"`
	}
	return ask(a, c.adminFlags, "POST", campaignPath(c.ID, "/rearm"), body, func(r armed) {
		a.say("%s is armed in epoch %d", r.CampaignID, r.Epoch)
	})
}
