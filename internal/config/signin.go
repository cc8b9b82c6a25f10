package config

import "strings"

// DevSignIn says whether anybody gets a token for any name: development only. Where nothing is said, it takes a server
// that nobody else can reach and that nobody has set up for a shop: on a loopback address, with no proxy before it,
// no page to sign in at, and a secret that the server has made for itself. Call it when the secrets are there.
func (c *Loaded) DevSignIn() bool {
	if len(c.JWT.Secret) == 0 || c.SignIn.Dev == "off" {
		return false
	}
	return c.SignIn.Dev == "on" || len(c.TrustedProxies) == 0 && loopback(c.Listen) && c.LoginURL == "" &&
		!c.verifiesByKeys() && strings.HasPrefix(c.from["jwt.secret"], "file "+c.SecretsPath())
}
