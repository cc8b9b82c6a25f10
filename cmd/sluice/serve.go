package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// serveCmd runs the server.
type serveCmd struct {
	File string `name:"config" placeholder:"FILE" help:"YAML file with settings (SLUICE_CONFIG)." predictor:"file"`
	kong.Plugins
}

// Run runs it until a signal comes: SIGTERM or SIGINT stop it in good order, a second one makes it hurry, a third one
// ends it at once; SIGHUP reads certificates again.
func (c *serveCmd) Run(a *app) error {
	cfg, err := a.loadConfig(c.File, given(c.Plugins))
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	a.stop() // the verbs' own handling of signals
	keepPrivate()

	starting, abort := context.WithCancel(context.Background())
	defer abort()
	started := make(chan error, 1)
	var s *server
	go func() {
		var err error
		s, err = startServer(starting, cfg, serverOptions{log: a.err, progress: a.err, started: time.Now()})
		started <- err
	}()
	var early os.Signal // one that came before the start was over: it may have come too late to abort it
	for {
		select {
		case err := <-started:
			switch {
			case err != nil && early != nil && errors.Is(err, context.Canceled):
				return nil
			case err != nil:
				return err
			case early != nil:
				return s.stopOn(early, signals)
			}
			return s.run(signals)
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				early = sig
				abort()
			}
		}
	}
}

// run waits for the end of a started server.
func (s *server) run(signals chan os.Signal) error {
	watch := time.NewTicker(2 * time.Second)
	defer watch.Stop()
	for {
		select {
		case err := <-s.failed:
			s.log.Error("a listener has ended; stopping", "err", err)
			ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Shutdown.Delay+s.cfg.Shutdown.Grace)
			defer cancel()
			if e := s.stop(ctx); e != nil {
				return e
			}
			return err
		case <-watch.C:
			s.reload(false)
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				s.reload(true)
				continue
			}
			return s.stopOn(sig, signals)
		}
	}
}

// stopOn stops in good order on a signal and hurries at the next one.
func (s *server) stopOn(sig os.Signal, signals chan os.Signal) error {
	s.log.Info("stopping", "signal", sig.String(), "grace", s.cfg.Shutdown.Grace.String())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Shutdown.Delay+s.cfg.Shutdown.Grace)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.stop(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				continue
			}
			s.log.Warn("hurrying: requests under way are cut; the next signal ends the process at once")
			cancel()
			signal.Reset(os.Interrupt, syscall.SIGTERM)
		}
	}
}
