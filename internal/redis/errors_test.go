package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestErrorsOfOne sorts the errors of one Redis, each brought about for real. What was not done leaves no trace.
func TestErrorsOfOne(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []servers.RedisOption
		do      func(h *house, server *servers.RedisServer) (undo func())
		want    error
	}{
		{"OOM", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("CONFIG", "SET", "maxmemory", "1")
			return func() { s.Do("CONFIG", "SET", "maxmemory", "0") }
		}, sluice.ErrUnavailable},
		{"READONLY", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("REPLICAOF", "127.0.0.1", "1")
			return func() { s.Do("REPLICAOF", "NO", "ONE") }
		}, sluice.ErrUnavailable},
		{"MASTERDOWN", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			s.Do("REPLICAOF", "127.0.0.1", "1")
			return func() { s.Do("REPLICAOF", "NO", "ONE") }
		}, sluice.ErrUnavailable},
		{"NOREPLICAS", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("CONFIG", "SET", "min-replicas-to-write", "1")
			return func() { s.Do("CONFIG", "SET", "min-replicas-to-write", "0") }
		}, sluice.ErrUnavailable},
		{"BUSY", []servers.RedisOption{servers.With("busy-reply-threshold", "20")}, busy, sluice.ErrUnavailable},
		{"LOADING", []servers.RedisOption{
			servers.With("key-load-delay", "2000"), servers.With("loading-process-events-interval-bytes", "1024"),
			servers.With("appendonly", "no"),
		}, loading, sluice.ErrUnavailable},
		{"NOSCRIPT is healed", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("SCRIPT", "FLUSH")
			return func() {}
		}, nil},
		{"WRONGTYPE", nil, func(h *house, _ *servers.RedisServer) func() {
			key := h.client.GateKey(&h.c, 0)
			if err := errors.Join(h.client.Do(h.t.Context(), "RENAME", key, key+"x"),
				h.client.Do(h.t.Context(), "SET", key, "x")); err != nil {
				h.t.Fatal(err)
			}
			return func() { _ = h.client.Do(h.t.Context(), "RENAME", key+"x", key) }
		}, sluice.ErrInvalid},
		{"NOPERM", nil, func(_ *house, s *servers.RedisServer) func() {
			s.Do("ACL", "SETUSER", "default", "-evalsha", "-eval")
			return func() { s.Do("ACL", "SETUSER", "default", "+@all") }
		}, sluice.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, server := single(t, aSale("spring", 5), 10, tt.options...)
			a := h.claim("a", "1", 1)
			undo := tt.do(h, server)
			_, err := h.tryAdmit(t.Context(), a)
			if tt.want == nil && err != nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
			if tt.want != nil && errors.Is(err, sluice.ErrUncertain) {
				t.Errorf("uncertain: %v", err)
			}
			if code := redis.Code(err); tt.want != nil && code != tt.name {
				t.Errorf("the answer is %q: %v", code, err)
			}
			undo()
			if tt.want == nil {
				return
			}
			within(t, 5*time.Second, func() bool { // the first that is answered is new: nothing had been done
				r, err := h.tryAdmit(t.Context(), a)
				if err == nil {
					h.want("after", r, welcome)
				}
				return err == nil
			})
		})
	}
}

// busy lets a script of somebody else's run for too long.
func busy(h *house, s *servers.RedisServer) func() {
	done := make(chan struct{})
	other := on(h.t, s.URL(), h.c)
	go func() {
		defer close(done)
		_ = other.client.Slow(context.Background(), "x", 600) // it may be killed
	}()
	within(h.t, 3*time.Second, func() bool {
		return redis.Code(h.client.Do(h.t.Context(), "EXISTS", "y")) == "BUSY"
	})
	return func() { <-done }
}

// loading starts the server anew on data that it reads slowly.
func loading(h *house, s *servers.RedisServer) func() {
	big := string(make([]byte, 1<<10))
	for i := range 500 {
		if err := h.client.Do(h.t.Context(), "SET", user(i), big); err != nil {
			h.t.Fatal(err)
		}
	}
	s.Do("SAVE")
	s.Kill9()
	done := make(chan struct{})
	go func() { s.Start(); close(done) }()
	within(h.t, 5*time.Second, func() bool {
		return redis.Code(h.client.Do(h.t.Context(), "EXISTS", "y")) == "LOADING"
	})
	return func() { <-done }
}

