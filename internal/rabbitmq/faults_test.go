package rabbitmq_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/servers"
)

func viaProxy(t *testing.T, v *servers.RabbitVhost) (*servers.FaultProxy, rabbitmq.Config) {
	t.Helper()
	p := servers.Proxy(t, v.Addr)
	return p, config("amqp://guest:guest@" + p.Addr + "/" + v.Name)
}

// again publishes until the broker has confirmed, as the relay does. It gives how often it failed.
func again(t *testing.T, p *rabbitmq.Publisher, all []sluice.Claim) (failed int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.Publish(ctx, all)
		if err == nil {
			return failed
		}
		failed++
		if !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain) || ctx.Err() != nil {
			t.Errorf("after %d failed calls: %v", failed, err)
			return failed
		}
		<-tick.C
	}
}

// TestNotConfirmedIsNotKnown: whatever is lost on the way, the answer is that it is not known, in bounded time; and
// publishing again brings every claim, some of them twice.
func TestNotConfirmedIsNotKnown(t *testing.T) {
	v := servers.Rabbit(t)
	for _, tt := range []struct {
		name  string
		fault func(*servers.FaultProxy)
		twice bool
	}{
		{"confirmations lost", (*servers.FaultProxy).LoseReplies, true},
		{"messages lost", (*servers.FaultProxy).LoseRequests, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy, cfg := viaProxy(t, v)
			cfg.Prefix = map[bool]string{true: "a", false: "b"}[tt.twice]
			p := publisher(t, cfg)
			tt.fault(proxy)
			begun := time.Now()
			if err := p.Publish(t.Context(), claims(0, 50)); !errors.Is(err, sluice.ErrUncertain) {
				t.Errorf("it says %v", err)
			}
			if took := time.Since(begun); took > cfg.ConfirmTimeout+time.Second {
				t.Errorf("it took %s", took)
			}
			proxy.Restore()
			again(t, p, claims(0, 50))
			direct := config(v.URL)
			direct.Prefix = cfg.Prefix
			n := 50
			if tt.twice {
				n = 100
			}
			c := consumer(t, direct)
			got := map[sluice.ClaimID]int{}
			for _, d := range receive(t, c, n) {
				got[d.Claim.ID]++
			}
			if len(got) != 50 {
				t.Errorf("%d claims came", len(got))
			}
		})
	}
}

// TestTheCallersOwnBound: a context that ends leaves the outcome open.
func TestTheCallersOwnBound(t *testing.T) {
	proxy, cfg := viaProxy(t, servers.Rabbit(t))
	p, c := publisher(t, cfg), consumer(t, cfg)
	proxy.LoseReplies()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := p.Publish(ctx, claims(0, 10))
	if !errors.Is(err, sluice.ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("publish: %v", err)
	}
	if _, err = c.Receive(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("receive: %v", err)
	}
}

// TestTheBrokerGoesAway in the middle of publishing and consuming: killed, stopped in order, frozen, cut off. Every
// claim that was confirmed comes out, and everybody goes on by himself.
func TestTheBrokerGoesAway(t *testing.T) {
	v := servers.OwnRabbit(t)
	proxy, cfg := viaProxy(t, v)
	// RabbitMQ 3.10 forgets a quorum queue where it is killed within half a second of making it: it writes down the name
	// of its log in that rhythm. The runbook says how that shows; here the queue is older.
	publisher(t, cfg)
	<-time.After(3 * time.Second)
	for _, tt := range []struct {
		name  string
		fault func()
	}{
		{"killed", func() { v.Kill9(); v.Start() }},
		{"stopped in order", func() { v.Stop(); v.Start() }},
		{"frozen for longer than a confirmation may take", func() {
			v.Freeze()
			<-time.After(3 * time.Second)
			v.Thaw()
		}},
		{"cut off", func() {
			proxy.Cut()
			<-time.After(500 * time.Millisecond)
			proxy.Restore()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { saleThrough(t, cfg, tt.fault) })
	}
}

// saleThrough publishes from two callers and consumes with two consumers while the fault happens.
func saleThrough(t *testing.T, cfg rabbitmq.Config, fault func()) {
	const callers, batches, each = 2, 60, 50
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	p := publisher(t, cfg)
	got := seen{claims: map[sluice.ClaimID]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var consumers, publishers sync.WaitGroup
	for range 2 {
		c := consumer(t, cfg)
		consumers.Go(func() { got.consume(ctx, c, callers*batches*each) })
	}
	begun := make(chan struct{})
	failed := make([]int, callers)
	for i := range callers {
		publishers.Go(func() {
			for b := range batches {
				if i == 0 && b == batches/4 {
					close(begun)
				}
				if failed[i] += again(t, p, claims((i*batches+b)*each, each)); t.Failed() {
					cancel()
					return
				}
			}
		})
	}
	<-begun
	fault()
	publishers.Wait()
	consumers.Wait()
	if n := got.count(); n != callers*batches*each {
		t.Errorf("%d of %d claims came out", n, callers*batches*each)
	}
	t.Logf("failed calls %v, deliveries more than once %d", failed, got.doubled())
}

// seen counts what came out. mu guards claims.
type seen struct {
	mu     sync.Mutex
	claims map[sluice.ClaimID]int
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.claims)
}

func (s *seen) doubled() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.claims {
		n += times - 1
	}
	return n
}

func (s *seen) consume(ctx context.Context, c *rabbitmq.Consumer, want int) {
	for ctx.Err() == nil && s.count() < want {
		all, err := c.Receive(ctx, 200)
		if err != nil {
			continue // it waited already
		}
		s.mu.Lock()
		for i := range all {
			s.claims[all[i].Claim.ID]++
		}
		s.mu.Unlock()
		_ = c.Ack(ctx, all) // what it could not say comes again
	}
}

// TestAnAlarmOfTheBroker: short of memory it takes no messages. Publishing is refused at once then, consuming goes on,
// and both go on by themselves afterwards.
func TestAnAlarmOfTheBroker(t *testing.T) {
	v := servers.OwnRabbit(t)
	cfg := config(v.URL)
	states := make(chan rabbitmq.LinkState, 100)
	cfg.On.Link = func(role string, s rabbitmq.LinkState) {
		if role == "publisher" {
			states <- s
		}
	}
	p, c := publisher(t, cfg), consumer(t, cfg)
	if err := p.Publish(t.Context(), claims(0, 10)); err != nil {
		t.Fatal(err)
	}
	v.Ctl("set_vm_memory_high_watermark", "0.000001")
	// The broker tells a connection when that has tried.
	if err := p.Publish(t.Context(), claims(10, 10)); !errors.Is(err, sluice.ErrUncertain) {
		t.Errorf("the first one says %v", err)
	}
	until(t, "the alarm is known", func() bool { return p.Ready() != nil })
	begun := time.Now()
	if err := p.Publish(t.Context(), claims(20, 10)); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("the second one says %v", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %s to refuse", took)
	}
	ack(t, c, receive(t, c, 10))
	v.Ctl("set_vm_memory_high_watermark", "0.6")
	again(t, p, claims(10, 20))
	var told []rabbitmq.LinkState
	for len(states) > 0 {
		told = append(told, <-states)
	}
	if len(told) < 3 || told[0] != rabbitmq.LinkUp || told[1] != rabbitmq.LinkBlocked ||
		told[len(told)-1] != rabbitmq.LinkUp {
		t.Errorf("told of %v", told)
	}
}
