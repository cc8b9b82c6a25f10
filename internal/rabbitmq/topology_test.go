package rabbitmq_test

import (
	"errors"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestWhatIsDeclared reads from the broker what it was asked for.
func TestWhatIsDeclared(t *testing.T) {
	v := servers.Rabbit(t)
	cfg := config(v.URL)
	cfg.Prefix = "shop"
	publisher(t, cfg)
	consumer(t, cfg) // both may declare
	until(t, "the queues are listed", func() bool { return facts(t, v, "shop.due").Type != "" })
	q := facts(t, v, "shop.claims")
	for name, want := range map[string]any{
		"x-queue-type": "quorum", "x-dead-letter-exchange": "shop.dead", "x-dead-letter-strategy": "at-least-once",
		"x-overflow": "reject-publish", "x-delivery-limit": 100.0,
	} {
		if q.Arguments[name] != want {
			t.Errorf("%s is %v", name, q.Arguments[name])
		}
	}
	for name, kind := range map[string]string{"shop.claims": "quorum", "shop.dead": "quorum", "shop.due": "classic"} {
		if q := facts(t, v, name); q.Type != kind || !q.Durable {
			t.Errorf("%s is %+v", name, q)
		}
	}
	for name, kind := range map[string]string{"shop": "topic", "shop.dead": "fanout"} {
		var x struct {
			Type    string `json:"type"`
			Durable bool   `json:"durable"`
		}
		if err := v.Manage(t.Context(), "GET", "/api/exchanges/"+v.Name+"/"+name, nil, &x); err != nil {
			t.Fatal(err)
		}
		if x.Type != kind || !x.Durable {
			t.Errorf("exchange %s is %+v", name, x)
		}
	}
}

// TestAnotherTopologyIsRefused: what is there already and differs is an error at the start that says what to change.
func TestAnotherTopologyIsRefused(t *testing.T) {
	queue := func(name string, args amqp.Table) func(*amqp.Channel) error {
		return func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare(name, true, false, false, false, args)
			return err
		}
	}
	for _, tt := range []struct {
		name, what string
		before     func(*amqp.Channel) error
	}{
		{"a classic queue of claims", "sluice.claims", queue("sluice.claims", nil)},
		{"no dead letters", "sluice.claims", queue("sluice.claims", amqp.Table{"x-queue-type": "quorum"})},
		{"another bound", "sluice.claims", queue("sluice.claims", amqp.Table{
			"x-queue-type": "quorum", "x-dead-letter-exchange": "sluice.dead", "x-dead-letter-strategy": "at-least-once",
			"x-overflow": "reject-publish", "x-delivery-limit": int32(3),
		})},
		{"messages that vanish", "sluice.claims", queue("sluice.claims", amqp.Table{
			"x-queue-type": "quorum", "x-dead-letter-exchange": "sluice.dead", "x-dead-letter-strategy": "at-least-once",
			"x-overflow": "reject-publish", "x-delivery-limit": int32(100), "x-message-ttl": int32(1000),
		})},
		{"a classic queue of dead letters", "sluice.dead", queue("sluice.dead", nil)},
		{"a direct exchange", "sluice", func(ch *amqp.Channel) error {
			return ch.ExchangeDeclare("sluice", "direct", true, false, false, false, nil)
		}},
		{"an exchange that goes with the broker", "sluice.dead", func(ch *amqp.Channel) error {
			return ch.ExchangeDeclare("sluice.dead", "fanout", false, false, false, false, nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := servers.Rabbit(t)
			if err := tt.before(raw(t, v.URL)); err != nil {
				t.Fatal(err)
			}
			_, err := rabbitmq.OpenPublisher(t.Context(), config(v.URL))
			var f *sluice.Fault
			if !errors.As(err, &f) || !errors.Is(f.Kind, sluice.ErrConflict) || !strings.Contains(f.Detail, tt.what) ||
				!strings.Contains(f.Detail, "delete") {
				t.Errorf("the publisher says %v", err)
			}
			if _, err = rabbitmq.OpenConsumer(t.Context(), config(v.URL)); !errors.Is(err, sluice.ErrConflict) {
				t.Errorf("the consumer says %v", err)
			}
			other := config(v.URL)
			other.Prefix = "elsewhere" // as the error advises
			publisher(t, other)
		})
	}
}

// TestWhoIsRefused: a user or a vhost that is not there is an error at the start, a broker that is not there is none.
func TestWhoIsRefused(t *testing.T) {
	v := servers.Rabbit(t)
	limited := map[string]string{"configure": "^$", "write": ".*", "read": ".*"}
	for path, body := range map[string]any{
		"/api/users/" + v.Name + "-limited": map[string]string{"password": "x", "tags": ""},
	} {
		if err := v.Manage(t.Context(), "PUT", path, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Manage(
		t.Context(), "PUT", "/api/permissions/"+v.Name+"/"+v.Name+"-limited", limited, nil,
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		kind      error
	}{
		{"a wrong password", "amqp://guest:wrong@" + v.Addr + "/" + v.Name, sluice.ErrInvalid},
		{"no such vhost", "amqp://guest:guest@" + v.Addr + "/nowhere", sluice.ErrInvalid},
		{"no right to declare", "amqp://" + v.Name + "-limited:x@" + v.Addr + "/" + v.Name, sluice.ErrInvalid},
		{"no address", "amqp://", sluice.ErrInvalid},
		{"another scheme", "redis://127.0.0.1", sluice.ErrInvalid},
		{"a prefix that is no name", v.URL, sluice.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(tt.url)
			if tt.url == v.URL {
				cfg.Prefix = "a.b#"
			}
			p, err := rabbitmq.OpenPublisher(t.Context(), cfg)
			if !errors.Is(err, tt.kind) {
				t.Errorf("it says %v", err)
			}
			if err == nil {
				_ = p.Close()
			}
		})
	}
	p := publisher(t, config("amqp://guest:guest@127.0.0.1:1/"+v.Name))
	if err := p.Publish(t.Context(), claims(0, 1)); !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("without a broker: %v", err)
	}
	// The first of several hosts may be the one that is away.
	both := publisher(t, config("amqp://guest:guest@127.0.0.1:1,"+v.Addr+"/"+v.Name))
	until(t, "the other host is used", func() bool { return both.Ready() == nil })
}

// TestADeletedQueueIsMadeAgain: nobody takes the messages, which is not an answer of success, and the next try works.
func TestADeletedQueueIsMadeAgain(t *testing.T) {
	v := servers.Rabbit(t)
	p, c := publisher(t, config(v.URL)), consumer(t, config(v.URL))
	if _, err := raw(t, v.URL).QueueDelete("sluice.claims", false, false, false); err != nil {
		t.Fatal(err)
	}
	refused := 0
	until(t, "publishing", func() bool {
		err := p.Publish(t.Context(), claims(0, 10))
		if err != nil && !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain) {
			t.Fatal(err)
		}
		if err != nil {
			refused++
		}
		return err == nil
	})
	t.Logf("refused %d times", refused)
	ack(t, c, receive(t, c, 10))
}
