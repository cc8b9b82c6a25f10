//go:build unix

package servers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// FaultProxy stands before a server and breaks what goes through it.
type FaultProxy struct {
	Addr string // to connect to instead of the server's

	t     testing.TB
	proxy *toxiproxy.Proxy
}

// Proxy starts a proxy, in this process, before an address.
func Proxy(t testing.TB, upstream string) *FaultProxy {
	t.Helper()
	return proxyAt(t, local(freePort(t)), upstream)
}

// proxyAt starts a proxy on an address that was chosen before.
func proxyAt(t testing.TB, listen, upstream string) *FaultProxy {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(api, "proxy", listen, upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &FaultProxy{Addr: p.Listen, t: t, proxy: p}
}

// Cut closes every connection and takes no new one, as a network that is gone and says so.
func (p *FaultProxy) Cut() { p.proxy.Stop() }

// Restore ends every fault.
func (p *FaultProxy) Restore() {
	p.t.Helper()
	p.proxy.Toxics.ResetToxics(context.Background())
	if err := p.proxy.Update(&toxiproxy.Proxy{
		Listen: p.proxy.Listen, Upstream: p.proxy.Upstream, Enabled: true,
	}); err != nil {
		p.t.Errorf("servers: the proxy does not come back: %v", err)
	}
}

// LoseReplies lets requests through and lets no byte back: what was asked is done, and nobody hears of it. The
// connections stand.
func (p *FaultProxy) LoseReplies() {
	p.t.Helper()
	p.add("lost-replies", "timeout", "downstream", `"timeout":0`)
}

// LoseRequests lets no byte through to the server; the connections stand.
func (p *FaultProxy) LoseRequests() {
	p.t.Helper()
	p.add("lost-requests", "timeout", "upstream", `"timeout":0`)
}

// Delay holds every reply for so long.
func (p *FaultProxy) Delay(d time.Duration) {
	p.t.Helper()
	p.add("delay", "latency", "downstream", fmt.Sprintf(`"latency":%d`, d.Milliseconds()))
}

// Reset closes connections with an RST after so long.
func (p *FaultProxy) Reset(after time.Duration) {
	p.t.Helper()
	p.add("reset", "reset_peer", "downstream", fmt.Sprintf(`"timeout":%d`, after.Milliseconds()))
}

// CutAfter closes each connection once so many bytes of replies have passed.
func (p *FaultProxy) CutAfter(bytes int) {
	p.t.Helper()
	p.add("cut-after", "limit_data", "downstream", fmt.Sprintf(`"bytes":%d`, bytes))
}

func (p *FaultProxy) add(name, kind, stream, attributes string) {
	p.t.Helper()
	toxic := fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"toxicity":1,"attributes":{%s}}`,
		name, kind, stream, attributes)
	if _, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		p.t.Errorf("servers: the fault %s is not in force: %v", name, err)
	}
}
