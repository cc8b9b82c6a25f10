package main

import (
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// deadletterCmd is the verbs on dead letters.
type deadletterCmd struct {
	List    letterList    `cmd:"" help:"List the claims that failed their tries, and messages that cannot be read."`
	Show    letterShow    `cmd:"" help:"Show one with its message as it came."`
	Replay  letterReplay  `cmd:"" help:"Settle them again, with new tries, at a bounded pace."`
	Discard letterDiscard `cmd:"" help:"Give them up: their units go back on sale."`
}

type letter struct {
	ID         int64      `json:"id"`
	State      string     `json:"state"`
	Error      string     `json:"error"`
	Tries      int        `json:"tries"`
	FirstAt    *time.Time `json:"first_at"`
	LastAt     *time.Time `json:"last_at"`
	ClaimID    string     `json:"claim_id"`
	CampaignID string     `json:"campaign_id"`
	UserID     string     `json:"user_id"`
	RequestID  string     `json:"request_id"`
	Source     string     `json:"source"`
	Quantity   int        `json:"quantity"`
	Epoch      int64      `json:"epoch"`
	ClaimedAt  *time.Time `json:"claimed_at"`
	Raw        []byte     `json:"raw"`
}

type letterList struct {
	State    string `default:"kept" enum:"kept,replayed,discarded,all" help:"kept, replayed, discarded or all."`
	Campaign string `placeholder:"ID" help:"Only of this campaign."`
	User     string `placeholder:"USER" help:"Only of this user."`
	adminFlags
}

// Run lists the dead letters.
func (c *letterList) Run(a *app) error {
	q := url.Values{"state": {c.State}}
	for name, value := range map[string]string{"campaign_id": c.Campaign, "user_id": c.User} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return list(a, c.adminFlags, "/v1/admin/dead-letters", q, a.letterTable)
}

func (a *app) letterTable(all []letter) {
	if len(all) == 0 {
		a.say("There are no dead letters.")
		return
	}
	t := table{heads: []string{"ID>", "STATE", "CAMPAIGN", "CLAIM", "USER", "UNITS>", "TRIES>", "LAST", "ERROR"}}
	for _, l := range all {
		units := ""
		if l.Quantity > 0 {
			units = strconv.Itoa(l.Quantity)
		}
		t.add(strconv.FormatInt(l.ID, 10), l.State, l.CampaignID, l.ClaimID, l.UserID, units, strconv.Itoa(l.Tries),
			when(l.LastAt), short(l.Error, 60))
	}
	t.print(a)
}

type letterShow struct {
	ID int64 `arg:"" help:"The letter, as list shows it."`
	adminFlags
}

// Run shows one dead letter.
func (c *letterShow) Run(a *app) error {
	return ask(a, c.adminFlags, "GET", "/v1/admin/dead-letters/"+strconv.FormatInt(c.ID, 10), nil, a.showLetter)
}

func (a *app) showLetter(l letter) {
	a.say("Dead letter %d: %s", l.ID, a.paint.bold(l.State))
	a.say("  error     %s", l.Error)
	a.say("  tries     %d, from %s to %s", l.Tries, when(l.FirstAt), when(l.LastAt))
	if l.ClaimID != "" {
		a.say("  claim     %s (%s)", l.ClaimID, l.Source)
		a.say("  campaign  %s, epoch %d", l.CampaignID, l.Epoch)
		a.say("  user      %s", l.UserID)
		if l.RequestID != "" {
			a.say("  request   %s", l.RequestID)
		}
		a.say("  units     %d, claimed %s", l.Quantity, when(l.ClaimedAt))
	}
	if len(l.Raw) > 0 {
		a.say("  message   %d bytes", len(l.Raw))
		for _, line := range rawLines(l.Raw) {
			a.say("    %s", line)
		}
	}
}

// rawLines shows bytes as a text where they are one, else as a hex dump.
func rawLines(raw []byte) []string {
	text := string(raw)
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if !utf8.Valid(raw) || strings.ContainsFunc(text, odd) {
		text = hex.Dump(raw)
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// letterChoice names the letters that something is done with: by their ids, or all that had failed by a moment.
type letterChoice struct {
	IDs      []int64   `arg:"" optional:"" name:"id" help:"Letters, as list shows them."`
	All      bool      `help:"All that are kept, as of now or of --as-of, in place of ids."`
	Campaign string    `placeholder:"ID" help:"With --all: only of this campaign."`
	User     string    `placeholder:"USER" help:"With --all: only of this user."`
	AsOf     time.Time `placeholder:"TIME" help:"With --all: leave alone what failed later (RFC 3339)."`
	Reason   string    `placeholder:"TEXT" help:"Why, for the audit log."`
}

// body makes the body of a bulk call.
func (c *letterChoice) body() (map[string]any, error) {
	body := map[string]any{}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	if !c.All {
		if len(c.IDs) == 0 || c.Campaign != "" || c.User != "" || !c.AsOf.IsZero() {
			return nil, usage("name letters by their ids, or say --all; --campaign, --user and --as-of go with --all")
		}
		body["ids"] = c.IDs
		return body, nil
	}
	if len(c.IDs) > 0 {
		return nil, usage("name letters by their ids, or say --all, not both")
	}
	for name, value := range map[string]string{"campaign_id": c.Campaign, "user_id": c.User} {
		if value != "" {
			body[name] = value
		}
	}
	if !c.AsOf.IsZero() {
		body["as_of"] = c.AsOf.UTC().Format(time.RFC3339Nano)
	}
	return body, nil
}

// letterRun is what a bulk came to, summed over its calls.
type letterRun struct {
	Done   int       `json:"done"`
	Failed int       `json:"failed"`
	More   bool      `json:"more"`
	AsOf   time.Time `json:"as_of"`
}

// run calls until nothing is left of what was chosen. All calls mean the same moment, which is the server's.
func (c *letterChoice) run(a *app, f adminFlags, verb string) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	o, err := f.operator(a)
	if err != nil {
		return err
	}
	if c.All && c.AsOf.IsZero() {
		var now struct {
			AsOf time.Time `json:"as_of"`
		}
		if err := o.call(a.ctx, "GET", "/v1/admin/dead-letters?limit=1", nil, &now); err != nil {
			return err
		}
		body["as_of"] = now.AsOf.Format(time.RFC3339Nano)
	}
	var sum letterRun
	for sum.More = true; sum.More; {
		var r letterRun
		if err := o.call(a.ctx, "POST", "/v1/admin/dead-letters/"+verb, body, &r); err != nil {
			if sum.Done > 0 {
				progressf(a, "%d were done before that", sum.Done)
			}
			return err
		}
		r.Done, r.Failed = r.Done+sum.Done, r.Failed+sum.Failed
		if sum = r; sum.More {
			progressf(a, "%d so far", sum.Done)
		}
	}
	if a.json {
		return a.printJSON(sum)
	}
	past := map[string]string{"replay": "replayed", "discard": "discarded"}[verb]
	a.say("%d dead letters %s", sum.Done, past)
	if sum.Failed > 0 {
		a.say("%d of them still cannot be read and are kept again", sum.Failed)
	}
	return nil
}

type letterReplay struct {
	letterChoice
	adminFlags
}

// Run replays dead letters.
func (c *letterReplay) Run(a *app) error { return c.run(a, c.adminFlags, "replay") }

type letterDiscard struct {
	letterChoice
	Confirm string `placeholder:"all" help:"The word all, to confirm --all without a question."`
	adminFlags
}

// Run discards dead letters.
func (c *letterDiscard) Run(a *app) error {
	if c.All {
		if err := a.confirm("Discarding all dead letters that are kept", "all", c.Confirm); err != nil {
			return err
		}
	}
	return c.run(a, c.adminFlags, "discard")
}
