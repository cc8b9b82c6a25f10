package main

import (
	"net/url"
	"strconv"
	"time"
)

const rulesPath = "/v1/admin/rules"

// rulesCmd is the verbs on risk rules.
type rulesCmd struct {
	List   rulesList   `cmd:"" help:"List the rules, those of the configuration file too."`
	Set    rulesSet    `cmd:"" help:"Write a rule, new or changed. A new one begins as a dry run."`
	Delete rulesDelete `cmd:"" help:"Delete a rule, and end what it did."`
	Fired  rulesFired  `cmd:"" help:"List what rules did, or in a dry run would have done, newest first."`
	Lift   rulesLift   `cmd:"" help:"Undo what a rule did about one buyer."`
}

type riskRule struct {
	ID        string     `json:"id"`
	Rule      string     `json:"rule"`
	Mode      string     `json:"mode"`
	Campaign  string     `json:"campaign_id"`
	Note      string     `json:"note"`
	Author    string     `json:"author"`
	Revision  int64      `json:"revision"`
	Source    string     `json:"source"`
	UpdatedAt *time.Time `json:"updated_at"`
}

func (a *app) ruleTable(all []riskRule) {
	if len(all) == 0 {
		a.say("There are no risk rules.")
		return
	}
	t := table{heads: []string{"NAME", "MODE", "RULE", "CAMPAIGN", "REV>", "FROM", "NOTE"}}
	for _, r := range all {
		t.add(r.ID, r.Mode, r.Rule, r.Campaign, strconv.FormatInt(r.Revision, 10), r.Source, r.Note)
	}
	t.print(a)
}

type rulesList struct{ adminFlags }

// Run lists the rules.
func (c *rulesList) Run(a *app) error { return list(a, c.adminFlags, rulesPath, nil, a.ruleTable) }

type rulesSet struct {
	ID       string `arg:"" help:"The rule's name."`
	Rule     string `arg:"" help:"Such as 'accounts per device > 5 in 10m -> block 15m'."`
	Mode     string `enum:"off,dry_run,on" default:"dry_run" help:"off, dry_run (the default) or on."`
	Campaign string `placeholder:"ID" help:"Only claims on this campaign; all where not given."`
	Note     string `placeholder:"TEXT" help:"Why, for the audit log."`
	Revision int64  `placeholder:"N" help:"Refuse unless the rule is at this revision."`
	adminFlags
}

// Run writes a rule.
func (c *rulesSet) Run(a *app) error {
	body := map[string]any{
		"rule": c.Rule, "mode": c.Mode, "campaign_id": c.Campaign, "note": c.Note, "revision": c.Revision,
	}
	return ask(a, c.adminFlags, "PUT", rulesPath+"/"+esc(c.ID), body, func(r riskRule) { a.ruleTable([]riskRule{r}) })
}

type rulesDelete struct {
	ID     string `arg:"" help:"The rule's name."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run deletes a rule.
func (c *rulesDelete) Run(a *app) error {
	path := rulesPath + "/" + esc(c.ID) + query("reason", c.Reason)
	return ask(a, c.adminFlags, "DELETE", path, nil, func(r riskRule) { a.say("the rule %s is gone", r.ID) })
}

type riskFired struct {
	ID       string     `json:"id"`
	Rule     string     `json:"rule"`
	Mode     string     `json:"mode"`
	Action   string     `json:"action"`
	Scope    string     `json:"scope"`
	Value    string     `json:"value"`
	Campaign string     `json:"campaign_id"`
	Saw      string     `json:"saw"`
	At       *time.Time `json:"at"`
	Until    *time.Time `json:"until"`
	Count    int64      `json:"count"`
	LiftedAt *time.Time `json:"lifted_at"`
	LiftedBy string     `json:"lifted_by"`
}

type rulesFired struct {
	Rule  string `placeholder:"NAME" help:"Only of this rule."`
	Scope string `placeholder:"SCOPE" help:"Only account, device, address or subnet."`
	Value string `placeholder:"VALUE" help:"Only of exactly this one."`
	adminFlags
}

// Run lists what rules did.
func (c *rulesFired) Run(a *app) error {
	q := url.Values{}
	for name, value := range map[string]string{"rule": c.Rule, "scope": c.Scope, "value": c.Value} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return list(a, c.adminFlags, rulesPath+"/fired", q, a.firedTable)
}

func (a *app) firedTable(all []riskFired) {
	if len(all) == 0 {
		a.say("No rule has done anything.")
		return
	}
	t := table{heads: []string{"REFERENCE", "RULE", "MODE", "ACTION", "SCOPE", "VALUE", "AT", "UNTIL", "CLAIMS>", "SAW"}}
	for _, f := range all {
		until := when(f.Until)
		if f.LiftedAt != nil {
			until = "lifted by " + f.LiftedBy
		}
		t.add(f.ID, f.Rule, f.Mode, f.Action, f.Scope, f.Value, when(f.At), until, strconv.FormatInt(f.Count, 10), f.Saw)
	}
	t.print(a)
}

type rulesLift struct {
	ID     string `arg:"" help:"The reference, as fired shows it and the buyer was told."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run undoes it.
func (c *rulesLift) Run(a *app) error {
	path := rulesPath + "/fired/" + esc(c.ID) + "/lift" + query("reason", c.Reason)
	return ask(a, c.adminFlags, "POST", path, nil, func(f riskFired) {
		a.say("%s %s is left alone by the rule %s until %s", f.Scope, f.Value, f.Rule, when(f.Until))
	})
}
