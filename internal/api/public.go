package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
)

// Gate decides claims and tells whom a token speaks for. None of its methods does I/O, but Claim waits for the
// commit of a claim that was admitted.
type Gate interface {
	// Claim walks the funnel. It is safe to repeat with the same request id. It returns when ctx is done at the
	// latest, with ReasonUnavailable and the claim's id where the outcome is not known then.
	Claim(ctx context.Context, req *sluice.ClaimRequest) sluice.Decision
	// Identify verifies a bearer token; an error means that it is not to be trusted.
	Identify(token []byte) (sluice.Identity, error)
	// Campaign gives the settings of a campaign; false where there is none.
	Campaign(id string) (*sluice.Campaign, bool)
}

// Keys looks API keys up by the SHA-256 of the key. ErrNotFound where there is none; a revoked key is given with
// RevokedAt set.
type Keys interface {
	KeyByHash(ctx context.Context, hash [32]byte) (sluice.APIKey, error)
}

// Pages are the files of the sale page.
type Pages interface {
	// File gives the file of a path for a client that accepts the codings of accept: headers (among them Etag) and body,
	// neither of which may be written to; false where there is none. It does no I/O.
	File(path, accept string) (http.Header, []byte, bool)
}

// SignIn makes tokens in development.
type SignIn interface {
	// Token gives a token for the user and when it ends. It does no I/O.
	Token(user string) (token string, expires time.Time, err error)
}

// PublicConfig are the settings of the public listener. Zero values mean the default.
type PublicConfig struct {
	Now    func() time.Time
	Logger *slog.Logger
	TLS    *tls.Config // nil: plain HTTP

	Origins          []string // that may call from a browser; "*" is any, and refused together with AllowCredentials
	AllowCredentials bool
	TrustedProxies   []netip.Prefix // whose X-Forwarded-For is believed
	DecisionStatus   string         // "body" (default) or "http"
	LoginURL, PayURL string         // of the shop; told to pages
	Sandbox          bool           // orders are paid by asking; told to pages
	PaymentSecrets   [][]byte       // any of them may have signed a notification
	CampaignTTL      time.Duration  // how long a computed campaign list is served; 250 ms to 1 s, default 500 ms

	MaxBody                                int // bytes of a body; default 64 KB. A claim's has at most 16 KB all the same
	MaxConns, MaxRequestsPerConn           int
	MaxClaims, MaxWaits, MaxLists, MaxRest int // in flight; as many of passes as of lists
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	ClaimTimeout, RequestTimeout           time.Duration
	OnClaim                                func(r sluice.Reason, took time.Duration) // may be nil; must not block
	OnAnswer                               func(status int)                          // may be nil; must not block
	OnPage                                 func(campaign string)                     // a buyer's page is open; likewise
	// Typical is what a queued claim waits for; may be nil.
	Typical func() time.Duration
}

// PublicDeps are what the public listener stands on. A nil one means that its routes answer 503.
type PublicDeps struct {
	Gate      Gate
	Claims    Claims
	Receipts  Receipts   // nil: nobody can lose a claim
	Lost      LostClaims // with Receipts
	Campaigns Campaigns
	Orders    Orders
	Coupons   Coupons
	Keys      Keys
	Passes    Passes
	Pages     Pages  // nil: no sale page
	SignIn    SignIn // nil: no tokens are made, as it has to be outside of development
}

// Public is the public listener. It owns its server and the counters of what is in flight.
type Public struct {
	cfg     PublicConfig
	deps    PublicDeps
	router  *router
	routes  []route
	server  *fasthttp.Server
	cors    *cors
	proxies proxies
	ids     *idMaker
	calls   sync.Pool
	fails   *failures

	schemas  huma.Registry
	bodies   map[reflect.Type]*huma.Schema // of every route's request; read only once built
	inFlight [numLanes]atomic.Int64
	maxLane  [numLanes]int64
	views    *campaignViews

	listener atomic.Pointer[net.Listener] // what Serve was given: a stop may come before the server has begun with it

	base     context.Context // ends when a graceful stop is over
	stop     context.CancelFunc
	waits    context.Context // ends when a graceful stop begins: nobody waits for outcomes then
	noWaits  context.CancelFunc
	draining chan struct{} // closed when a graceful stop begins
	drain    sync.Once     // closes draining
}

