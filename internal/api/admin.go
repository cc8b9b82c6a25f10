package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// AdminConfig are the settings of the operators' listener. Zero values mean the default.
type AdminConfig struct {
	Now            func() time.Time
	Logger         *slog.Logger
	Level          *slog.LevelVar // what GET and PUT /v1/admin/log-level show and change; nil: there is no such route
	TLS            *tls.Config    // nil: plain HTTP
	TrustedProxies []netip.Prefix
}

// AdminDeps are what the operators' listener stands on. The routes of a noun whose port is nil are not registered.
type AdminDeps struct {
	Keys    Keys
	Console http.Handler              // answers GET of what is no route of the API, see console.go; nil: nobody does
	Noter   Noter                     // puts down what changes nothing in the ledger; nil: nobody does
	Metrics http.Handler              // answers /metrics; nil: there is no such route
	Ready   func() (waiting []string) // what /readyz waits for; empty when ready. May be nil: always ready

	Shelf     CampaignShelf // reading campaigns
	Campaigns CampaignDesk  // changing them
	Stock     StockDesk
	Grants    GrantDesk
	Audience  AudienceDesk
	Switches  SwitchDesk
	Nodes     NodeList
	Blocklist BlocklistDesk
	Allowlist BlocklistDesk
	Risk      RiskDesk
	KeyDesk   KeyDesk
	PassKeys  PassKeyDesk
	Sessions  SessionDesk
	Jobs      JobDesk
	Preflight PreflightDesk
	System    SystemDesk
	Audit     AuditLog
	Events    EventFeed
	Reports   ReportDesk
	Links     LinkDesk
	Analysis  AnalysisDesk
	Live      LiveDesk
	Claims    ClaimIndex
	Lookup    LookupDesk
	Orders    OrderDesk
	Payments  PaymentBook
	Coupons   CouponDesk

	DeadLetters DeadLetterDesk
	Reconcile   ReconcileDesk
	Shards      ShardDesk
}

// Admin is the operators' listener. It owns its server.
type Admin struct {
	cfg     AdminConfig
	deps    AdminDeps
	mux     *http.ServeMux
	api     huma.API
	server  *http.Server
	proxies proxies
	fails   *failures
	guesses *failures // of sessions: what an expired one asks must not keep its operator from signing in
	// Of links to reports: those who have them are nobody that the others are about.
	linkGuesses *failures
	ids         *idMaker
}

// NewAdmin makes the listener; Serve starts it.
func NewAdmin(cfg AdminConfig, deps AdminDeps) (*Admin, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Keys == nil {
		return nil, errors.New("api: the operators' listener needs Keys")
	}
	a := &Admin{
		cfg: cfg, deps: deps, mux: http.NewServeMux(), proxies: cfg.TrustedProxies, fails: newFailures(cfg.Now),
		guesses: newFailures(cfg.Now), linkGuesses: newFailures(cfg.Now), ids: newIDMaker(),
	}
	a.api = a.newAPI()
	a.registerSystem(a.api)
	a.registerNouns(a.api)
	if err := a.registerPages(); err != nil {
		return nil, err
	}
	a.server = &http.Server{
		Handler:           http.HandlerFunc(a.serveHTTP),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       adminReadTimeout,
		WriteTimeout:      adminWriteTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	return a, nil
}

// registerNouns adds the routes of every noun, in the order in which they are documented. Each noun file declares
// its ports and leaves its routes out where they are nil.
func (a *Admin) registerNouns(api huma.API) {
	a.registerCampaigns(api)
	a.registerGrants(api)
	a.registerSwitches(api)
	a.registerNodes(api)
	a.registerBlocklist(api)
	a.registerRisk(api)
	a.registerKeys(api)
	a.registerPassKeys(api)
	a.registerSessions(api)
	a.registerJobs(api)
	a.registerPreflight(api)
	a.registerServer(api)
	a.registerCSV(api)
	a.registerAudit(api)
	a.registerEvents(api)
	a.registerReports(api)
	a.registerReportLinks(api)
	a.registerAnalysis(api)
	a.registerLive(api)
	a.registerAdminClaims(api)
	a.registerOrders(api)
	a.registerCoupons(api)
	a.registerRedemptions(api)
	a.registerDeadLetters(api)
	a.registerReconcile(api)
	a.registerShards(api)
}

func (a *Admin) newAPI() huma.API {
	config := huma.DefaultConfig("Sluice operators' API", "1")
	config.CreateHooks = nil // no $schema in answers
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.Formats = map[string]huma.Format{"application/json": strictFormat(), "json": strictFormat()}
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey": {Type: "http", Scheme: "bearer", Description: "An API key: Authorization: Bearer <key>"},
		"session": {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "A browser's session: " +
			"POST /v1/admin/sessions. What changes something also needs header " + csrfHeader},
		"reportLink": {Type: "http", Scheme: "bearer", Description: "The secret of a link to one report"},
	}
	config.Transformers = []huma.Transformer{a.completeProblem}
	config.RejectUnknownQueryParameters = true
	api := humago.New(a.mux, config)
	api.UseMiddleware(a.authenticate)
	return api
}

