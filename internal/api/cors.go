package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/valyala/fasthttp"
)

// cors lets the browsers of named origins in.
type cors struct {
	any         bool
	credentials bool
	origins     map[string]struct{}
}

// What a page may send and read.
const (
	corsHeaders = "Accept-Language, Authorization, Content-Type, Idempotency-Key, If-None-Match, Sluice-Nonce, " +
		"Sluice-Request-Signature, Sluice-Timestamp, X-Device-Id, X-Request-Id"
	corsExposed = "Content-Language, ETag, Retry-After, X-Request-Id"
)

func newCORS(origins []string, credentials bool) (*cors, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	c := &cors{origins: map[string]struct{}{}, credentials: credentials, any: slices.Contains(origins, "*")}
	if c.any && credentials {
		return nil, errors.New(`api: origin "*" cannot be combined with credentials`)
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o) {
			return nil, fmt.Errorf("api: %q is no origin: want scheme://host[:port]", o)
		}
		c.origins[o] = struct{}{}
	}
	return c, nil
}

func (c *cors) allows(origin []byte) bool {
	_, ok := c.origins[string(origin)]
	return ok || c.any && len(origin) > 0
}

// answer adds what lets the page read the answer.
func (c *cors) answer(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	if !c.any {
		h.Add("Vary", "Origin")
	}
	origin := ctx.Request.Header.Peek("Origin")
	if !c.allows(origin) {
		return
	}
	if c.any {
		h.Set("Access-Control-Allow-Origin", "*")
	} else {
		h.SetBytesV("Access-Control-Allow-Origin", origin)
	}
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	h.Set("Access-Control-Expose-Headers", corsExposed)
}

// options answers a preflight, and a plain OPTIONS with Allow.
func (p *Public) options(c *call, found *compiled, allow string) {
	if found != nil {
		allow = found.allow
	}
	if allow == "" {
		p.noRoute(c, "")
		return
	}
	h := &c.ctx.Response.Header
	h.Set("Allow", allow)
	asks := len(c.ctx.Request.Header.Peek("Access-Control-Request-Method")) > 0
	if asks && p.cors != nil && p.cors.allows(c.ctx.Request.Header.Peek("Origin")) {
		h.Set("Access-Control-Allow-Methods", allow)
		h.Set("Access-Control-Allow-Headers", corsHeaders)
		h.Set("Access-Control-Max-Age", preflightSeconds)
	}
	c.ctx.Response.SetStatusCode(http.StatusNoContent)
}
