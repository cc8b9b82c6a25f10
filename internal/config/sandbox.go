package config

import (
	"net"
	"net/netip"
)

// Sandbox says whether a buyer may pay an order by asking for it. Where nothing is said, only a server that nobody
// else can reach allows it: one on a loopback address with no proxy before it.
func (c *Config) Sandbox() bool {
	switch c.Payment.Provider {
	case "sandbox":
		return true
	case "auto":
		return len(c.TrustedProxies) == 0 && loopback(c.Listen)
	}
	return false
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
