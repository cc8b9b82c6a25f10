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
	receiveWait  = time.Second      // for a first delivery
	idleAfter    = 30 * time.Second // without anybody who receives, what was handed over in advance is given back
	deadPrefetch = 64               // of the dead letters
)

// Consumer hands over what waits in a queue, and what the broker gave up of it. Its methods may be called at once.
type Consumer struct {
	cfg   Config
	link  link[*feed]
	queue string
	dead  string // empty where the queue has no dead letters

	beginning sync.Mutex // one call begins a session
}

// feed is one session of a consumer.
type feed struct {
	session uint64      // random, so that no other session's tags are taken for its own
	idle    *time.Timer // ends the session

	mu    sync.Mutex
	queue <-chan amqp.Delivery     // nil until somebody receives
	dead  <-chan amqp.Delivery     // nil as well where there are none
	acks  *acks                    // all deliveries of a channel are counted together, whichever queue they came from
	held  map[uint64]sluice.Millis // by tag, not acknowledged: when they were published
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

// openFeed takes nothing yet: the broker hands over in advance, and what it hands to a node that does not settle waits
// there for nothing.
func (c *Consumer) openFeed(w *wire) (*feed, error) {
	f := &feed{session: rand.Uint64(), acks: newAcks(), held: map[uint64]sluice.Millis{}}
	f.idle = time.AfterFunc(idleAfter, w.raw.abort)
	f.idle.Stop()
	return f, nil
}

// begin has the broker hand over, at the first call of a session.
func (c *Consumer) begin(ctx context.Context, w *wire, f *feed) error {
	f.mu.Lock()
	begun := f.queue != nil
	f.mu.Unlock()
	if begun {
		return nil
	}
	c.beginning.Lock()
	defer c.beginning.Unlock()
	f.mu.Lock()
	begun = f.queue != nil
	f.mu.Unlock()
	if begun {
		return nil
	}
	guard := time.AfterFunc(c.cfg.DialTimeout, w.raw.abort)
	defer guard.Stop()
	defer context.AfterFunc(ctx, w.raw.abort)() // the driver's calls know no context
	// The bound is each consumer's own; the queue of dead letters hands over a few at a time.
	if err := w.ch.Qos(c.cfg.Prefetch, 0, false); err != nil {
		return err
	}
	queue, err := w.ch.Consume(c.queue, "sluice", false, false, false, false, nil)
	if err != nil {
		return err
	}
	var dead <-chan amqp.Delivery
	few := min(c.cfg.Prefetch, deadPrefetch)
	if c.dead != "" {
		if err = w.ch.Qos(few, 0, false); err != nil {
			return err
		}
		given, err := w.ch.Consume(c.dead, "sluice dead", false, false, false, false, nil)
		if err != nil {
			return err
		}
		dead = f.gather(given, few)
	}
	all := f.gather(queue, c.cfg.Prefetch)
	f.mu.Lock()
	f.queue, f.dead = all, dead
	f.mu.Unlock()
	return nil
}

// gather takes deliveries from the driver as they come, so that Receive finds at once all that is there. It never
// waits: no more than prefetch are handed over.
func (f *feed) gather(from <-chan amqp.Delivery, prefetch int) <-chan amqp.Delivery {
	to := make(chan amqp.Delivery, prefetch)
	go func() {
		defer close(to)
		for m := range from {
			f.mu.Lock()
			f.held[m.DeliveryTag] = sluice.MillisOf(m.Timestamp)
			f.mu.Unlock()
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
	h.s.idle.Stop()
	defer h.s.idle.Reset(idleAfter)
	if err = c.begin(ctx, h.wire, h.s); err != nil {
		h.wire.raw.abort()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("rabbitmq: receive: %w: %w", sluice.ErrUnavailable, err)
	}
	h.s.mu.Lock()
	queue, dead := h.s.queue, h.s.dead
	h.s.mu.Unlock()
	var got taken
	got.all = make([]sluice.Delivery, 0, min(limit, len(queue)+deadPrefetch))
	select {
	case m, more := <-queue:
		c.take(h, &got, m, more, false)
	case m, more := <-dead:
		c.take(h, &got, m, more, true)
	case <-t.C:
		return nil, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("rabbitmq: receive: %w", ctx.Err())
	}
	for len(got.all) < limit && !got.over {
		select {
		case m, more := <-queue:
			c.take(h, &got, m, more, false)
			continue
		case m, more := <-dead:
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
	for _, t := range tags {
		delete(h.s.held, t)
	}
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

// State gives the backlog as this node sees it: what waits in the queue, and what this consumer was handed and has not
// acknowledged. A queue hands over what is oldest first, so the oldest of all is with a node that settles, and only
// such a node knows it: to look into a queue counts as a delivery.
func (c *Consumer) State(context.Context) (sluice.QueueState, error) {
	var s sluice.QueueState
	h, err := c.link.now()
	if err != nil {
		return s, fmt.Errorf("rabbitmq: backlog of %s: %w", c.queue, err)
	}
	guard := time.AfterFunc(c.cfg.DialTimeout, h.wire.raw.abort)
	defer guard.Stop()
	ch, err := h.wire.conn.Channel() // of its own: a queue that is not there would end the consumer's
	if err != nil {
		return s, fmt.Errorf("rabbitmq: backlog of %s: %w: %w", c.queue, sluice.ErrUnavailable, err)
	}
	q, err := ch.QueueDeclarePassive(c.queue, true, false, false, false, nil)
	if err != nil {
		return s, fmt.Errorf("rabbitmq: backlog of %s: %w: %w", c.queue, sluice.ErrUnavailable, err)
	}
	_ = ch.Close() // nothing rests on it
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	s.Entries = int64(q.Messages + len(h.s.held))
	s.Claims = s.Entries
	for _, at := range h.s.held {
		if s.Oldest == 0 || at < s.Oldest {
			s.Oldest = at
		}
	}
	return s, nil
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