// NewPublic makes the listener; Serve starts it.
func NewPublic(cfg PublicConfig, deps PublicDeps) (*Public, error) {
	cfg = cfg.withDefaults()
	p := &Public{cfg: cfg, deps: deps, ids: newIDMaker(), proxies: cfg.TrustedProxies, fails: newFailures(cfg.Now),
		draining: make(chan struct{})}
	p.base, p.stop = context.WithCancel(context.Background())
	p.waits, p.noWaits = context.WithCancel(p.base)
	p.maxLane = [numLanes]int64{
		laneRest: int64(cfg.MaxRest), laneClaim: int64(cfg.MaxClaims), laneWait: int64(cfg.MaxWaits),
		laneList: int64(cfg.MaxLists), lanePass: int64(cfg.MaxLists),
	}
	p.calls.New = func() any { return new(call) }
	p.routes = publicRoutes()
	p.views = newCampaignViews(p)
	p.schemas, p.bodies = bodySchemas(p.routes)
	var err error
	if p.router, err = newRouter(p.routes); err != nil {
		return nil, err
	}
	if p.cors, err = newCORS(cfg.Origins, cfg.AllowCredentials); err != nil {
		return nil, err
	}
	if cfg.DecisionStatus != "body" && cfg.DecisionStatus != "http" {
		return nil, fmt.Errorf("api: decision_status is %q, want body or http", cfg.DecisionStatus)
	}
	p.server = p.newServer()
	return p, nil
}

// publicRoutes collects the routes of every noun, in the order in which they are documented.
func publicRoutes() []route {
	var all []route
	for _, noun := range [...]func() []route{
		timeRoutes, campaignRoutes, passRoutes, claimRoutes, orderRoutes, couponRoutes, devRoutes,
	} {
		all = append(all, noun()...)
	}
	return all
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (cfg PublicConfig) withDefaults() PublicConfig {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.DecisionStatus == "" {
		cfg.DecisionStatus = "body"
	}
	orDefault(&cfg.CampaignTTL, 500*time.Millisecond)
	cfg.CampaignTTL = min(max(cfg.CampaignTTL, 250*time.Millisecond), time.Second)
	orDefault(&cfg.MaxBody, maxBody)
	orDefault(&cfg.MaxConns, defaultMaxConns)
	orDefault(&cfg.MaxRequestsPerConn, defaultPerConn)
	orDefault(&cfg.MaxClaims, defaultClaims)
	orDefault(&cfg.MaxWaits, defaultWaits)
	orDefault(&cfg.MaxLists, defaultLists)
	orDefault(&cfg.MaxRest, defaultRest)
	orDefault(&cfg.ReadTimeout, readTimeout)
	orDefault(&cfg.WriteTimeout, writeTimeout)
	orDefault(&cfg.IdleTimeout, idleTimeout)
	orDefault(&cfg.ClaimTimeout, claimTimeout)
	orDefault(&cfg.RequestTimeout, restTimeout)
	return cfg
}

func (p *Public) newServer() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      p.Handle,
		ErrorHandler:                 p.unreadable,
		Logger:                       quietLogger{p.cfg.Logger},
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		NoDefaultDate:                true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		Concurrency:                  p.cfg.MaxConns,
		MaxRequestsPerConn:           p.cfg.MaxRequestsPerConn,
		MaxRequestBodySize:           p.cfg.MaxBody,
		ReadBufferSize:               maxHead,
		ReadTimeout:                  p.cfg.ReadTimeout,
		WriteTimeout:                 p.cfg.WriteTimeout,
		IdleTimeout:                  p.cfg.IdleTimeout,
		TCPKeepalive:                 true,
		LazyRequestTime:              true,
	}
}

// Serve answers on ln until Shutdown; it closes ln. The error is nil after a Shutdown, also one that came before. It is
// to be called once.
func (p *Public) Serve(ln net.Listener) error {
	p.listener.Store(&ln)
	select {
	case <-p.draining: // Shutdown may not have seen ln
		_ = ln.Close()
		return nil
	default:
	}
	ln = lazyListener{ln}
	if p.cfg.TLS != nil {
		ln = tls.NewListener(ln, p.cfg.TLS)
	}
	if err := p.server.Serve(ln); err != nil {
		return fmt.Errorf("api: public listener: %w", err)
	}
	return nil
}

// Shutdown stops accepting, lets running requests finish, and returns when they have or ctx is done; what still runs
// then is told so by its context. It is idempotent.
func (p *Public) Shutdown(ctx context.Context) error {
	p.drain.Do(func() { close(p.draining); p.noWaits() })
	err := p.server.ShutdownWithContext(ctx)
	if ln := p.listener.Load(); ln != nil {
		_ = (*ln).Close() // the server closes only what it has begun to serve
	}
	p.stop()
	if err != nil {
		return fmt.Errorf("api: stop the public listener: %w", err)
	}
	return nil
}

