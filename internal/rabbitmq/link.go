package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

// wire is one connection to the broker with one channel on it. It is never mended: a fault ends it, and the link makes
// a new one.
type wire struct {
	conn    *amqp.Connection
	ch      *amqp.Channel
	raw     *cork
	blocked atomic.Bool
	done    chan struct{} // closed when connection or channel are gone
}

// close says goodbye where the broker listens, for closeTimeout at most: the driver's own deadline does not hold while
// heartbeats come in.
func (w *wire) close() {
	guard := time.AfterFunc(closeTimeout, w.raw.abort)
	defer guard.Stop()
	_ = w.conn.CloseDeadline(time.Now().Add(closeTimeout))
	w.raw.abort()
}

// link keeps a session S on a connection of its own, for one role: it connects, declares, opens the session, and does
// so again whenever it ends, until it is closed.
type link[S any] struct {
	cfg  Config
	addr address
	topo topology
	role string
	open func(w *wire) (S, error)

	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	current *held[S]      // nil while there is none
	cause   error         // why there is none
	changed chan struct{} // closed and made anew when current changes
}

type held[S any] struct {
	wire *wire
	s    S
}

// start connects once while the caller waits. What only a person can change is an error at once: wrong settings, a
// refused user, other queues of the same names. A broker that cannot be reached is not: the link goes on trying.
func (l *link[S]) start(ctx context.Context) error {
	l.changed, l.ended = make(chan struct{}), make(chan struct{})
	l.cause = errNotConnected
	first, err := l.connect(ctx, 0)
	var f *sluice.Fault
	if err != nil && (errors.As(err, &f) || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		l.down(err)
	} else {
		l.up(first)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	go l.run(run, first)
	return nil
}

func (l *link[S]) run(ctx context.Context, h *held[S]) {
	defer close(l.ended)
	pause, n := l.cfg.MinBackoff, 0
	for {
		if h != nil {
			since := time.Now()
			select {
			case <-h.wire.done:
				h.wire.raw.abort()
				l.down(errLost)
				if time.Since(since) > l.cfg.MaxBackoff {
					pause = l.cfg.MinBackoff // it was a good one
				}
			case <-ctx.Done():
				l.down(errClosed)
				h.wire.close()
				return
			}
		}
		if !rest(ctx, pause) {
			l.down(errClosed)
			return
		}
		pause = min(2*pause, l.cfg.MaxBackoff)
		n++
		var err error
		if h, err = l.connect(ctx, n); err != nil {
			h = nil
			l.down(err)
			continue
		}
		l.up(h)
	}
}

// rest waits for half to all of d, so that nodes which lost a broker together do not come back together. False: ctx is
// over.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect makes a connection to the n-th host and a session on it, each step within its bound.
func (l *link[S]) connect(ctx context.Context, n int) (*held[S], error) {
	host := l.addr.host(n)
	w := &wire{done: make(chan struct{})}
	conn, guard, err := l.dial(ctx, w, n)
	if guard != nil {
		defer guard.Stop()
	}
	if err != nil {
		if w.raw != nil {
			w.raw.abort()
		}
		return nil, connectFault(err, l.addr, host)
	}
	w.conn = conn
	h := &held[S]{wire: w}
	if err = l.prepare(h); err != nil {
		w.raw.abort()
		return nil, err
	}
	return h, nil
}

// dial also gives the guard that ends the connection where what follows hangs: the driver's own calls have no bound.
func (l *link[S]) dial(ctx context.Context, w *wire, n int) (*amqp.Connection, *time.Timer, error) {
	var guard *time.Timer
	props := amqp.NewConnectionProperties()
	props.SetClientConnectionName("sluice " + l.cfg.Node + " " + l.role)
	conn, err := amqp.DialConfig(l.addr.url(n), amqp.Config{
		Heartbeat: l.cfg.Heartbeat, Properties: props, TLSClientConfig: l.cfg.TLS.Clone(), Locale: "en_US",
		Dial: func(network, addr string) (net.Conn, error) {
			d := net.Dialer{Timeout: l.cfg.DialTimeout}
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			if err = c.SetReadDeadline(time.Now().Add(l.cfg.DialTimeout)); err != nil {
				_ = c.Close()
				return nil, err
			}
			w.raw = newCork(c)
			guard = time.AfterFunc(2*l.cfg.DialTimeout, w.raw.abort)
			return w.raw, nil
		},
	})
	return conn, guard, err
}

// prepare declares and checks the topology and opens the session.
func (l *link[S]) prepare(h *held[S]) (err error) {
	w := h.wire
	if w.ch, err = w.conn.Channel(); err != nil {
		return fmt.Errorf("rabbitmq: open a channel: %w: %w", sluice.ErrUnavailable, err)
	}
	if err = l.topo.declare(w.ch); err != nil {
		return err
	}
	gone := w.ch.NotifyClose(make(chan *amqp.Error, 1))
	alarms := w.conn.NotifyBlocked(make(chan amqp.Blocking))
	if h.s, err = l.open(w); err != nil {
		return fmt.Errorf("rabbitmq: open a session: %w: %w", sluice.ErrUnavailable, err)
	}
	go l.watch(w, gone, alarms)
	return nil
}

// watch follows what the broker says about the connection, until both have ended.
func (l *link[S]) watch(w *wire, gone chan *amqp.Error, alarms chan amqp.Blocking) {
	for gone != nil || alarms != nil {
		select {
		case e, more := <-gone:
			if e != nil {
				l.cfg.Log.Warn("rabbitmq: the broker ended the channel", "role", l.role, "code", e.Code, "reason", e.Reason)
			}
			if !more {
				gone = nil
				close(w.done)
				go w.raw.abort() // ends the other one too
			}
		case b, more := <-alarms:
			if !more {
				alarms = nil
				continue
			}
			w.blocked.Store(b.Active)
			l.cfg.Log.Warn("rabbitmq: the broker's alarm", "role", l.role, "blocked", b.Active, "reason", b.Reason)
			if b.Active {
				l.cfg.On.link(l.role, LinkBlocked)
			} else {
				l.cfg.On.link(l.role, LinkUp)
			}
		}
	}
}

func (l *link[S]) up(h *held[S]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.cause = h, nil
	close(l.changed)
	l.changed = make(chan struct{})
	l.cfg.Log.Info("rabbitmq: connected", "role", l.role, "host", h.wire.conn.RemoteAddr().String())
	l.cfg.On.link(l.role, LinkUp)
}

func (l *link[S]) down(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil || l.cause == nil || errors.Is(l.cause, errNotConnected) {
		l.cfg.Log.Warn("rabbitmq: not connected", "role", l.role, "cause", cause)
		l.cfg.On.link(l.role, LinkDown)
	}
	l.current, l.cause = nil, cause
	close(l.changed)
	l.changed = make(chan struct{})
}

// now gives the session, or ErrUnavailable where there is none.
func (l *link[S]) now() (*held[S], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil, fmt.Errorf("%w: %w", sluice.ErrUnavailable, l.cause)
	}
	return l.current, nil
}

// await gives the session, waiting for one until ctx or t end.
func (l *link[S]) await(ctx context.Context, t <-chan time.Time) (*held[S], error) {
	for {
		l.mu.Lock()
		h, cause, changed := l.current, l.cause, l.changed
		l.mu.Unlock()
		if h != nil {
			return h, nil
		}
		err := fmt.Errorf("%w: %w", sluice.ErrUnavailable, cause)
		if errors.Is(cause, errClosed) {
			return nil, err
		}
		select {
		case <-changed:
		case <-t:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *link[S]) close() {
	l.cancel()
	<-l.ended
}
