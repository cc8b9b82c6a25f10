package config_test

import (
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

// TestDevSignIn: whoever set anything up for a shop does not hand out tokens by accident.
func TestDevSignIn(t *testing.T) {
	const secret = "SLUICE_JWT_SECRET=0123456789-0123456789"
	for _, tt := range []struct {
		name  string
		env   []string
		flags map[string]string
		want  bool
	}{
		{"bare", nil, nil, true},
		{"a secret was given", []string{secret}, nil, false},
		{"reachable", nil, map[string]string{"listen": "0.0.0.0:8080"}, false},
		{"behind a proxy", nil, map[string]string{"trusted_proxies": "127.0.0.1/32"}, false},
		{"the shop has a page", nil, map[string]string{"login_url": "https://shop.example/login"}, false},
		{"off", nil, map[string]string{"sign_in.dev": "off"}, false},
		{"on, reachable", []string{secret}, map[string]string{"sign_in.dev": "on", "listen": "0.0.0.0:8080"}, true},
		{"no secret of ours", nil,
			map[string]string{"sign_in.dev": "on", "jwt.jwks_url": "https://shop.example/keys"}, false},
	} {
		flags := map[string]string{"data": t.TempDir()}
		for k, v := range tt.flags {
			flags[k] = v
		}
		c, err := config.Load(config.Sources{Environ: tt.env, Flags: flags})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if c.DevSignIn() && len(tt.env) == 0 {
			t.Errorf("%s: before there are secrets", tt.name)
		}
		if _, err := c.MakeSecrets(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := c.DevSignIn(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
