package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/metrics"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/settle"
)

// queue is what carries claims from the gates to the ledger. Without a broker the settler reads the outboxes itself;
// with one a relay reads them and the settler reads the broker, unless an operator has the broker bypassed.
type queue struct {
	settler  *settle.Settler
	workers  int             // transactions at once, where no switch says otherwise; 0: other nodes settle
	outboxes []*redis.Outbox // all that read here
	outbox   *redis.Outbox   // one of them, to ask how much waits
	news     *redis.News

	// With a broker only:
	relay     *settle.Relay
	bypass    *settle.Settler // reads the outboxes while the broker is bypassed
	publisher *rabbitmq.Publisher
	consumer  *rabbitmq.Consumer
	reminder  *reminder
	brokerUp  atomic.Bool
}

// openQueue turns the setting into adapters. Nothing is read before start.
func (p *parts) openQueue(ctx context.Context, s *server) (*queue, error) {
	q := &queue{workers: s.cfg.Settle.Workers}
	var err error
	if q.outbox, err = p.newOutbox(s, q, "settle"); err != nil {
		return nil, err
	}
	switch scheme := s.cfg.Queue.Scheme(); scheme {
	case "redis":
		q.settler, err = p.newSettler(s, q.outbox)
	case "amqp", "amqps":
		err = p.openRabbit(ctx, s, q)
	default:
		err = fmt.Errorf("queue %s is not built in", scheme)
	}
	return q, err
}

// openRabbit puts RabbitMQ between the outboxes and the settler.
func (p *parts) openRabbit(ctx context.Context, s *server, q *queue) error {
	tlsConfig, err := rabbitTLS(&s.cfg.Config)
	if err != nil {
		return err
	}
	c := rabbitmq.Config{
		URL: s.cfg.Queue.Reveal(), TLS: tlsConfig, Prefix: s.cfg.Redis.Prefix, Node: p.node.ID,
		Encode: redis.AppendMessage, Decode: decodeMessage, QuorumSize: s.cfg.RabbitMQ.Replicas,
		ConfirmTimeout: s.cfg.RabbitMQ.Confirm, DialTimeout: s.cfg.RabbitMQ.DialTimeout, Log: s.log,
		On: rabbitmq.Events{Link: func(role string, state rabbitmq.LinkState) {
			if role == "publisher" {
				q.brokerUp.Store(state == rabbitmq.LinkUp)
			}
		}},
	}
	if q.publisher, err = rabbitmq.OpenPublisher(ctx, c); err != nil {
		return err
	}
	s.onStop("RabbitMQ's publisher", func(context.Context) error { return q.publisher.Close() })
	// A node that settles nothing takes nothing from the broker: what it held, others could not settle. Its settler is
	// never started, so that it does not matter what it would read.
	var from settle.Consumer = q.outbox
	if q.workers > 0 {
		if q.consumer, err = rabbitmq.OpenConsumer(ctx, c); err != nil {
			return err
		}
		s.onStop("RabbitMQ's consumer", func(context.Context) error { return q.consumer.Close() })
		due, err := rabbitmq.OpenDue(ctx, c)
		if err != nil {
			return err
		}
		s.onStop("RabbitMQ's reminders", func(context.Context) error { return due.Close() })
		q.reminder = newReminder(q.publisher, due, s.log, p.ledger.CloseDue)
		p.reminder.Store(q.reminder)
		from = q.consumer
	}
	if q.settler, err = p.newSettler(s, from); err != nil {
		return err
	}
	if q.relay, err = settle.NewRelay(settle.RelayConfig{Log: s.log}, q.outbox, q.publisher, p.ledger); err != nil {
		return err
	}
	around, err := p.newOutbox(s, q, "bypass")
	if err != nil {
		return err
	}
	if q.bypass, err = p.newSettler(s, around); err != nil {
		return err
	}
	q.bypass.Pause(true)
	return nil
}

func (p *parts) newOutbox(s *server, q *queue, role string) (*redis.Outbox, error) {
	o, err := redis.NewOutbox(p.remote.client, redis.OutboxConfig{Name: p.node.ID + "/" + role, Log: s.log})
	if err == nil {
		q.outboxes = append(q.outboxes, o)
	}
	return o, err
}

