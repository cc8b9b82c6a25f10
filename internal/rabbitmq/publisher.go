package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

// Publisher hands messages to the broker. Its methods may be called at once.
type Publisher struct {
	cfg  Config
	link link[*confirms]

	mu     sync.Mutex
	delays map[time.Duration]madeDelay // the delay queues this process made
}

type madeDelay struct {
	by *confirms // the session that declared it
	at time.Time
}

// OpenPublisher connects, and declares and checks what it needs. A broker that cannot be reached is no error: the
// publisher goes on trying, and Publish gives ErrUnavailable meanwhile. ErrConflict, ErrInvalid: a person has to change
// something first; the error says what.
func OpenPublisher(ctx context.Context, cfg Config) (*Publisher, error) {
	cfg, addr, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Encode == nil {
		return nil, sluice.Invalid(sluice.FieldFault{Field: "encode", Detail: "missing"})
	}
	p := &Publisher{cfg: cfg, delays: map[time.Duration]madeDelay{}}
	p.link.cfg, p.link.addr, p.link.topo, p.link.role = cfg, addr, cfg.topology(addr), "publisher"
	p.link.open = func(w *wire) (*confirms, error) { return openConfirms(w, cfg.InFlight) }
	if err = p.link.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (c *Config) topology(a address) topology {
	return topology{
		prefix: c.Prefix, vhost: a.vhostName(), deliveryLimit: c.DeliveryLimit, quorumSize: c.QuorumSize,
	}
}

// Publish returns nil once the broker has confirmed every claim's message: it is on a queue, on the disks of a
// majority. ErrUnavailable: none was taken. ErrUncertain: some may have been. In both cases all may be published again.
// It returns within the confirm timeout.
func (p *Publisher) Publish(ctx context.Context, claims []sluice.Claim) error {
	begun := p.cfg.Now()
	err := p.publish(ctx, len(claims), func(_ *confirms, i int) (string, amqp.Publishing) {
		return claimKey + claims[i].Campaign, p.cfg.messageOf(&claims[i])
	})
	p.cfg.On.published(len(claims), p.cfg.Now().Sub(begun), err)
	if err != nil {
		return fmt.Errorf("rabbitmq: publish %d claims: %w", len(claims), err)
	}
	return nil
}

// publish sends n messages one behind the other and waits for all answers at once.
func (p *Publisher) publish(ctx context.Context, n int, at func(*confirms, int) (string, amqp.Publishing)) error {
	if n == 0 {
		return nil
	}
	h, err := p.link.now()
	if err != nil {
		return err
	}
	if h.wire.blocked.Load() {
		return fmt.Errorf("%w: %w", sluice.ErrUnavailable, errBlocked)
	}
	timeout := time.NewTimer(p.cfg.ConfirmTimeout)
	defer timeout.Stop()
	b, out := newBatch(), 0
	var why error
	for out < n && why == nil {
		if why = takeSlot(ctx, h, timeout.C); why != nil {
			break
		}
		key, m := at(h.s, out)
		if !h.s.send(b, p.link.topo.exchange(), key, m) {
			why = errLost
			break
		}
		out++
	}
	b.answered() // the call itself
	if why == nil {
		why = p.answers(ctx, h, b, timeout.C)
	} else if errors.Is(why, errNoConfirm) {
		p.giveUp(h)
	}
	return p.verdict(h, b, n, out, why)
}

// takeSlot waits until fewer than the bound are on their way.
func takeSlot(ctx context.Context, h *held[*confirms], timeout <-chan time.Time) error {
	select {
	case h.s.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case h.s.slots <- struct{}{}:
		return nil
	case <-h.wire.done:
		return errLost
	case <-timeout:
		return errNoConfirm
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Publisher) answers(ctx context.Context, h *held[*confirms], b *batch, timeout <-chan time.Time) error {
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout:
		p.giveUp(h)
		return errNoConfirm
	}
}

// giveUp ends a connection on which confirmations do not come: it may hang for ever. One that is blocked by an alarm is
// kept, since the next one would be blocked too.
func (p *Publisher) giveUp(h *held[*confirms]) {
	if !h.wire.blocked.Load() {
		p.cfg.Log.Warn("rabbitmq: no confirmation in time; connecting anew", "timeout", p.cfg.ConfirmTimeout)
		h.wire.raw.abort()
	}
}

// verdict sorts what became of n messages of which out were sent.
func (p *Publisher) verdict(h *held[*confirms], b *batch, n, out int, why error) error {
	refused, returned, lost := b.refused.Load(), b.returned.Load(), b.lost.Load()
	if returned > 0 {
		// The queue was deleted under us. Connecting anew declares it again.
		p.cfg.Log.Error("rabbitmq: no queue takes the messages; declaring anew", "returned", returned)
		h.wire.raw.abort()
	}
	switch {
	case why == nil && refused+returned+lost == 0 && out == n:
		return nil
	case out == 0:
		return fmt.Errorf("%w: %w", sluice.ErrUnavailable, why)
	case why == nil && returned == int64(n):
		return fmt.Errorf("%w: no queue is bound for them", sluice.ErrUnavailable)
	case why == nil && lost > 0:
		why = errLost
	case why == nil:
		why = fmt.Errorf("the broker refused %d and returned %d", refused, returned)
	}
	return fmt.Errorf("%w: %d of %d sent: %w", sluice.ErrUncertain, out, n, why)
}

// Ready says whether messages would be taken now: ErrUnavailable with the cause where not.
func (p *Publisher) Ready() error {
	h, err := p.link.now()
	if err == nil && h.wire.blocked.Load() {
		err = fmt.Errorf("%w: %w", sluice.ErrUnavailable, errBlocked)
	}
	return err
}

// Close ends the connection; what is being published then is uncertain. It may be called again.
func (p *Publisher) Close() error {
	p.link.close()
	return nil
}
