package main

import (
	"time"

	"github.com/sluice-sale/sluice"
)

// keyCmd is the verbs on API keys.
type keyCmd struct {
	Create keyCreate `cmd:"" help:"Make an API key; it is shown this once."`
	List   keyList   `cmd:"" help:"List the API keys, revoked ones too."`
	Rotate keyRotate `cmd:"" help:"Give an API key a new secret, shown this once; the old one is good for a while."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key, in force at once."`
}

type apiKey struct {
	ID         string     `json:"id"`
	Key        string     `json:"key"`
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	Areas      []string   `json:"areas"`
	ReadOnly   bool       `json:"read_only"`
	MerchantID string     `json:"merchant_id"`
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"created_at"`
	OldUntil   *time.Time `json:"old_until"`
	LastUsedAt *time.Time `json:"last_used_at"`
	Unused     bool       `json:"unused"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

type keyCreate struct {
	Role       string   `required:"" enum:"viewer,support,operator,merchant,admin" placeholder:"ROLE" help:"${enum}."`
	Name       string   `required:"" placeholder:"TEXT" help:"Whose it is, as the audit log will show it."`
	Area       []string `placeholder:"AREA" help:"All that it may, such as campaigns; repeatable. None: as its role."`
	ReadOnly   bool     `help:"It may only what changes nothing."`
	MerchantID string   `placeholder:"ID" help:"The merchant; needed for role merchant."`
	adminFlags
}

// Run makes the key. The key alone goes to stdout, so that a script can take it.
func (c *keyCreate) Run(a *app) error {
	body := map[string]any{"role": c.Role, "name": c.Name}
	if c.MerchantID != "" {
		body["merchant_id"] = c.MerchantID
	}
	if len(c.Area) > 0 {
		body["areas"] = c.Area
	}
	if c.ReadOnly {
		body["read_only"] = true
	}
	return ask(a, c.adminFlags, "POST", "/v1/admin/api-keys", body, func(k apiKey) {
		progressf(a, "%s, role %s. The key is shown this once:", k.ID, k.Role)
		a.say("%s", k.Key)
	})
}

type keyList struct{ adminFlags }

// Run lists the keys.
func (c *keyList) Run(a *app) error {
	return list(a, c.adminFlags, "/v1/admin/api-keys", nil, func(all []apiKey) {
		t := table{heads: []string{"ID", "NAME", "ROLE", "SCOPE", "MERCHANT", "BEGINS", "MADE", "LAST USED", "REVOKED"}}
		t.paint = func(row, _ int, s string) string {
			if all[row].RevokedAt != nil {
				return a.paint.dim(s)
			}
			return s
		}
		for _, k := range all {
			t.add(k.ID, k.Name, k.Role, k.scope(), k.MerchantID, k.Prefix, when(&k.CreatedAt), k.lastUsed(), when(k.RevokedAt))
		}
		t.print(a)
	})
}

// scope tells what the key may of its role.
func (k *apiKey) scope() string {
	return sluice.KeyScope{Areas: k.Areas, ReadOnly: k.ReadOnly}.String()
}

// lastUsed tells when the key was last used, and marks one that nobody has used for long.
func (k *apiKey) lastUsed() string {
	text := when(k.LastUsedAt)
	if k.LastUsedAt == nil {
		text = "never"
	}
	if k.Unused {
		text += " (unused for 90 days)"
	}
	return text
}

type keyRotate struct {
	ID     string        `arg:"" help:"The key's id, as list shows it."`
	Grace  time.Duration `default:"24h" placeholder:"TIME" help:"How long the old secret is good: 0s to 168h."`
	Reason string        `placeholder:"TEXT" help:"Why, for the audit log."`

	RotationID string `placeholder:"ID" help:"Names the rotation: when no answer came, run it again with the same one."`
	adminFlags
}

// Run rotates the key. The secret alone goes to stdout.
func (c *keyRotate) Run(a *app) error {
	body := map[string]any{"grace_s": int64(c.Grace / time.Second), "reason": c.Reason}
	if c.RotationID != "" {
		body["rotation_id"] = c.RotationID
	}
	return ask(a, c.adminFlags, "POST", "/v1/admin/api-keys/"+esc(c.ID)+"/rotate", body, func(k apiKey) {
		old := "The old secret is refused from now on"
		if k.OldUntil != nil {
			old = "The old secret stays good until " + when(k.OldUntil)
		}
		progressf(a, "%s (%s) has a new secret. %s. The new one is shown this once:", k.ID, k.Name, old)
		a.say("%s", k.Key)
	})
}

type keyRevoke struct {
	ID     string `arg:"" help:"The key's id, as list shows it."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run revokes the key.
func (c *keyRevoke) Run(a *app) error {
	path := "/v1/admin/api-keys/" + esc(c.ID) + query("reason", c.Reason)
	return ask(a, c.adminFlags, "DELETE", path, nil, func(k apiKey) { a.say("%s (%s) is revoked", k.ID, k.Name) })
}