func (p *parts) newSettler(s *server, from settle.Consumer) (*settle.Settler, error) {
	return settle.New(settle.Config{
		Log: s.log, Settlers: s.cfg.Settle.Workers, OnSettled: p.settled,
		OnBatch: func(b settle.Batch) {
			s.metrics.Settled(metrics.Settlement{Confirmed: b.Confirmed, Rejected: b.Rejected, Replayed: b.Replayed,
				Failed: b.Failed, Took: b.Took, Lag: b.Oldest})
		},
	}, settle.Ports{
		Consumer: from, Ledger: p.ledger, Gate: p.remote.gates, Kinds: p, Announcer: p.remote.client,
	})
}

// settled lets this node forget what it had promised, then wakes those who wait for outcomes here: who still finds a
// claim among the promises is told later.
func (p *parts) settled(all []sluice.Announcement) {
	ids := make([]sluice.ClaimID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	p.remote.admission.Settled(ids)
	p.remote.results.Announced(all)
}

// decodeMessage reads a message that fills the whole of b.
func decodeMessage(b []byte) (sluice.Claim, error) {
	c, _, rest, err := redis.DecodeMessage(b)
	if err == nil && len(rest) > 0 {
		err = redis.ErrMessage
	}
	return c, err
}

// confirming is the publisher whose confirms an answer may wait for; nil without a broker.
func (q *queue) confirming() redis.Publisher {
	if q.publisher == nil {
		return nil
	}
	return q.publisher
}

// listen prepares for what other nodes announce.
func (q *queue) listen(p *parts, s *server) {
	q.news = redis.NewNews(p.remote.client, redis.NewsConfig{
		Log: s.log, Outcomes: p.settled, Settings: p.remote.nudges.hear,
	})
}

// start begins to carry claims, and puts what does on the server's list of stops.
func (q *queue) start(s *server) {
	all := []namedAgent{{"news of other nodes", q.news}}
	if s.cfg.Settle.Workers > 0 {
		all = append(all, namedAgent{"settler", q.settler})
	}
	if q.relay != nil {
		all = append(all, namedAgent{"relay", q.relay})
		if s.cfg.Settle.Workers > 0 {
			all = append(all, namedAgent{"reminders of due orders", q.reminder},
				namedAgent{"settler around the broker", q.bypass})
		}
	}
	for _, x := range all {
		x.Start()
		s.onStop("the "+x.name, func(context.Context) error { x.Stop(); return nil })
	}
}

// followFor is how long after its end a campaign's outboxes are still looked at.
const followFor = 3 * 24 * time.Hour

// follow has the outboxes of all campaigns read that are not over for long.
func (p *parts) follow() {
	if p.remote == nil {
		return
	}
	var all []sluice.Campaign
	oldest := sluice.MillisOf(time.Now()).Add(-followFor)
	for _, c := range p.gate.Campaigns() {
		if c.Control != sluice.ControlDraft && c.EndsAt > oldest {
			all = append(all, *c)
		}
	}
	for _, o := range p.remote.queue.outboxes {
		o.Follow(all)
	}
}

// heed puts the switches in force that concern the queue.
func (q *queue) heed(all []sluice.SwitchSetting) {
	around, workers := false, 0
	for _, x := range all {
		if !x.Set || x.Campaign != "" {
			continue
		}
		switch x.Name {
		case sluice.SwitchBypassBroker:
			around = x.Value != 0
		case sluice.SwitchSettlers:
			workers = int(x.Value)
		}
	}
	if workers == 0 {
		workers = q.workers
	}
	if workers > 0 {
		q.settler.SetSettlers(workers)
	}
	if q.relay != nil {
		q.relay.Pause(around)
		q.bypass.Pause(!around)
		if workers > 0 {
			q.bypass.SetSettlers(workers)
		}
	}
}

// driver settles dead letters that are replayed; nil where this server settles nothing.
func (p *parts) driver() admin.Driver {
	if p.remote == nil || p.remote.queue.workers == 0 {
		return nil
	}
	return p.remote.queue.settler
}

// typical says what a queued claim waits for at present.
func (p *parts) typical() time.Duration {
	if p.remote == nil {
		return 0
	}
	return p.remote.queue.settler.Typical()
}
