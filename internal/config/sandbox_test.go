package config_test

import (
	"net/netip"
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

// TestSandbox: nobody outside the machine pays with nothing unless the operator says so.
func TestSandbox(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for _, tt := range []struct {
		provider, listen string
		proxies          []netip.Prefix
		want             bool
	}{
		{"auto", "127.0.0.1:8080", nil, true},
		{"auto", "[::1]:8080", nil, true},
		{"auto", "localhost:0", nil, true},
		{"auto", "127.0.0.1:8080", proxies, false},
		{"auto", ":8080", nil, false},
		{"auto", "0.0.0.0:8080", nil, false},
		{"auto", "192.0.2.1:8080", nil, false},
		{"sandbox", "0.0.0.0:8080", proxies, true},
		{"signed", "127.0.0.1:8080", nil, false},
	} {
		c := config.Config{Listen: tt.listen, TrustedProxies: tt.proxies}
		c.Payment.Provider = tt.provider
		if got := c.Sandbox(); got != tt.want {
			t.Errorf("%s on %s behind %v: %v, want %v", tt.provider, tt.listen, tt.proxies, got, tt.want)
		}
	}
}
