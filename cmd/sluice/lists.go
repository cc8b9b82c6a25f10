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
	"os"
	"time"
)

const (
	blocklistPath = "/v1/admin/blocklist"
	allowlistPath = "/v1/admin/allowlist"
)

// maxListFile bounds a CSV; the server takes 4 MB.
const maxListFile = 4 << 20

// allowlistCmd is the verbs on the allowlist.
type allowlistCmd struct {
	List   allowList   `cmd:"" help:"List whom neither blocklist nor rules touch."`
	Add    allowAdd    `cmd:"" help:"Allow an address, a network, a user or a device."`
	Remove allowRemove `cmd:"" help:"Take an entry off the list."`
	Export allowExport `cmd:"" help:"Print the allowlist as CSV."`
	Import allowImport `cmd:"" help:"Add the entries of a CSV, and change those that are there."`
}

type allowList struct {
	Scope string `placeholder:"SCOPE" help:"Only address, user or device."`
	adminFlags
}

// Run lists the entries.
func (c *allowList) Run(a *app) error {
	q := url.Values{}
	if c.Scope != "" {
		q.Set("scope", c.Scope)
	}
	return list(a, c.adminFlags, allowlistPath, q, func(all []block) {
		if len(all) == 0 {
			a.say("The allowlist is empty.")
			return
		}
		a.blockTable(all)
	})
}

type allowAdd struct {
	Scope  string        `arg:"" enum:"address,user,device" help:"address, user or device."`
	Value  string        `arg:"" help:"An IP address or network, a user id, a device id."`
	For    time.Duration `placeholder:"DURATION" help:"How long; until it is removed where not given."`
	Reason string        `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run adds an entry.
func (c *allowAdd) Run(a *app) error {
	body := map[string]any{"scope": c.Scope, "value": c.Value, "reason": c.Reason}
	if c.For < 0 {
		return usage("--for has to be longer than nothing")
	}
	if c.For > 0 {
		body["expires_at"] = time.Now().Add(c.For).UTC().Format(time.RFC3339)
	}
	return ask(a, c.adminFlags, "POST", allowlistPath, body, func(b block) { a.blockTable([]block{b}) })
}

type allowRemove struct {
	ID     string `arg:"" help:"The entry's id, as list shows it."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run removes an entry.
func (c *allowRemove) Run(a *app) error {
	path := allowlistPath + "/" + esc(c.ID) + query("reason", c.Reason)
	return ask(a, c.adminFlags, "DELETE", path, nil, func(b block) {
		a.say("%s %s is not on the allowlist any more", b.Scope, b.Value)
	})
}

type (
	allowExport struct{ adminFlags }
	blockExport struct{ adminFlags }
	allowImport struct{ listImport }
	blockImport struct{ listImport }
)

// Run prints the CSV.
func (c *allowExport) Run(a *app) error { return exportList(a, c.adminFlags, allowlistPath) }

// Run prints the CSV.
func (c *blockExport) Run(a *app) error { return exportList(a, c.adminFlags, blocklistPath) }

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

// Run imports the CSV.
func (c *allowImport) Run(a *app) error { return c.run(a, allowlistPath) }

// Run imports the CSV.
func (c *blockImport) Run(a *app) error { return c.run(a, blocklistPath) }

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
	in := a.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return usage("%v", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxListFile+1))
	if err != nil {
		return err
	}
	if len(raw) > maxListFile {
		return usage("%s is larger than 4 MB", c.File)
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
