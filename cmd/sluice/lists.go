package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	blocklistPath = "/v1/admin/blocklist"
	allowlistPath = "/v1/admin/allowlist"
)

// maxListFile bounds a CSV; the server takes 4 MB.
const maxListFile = 4 << 20

// The verbs on both lists. Each verb of a list says which list it is on and what it says there; the rest is common.
type (
	blocklistCmd struct {
		List   blockList   `cmd:"" help:"List the blocks in force."`
		Add    blockAdd    `cmd:"" help:"Block an address, a network, a user or a device."`
		Remove blockRemove `cmd:"" help:"Lift a block."`
		Export blockExport `cmd:"" help:"Print the blocklist as CSV."`
		Import blockImport `cmd:"" help:"Add the blocks of a CSV, and change those that are there."`
	}
	allowlistCmd struct {
		List   allowList   `cmd:"" help:"List whom neither blocklist nor rules touch."`
		Add    allowAdd    `cmd:"" help:"Allow an address, a network, a user or a device."`
		Remove allowRemove `cmd:"" help:"Take an entry off the list."`
		Export allowExport `cmd:"" help:"Print the allowlist as CSV."`
		Import allowImport `cmd:"" help:"Add the entries of a CSV, and change those that are there."`
	}

	blockList   struct{ listShow }
	allowList   struct{ listShow }
	blockAdd    struct{ listAdd }
	allowAdd    struct{ listAdd }
	blockRemove struct{ listRemove }
	allowRemove struct{ listRemove }
	blockExport struct{ adminFlags }
	allowExport struct{ adminFlags }
	blockImport struct{ listImport }
	allowImport struct{ listImport }
)

// Run lists the blocks.
func (c *blockList) Run(a *app) error { return c.run(a, blocklistPath, "Nobody is blocked.") }

// Run lists the entries.
func (c *allowList) Run(a *app) error { return c.run(a, allowlistPath, "The allowlist is empty.") }

// Run adds a block.
func (c *blockAdd) Run(a *app) error { return c.run(a, blocklistPath) }

// Run adds an entry.
func (c *allowAdd) Run(a *app) error { return c.run(a, allowlistPath) }

// Run lifts a block.
func (c *blockRemove) Run(a *app) error { return c.run(a, blocklistPath, "blocked") }

// Run removes an entry.
func (c *allowRemove) Run(a *app) error { return c.run(a, allowlistPath, "on the allowlist") }

// Run prints the CSV.
func (c *blockExport) Run(a *app) error { return exportList(a, c.adminFlags, blocklistPath) }

// Run prints the CSV.
func (c *allowExport) Run(a *app) error { return exportList(a, c.adminFlags, allowlistPath) }

// Run imports the CSV.
func (c *blockImport) Run(a *app) error { return c.run(a, blocklistPath) }

// Run imports the CSV.
func (c *allowImport) Run(a *app) error { return c.run(a, allowlistPath) }

