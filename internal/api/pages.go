package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// page answers a path of the sale page; it says whether it did. Neither the page nor its files differ from buyer to
// buyer.
func (p *Public) page(c *call) bool {
	if p.deps.Pages == nil || !c.ctx.IsGet() && !c.ctx.IsHead() {
		return false
	}
	header, body, ok := p.deps.Pages.File(string(c.path()), string(c.ctx.Request.Header.Peek("Accept-Encoding")))
	if !ok {
		return false
	}
	h := &c.ctx.Response.Header
	for name, values := range header {
		if name != "Content-Length" && name != "Content-Type" { // the server says them of what it sends
			h.Set(name, values[0])
		}
	}
	if has(c.ctx.Request.Header.Peek("If-None-Match"), []byte(header.Get("Etag"))) {
		c.ctx.Response.SetStatusCode(http.StatusNotModified)
		return true
	}
	c.raw(http.StatusOK, []byte(header.Get("Content-Type")), body)
	return true
}

// devTokenBody asks for a token.
type devTokenBody struct {
	User string `json:"user" minLength:"1" maxLength:"64" doc:"Any name: it becomes the user id"`
}

type devTokenAnswer struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func devRoutes() []route {
	return []route{{
		method: "POST", path: "/v1/dev/token", handle: (*Public).devToken,
		doc: opDoc{
			summary: "Sign in with any name", tag: "Development", request: devTokenBody{}, response: devTokenAnswer{},
			problems: []int{http.StatusNotFound},
			detail: "Only in development (the setting sign_in.dev), never through a proxy, and only at localhost or the " +
				"address of the listener itself; elsewhere it is not there: 404. In production the shop hands its own " +
				"tokens to the page.",
		},
	}}
}

// devToken gives whoever asks a token, where that is wanted. A request that came through a proxy is not one of this
// machine's own, and neither is one that a browser sends under a name that somebody has pointed at it (DNS rebinding).
func (p *Public) devToken(c *call) {
	var b devTokenBody
	if err := c.decode(&b); err != nil {
		c.problem(err)
		return
	}
	h := &c.ctx.Request.Header
	proxied := len(h.Peek("X-Forwarded-For"))+len(h.Peek("Forwarded"))+len(h.Peek("X-Real-Ip"))+len(h.Peek("Via")) > 0
	if p.deps.SignIn == nil || proxied || !ownHost(string(h.Host()), c.ctx.LocalAddr()) {
		c.problem(newProblem(http.StatusNotFound, codeNoDevSignIn, "the shop signs buyers in"))
		return
	}
	if detail := wrongName([]byte(b.User), 64); detail != "" {
		c.problem(invalidField("user", detail))
		return
	}
	token, expires, err := p.deps.SignIn.Token(b.User)
	if err != nil {
		c.problem(err)
		return
	}
	c.json(http.StatusOK, devTokenAnswer{Token: token, ExpiresAt: expires.UTC().Truncate(time.Second)})
}

// ownHost says whether a Host header names this machine by what nobody else can give to it: the loopback, or the very
// address that the connection came in on. Any other name may be one of a stranger's page.
func ownHost(host string, local net.Addr) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	here, ok := local.(*net.TCPAddr)
	return ip.IsLoopback() || ok && !ip.IsUnspecified() && ip.Unmap() == here.AddrPort().Addr().Unmap()
}
