package rabbitmq_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestALongDelayBeforeAShortOne: a queue of mixed delays is blocked by the long one at its head. Here the short one
// comes out in its time, whatever was put in before.
func TestALongDelayBeforeAShortOne(t *testing.T) {
	v := servers.Rabbit(t)
	p := publisher(t, config(v.URL))
	due, err := rabbitmq.OpenDue(t.Context(), config(v.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = due.Close() })
	all := claims(0, 3)
	begun := time.Now()
	for _, step := range []struct {
		after time.Duration
		claim sluice.Claim
	}{{30 * time.Minute, all[0]}, {2 * time.Second, all[1]}, {300 * time.Millisecond, all[2]}} {
		if err = p.Delay(t.Context(), step.after, []sluice.Claim{step.claim}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct {
		claim sluice.Claim
		after time.Duration
	}{{all[2], time.Second}, {all[1], 2 * time.Second}} {
		d := receive(t, due, 1)
		took := time.Since(begun)
		if d[0].Claim.ID != want.claim.ID || took < want.after || took > want.after+2*time.Second {
			t.Errorf("the %d. is %s after %s", i, d[0].Claim.User, took)
		}
		ack(t, due, d)
	}
	if got, err := due.Receive(t.Context(), 1); err != nil || len(got) != 0 {
		t.Errorf("the long one came already: %v, %v", got, err)
	}
	until(t, "one queue a delay", func() bool {
		return facts(t, v, "sluice.delay.1800s").Arguments["x-message-ttl"] == 1_800_000.0 &&
			facts(t, v, "sluice.delay.2s").Arguments["x-message-ttl"] == 2000.0 &&
			facts(t, v, "sluice.delay.1s").Arguments["x-expires"] == 3_602_000.0
	})
}

func TestDelaysAreBounded(t *testing.T) {
	v := servers.Rabbit(t)
	p := publisher(t, config(v.URL))
	if err := p.Delay(t.Context(), 365*24*time.Hour, claims(0, 1)); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("a year: %v", err)
	}
	for i := range 256 {
		if err := p.Delay(t.Context(), time.Duration(i+100)*time.Second, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Delay(t.Context(), time.Hour, claims(0, 1)); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("one more: %v", err)
	}
	if err := p.Delay(t.Context(), 100*time.Second, claims(0, 1)); err != nil {
		t.Errorf("a known one: %v", err)
	}
}