// TestGivenUp: a call that was given up before it was sent has done nothing.
func TestGivenUp(t *testing.T) {
	h, _ := single(t, aSale("spring", 5), 10)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	a := h.claim("a", "1", 1)
	if _, err := h.tryAdmit(over, a); !errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain) {
		t.Errorf("%v", err)
	}
	h.want("after", h.admit(a), welcome)
}

// TestErrorsOnTheWay: what became of a call that may have arrived is not known, and the same call again tells.
func TestErrorsOnTheWay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(p *servers.FaultProxy, s *servers.RedisServer)
		heal  func(p *servers.FaultProxy, s *servers.RedisServer)
		want  error
		after redis.Verdict
	}{
		{"the answer is lost", func(p *servers.FaultProxy, _ *servers.RedisServer) { p.LoseReplies() },
			func(p *servers.FaultProxy, _ *servers.RedisServer) { p.Restore() }, sluice.ErrUncertain, queued},
		{"the request is lost", func(p *servers.FaultProxy, _ *servers.RedisServer) { p.LoseRequests() },
			func(p *servers.FaultProxy, _ *servers.RedisServer) { p.Restore() }, sluice.ErrUncertain, welcome},
		{"it is frozen", func(_ *servers.FaultProxy, s *servers.RedisServer) { s.Freeze() },
			func(_ *servers.FaultProxy, s *servers.RedisServer) { s.Thaw() }, sluice.ErrUncertain, 0},
		{"nobody listens", func(p *servers.FaultProxy, s *servers.RedisServer) { s.Kill9() },
			func(p *servers.FaultProxy, s *servers.RedisServer) { s.Start() }, nil, welcome},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := servers.Redis(t, servers.With("appendfsync", "always"))
			proxy := servers.Proxy(t, server.Addr)
			client, err := redis.Open(t.Context(), redis.Config{URL: "redis://" + proxy.Addr, Timeout: 500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			h := &house{t: t, client: client, c: aSale("spring", 5), all: map[string]sluice.Campaign{}}
			h.Gates = redis.NewGates(client, func(string) (sluice.Campaign, bool) { return h.c, true })
			h.arm(1, 10)
			a := h.claim("a", "1", 1)
			other := h.c
			other.Epoch = 99
			call := redis.AdmitCall{Campaign: &other, Claims: []sluice.Claim{a}}
			if r, err := h.Admit(t.Context(), call); err != nil || r.Status != redis.GateEpoch {
				t.Fatal(r, err) // the script is there, and nothing was done
			}
			tt.do(proxy, server)
			_, err = h.tryAdmit(t.Context(), a)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
			t.Log(err)
			tt.heal(proxy, server)
			within(t, 5*time.Second, func() bool {
				r, err := h.tryAdmit(t.Context(), a)
				if err == nil && tt.after != 0 {
					h.want("the same call again", r, tt.after)
				}
				return err == nil
			})
			for calm := 0; calm < 20; calm++ { // each connection that broke is found broken once
				if _, err := h.State(t.Context(), h.c); err != nil {
					calm = 0
				}
			}
			if s := h.sums()[0]; s.Available != 9 || s.Live != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestNobodyListens: a connection that is refused has done nothing.
func TestNobodyListens(t *testing.T) {
	h, server := single(t, aSale("spring", 5), 10)
	server.Kill9()
	within(t, 5*time.Second, func() bool { // the connections that stood are found broken first
		_, err := h.tryAdmit(t.Context(), h.claim("a", "1", 1))
		if err == nil {
			t.Fatal("somebody answers")
		}
		return errors.Is(err, sluice.ErrUnavailable)
	})
	if _, err := redis.Open(t.Context(), redis.Config{URL: server.URL()}); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("open: %v", err)
	}
}
