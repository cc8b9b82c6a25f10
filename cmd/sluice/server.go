package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/metrics"
)

// undoTimeout bounds how long a start that failed waits for requests of operators.
const undoTimeout = 3 * time.Second

// server is a running Sluice. startServer gives one that answers; stop takes it down. Lab and demo run one inside
// their own process.
type server struct {
	cfg     *config.Loaded
	log     *slog.Logger
	level   *slog.LevelVar
	metrics *metrics.Set
	ready   *readiness
	parts   *parts
	made    []string // the secrets that this start has made

	certs        [2]*certificate // public, operators'
	publicLn     net.Listener
	adminLn      net.Listener
	public       *api.Public
	publicNow    atomic.Pointer[api.Public] // public, for scrapes that come during the start
	admin        *api.Admin
	failed       chan error // a listener that ended by itself
	stops        []stopper  // in the order of start
	publicScheme string
	adminScheme  string
}

// stopper takes one part down.
type stopper struct {
	what string
	stop func(context.Context) error
}

// serverOptions are what startServer needs beside the configuration.
type serverOptions struct {
	log      io.Writer // of the server's log
	progress io.Writer // of what takes long at the start; io.Discard for none
	started  time.Time
}

// startServer starts everything in order: it locks the data folder, opens the ledger, makes the secrets, answers the
// operators (so that they can ask how far the start has come), arms admission, starts the agents and lets the public
// in. An error leaves nothing running. ctx bounds the start only.
func startServer(ctx context.Context, cfg *config.Loaded, o serverOptions) (*server, error) {
	s := &server{cfg: cfg, level: new(slog.LevelVar), ready: &readiness{}, failed: make(chan error, 2)}
	s.log = newLogger(o.log, cfg.Log, s.level)
	b := buildInfo()
	s.metrics = metrics.New(metrics.Config{
		Version: b.Version, Revision: b.Revision, Started: o.started, Agents: agentNames(cfg),
	})
	s.ready.begin("starting", "")
	for _, step := range []func(context.Context, serverOptions) error{
		s.checkListeners, s.openParts, s.listenAdmin, s.arm, s.startAgents, s.listenPublic,
	} {
		if err := step(ctx, o); err != nil {
			hurry, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
			defer cancel()
			return nil, errors.Join(err, s.takeDown(hurry))
		}
	}
	s.ready.done("starting")
	for _, x := range secretSettings(s.cfg) {
		if x.weak() {
			s.log.Warn("a secret is short; sluice doctor tells how to make a strong one", "setting", x.name)
		}
	}
	if s.cfg.Sandbox() {
		s.log.Warn("payments are a sandbox: whoever reaches the public listener can pay orders with nothing",
			"setting", "payment.provider")
	}
	if s.cfg.DevSignIn() {
		s.log.Warn("development: whoever reaches the public listener signs in with any name", "setting", "sign_in.dev")
	}
	s.log.Info("ready", "public", s.publicURL(), "operators", s.adminURL(), "data", cfg.Data, "version", b.Version,
		"took", time.Since(o.started).Round(time.Millisecond).String())
	return s, nil
}

// publicURL and adminURL tell where the listeners are.
func (s *server) publicURL() string { return s.publicScheme + "://" + s.publicLn.Addr().String() }

func (s *server) adminURL() string { return s.adminScheme + "://" + s.adminLn.Addr().String() }

// onStop adds to what stop takes down, in reverse order.
func (s *server) onStop(what string, stop func(context.Context) error) {
	s.stops = append(s.stops, stopper{what, stop})
}

// checkListeners reads the certificates and tries both addresses, before anything that takes long.
func (s *server) checkListeners(context.Context, serverOptions) (err error) {
	for i, files := range []config.TLS{s.cfg.TLS, s.cfg.AdminTLS} {
		if s.certs[i], err = newCertificate(files, s.log); err != nil {
			return err
		}
	}
	ln, err := listen("listen", s.cfg.Listen)
	if err != nil {
		return err
	}
	if err := ln.Close(); err != nil {
		return err
	}
	s.adminLn, err = listen("admin_listen", s.cfg.AdminListen)
	if err == nil {
		s.onStop("the operators' address", func(context.Context) error {
			_ = s.adminLn.Close() // its listener has closed it already, in most cases
			return nil
		})
	}
	return err
}

func listen(key, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &failure{code: exitFailed, err: fmt.Errorf("cannot listen on %s: %w", addr, err),
			next: "sluice serve --" + map[string]string{"listen": "listen", "admin_listen": "admin-listen"}[key] + " HOST:PORT"}
	}
	return ln, nil
}