// block is an entry of either list.
type block struct {
	ID        string     `json:"id"`
	Scope     string     `json:"scope"`
	Value     string     `json:"value"`
	Reason    string     `json:"reason"`
	Author    string     `json:"author"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
}

func (a *app) blockTable(all []block) {
	t := table{heads: []string{"REFERENCE", "SCOPE", "VALUE", "UNTIL", "BY", "WHY"}}
	for _, b := range all {
		until := when(b.ExpiresAt)
		if until == "" {
			until = "lifted"
		}
		t.add(b.ID, b.Scope, b.Value, until, b.Author, b.Reason)
	}
	t.print(a)
}

// listShow is what showing a list takes.
type listShow struct {
	Scope string `placeholder:"SCOPE" help:"Only address, user or device."`
	adminFlags
}

func (c *listShow) run(a *app, path, empty string) error {
	q := url.Values{}
	if c.Scope != "" {
		q.Set("scope", c.Scope)
	}
	return list(a, c.adminFlags, path, q, func(all []block) {
		if len(all) == 0 {
			a.say("%s", empty)
			return
		}
		a.blockTable(all)
	})
}

// listAdd is what adding to a list takes.
type listAdd struct {
	Scope  string        `arg:"" enum:"address,user,device" help:"address, user or device."`
	Value  string        `arg:"" help:"An IP address or network, a user id, a device id."`
	For    time.Duration `placeholder:"DURATION" help:"How long; until it is removed where not given."`
	Reason string        `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

func (c *listAdd) run(a *app, path string) error {
	body := map[string]any{"scope": c.Scope, "value": c.Value, "reason": c.Reason}
	if c.For < 0 {
		return usage("--for has to be longer than nothing")
	}
	if c.For > 0 {
		body["expires_at"] = time.Now().Add(c.For).UTC().Format(time.RFC3339)
	}
	return ask(a, c.adminFlags, "POST", path, body, func(b block) { a.blockTable([]block{b}) })
}

// listRemove is what taking off a list takes.
type listRemove struct {
	ID     string `arg:"" help:"The entry's reference, as list shows it."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

func (c *listRemove) run(a *app, path, was string) error {
	return ask(a, c.adminFlags, "DELETE", path+"/"+esc(c.ID)+query("reason", c.Reason), nil, func(b block) {
		a.say("%s %s is not %s any more", b.Scope, b.Value, was)
	})
}

func exportList(a *app, f adminFlags, path string) error {
	o, err := f.operator(a)
	if err != nil {
		return err
	}
	var raw []byte
	if err := o.call(a.ctx, "GET", path+"/export", nil, &raw); err != nil {
		return err
	}
	_, err = a.out.Write(raw)
	return err
}

// listImport is what an import of either list takes.
type listImport struct {
	File   string `arg:"" help:"The CSV; - for stdin. Columns: scope, value; reason, author, expires_at." predictor:"file"`
	DryRun bool   `help:"Only say what would change."`
	adminFlags
}

// imported is what an import came to.
type imported struct {
	DryRun  bool `json:"dry_run"`
	Applied bool `json:"applied"`
	Rows    int  `json:"rows"`
	Added   int  `json:"added"`
	Changed int  `json:"changed"`
	Same    int  `json:"same"`
	Faults  int  `json:"faults"`
	Errors  []struct {
		Line   int    `json:"line"`
		Field  string `json:"field"`
		Detail string `json:"detail"`
	} `json:"errors"`
	Changes []struct {
		Line   int    `json:"line"`
		Entry  block  `json:"entry"`
		Before *block `json:"before"`
	} `json:"changes"`
}

func (c *listImport) run(a *app, path string) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	raw, err := a.input(c.File, maxListFile)
	if err != nil {
		return err
	}
	if c.DryRun {
		path += "/import?dry_run=true"
	} else {
		path += "/import"
	}
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	resp, err := o.send(ctx, http.MethodPost, path, "text/csv", bytes.NewReader(raw))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	var res imported
	if err := json.Unmarshal(answer, &res); err != nil {
		return fmt.Errorf("the answer of %s is not what this version expects: %w", path, err)
	}
	if a.json {
		err = a.printRaw(answer)
	} else {
		a.sayImport(&res)
	}
	if err == nil && res.Faults > 0 {
		return &failure{code: exitRefused, err: errors.New("nothing was imported: some lines have faults")}
	}
	return err
}

func (a *app) sayImport(res *imported) {
	for _, e := range res.Errors {
		a.say("line %d: %s: %s", e.Line, e.Field, e.Detail)
	}
	for _, c := range res.Changes {
		sign := "+"
		if c.Before != nil {
			sign = "~"
		}
		until := "without end"
		if c.Entry.ExpiresAt != nil {
			until = "until " + when(c.Entry.ExpiresAt)
		}
		a.say("%s %s %s %s  %s", sign, c.Entry.Scope, c.Entry.Value, until, c.Entry.Reason)
	}
	verb := "imported"
	if !res.Applied {
		verb = "not imported"
	}
	a.say("%d rows %s: %d added, %d changed, %d as they were, %d with faults", res.Rows, verb, res.Added, res.Changed,
		res.Same, res.Faults)
}
