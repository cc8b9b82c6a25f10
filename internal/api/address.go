package api

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"

	"github.com/valyala/fasthttp"
)

// proxies are the networks whose X-Forwarded-For is believed.
type proxies []netip.Prefix

func (p proxies) trust(a netip.Addr) bool {
	for _, net := range p {
		if net.Contains(a) {
			return true
		}
	}
	return false
}

// client gives the address of who sent the request: the peer, or, where the peer is a trusted proxy, the first
// address from the right that no trusted proxy has. It does not allocate.
func (p proxies) client(ctx *fasthttp.RequestCtx) netip.Addr {
	peer := peerOf(ctx.RemoteAddr())
	if len(p) == 0 || !p.trust(peer) {
		return peer
	}
	lines := ctx.Request.Header.PeekAll("X-Forwarded-For")
	for i, hops := len(lines)-1, 0; i >= 0; i-- {
		for line := lines[i]; line != nil && hops < maxHops; hops++ {
			var last []byte
			line, last = cutLast(line)
			hop, ok := parseHop(last)
			if !ok {
				return peer // what stands left of it was written by nobody we trust
			}
			peer = hop
			if !p.trust(hop) {
				return peer
			}
		}
	}
	return peer
}

// clientHTTP is client for net/http.
func (p proxies) clientHTTP(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	peer := ap.Addr().Unmap()
	if len(p) == 0 || !p.trust(peer) {
		return peer
	}
	lines := r.Header.Values("X-Forwarded-For")
	for i, hops := len(lines)-1, 0; i >= 0; i-- {
		for line := []byte(lines[i]); line != nil && hops < maxHops; hops++ {
			var last []byte
			line, last = cutLast(line)
			hop, ok := parseHop(last)
			if !ok {
				return peer
			}
			peer = hop
			if !p.trust(hop) {
				return peer
			}
		}
	}
	return peer
}

// cutLast cuts the last entry off a list; rest is nil when there is no more.
func cutLast(list []byte) (rest, last []byte) {
	if i := bytes.LastIndexByte(list, ','); i >= 0 {
		return list[:i:i], list[i+1:]
	}
	return nil, list
}

// parseHop reads an address as proxies write it: bare, with a port, or in brackets.
func parseHop(b []byte) (netip.Addr, bool) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 64 || bytes.IndexByte(b, '%') >= 0 {
		return netip.Addr{}, false
	}
	if b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 {
			return netip.Addr{}, false
		}
		b = b[1:end]
	} else if i := bytes.IndexByte(b, ':'); i >= 0 && bytes.IndexByte(b[i+1:], ':') < 0 {
		b = b[:i]
	}
	a, err := netip.ParseAddr(unsafeString(b))
	return a.Unmap(), err == nil
}

func peerOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
