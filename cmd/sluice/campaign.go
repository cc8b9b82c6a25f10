package main

import (
	"crypto/rand"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// campaignCmd is the verbs on campaigns.
type campaignCmd struct {
	List    campaignList    `cmd:"" help:"List the campaigns."`
	Create  campaignCreate  `cmd:"" help:"Create a campaign from a JSON file."`
	Get     campaignGet     `cmd:"" help:"Show one campaign."`
	Edit    campaignEdit    `cmd:"" help:"Change what may still change, from a JSON file with the new values."`
	Publish campaignPublish `cmd:"" help:"Offer a draft."`
	Preheat campaignPreheat `cmd:"" help:"Arm a campaign ahead of its start and verify it."`
	Pause   campaignPause   `cmd:"" help:"Refuse claims until it is resumed."`
	Resume  campaignResume  `cmd:"" help:"Take claims again, after a pause or a freeze."`
	End     campaignEnd     `cmd:"" help:"End a campaign for good."`
	Clone   campaignClone   `cmd:"" help:"Make a draft like a campaign."`
	Adjust  campaignAdjust  `cmd:"" help:"Add stock, or take what is still available."`
	Grant   grantCmd        `cmd:"" help:"Issue a claim by hand."`
	Grants  grantsCmd       `cmd:"" help:"Issue many claims by hand."`
}

// campaign is what the verbs show of a campaign.
type campaign struct {
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`
	Title        string    `json:"title"`
	State        string    `json:"state"`
	StateNote    string    `json:"state_note"`
	Total        int64     `json:"total"`
	Available    int64     `json:"available"`
	Queued       int64     `json:"queued"`
	Held         int64     `json:"held"`
	Sold         int64     `json:"sold"`
	PerUserLimit int64     `json:"per_user_limit"`
	Shards       int64     `json:"shards"`
	StartsAt     time.Time `json:"starts_at"`
	EndsAt       time.Time `json:"ends_at"`
	LimitGroup   string    `json:"limit_group"`
	LoadTest     bool      `json:"load_test"`
	Revision     int64     `json:"revision"`
}

func campaignPath(id, more string) string { return "/v1/admin/campaigns/" + esc(id) + more }

// paintState colours the word of a state.
func (a *app) paintState(state, padded string) string {
	switch state {
	case "live":
		return a.paint.good(padded)
	case "paused", "sold_out":
		return a.paint.alert(padded)
	case "frozen":
		return a.paint.bad(padded)
	case "ended", "draft":
		return a.paint.dim(padded)
	}
	return padded
}

func (a *app) campaignTable(all []campaign) {
	if len(all) == 0 {
		a.say("There is no campaign. Make one: sluice campaign create -f FILE")
		return
	}
	t := table{heads: []string{"ID", "KIND", "STATE", "TOTAL>", "AVAILABLE>", "HELD>", "SOLD>", "STARTS", "TITLE"}}
	t.paint = func(row, column int, s string) string {
		if column == 2 {
			return a.paintState(all[row].State, s)
		}
		return s
	}
	for _, c := range all {
		t.add(c.ID, c.Kind, c.State, thousands(c.Total), thousands(c.Available), thousands(c.Held), thousands(c.Sold),
			when(&c.StartsAt), short(c.Title, 40))
	}
	t.print(a)
}

// showCampaign prints one campaign as a list of its figures.
func (a *app) showCampaign(c campaign) {
	state := a.paintState(c.State, c.State)
	if c.StateNote != "" {
		state += " (" + c.StateNote + ")"
	}
	a.say("%s  %s", a.paint.bold(c.ID), c.Title)
	a.say("  kind       %s, at most %d a user", c.Kind, c.PerUserLimit)
	a.say("  state      %s", state)
	a.say("  window     %s to %s", when(&c.StartsAt), when(&c.EndsAt))
	a.say("  stock      %s = %s available + %s queued + %s held + %s sold", thousands(c.Total), thousands(c.Available),
		thousands(c.Queued), thousands(c.Held), thousands(c.Sold))
	if c.Shards > 1 {
		a.say("  shards     %d", c.Shards)
	}
	if c.LimitGroup != "" {
		a.say("  group      %s shares each user's limit", c.LimitGroup)
	}
	if c.LoadTest {
		a.say("  load test  kept out of public lists and reports")
	}
}

type campaignList struct {
	State string `placeholder:"STATE" help:"Only those in this state."`
	Kind  string `placeholder:"KIND" help:"Only goods, or only coupon."`
	adminFlags
}

// Run lists the campaigns.
func (c *campaignList) Run(a *app) error {
	q := url.Values{}
	for name, v := range map[string]string{"state": c.State, "kind": c.Kind} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return list(a, c.adminFlags, "/v1/admin/campaigns", q, a.campaignTable)
}

type campaignCreate struct {
	File   string `short:"f" required:"" placeholder:"FILE" help:"JSON as the API takes it; - for stdin." predictor:"file"`
	Shards int    `placeholder:"N" help:"Of its gate in Redis, over what the file says."`
	adminFlags
}

// Run creates the campaign.
func (c *campaignCreate) Run(a *app) error {
	raw, err := a.input(c.File, maxInput)
	if err != nil {
		return err
	}
	if raw, err = withShards(raw, c.Shards); err != nil {
		return err
	}
	return ask(a, c.adminFlags, "POST", "/v1/admin/campaigns", raw, a.showCampaign)
}

type campaignGet struct {
	ID string `arg:"" help:"The campaign's id."`
	adminFlags
}

// Run shows the campaign.
func (c *campaignGet) Run(a *app) error {
	return ask(a, c.adminFlags, "GET", campaignPath(c.ID, ""), nil, a.showCampaign)
}

type campaignEdit struct {
	ID     string `arg:"" help:"The campaign's id."`
	File   string `short:"f" placeholder:"FILE" help:"JSON with what changes; - for stdin." predictor:"file"`
	Shards int    `placeholder:"N" help:"Of its gate in Redis: the gates are built anew, claims are BUSY meanwhile."`
	adminFlags
}

// Run edits the campaign.
func (c *campaignEdit) Run(a *app) error {
	if c.File == "" && c.Shards == 0 {
		return usage("nothing is to be changed: give --file or --shards")
	}
	raw := []byte("{}")
	var err error
	if c.File != "" {
		if raw, err = a.input(c.File, maxInput); err != nil {
			return err
		}
	}
	if raw, err = withShards(raw, c.Shards); err != nil {
		return err
	}
	return ask(a, c.adminFlags, "PATCH", campaignPath(c.ID, ""), raw, a.showCampaign)
}

// withShards puts a number of shards into a body; zero leaves it as it is.
func withShards(raw []byte, shards int) ([]byte, error) {
	if shards == 0 {
		return raw, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil || body == nil {
		return nil, usage("the file is no JSON object")
	}
	body["shards"] = strconv.AppendInt(nil, int64(shards), 10)
	return json.Marshal(body)
}

// campaignCommand is a call that takes a reason.
type campaignCommand struct {
	ID     string `arg:"" help:"The campaign's id."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

func (c *campaignCommand) run(a *app, what string) error {
	return ask(a, c.adminFlags, "POST", campaignPath(c.ID, "/"+what), because(c.Reason), a.showCampaign)
}

type campaignPublish struct{ campaignCommand }

// Run publishes the draft.
func (c *campaignPublish) Run(a *app) error { return c.run(a, "publish") }

type campaignPause struct{ campaignCommand }

// Run pauses the campaign.
func (c *campaignPause) Run(a *app) error { return c.run(a, "pause") }

type campaignResume struct{ campaignCommand }

// Run resumes the campaign.
func (c *campaignResume) Run(a *app) error { return c.run(a, "resume") }

type campaignEnd struct {
	campaignCommand
	Confirm string `placeholder:"ID" help:"The campaign's id again: an end cannot be taken back."`
}

// Run ends the campaign.
func (c *campaignEnd) Run(a *app) error {
	if err := a.confirm("Ending "+c.ID, c.ID, c.Confirm); err != nil {
		return err
	}
	return c.run(a, "end")
}

type campaignPreheat struct{ campaignCommand }

// Run preheats the campaign; figures that do not hold are a failure.
func (c *campaignPreheat) Run(a *app) error {
	type answer struct {
		Armed        bool         `json:"armed"`
		Verification verification `json:"verification"`
		TookMS       int64        `json:"took_ms"`
	}
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := o.call(a.ctx, "POST", campaignPath(c.ID, "/preheat"), because(c.Reason), &raw); err != nil {
		return err
	}
	var p answer
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if a.json {
		if err := a.printRaw(raw); err != nil {
			return err
		}
	} else {
		a.say("armed: %v, in %d ms", p.Armed, p.TookMS)
		a.showVerification(c.ID, p.Verification)
	}
	return p.Verification.err(c.ID)
}

type campaignClone struct {
	ID       string     `arg:"" help:"The campaign to clone."`
	As       string     `name:"as" placeholder:"ID" help:"The id of the clone; made where it is not given."`
	Title    *string    `placeholder:"TEXT" help:"Its title."`
	Total    *int64     `placeholder:"N" help:"Its stock."`
	StartsAt *time.Time `placeholder:"TIME" help:"When it starts (RFC 3339); default in an hour."`
	EndsAt   *time.Time `placeholder:"TIME" help:"When it ends (RFC 3339); default as long after as the original's."`
	adminFlags
}

// Run clones the campaign.
func (c *campaignClone) Run(a *app) error {
	body := map[string]any{}
	if c.As != "" {
		body["id"] = c.As
	}
	if c.Title != nil {
		body["title"] = *c.Title
	}
	if c.Total != nil {
		body["total"] = *c.Total
	}
	if c.StartsAt != nil {
		body["starts_at"] = *c.StartsAt
	}
	if c.EndsAt != nil {
		body["ends_at"] = *c.EndsAt
	}
	return ask(a, c.adminFlags, "POST", campaignPath(c.ID, "/clone"), body, a.showCampaign)
}

type campaignAdjust struct {
	ID       string `arg:"" help:"The campaign's id."`
	Delta    int64  `required:"" placeholder:"N" help:"Units to add, or with a minus to take."`
	ChangeID string `placeholder:"ID" help:"Names the change: a repeated one changes nothing. Made where not given."`
	Reason   string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run adjusts the stock.
func (c *campaignAdjust) Run(a *app) error {
	if c.ChangeID == "" {
		c.ChangeID = "cli-" + rand.Text()
	}
	body := map[string]any{"change_id": c.ChangeID, "delta": c.Delta, "reason": c.Reason}
	type answer struct {
		ChangeID string `json:"change_id"`
		Asked    int64  `json:"asked"`
		Applied  int64  `json:"applied"`
		Total    int64  `json:"total"`
	}
	return ask(a, c.adminFlags, "POST", campaignPath(c.ID, "/adjustments"), body, func(r answer) {
		note := ""
		if r.Applied != r.Asked {
			note = a.paint.alert(" (only what was available)")
		}
		a.say("%s: asked %+d, applied %+d%s; the total is %s now", r.ChangeID, r.Asked, r.Applied, note, thousands(r.Total))
	})
}
