package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestRemindersOfDueOrders: what one node settles, another closes when its window is over, piece by piece, and not
// before.
func TestRemindersOfDueOrders(t *testing.T) {
	cfg := rabbitmq.Config{
		URL: servers.OwnRabbit(t).URL, Encode: redis.AppendMessage, Decode: decodeMessage, Log: slog.New(slog.DiscardHandler),
	}
	publisher, err := rabbitmq.OpenPublisher(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	due, err := rabbitmq.OpenDue(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan time.Time, 10)
	left := 600
	r := newReminder(publisher, due, cfg.Log, func(_ context.Context, _ sluice.Millis, most int) (sluice.Sweep, error) {
		closed <- time.Now()
		n := min(left, most)
		left -= n
		return sluice.Sweep{Done: n}, nil
	})
	r.note(2 * time.Second)
	r.note(2 * time.Second)
	r.note(time.Hour)
	r.Start()
	t.Cleanup(func() { r.Stop(); _ = due.Close(); _ = publisher.Close() })
	begun := time.Now()
	for range 1000 {
		r.tell()
	}
	for i := range 3 {
		select {
		case at := <-closed:
			if at.Sub(begun) < 2*time.Second {
				t.Errorf("piece %d was closed after %s", i, at.Sub(begun))
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%d pieces were closed, %d orders are left", i, left)
		}
	}
	if left != 0 {
		t.Errorf("%d orders are left", left)
	}
}