// Serve answers on ln until Shutdown; it closes ln. The error is nil after a Shutdown.
func (a *Admin) Serve(ln net.Listener) error {
	if a.cfg.TLS != nil {
		ln = tls.NewListener(ln, a.cfg.TLS)
	}
	if err := a.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("api: operators' listener: %w", err)
	}
	return nil
}

// Shutdown stops accepting and lets running requests finish; those that still run when ctx is done are cut. It is
// idempotent.
func (a *Admin) Shutdown(ctx context.Context) error {
	if err := a.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("api: stop the operators' listener: %w", errors.Join(err, a.server.Close()))
	}
	return nil
}

// ServeHTTP answers one request.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.serveHTTP(w, r) }

func (a *Admin) serveHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if !saneID([]byte(id)) {
		id = string(a.ids.append(nil))
	}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", string(valueHSTS))
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, &requestInfo{
		id: id, addr: a.proxies.clientHTTP(r), lang: parseLang([]byte(r.Header.Get("Accept-Language"))),
		agent: r.UserAgent(), secure: a.proxies.secure(r), foreign: foreign(r),
	}))
	rec := &recorder{ResponseWriter: w}
	began, pattern := a.cfg.Now(), ""
	defer func() { a.access(r, rec, pattern, began) }()
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			a.logPanic(r, pattern, cause)
		}
		if rec.wrote {
			panic(http.ErrAbortHandler) // cuts the connection: half an answer must not look like a whole one
		}
		a.writeProblem(rec, r, newProblem(http.StatusInternalServerError, codeInternal, ""))
	}()
	if len(r.RequestURI) > maxURI {
		a.writeProblem(rec, r, newProblem(http.StatusRequestURITooLong, codeURITooLong, "at most 4096 bytes"))
		return
	}
	var handler http.Handler
	handler, pattern = a.mux.Handler(r)
	if pattern == "" {
		if a.deps.Console != nil && forConsole(r) {
			a.deps.Console.ServeHTTP(rec, r)
			return
		}
		a.noRoute(rec, r, handler)
		return
	}
	a.mux.ServeHTTP(rec, r)
}

// noRoute answers 404 and 405 as problems. The mux's own handler knows which, and what is allowed.
func (a *Admin) noRoute(w http.ResponseWriter, r *http.Request, own http.Handler) {
	probe := &statusProbe{header: http.Header{}}
	own.ServeHTTP(probe, r)
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		a.writeProblem(w, r, newProblem(http.StatusMethodNotAllowed, codeMethod, "allowed are "+allow))
	default:
		a.writeProblem(w, r, newProblem(http.StatusNotFound, codeNotFound, "there is no such path"))
	}
}

// recorder notes whether an answer has begun.
type recorder struct {
	http.ResponseWriter
	wrote  bool
	status int // 0: nothing said, which is 200
}

func (r *recorder) WriteHeader(status int) {
	r.wrote = true
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// access logs a call of an operator: one that changes something, and one whose key was refused, at info, the others at
// debug. The path is that of the route, since a path as it came may have a coupon's code in it.
func (a *Admin) access(r *http.Request, rec *recorder, pattern string, began time.Time) {
	level := slog.LevelInfo
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || !strings.Contains(pattern, "/v1/admin/")
	if refused := rec.status == http.StatusUnauthorized || rec.status == http.StatusForbidden; reads && !refused {
		level = slog.LevelDebug
	}
	if !a.cfg.Logger.Enabled(r.Context(), level) {
		return
	}
	info := infoOf(r.Context())
	_, path, _ := strings.Cut(pattern, " ")
	a.cfg.Logger.Log(r.Context(), level, "operator's call", "method", r.Method, "route", path,
		"status", cmp.Or(rec.status, http.StatusOK), "key", info.key.ID, "addr", info.addr.String(),
		"took_ms", a.cfg.Now().Sub(began).Milliseconds(), "request_id", info.id)
}

// statusProbe is a ResponseWriter that keeps status and headers only.
type statusProbe struct {
	header http.Header
	status int
}

func (s *statusProbe) Header() http.Header { return s.header }

func (s *statusProbe) WriteHeader(status int) { s.status = status }

func (s *statusProbe) Write(b []byte) (int, error) { return len(b), nil }
