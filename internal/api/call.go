package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
)

// call is one request of the public listener while it is answered. It belongs to its handler until that returns:
// nothing may keep it, nor ctx.
type call struct {
	p        *Public
	ctx      *fasthttp.RequestCtx
	route    *compiled
	identity sluice.Identity // routes of authBuyer
	key      sluice.APIKey   // routes of authMerchant
	lang     lang
	claim    sluice.ClaimRequest
	body     claimBody
	deadline *lazyDeadline

	parts     [maxSegments][]byte // of the path; they point into the request
	requestID []byte
	idRoom    [32]byte
	out       []byte // scratch for an answer that is built by hand
	cancel    context.CancelFunc
	rest      context.Context
}

func (c *call) begin(p *Public, ctx *fasthttp.RequestCtx) {
	c.p, c.ctx, c.route = p, ctx, nil
	c.lang = langEN
	if h := ctx.Request.Header.Peek("Accept-Language"); len(h) > 0 {
		c.lang = parseLang(h)
	}
	if h := ctx.Request.Header.Peek("X-Request-Id"); saneID(h) {
		c.requestID = h
	} else {
		c.requestID = p.ids.append(c.idRoom[:0])
	}
}

// end forgets everything that belongs to the request.
func (c *call) end() {
	if c.cancel != nil {
		c.cancel()
	}
	deadline := c.deadline
	if deadline != nil && deadline.end() {
		deadline = nil // whoever waited on it may still hold it: database/sql looks at it once more, later
	}
	out, room := c.out[:0], c.body.room[:0]
	if cap(out) > maxBody {
		out = nil
	}
	*c = call{out: out, deadline: deadline, body: claimBody{room: room, faults: c.body.faults[:0]}}
}

// complete sets the headers that every answer has.
func (c *call) complete() {
	h := &c.ctx.Response.Header
	h.SetCanonical(headerRequestID, c.requestID)
	h.SetCanonical(headerNosniff, valueNosniff)
	if len(h.PeekBytes(headerCacheControl)) == 0 {
		h.SetCanonical(headerCacheControl, valueNoStore)
	}
	if c.p.cors != nil {
		c.p.cors.answer(c.ctx)
	}
	if c.ctx.IsTLS() {
		h.SetCanonical(headerHSTS, valueHSTS)
	}
}

// Header names and values in the form in which they go out. Nobody writes to them.
var (
	headerRequestID    = []byte("X-Request-Id")
	headerNosniff      = []byte("X-Content-Type-Options")
	headerCacheControl = []byte("Cache-Control")
	headerHSTS         = []byte("Strict-Transport-Security")
	headerRetryAfter   = []byte("Retry-After")
	headerLanguage     = []byte("Content-Language")
	valueNosniff       = []byte("nosniff")
	valueNoStore       = []byte("no-store")
	valueHSTS          = []byte("max-age=31536000")
	typeJSON           = []byte("application/json")
	typeProblem        = []byte(problemType)
)

// pathOf gives the path of a request as it was sent, without the query: what is signed.
func pathOf(uri []byte) []byte {
	path, _, _ := bytes.Cut(uri, []byte("?"))
	return path
}

// path gives the path as it was sent, decoded only where it has escapes.
func (c *call) path() []byte {
	uri := c.ctx.Request.Header.RequestURI()
	for i, b := range uri {
		switch b {
		case '?':
			return uri[:i]
		case '%', '#', '\\':
			return c.ctx.Path()
		}
	}
	if len(uri) == 0 || uri[0] != '/' {
		return c.ctx.Path()
	}
	return uri
}

// paramBytes gives a parameter of the path; it points into the request.
func (c *call) paramBytes(name string) []byte {
	for i := range c.route.segments {
		if c.route.segments[i].name == name {
			return c.parts[i]
		}
	}
	return nil
}

// param gives a copy of a parameter of the path; empty where the route has none of that name.
func (c *call) param(name string) string { return string(c.paramBytes(name)) }

// query gives a copy of a parameter of the query; empty where it is absent.
func (c *call) query(name string) string { return string(c.ctx.QueryArgs().Peek(name)) }

