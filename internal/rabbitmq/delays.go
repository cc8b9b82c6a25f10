package rabbitmq

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

// Delay publishes reminders that come out of the due queue when after is over, rounded up to a second: each of these
// claims' orders may have fallen due. They are not replicated and not kept through a restart of the broker, since the
// sweep over orders finds what a lost one was for. Errors as Publish; ErrInvalid also where this process uses too many
// different delays already.
func (p *Publisher) Delay(ctx context.Context, after time.Duration, claims []sluice.Claim) error {
	d := (max(after, minDelay) + time.Second - 1).Truncate(time.Second)
	if d > maxDelay {
		return fmt.Errorf("rabbitmq: a delay of %s: %w", after, sluice.ErrInvalid)
	}
	if err := p.makeDelay(d); err != nil {
		return fmt.Errorf("rabbitmq: delay by %s: %w", d, err)
	}
	err := p.publish(ctx, len(claims), func(_ *confirms, i int) (string, amqp.Publishing) {
		m := p.cfg.messageOf(&claims[i])
		m.DeliveryMode = amqp.Transient
		return delayKeyOf(d), m
	})
	if err != nil {
		return fmt.Errorf("rabbitmq: delay %d claims by %s: %w", len(claims), d, err)
	}
	return nil
}

// makeDelay declares the queue of one delay where this session has not done so lately. mu is held meanwhile: two
// callers with a new delay declare it once.
func (p *Publisher) makeDelay(d time.Duration) error {
	h, err := p.link.now()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	made, known := p.delays[d]
	now := p.cfg.Now()
	if made.by == h.s && now.Sub(made.at) < delaySlow/2 {
		return nil
	}
	if !known && len(p.delays) >= maxDelays {
		return fmt.Errorf("%w: more than %d different delays", sluice.ErrInvalid, maxDelays)
	}
	// A channel of its own: a refused declaration ends the channel it was made on.
	guard := time.AfterFunc(p.cfg.DialTimeout, h.wire.raw.abort)
	defer guard.Stop()
	ch, err := h.wire.conn.Channel()
	if err != nil {
		return fmt.Errorf("%w: %w", sluice.ErrUnavailable, err)
	}
	if err = p.link.topo.declareDelay(ch, d); err != nil {
		return err
	}
	_ = ch.Close() // nothing rests on it
	p.delays[d] = madeDelay{by: h.s, at: now}
	return nil
}
