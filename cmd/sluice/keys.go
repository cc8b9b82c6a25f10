package main

import "time"

// keyCmd is the verbs on API keys.
type keyCmd struct {
	Create keyCreate `cmd:"" help:"Make an API key; it is shown this once."`
	List   keyList   `cmd:"" help:"List the API keys, revoked ones too."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key, in force at once."`
}

type apiKey struct {
	ID         string     `json:"id"`
	Key        string     `json:"key"`
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	MerchantID string     `json:"merchant_id"`
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"created_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

type keyCreate struct {
	Role       string `required:"" enum:"viewer,support,operator,merchant,admin" placeholder:"ROLE" help:"${enum}."`
	Name       string `required:"" placeholder:"TEXT" help:"Whose it is, as the audit log will show it."`
	MerchantID string `placeholder:"ID" help:"The merchant; needed for role merchant."`
	adminFlags
}

// Run makes the key. The key alone goes to stdout, so that a script can take it.
func (c *keyCreate) Run(a *app) error {
	body := map[string]any{"role": c.Role, "name": c.Name}
	if c.MerchantID != "" {
		body["merchant_id"] = c.MerchantID
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
		t := table{heads: []string{"ID", "NAME", "ROLE", "MERCHANT", "BEGINS", "MADE", "REVOKED"}}
		t.paint = func(row, _ int, s string) string {
			if all[row].RevokedAt != nil {
				return a.paint.dim(s)
			}
			return s
		}
		for _, k := range all {
			t.add(k.ID, k.Name, k.Role, k.MerchantID, k.Prefix, when(&k.CreatedAt), when(k.RevokedAt))
		}
		t.print(a)
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