// queryInt reads a whole number between low and high from the query; def where it is absent, a 422 where it is no
// such number.
func (c *call) queryInt(name string, def, low, high int) (int, error) {
	raw := c.ctx.QueryArgs().Peek(name)
	if len(raw) == 0 {
		return def, nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < low || n > high {
		return 0, invalidField(name, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
	return n, nil
}

// page reads limit and cursor.
func (c *call) page() (limit int, cursor string, err error) {
	limit, err = c.queryInt("limit", defaultPage, 1, maxPage)
	if cursor = c.query("cursor"); err == nil && len(cursor) > 256 {
		err = invalidField("cursor", "must be one that was given with a page")
	}
	return limit, cursor, err
}

// now is the server's clock.
func (c *call) now() sluice.Millis { return sluice.MillisOf(c.p.cfg.Now()) }

// context gives a context for the work of this call: it ends with the call, after the listener's request timeout,
// or when a graceful stop has run out of patience.
func (c *call) context() context.Context {
	if c.rest == nil {
		c.rest, c.cancel = context.WithTimeout(c.p.base, c.p.cfg.RequestTimeout)
	}
	return c.rest
}

// addr is the client's address, by way of trusted proxies only.
func (c *call) addr() netip.Addr { return c.p.proxies.client(c.ctx) }

// decode reads the body strictly into v, whose type has to be the route's opDoc.request: one JSON value, no
// unknown field, no field twice, within the bounds that the type's tags state. The error is a *Problem.
func (c *call) decode(v any) error {
	body := c.ctx.Request.Body()
	if len(body) == 0 {
		return newProblem(http.StatusBadRequest, codeMalformed, "a body is needed")
	}
	if !isJSON(c.ctx.Request.Header.ContentType()) {
		return newProblem(http.StatusUnsupportedMediaType, codeMediaType, "send Content-Type: application/json")
	}
	return c.p.decodeStrict(body, v)
}

// json answers v with status.
func (c *call) json(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		c.problem(fmt.Errorf("encode an answer: %w", err))
		return
	}
	c.raw(status, typeJSON, body)
}

func (c *call) raw(status int, contentType, body []byte) {
	c.ctx.Response.SetStatusCode(status)
	c.ctx.Response.Header.SetContentTypeBytes(contentType)
	c.ctx.Response.SetBody(body)
}

// problem answers err. One that is the server's fault is logged; what is not a *Problem, a Fault or a sentinel is
// told as a bare 500.
func (c *call) problem(err error) {
	p := asProblem(err)
	if p.Status >= http.StatusInternalServerError {
		c.p.cfg.Logger.Log(c.p.base, failureLevel(err), "request failed", "err", err, "status", p.Status,
			"request_id", string(c.requestID), "method", string(c.ctx.Method()), "route", c.routePath())
	}
	c.answerProblem(p)
}

// answerProblem answers p and logs nothing.
func (c *call) answerProblem(problem *Problem) {
	p, h := *problem, &c.ctx.Response.Header
	p.Title, p.RequestID = titleOf(p.Code, p.Status, c.lang), string(c.requestID)
	switch {
	case p.RetryAfter > 0:
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfter+999)/1000, 10))
	case p.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set("Content-Language", c.lang.String())
	body, _ := json.Marshal(&p) // strings and numbers only: it cannot fail
	c.raw(p.Status, typeProblem, body)
}

func (c *call) routePath() string {
	if c.route == nil {
		return ""
	}
	return c.route.path
}

func (c *call) logPanic(cause any) {
	c.p.cfg.Logger.Error("panic in a handler", "cause", fmt.Sprint(cause), "request_id", string(c.requestID),
		"route", c.routePath(), "stack", string(debug.Stack()))
}

// busy answers that a lane is full: claims with their own decision, the rest with a problem.
func (c *call) busy() {
	if c.route.lane == laneClaim {
		c.decision(sluice.Decision{Reason: sluice.ReasonBusy, RetryAfterMS: 1000}, c.now())
		return
	}
	p := newProblem(http.StatusServiceUnavailable, codeBusy, "too many requests of this kind are under way")
	p.RetryAfter = 1000
	c.answerProblem(p)
}

// unsafeString views b as a string; it is good as long as the request is.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// saneID says whether a request id from outside is fit for logs and headers.
func saneID(b []byte) bool {
	if len(b) == 0 || len(b) > 64 {
		return false
	}
	for _, x := range b {
		switch {
		case x >= '0' && x <= '9', x >= 'a' && x <= 'z', x >= 'A' && x <= 'Z', x == '-', x == '_', x == '.':
		default:
			return false
		}
	}
	return true
}

// idMaker makes request ids: a random prefix for the process and a counter.
type idMaker struct {
	prefix string
	next   atomic.Uint64
}

func newIDMaker() *idMaker { return &idMaker{prefix: rand.Text()[:8] + "-"} }

func (m *idMaker) append(b []byte) []byte {
	return strconv.AppendUint(append(b, m.prefix...), m.next.Add(1), 36)
}

// lazyDeadline is a context that costs nothing until somebody waits on it. It is the claims' own: a refusal never
// waits, and must not allocate.
type lazyDeadline struct {
	base   context.Context
	after  time.Duration
	inner  context.Context
	cancel context.CancelFunc
}

func (d *lazyDeadline) start() context.Context {
	if d.inner == nil {
		d.inner, d.cancel = context.WithTimeout(d.base, d.after)
	}
	return d.inner
}

// end cancels it and says whether anybody has waited on it. One that nobody has may be used again for another request.
func (d *lazyDeadline) end() (waitedOn bool) {
	if d.cancel != nil {
		d.cancel()
	}
	return d.cancel != nil
}

// Deadline, Done, Err and Value make it a context.
func (d *lazyDeadline) Deadline() (time.Time, bool) { return d.start().Deadline() }

func (d *lazyDeadline) Done() <-chan struct{} { return d.start().Done() }

func (d *lazyDeadline) Err() error {
	if d.inner == nil {
		return d.base.Err()
	}
	return d.inner.Err()
}

func (d *lazyDeadline) Value(key any) any {
	if d.inner == nil {
		return d.base.Value(key)
	}
	return d.inner.Value(key)
}
