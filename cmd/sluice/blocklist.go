package main

import (
	"net/url"
	"time"
)

// blocklistCmd is the verbs on the blocklist.
type blocklistCmd struct {
	List   blockList   `cmd:"" help:"List the blocks in force."`
	Add    blockAdd    `cmd:"" help:"Block an address, a network, a user or a device."`
	Remove blockRemove `cmd:"" help:"Lift a block."`
	Export blockExport `cmd:"" help:"Print the blocklist as CSV."`
	Import blockImport `cmd:"" help:"Add the blocks of a CSV, and change those that are there."`
}

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
	if len(all) == 0 {
		a.say("Nobody is blocked.")
		return
	}
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

type blockList struct {
	Scope string `placeholder:"SCOPE" help:"Only address, user or device."`
	adminFlags
}

// Run lists the blocks.
func (c *blockList) Run(a *app) error {
	q := url.Values{}
	if c.Scope != "" {
		q.Set("scope", c.Scope)
	}
	return list(a, c.adminFlags, blocklistPath, q, a.blockTable)
}

type blockAdd struct {
	Scope  string        `arg:"" enum:"address,user,device" help:"address, user or device."`
	Value  string        `arg:"" help:"An IP address or network, a user id, a device id."`
	For    time.Duration `placeholder:"DURATION" help:"How long; until it is lifted where not given."`
	Reason string        `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run adds a block.
func (c *blockAdd) Run(a *app) error {
	body := map[string]any{"scope": c.Scope, "value": c.Value, "reason": c.Reason}
	if c.For < 0 {
		return usage("--for has to be longer than nothing")
	}
	if c.For > 0 {
		body["expires_at"] = time.Now().Add(c.For).UTC().Format(time.RFC3339)
	}
	return ask(a, c.adminFlags, "POST", blocklistPath, body, func(b block) { a.blockTable([]block{b}) })
}

type blockRemove struct {
	ID     string `arg:"" help:"The block's reference, as list shows it."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run lifts a block.
func (c *blockRemove) Run(a *app) error {
	path := "/v1/admin/blocklist/" + esc(c.ID) + query("reason", c.Reason)
	return ask(a, c.adminFlags, "DELETE", path, nil, func(b block) {
		a.say("%s %s is not blocked any more", b.Scope, b.Value)
	})
}
