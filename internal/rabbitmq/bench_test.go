package rabbitmq_test

import (
	"context"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// BenchmarkPublish compares a batch of messages behind one another with what is common: one message, one confirmation.
// Each message is confirmed either way, on the same quorum queue.
func BenchmarkPublish(b *testing.B) {
	v := servers.Rabbit(b)
	cfg := config(v.URL)
	cfg.Encode, cfg.Decode = redis.AppendMessage, decodeWhole
	cfg.ConfirmTimeout *= 10
	p, err := rabbitmq.OpenPublisher(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	all := claims(0, 1024)
	for _, size := range []int{64, 256, 1024} {
		b.Run("batch="+strconv.Itoa(size), func(b *testing.B) {
			for done := 0; done < b.N; {
				n := min(size, b.N-done)
				if err := p.Publish(b.Context(), all[:n]); err != nil {
					b.Fatal(err)
				}
				done += n
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
	b.Run("baseline=one", func(b *testing.B) { oneByOne(b, v.URL) })
}

func oneByOne(b *testing.B, url string) {
	conn, err := amqp.Dial(url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
	if err = ch.Confirm(false); err != nil {
		b.Fatal(err)
	}
	one := claims(0, 1)
	body := redis.AppendMessage(nil, &one[0])
	for b.Loop() {
		c, err := ch.PublishWithDeferredConfirmWithContext(b.Context(), "sluice", "claim.spring", true, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: body})
		if err != nil || !c.Wait() {
			b.Fatal("not confirmed", err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkConsume takes what the publisher put there, in batches, and acknowledges each batch at once.
func BenchmarkConsume(b *testing.B) {
	v := servers.Rabbit(b)
	cfg := config(v.URL)
	cfg.Encode, cfg.Decode = redis.AppendMessage, decodeWhole
	cfg.ConfirmTimeout *= 10
	p, err := rabbitmq.OpenPublisher(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	all := claims(0, 1024)
	for done := 0; done < b.N; done += len(all) {
		if err = p.Publish(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	c, err := rabbitmq.OpenConsumer(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	b.ResetTimer()
	for done := 0; done < b.N; {
		got, err := c.Receive(context.Background(), 1024)
		if err != nil {
			b.Fatal(err)
		}
		if err = c.Ack(context.Background(), got); err != nil {
			b.Fatal(err)
		}
		done += len(got)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
