package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestReadersThatAreGone: one that holds nothing is forgotten, one that holds something never is: its entries would be
// nobody's.
func TestReadersThatAreGone(t *testing.T) {
	server := servers.Redis(t)
	client, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := aSale("spring", 1)
	key := client.OutboxKey(&c, 0)
	box := func(name string) *redis.Outbox {
		b, err := redis.NewOutbox(client, redis.OutboxConfig{Name: name, Abandoned: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		b.Follow([]sluice.Campaign{c})
		return b
	}
	receive := func(b *redis.Outbox) []sluice.Delivery {
		t.Helper()
		server.Do("XADD", key, "*", redis.OutboxField, "a message")
		got, err := b.Receive(t.Context(), 10)
		if err != nil || len(got) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	idle, holding, here := box("gone"), box("holding"), box("here")
	if got := receive(idle); idle.Ack(t.Context(), got) != nil {
		t.Fatal("not acknowledged")
	}
	receive(holding)
	if got := receive(here); here.Ack(t.Context(), got) != nil {
		t.Fatal("not acknowledged")
	}
	redis.ForgetReaders(t.Context(), here, 0)
	list := server.Do("XINFO", "CONSUMERS", key, "settle")
	if strings.Contains(list, "gone") {
		t.Errorf("the reader that is gone is still there:\n%s", list)
	}
	if !strings.Contains(list, "holding") || !strings.Contains(list, "here") {
		t.Errorf("a reader is missing:\n%s", list)
	}
	if n := server.Do("XPENDING", key, "settle"); !strings.HasPrefix(n, "1\n") {
		t.Errorf("what was held is nobody's: %s", n)
	}
}
