package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/settle"
)

// outboxes are the outboxes of two campaigns on one Redis, written without admission.
type outboxes struct {
	t         *testing.T
	client    *redis.Client
	raw       rueidis.Client
	campaigns []sluice.Campaign
	readers   int
	added     int
}

func newOutboxes(t *testing.T, url string, opt rueidis.ClientOption) *outboxes {
	t.Helper()
	client, err := redis.Open(t.Context(), redis.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	raw, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	spring, autumn := aSale("spring", 3), aSale("autumn", 3)
	autumn.Shards = 3
	return &outboxes{t: t, client: client, raw: raw, campaigns: []sluice.Campaign{spring, autumn}}
}

// add puts one entry into a stream, every other one by the name of a call, and is done when it is there for sure.
func (o *outboxes) add(t *testing.T, key, entry string) {
	t.Helper()
	field, value := redis.OutboxField, entry
	if o.added++; o.added%2 == 0 {
		call := fmt.Sprintf("%08d", o.added)
		o.insist(t, func() rueidis.Completed {
			return o.raw.B().Hset().Key(strings.TrimSuffix(key, "outbox")+"pending").FieldValue().
				FieldValue("m"+call, entry).Build()
		})
		field, value = redis.CallField, call
	}
	o.insist(t, func() rueidis.Completed {
		return o.raw.B().Xadd().Key(key).Id("*").FieldValue().FieldValue(field, value).Build()
	})
}

// insist makes a call until it is answered.
func (o *outboxes) insist(t *testing.T, call func() rueidis.Completed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformance.QueuePatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := o.raw.Do(ctx, call()).Error()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("publish: %v", err)
		}
	}
}

func (o *outboxes) publish(t *testing.T, claims []sluice.Claim) {
	t.Helper()
	entries := map[string][]byte{}
	for i := range claims {
		for c := range o.campaigns {
			if o.campaigns[c].ID == claims[i].Campaign {
				key := o.client.OutboxKey(&o.campaigns[c], redis.HomeShard(&o.campaigns[c], claims[i].ID.User()))
				entries[key] = redis.AppendMessage(entries[key], &claims[i])
			}
		}
	}
	for key, entry := range entries {
		o.add(t, key, string(entry))
	}
}

// outboxReader is one reader that can die.
type outboxReader struct {
	*redis.Outbox
	mu   sync.Mutex
	dead bool
}

func (r *outboxReader) gone() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.dead }

// Receive is that of the outbox, while it lives.
func (r *outboxReader) Receive(ctx context.Context, limit int) ([]sluice.Delivery, error) {
	if r.gone() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.Outbox.Receive(ctx, limit)
}

// Ack is that of the outbox, while it lives.
func (r *outboxReader) Ack(ctx context.Context, done []sluice.Delivery) error {
	if r.gone() {
		return sluice.ErrUnavailable
	}
	return r.Outbox.Ack(ctx, done)
}

func (o *outboxes) reader(t *testing.T, abandoned time.Duration) *outboxReader {
	t.Helper()
	o.readers++
	box, err := redis.NewOutbox(o.client, redis.OutboxConfig{Name: fmt.Sprint("reader", o.readers), Abandoned: abandoned})
	if err != nil {
		t.Fatal(err)
	}
	box.Follow(o.campaigns)
	return &outboxReader{Outbox: box}
}

// quietGate is told what was settled and does nothing about it.
type quietGate struct{}

// Settled is of settle.Gate.
func (quietGate) Settled(context.Context, []sluice.Claim) error { return nil }

// onlyGoods says that every campaign is on goods.
type onlyGoods struct{}

// KindOf is of settle.Kinds.
func (onlyGoods) KindOf(context.Context, string) (sluice.Kind, error) { return sluice.KindGoods, nil }

func (o *outboxes) bench(restart func()) conformance.QueueBench {
	watcher := o.reader(o.t, time.Hour)
	return conformance.QueueBench{
		Publish: o.publish,
		PublishRaw: func(t *testing.T, raw []byte) {
			o.add(t, o.client.OutboxKey(&o.campaigns[0], 0), string(raw))
		},
		Consumer: func(t *testing.T) conformance.QueueConsumer { return o.reader(t, 600*time.Millisecond) },
		Abandon: func(t *testing.T, c conformance.QueueConsumer) {
			r, ok := c.(*outboxReader)
			if !ok {
				t.Fatal("another queue's consumer")
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.dead = true
		},
		State: func(t *testing.T) sluice.QueueState {
			s, err := watcher.State(t.Context())
			if err != nil {
				return sluice.QueueState{Entries: -1}
			}
			return s
		},
		Restart: func(*testing.T) { restart() },
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

func TestQueueOnRedis(t *testing.T) {
	conformance.Queue(t, func(t *testing.T) conformance.QueueBench {
		server := servers.Redis(t, servers.With("appendfsync", "always"))
		o := newOutboxes(t, server.URL(), rueidis.ClientOption{
			InitAddress: []string{server.Addr}, ForceSingleClient: true, DisableCache: true,
		})
		return o.bench(func() { server.Kill9(); server.Start() })
	})
}

func TestQueueOnRedisCluster(t *testing.T) {
	cluster := servers.RedisCluster(t, servers.With("appendfsync", "always"))
	conformance.Queue(t, func(t *testing.T) conformance.QueueBench {
		for _, m := range cluster.Masters() {
			m.Do("FLUSHALL")
		}
		o := newOutboxes(t, cluster.URL(), rueidis.ClientOption{
			InitAddress: []string{cluster.Nodes[0].Addr, cluster.Nodes[1].Addr}, DisableCache: true,
		})
		return o.bench(func() {
			// Back before a replica takes over: what a failover may lose is for the epochs.
			m := cluster.MasterOf(o.client.OutboxKey(&o.campaigns[0], 0))
			m.Kill9()
			m.Start()
			cluster.WaitInStep()
		})
	})
}

// TestOutboxOfASettledCall reads an entry whose call is not pending any more: nobody is given anything, and it goes.
func TestOutboxOfASettledCall(t *testing.T) {
	server := servers.Redis(t)
	o := newOutboxes(t, server.URL(), rueidis.ClientOption{
		InitAddress: []string{server.Addr}, ForceSingleClient: true, DisableCache: true,
	})
	key := o.client.OutboxKey(&o.campaigns[0], 0)
	r := o.reader(t, time.Hour)
	o.insist(t, func() rueidis.Completed {
		return o.raw.B().Xadd().Key(key).Id("*").FieldValue().FieldValue(redis.CallField, "12345678").Build()
	})
	got, err := r.Receive(t.Context(), 10)
	if err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if n, err := o.client.Count(t.Context(), key); n != 0 || err != nil {
		t.Errorf("%d entries are left, %v", n, err)
	}
	if got, err = r.Receive(t.Context(), 10); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
