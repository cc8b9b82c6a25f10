package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// reconcileCmd is the verbs on comparisons of gates and ledger.
type reconcileCmd struct {
	List  reconcileList  `cmd:"" help:"List the comparisons that were made, the newest first."`
	Show  reconcileShow  `cmd:"" help:"Show one with every difference it found."`
	Run   reconcileRun   `cmd:"" help:"Compare campaigns now, and repair what differs; exit code 4 if one is off."`
	Rearm reconcileRearm `cmd:"" help:"Build a campaign's gates anew from the ledger, in a new epoch."`
}

type difference struct {
	Kind    string `json:"kind"`
	ClaimID string `json:"claim_id,omitempty"`
	Units   int64  `json:"units"`
	Detail  string `json:"detail"`
	Repair  string `json:"repair,omitempty"`
}

type comparison struct {
	ID          int64        `json:"id,omitempty"`
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
	a.say("%s  %s: %s available + %s in transfer + %s queued + %s held + %s sold = %s of %s; %s claims compared in %d ms",
		a.paint.bold(r.CampaignID), r.verdict(a), thousands(r.Available), thousands(r.InTransfer), thousands(r.Queued),
		thousands(r.Held), thousands(r.Sold), thousands(r.Available+r.InTransfer+r.Queued+r.Held+r.Sold),
		thousands(r.Total), thousands(r.Claims), r.TookMS)
	if r.Error != "" {
		a.say("  the comparison failed: %s", r.Error)
	}
	for _, d := range r.Found {
		done := d.Repair
		if done == "" {
			done = "NOT EXPLAINED"
		}
		a.say("  %s  %s  %d units: %s; %s", d.Kind, d.ClaimID, d.Units, d.Detail, done)
	}
}

type reconcileRun struct {
	ID     []string `arg:"" help:"The campaigns."`
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
