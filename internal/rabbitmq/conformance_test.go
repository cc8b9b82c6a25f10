package rabbitmq_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
)

type quietGate struct{}

// Settled is of settle.Gate.
func (quietGate) Settled(context.Context, []sluice.Claim) error { return nil }

type onlyGoods struct{}

// KindOf is of settle.Kinds.
func (onlyGoods) KindOf(context.Context, string) (sluice.Kind, error) { return sluice.KindGoods, nil }

// decodeWhole reads a message that fills its bytes.
func decodeWhole(b []byte) (sluice.Claim, error) {
	c, _, rest, err := redis.DecodeMessage(b)
	if err == nil && len(rest) > 0 {
		err = redis.ErrMessage
	}
	return c, err
}

// TestQueueOnRabbitMQ runs the suite that every queue passes, with the encoding that the outbox has.
func TestQueueOnRabbitMQ(t *testing.T) {
	conformance.Queue(t, func(t *testing.T) conformance.QueueBench {
		v := servers.Rabbit(t)
		cfg := config(v.URL)
		cfg.Encode, cfg.Decode = redis.AppendMessage, decodeWhole
		return bench(t, v, cfg)
	})
}

// peek looks at the head of the queue as an operator may.
func peek(t *testing.T, v *servers.RabbitVhost) sluice.Millis {
	ch := raw(t, v.URL)
	m, ok, err := ch.Get("sluice.claims", false)
	if err != nil || !ok {
		return 0
	}
	if err = m.Nack(false, true); err != nil {
		t.Error(err)
	}
	return sluice.MillisOf(m.Timestamp)
}

func bench(t *testing.T, v *servers.RabbitVhost, cfg rabbitmq.Config) conformance.QueueBench {
	p := publisher(t, cfg)
	made := time.Now()
	var all []*rabbitmq.Consumer
	return conformance.QueueBench{
		Publish: func(t *testing.T, claims []sluice.Claim) { again(t, p, claims) },
		PublishRaw: func(t *testing.T, body []byte) {
			err := raw(t, v.URL).PublishWithContext(
				t.Context(), "sluice", "claim.spring", true, false, amqp.Publishing{Body: body},
			)
			if err != nil {
				t.Fatal(err)
			}
		},
		Consumer: func(t *testing.T) conformance.QueueConsumer {
			c := consumer(t, cfg)
			all = append(all, c)
			return c
		},
		Abandon: func(t *testing.T, c conformance.QueueConsumer) {
			gone, ok := c.(*rabbitmq.Consumer)
			if !ok {
				t.Fatal("another queue's consumer")
			}
			_ = gone.Close()
		},
		State: func(t *testing.T) (sum sluice.QueueState) {
			waiting := int64(-1) // counted by each
			for _, c := range all {
				s, err := c.State(t.Context())
				if err != nil {
					continue
				}
				waiting = max(waiting, s.Entries)
				if sum.Oldest == 0 || s.Oldest != 0 && s.Oldest < sum.Oldest {
					sum.Oldest = s.Oldest
				}
			}
			sum.Entries, sum.Claims = waiting, waiting
			if sum.Oldest == 0 && waiting > 0 {
				sum.Oldest = peek(t, v) // nobody here settles
			}
			return sum
		},
		Restart: func(*testing.T) {
			<-time.After(time.Until(made.Add(2 * time.Second))) // see TestTheBrokerGoesAway
			v.Kill9()
			v.Start()
		},
		Settle: func(t *testing.T, c conformance.QueueConsumer, l *conformance.QueueLedger) func() {
			s, err := settle.New(settle.Config{}, settle.Ports{Consumer: c, Ledger: l, Gate: quietGate{}, Kinds: onlyGoods{}})
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			t.Cleanup(s.Stop)
			return s.Stop
		},
	}
}