// Handle answers one request. It never panics.
func (p *Public) Handle(ctx *fasthttp.RequestCtx) {
	c := p.calls.Get().(*call)
	c.begin(p, ctx)
	defer p.finish(c)
	p.answer(c)
}

// finish turns a panic into a 500, completes what every answer has and gives the call back.
func (p *Public) finish(c *call) {
	if cause := recover(); cause != nil {
		c.ctx.Response.Reset()
		c.logPanic(cause)
		c.problem(newProblem(http.StatusInternalServerError, codeInternal, ""))
	}
	c.complete()
	status := c.ctx.Response.StatusCode()
	if p.cfg.OnAnswer != nil {
		p.cfg.OnAnswer(status)
	}
	c.end()
	p.calls.Put(c)
}

func (p *Public) answer(c *call) {
	ctx := c.ctx
	if len(ctx.Request.Header.RequestURI()) > maxURI {
		c.problem(newProblem(http.StatusRequestURITooLong, codeURITooLong, "at most 4096 bytes"))
		return
	}
	n, ok := split(c.path(), &c.parts)
	if !ok {
		c.problem(newProblem(http.StatusNotFound, codeNotFound, ""))
		return
	}
	found, allow := p.router.find(ctx.Method(), c.parts[:n])
	if ctx.IsOptions() {
		p.options(c, found, allow)
		return
	}
	if found == nil {
		if !p.page(c) {
			p.noRoute(c, allow)
		}
		return
	}
	c.route = found
	if n := p.inFlight[found.lane].Add(1); found.lane != laneFree && p.shed(found.lane, n) {
		p.inFlight[found.lane].Add(-1)
		c.busy()
		return
	}
	defer p.inFlight[found.lane].Add(-1)
	if err := p.admitBody(c); err != nil {
		c.problem(err)
		return
	}
	if err := p.authenticate(c); err != nil {
		c.problem(err)
		return
	}
	found.handle(p, c)
}

// shed says whether a lane is full. Lists go first: also when claims alone fill half of their own bound.
func (p *Public) shed(l lane, n int64) bool {
	if n > p.maxLane[l] {
		return true
	}
	return l == laneList && p.inFlight[laneClaim].Load() > p.maxLane[laneClaim]/2
}

// InFlight counts the requests under way, by kind.
func (p *Public) InFlight() map[string]int64 {
	return map[string]int64{
		"claims": p.inFlight[laneClaim].Load(), "results": p.inFlight[laneWait].Load(),
		"lists": p.inFlight[laneList].Load(), "passes": p.inFlight[lanePass].Load(), "rest": p.inFlight[laneRest].Load(),
	}
}

func (p *Public) noRoute(c *call, allow string) {
	if allow == "" {
		c.problem(newProblem(http.StatusNotFound, codeNotFound, "there is no such path"))
		return
	}
	c.ctx.Response.Header.Set("Allow", allow)
	c.problem(newProblem(http.StatusMethodNotAllowed, codeMethod, "allowed are "+allow))
}

// admitBody refuses a body that is too large for its route, or in a form nobody here reads.
func (p *Public) admitBody(c *call) error {
	limit := p.cfg.MaxBody
	if c.route.maxBody > 0 {
		limit = min(limit, c.route.maxBody)
	}
	if len(c.ctx.Request.Body()) > limit {
		return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("at most %d bytes", limit))
	}
	if len(c.ctx.Request.Header.ContentEncoding()) > 0 {
		return newProblem(http.StatusUnsupportedMediaType, codeMediaType, "a content encoding is not accepted")
	}
	return nil
}

// unreadable answers what could not even be read as a request.
func (p *Public) unreadable(ctx *fasthttp.RequestCtx, err error) {
	c := p.calls.Get().(*call)
	c.begin(p, ctx)
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		c.problem(newProblem(http.StatusRequestHeaderFieldsTooLarge, codeHeadersTooLarge, "at most 16384 bytes"))
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		c.problem(newProblem(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("at most %d bytes", p.cfg.MaxBody)))
	case errors.As(err, &timeout) && timeout.Timeout():
		c.problem(newProblem(http.StatusRequestTimeout, codeTimeout, ""))
	default:
		c.problem(newProblem(http.StatusBadRequest, codeBadRequest, "this is not a request of HTTP/1.1"))
	}
	ctx.SetConnectionClose()
	p.finish(c)
}

// quietLogger keeps fasthttp's own remarks, which are about single connections, at debug.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("public listener", "remark", fmt.Sprintf(format, args...))
	}
}