// makeSecrets needs the data folder for itself, which the ledger's lock has seen to.
func (s *server) makeSecrets() error {
	if s.shared() {
		return s.needSecrets()
	}
	made, err := s.cfg.MakeSecrets()
	if err != nil {
		return err
	}
	if s.made = made; len(made) > 0 {
		s.log.Info("secrets made", "names", made, "file", s.cfg.SecretsPath())
	}
	return nil
}

// needSecrets takes secrets that are set or kept and makes none: nodes that each made their own would not believe each
// other's tokens, keys and payments.
func (s *server) needSecrets() error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return err
	}
	if err := s.cfg.ReadSecrets(); err != nil {
		return err
	}
	missing := s.cfg.MissingSecrets()
	if len(missing) == 0 {
		return nil
	}
	variable := config.EnvPrefix + strings.ToUpper(strings.ReplaceAll(missing[0], ".", "_"))
	return &failure{code: exitFailed, next: variable + "=$(openssl rand -hex 32), the same on every node",
		err: fmt.Errorf("%s is not set: all nodes on one ledger need the same secrets, so that none is made",
			strings.Join(missing, ", "))}
}

func (s *server) openParts(ctx context.Context, _ serverOptions) (err error) {
	s.parts, err = openParts(ctx, s)
	return err
}

func (s *server) listenAdmin(context.Context, serverOptions) (err error) {
	if s.admin, err = s.parts.newAdmin(s); err != nil {
		return err
	}
	s.adminScheme = schemeOf(s.certs[1])
	go s.serve("the operators' listener", s.admin.Serve, s.adminLn)
	s.onStop("the operators' listener", s.admin.Shutdown)
	return nil
}

// arm loads every campaign; its progress is on stderr and in /readyz.
func (s *server) arm(ctx context.Context, o serverOptions) error {
	const what = "arming"
	s.ready.begin(what, "")
	p := newProgress(o.progress, false)
	defer p.end()
	err := s.parts.arm(ctx, s, func(campaign string, rows, of int64) {
		s.ready.begin(what, fmt.Sprintf("campaign %s, %d of %d claims", campaign, rows, of))
		p.at("arming "+campaign+":", rows, of)
	})
	if err == nil {
		debug.FreeOSMemory() // what reading millions of rows left behind is not needed again
		s.ready.done(what)
	}
	return err
}

func (s *server) startAgents(context.Context, serverOptions) error {
	s.parts.startAgents(s)
	return nil
}

func (s *server) listenPublic(context.Context, serverOptions) (err error) {
	if s.public, err = s.parts.newPublic(s); err != nil {
		return err
	}
	s.publicNow.Store(s.public)
	if s.publicLn, err = listen("listen", s.cfg.Listen); err != nil {
		return err
	}
	s.publicScheme = schemeOf(s.certs[0])
	go s.serve("the public listener", s.public.Serve, s.publicLn)
	s.onStop("the public listener", s.public.Shutdown)
	return nil
}

func schemeOf(c *certificate) string {
	if c == nil {
		return "http"
	}
	return "https"
}

// serve runs a listener and reports where it ends by itself.
func (s *server) serve(what string, run func(net.Listener) error, ln net.Listener) {
	if err := run(ln); err != nil {
		select {
		case s.failed <- fmt.Errorf("%s: %w", what, err):
		default:
		}
	}
}

// stop takes everything down in reverse order: the public listener accepts no more and lets what is under way finish,
// the agents stop, the batches are committed, the ledger is closed. ctx bounds the wait for requests under way; the
// rest is finished in any case. It is to be called once.
func (s *server) stop(ctx context.Context) error {
	s.ready.begin("stopping", "")
	began := time.Now()
	select {
	case <-time.After(s.cfg.Shutdown.Delay):
	case <-ctx.Done():
	}
	err := s.takeDown(ctx)
	if err != nil {
		s.log.Error("stopped, not in good order", "err", err)
		return err
	}
	s.log.Info("stopped", "took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

func (s *server) takeDown(ctx context.Context) error {
	var all error
	for _, x := range slices.Backward(s.stops) {
		s.ready.begin("stopping", x.what)
		switch err := x.stop(ctx); {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			s.log.Warn("requests under way were cut", "by", x.what)
		default:
			all = errors.Join(all, fmt.Errorf("stop %s: %w", x.what, err))
		}
	}
	s.stops = nil
	return all
}

// reload reads the certificates again; force also where their files look unchanged.
func (s *server) reload(force bool) {
	for _, c := range s.certs {
		c.reload(force)
	}
}
