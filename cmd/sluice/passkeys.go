package main

import (
	"strconv"
	"time"
)

// passKeyCmd is the verbs on the keys of passes.
type passKeyCmd struct {
	List   passKeyList   `cmd:"" help:"List the keys that passes are signed with."`
	Rotate passKeyRotate `cmd:"" help:"Make a new key; it signs once every node has it."`
}

type passKey struct {
	Seq       int64     `json:"seq"`
	CreatedAt time.Time `json:"created_at"`
	ActiveAt  time.Time `json:"active_at"`
}

type passKeyList struct{ adminFlags }

// Run lists the keys.
func (c *passKeyList) Run(a *app) error {
	return list(a, c.adminFlags, "/v1/admin/pass-keys", nil, func(all []passKey) {
		t := table{heads: []string{"KEY", "MADE", "SIGNS FROM"}}
		for _, k := range all {
			t.add(strconv.FormatInt(k.Seq, 10), when(&k.CreatedAt), when(&k.ActiveAt))
		}
		t.print(a)
	})
}

type passKeyRotate struct {
	Revoke bool   `help:"Void every pass that was given so far."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run makes the key.
func (c *passKeyRotate) Run(a *app) error {
	body := map[string]any{"revoke": c.Revoke, "reason": c.Reason}
	return ask(a, c.adminFlags, "POST", "/v1/admin/pass-keys", body, func(k passKey) {
		if c.Revoke {
			a.say("key %d signs; passes of before are void", k.Seq)
			return
		}
		a.say("key %d signs from %s on; passes of before hold", k.Seq, when(&k.ActiveAt))
	})
}
