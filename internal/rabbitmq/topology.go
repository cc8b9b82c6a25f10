package rabbitmq

import (
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// topology is what Sluice has in a broker, by name:
//
//	exchange  <prefix>            topic    everything is published here
//	queue     <prefix>.claims     quorum   claim.#: admitted claims, for the settlers
//	queue     <prefix>.due        classic  due.#: orders whose time may be over, for the expirer
//	queue     <prefix>.delay.<n>s classic  delay.<n>: one for each delay; after n seconds its messages go to due
//	exchange  <prefix>.dead       fanout   what the broker gave up
//	queue     <prefix>.dead       quorum   the same, until a settler has put it into the ledger's dead letters
//
// A queue has one delay because RabbitMQ looks at the head only: behind a message of 30 minutes one of 1 minute waits
// for 30. The due and delay queues are not replicated: what they lose, a sweep over the orders finds.
type topology struct {
	prefix        string
	vhost         string
	deliveryLimit int
	quorumSize    int
}

const (
	claimKey = "claim."
	dueKey   = "due.order"
	delayKey = "delay."
)

func (t topology) exchange() string { return t.prefix }
func (t topology) claims() string   { return t.prefix + ".claims" }
func (t topology) due() string      { return t.prefix + ".due" }
func (t topology) dead() string     { return t.prefix + ".dead" }
func (t topology) delay(d time.Duration) string {
	return t.prefix + ".delay." + strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// declare makes what is not there and checks what is: RabbitMQ refuses a declaration that differs from what it has.
// The channel is spent where it fails.
func (t topology) declare(ch *amqp.Channel) error {
	if err := t.exchanges(ch); err != nil {
		return err
	}
	quorum := amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum}
	if t.quorumSize > 0 {
		quorum["x-quorum-initial-group-size"] = int32(t.quorumSize)
	}
	// What the broker gives up is handed to the dead letters with confirms of its own (at-least-once), which it only does
	// for a queue that never drops its head.
	claims := amqp.Table{
		"x-dead-letter-exchange": t.dead(),
		"x-dead-letter-strategy": "at-least-once",
		amqp.QueueOverflowArg:    amqp.QueueOverflowRejectPublish,
		"x-delivery-limit":       int32(t.deliveryLimit),
	}
	for k, v := range quorum {
		claims[k] = v
	}
	for _, q := range []struct {
		name, key, from string
		args            amqp.Table
	}{
		{t.dead(), "", t.dead(), quorum},
		{t.claims(), claimKey + "#", t.exchange(), claims},
		{t.due(), "due.#", t.exchange(), amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeClassic}},
	} {
		if err := t.queue(ch, q.name, q.key, q.from, q.args); err != nil {
			return err
		}
	}
	return nil
}

func (t topology) exchanges(ch *amqp.Channel) error {
	for _, x := range []struct{ name, kind string }{
		{t.exchange(), amqp.ExchangeTopic},
		{t.dead(), amqp.ExchangeFanout},
	} {
		if err := ch.ExchangeDeclare(x.name, x.kind, true, false, false, false, nil); err != nil {
			return declareFault(err, "exchange", x.name, t.vhost)
		}
	}
	return nil
}

func (t topology) queue(ch *amqp.Channel, name, key, from string, args amqp.Table) error {
	if _, err := ch.QueueDeclare(name, true, false, false, false, args); err != nil {
		return declareFault(err, "queue", name, t.vhost)
	}
	if err := ch.QueueBind(name, key, from, false, nil); err != nil {
		return declareFault(err, "binding of queue", name, t.vhost)
	}
	return nil
}

// declareDelay makes the queue of one delay. It goes by itself when it was not declared for twice its delay and an
// hour, long after its last message left.
func (t topology) declareDelay(ch *amqp.Channel, d time.Duration) error {
	return t.queue(ch, t.delay(d), delayKeyOf(d), t.exchange(), amqp.Table{
		amqp.QueueTypeArg:           amqp.QueueTypeClassic,
		amqp.QueueMessageTTLArg:     d.Milliseconds(),
		amqp.QueueTTLArg:            (2*d + delaySlow).Milliseconds(),
		"x-dead-letter-exchange":    t.exchange(),
		"x-dead-letter-routing-key": dueKey,
	})
}

func delayKeyOf(d time.Duration) string {
	return delayKey + strconv.FormatInt(int64(d/time.Second), 10)
}
