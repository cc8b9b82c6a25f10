package rabbitmq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

const (
	receiveWait  = time.Second // for a first delivery
	deadPrefetch = 64          // of the dead letters
)

// Consumer hands over what waits in a queue, and what the broker gave up of it. Its methods may be called at once.
type Consumer struct {
	cfg   Config
	link  link[*feed]
	queue string
	dead  string // empty where the queue has no dead letters
}

// feed is one session of a consumer.
type feed struct {
	session uint64 // random, so that no other session's tags are taken for its own
	queue   <-chan amqp.Delivery
	dead    <-chan amqp.Delivery // nil where there are none

	mu   sync.Mutex
	acks *acks // all deliveries of a channel are counted together, whichever queue they came from
}

// OpenConsumer reads admitted claims. What it says of errors is what OpenPublisher says.
func OpenConsumer(ctx context.Context, cfg Config) (*Consumer, error) {
	return openConsumer(ctx, cfg, "claims", func(t topology) (queue, dead string) { return t.claims(), t.dead() })
}

// OpenDue reads the reminders of orders that may have fallen due. A reminder may be early, late, doubled or missing.
func OpenDue(ctx context.Context, cfg Config) (*Consumer, error) {
	return openConsumer(ctx, cfg, "due", func(t topology) (queue, dead string) { return t.due(), "" })
}

func openConsumer(
	ctx context.Context, cfg Config, role string, queues func(topology) (string, string),
) (*Consumer, error) {
	cfg, addr, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Decode == nil {
		return nil, sluice.Invalid(sluice.FieldFault{Field: "decode", Detail: "missing"})
	}
	c := &Consumer{cfg: cfg}
	c.link.cfg, c.link.addr, c.link.topo, c.link.role = cfg, addr, cfg.topology(addr), role
	c.queue, c.dead = queues(c.link.topo)
	c.link.open = c.openFeed
	if err = c.link.start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Consumer) openFeed(w *wire) (*feed, error) {
	f := &feed{session: rand.Uint64(), acks: newAcks()}
	// The bound is each consumer's own; the queue of dead letters hands over a few at a time.
	if err := w.ch.Qos(c.cfg.Prefetch, 0, false); err != nil {
		return nil, err
	}
	queue, err := w.ch.Consume(c.queue, "sluice", false, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	f.queue = gather(queue, c.cfg.Prefetch)
	if c.dead == "" {
		return f, nil
	}
	few := min(c.cfg.Prefetch, deadPrefetch)
	if err = w.ch.Qos(few, 0, false); err != nil {
		return nil, err
	}
	dead, err := w.ch.Consume(c.dead, "sluice dead", false, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	f.dead = gather(dead, few)
	return f, nil
}

// gather takes deliveries from the driver as they come, so that Receive finds at once all that is there. It never
// waits: no more than prefetch are handed over.
func gather(from <-chan amqp.Delivery, prefetch int) <-chan amqp.Delivery {
	to := make(chan amqp.Delivery, prefetch)
	go func() {
		defer close(to)
		for m := range from {
			to <- m
		}
	}()
	return to
}

// Receive gives at least one and at most limit deliveries: the first one it can get, and whatever else is there
// already. It comes back with none after a second without any. ErrUnavailable: there was no connection for a second.
// Whatever is not acknowledged comes again when this session ends, to whoever reads the queue then.
func (c *Consumer) Receive(ctx context.Context, limit int) ([]sluice.Delivery, error) {
	t := time.NewTimer(receiveWait)
	defer t.Stop()
	h, err := c.link.await(ctx, t.C)
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: receive: %w", err)
	}
	var got taken
	got.all = make([]sluice.Delivery, 0, min(limit, len(h.s.queue)+64))
	select {
	case m, more := <-h.s.queue:
		c.take(h, &got, m, more, false)
	case m, more := <-h.s.dead:
		c.take(h, &got, m, more, true)
	case <-t.C:
		return nil, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("rabbitmq: receive: %w", ctx.Err())
	}
	for len(got.all) < limit && !got.over {
		select {
		case m, more := <-h.s.queue:
			c.take(h, &got, m, more, false)
			continue
		case m, more := <-h.s.dead:
			c.take(h, &got, m, more, true)
			continue
		default:
		}
		break
	}
	if len(got.all) == 0 {
		return nil, fmt.Errorf("rabbitmq: receive: %w: %w", sluice.ErrUnavailable, errLost)
	}
	c.cfg.On.received(len(got.all), got.again, got.unreadable)
	return got.all, nil
}

// taken is what one Receive gathers.
type taken struct {
	all               []sluice.Delivery
	again, unreadable int
	over              bool // the broker ended a consumer
}

func (c *Consumer) take(h *held[*feed], got *taken, m amqp.Delivery, more, dead bool) {
	if !more {
		// The broker ended the consumer, as when its queue is deleted, or the connection is gone. Either way a new session
		// puts it right.
		got.over = true
		h.wire.raw.abort()
		return
	}
	d := c.cfg.read(&m, h.s.session, dead)
	if m.Redelivered {
		got.again++
	}
	if d.Fault != "" {
		got.unreadable++
	}
	got.all = append(got.all, d)
}

// Ack ends deliveries. Those of an earlier session are left out: the broker hands them over again, as it does when an
// acknowledgement is lost on the way. ErrUncertain: some may come again.
func (c *Consumer) Ack(_ context.Context, done []sluice.Delivery) error {
	h, err := c.link.now()
	if err != nil {
		return fmt.Errorf("rabbitmq: acknowledge %d: %w: they come again: %w", len(done), sluice.ErrUncertain, err)
	}
	tags := make([]uint64, 0, len(done))
	for i := range done {
		if session, tag, ok := parseTag(done[i].Tag); ok && session == h.s.session {
			tags = append(tags, tag)
		}
	}
	// Under the lock, so that acknowledgements leave in the order that acks gave them out.
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	upTo, single := h.s.acks.done(tags)
	if upTo > 0 {
		err = h.wire.ch.Ack(upTo, true)
	}
	for _, t := range single {
		if err == nil {
			err = h.wire.ch.Ack(t, false)
		}
	}
	if err != nil {
		h.wire.raw.abort()
		return fmt.Errorf("rabbitmq: acknowledge %d: %w: %w", len(done), sluice.ErrUncertain, err)
	}
	return nil
}

// Depth gives how many messages wait in the queue, those that are handed out and not acknowledged aside.
func (c *Consumer) Depth() (int, error) {
	h, err := c.link.now()
	if err != nil {
		return 0, fmt.Errorf("rabbitmq: depth of %s: %w", c.queue, err)
	}
	guard := time.AfterFunc(c.cfg.DialTimeout, h.wire.raw.abort)
	defer guard.Stop()
	ch, err := h.wire.conn.Channel()
	if err != nil {
		return 0, fmt.Errorf("rabbitmq: depth of %s: %w: %w", c.queue, sluice.ErrUnavailable, err)
	}
	q, err := ch.QueueDeclarePassive(c.queue, true, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("rabbitmq: depth of %s: %w: %w", c.queue, sluice.ErrUnavailable, err)
	}
	_ = ch.Close() // nothing rests on it
	return q.Messages, nil
}

// Ready says whether there is a connection: ErrUnavailable with the cause where not.
func (c *Consumer) Ready() error {
	_, err := c.link.now()
	return err
}

// Close ends the connection: what was handed over and not acknowledged comes again to others. It may be called again.
func (c *Consumer) Close() error {
	c.link.close()
	return nil
}
