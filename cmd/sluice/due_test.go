package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
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
	var left atomic.Int64
	left.Store(600)
	r := newReminder(publisher, due, cfg.Log, func(_ context.Context, _ sluice.Millis, most int) (sluice.Sweep, error) {
		n := min(int(left.Load()), most)
		left.Add(-int64(n))
		closed <- time.Now()
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
			t.Fatalf("%d pieces were closed, %d orders are left", i, left.Load())
		}
	}
	if n := left.Load(); n != 0 {
		t.Errorf("%d orders are left", n)
	}
}

// TestARemindedServerClosesDueOrders: on a server whose expirer is stopped, an order with a window of 2 s is closed
// soon after that by the reminder alone, and its unit is for sale again.
func TestARemindedServerClosesDueOrders(t *testing.T) {
	maria := servers.MariaDB(t)
	cfg, err := config.Load(config.Sources{
		Environ: []string{"SLUICE_JWT_SECRET=0123456789abcdef", "SLUICE_PAYMENT_SECRET=0123456789abcdef",
			"SLUICE_ADMIN_KEY=0123456789abcdef"},
		Flags: map[string]string{
			"data": t.TempDir(), "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0",
			"admission": servers.Redis(t).URL(), "queue": servers.Rabbit(t).URL, "ledger": maria.URL,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), cfg, serverOptions{log: io.Discard, progress: io.Discard, started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.parts.expirer.Load().Stop()
	now := sluice.MillisOf(time.Now())
	if _, err := s.parts.campaigns.Create(t.Context(), sluice.CampaignSpec{
		ID: "spring", Kind: sluice.KindGoods, Title: "Spring", Total: 3, PerUserLimit: 1, StartsAt: now - 1000,
		EndsAt: now.Add(time.Hour), Goods: &sluice.Goods{PriceMinor: 100, Currency: "EUR", UnpaidWindowSec: 2},
	}, sluice.Actor{Name: "op", Role: sluice.RoleOperator}); err != nil {
		t.Fatal(err)
	}
	until := func(what string, within time.Duration, is func() bool) {
		t.Helper()
		deadline := time.After(within)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for !is() {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: not within %s", what, within)
			}
		}
	}
	for i := range 3 {
		user := fmt.Sprint("buyer", i)
		claim := sluice.Claim{
			ID: sluice.NewClaimID("spring", user, sluice.SourceClaim, "r"), Campaign: "spring", User: user, RequestID: "r",
			Quantity: 1, At: sluice.MillisOf(time.Now()),
		}
		until("a claim is queued", 10*time.Second, func() bool {
			return s.parts.admission.Admit(t.Context(), claim).Reason.Admitted()
		})
	}
	open := func() string { return maria.Do("SELECT COUNT(*) FROM orders WHERE live_units > 0") }
	until("the orders are in the ledger", 10*time.Second, func() bool { return open() == "3" })
	begun := time.Now()
	// A reminder goes out at most a second after an order, and comes back after the window.
	until("the orders are closed", 8*time.Second, func() bool { return open() == "0" })
	if took := time.Since(begun); took < time.Second {
		t.Errorf("they were closed after %s", took)
	}
	until("the units are for sale again", 10*time.Second, func() bool {
		permit, _, _ := s.parts.admission.Permit("spring")
		return permit.Available == 3
	})
}
