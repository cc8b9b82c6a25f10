package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-sale/sluice"
)

// RelayConfig sets a relay up. Zero values mean the defaults given.
type RelayConfig struct {
	Log     *slog.Logger
	Lanes   int // publishes under way at once, 1 to MaxSettlers; default 2
	OnBatch func(claims int, took time.Duration)
	OnPause func(err error) // the broker cannot be reached; may be nil
}

// Relay carries claims from the outbox to a broker: an entry of the outbox is acknowledged once the broker has
// confirmed its claims. While the broker is away they wait in the outbox, and nobody is refused for it.
type Relay struct {
	cfg     RelayConfig
	from    Consumer
	to      Publisher
	letters Letters
	life
}

// NewRelay makes a relay; Start starts it.
func NewRelay(cfg RelayConfig, from Consumer, to Publisher, letters Letters) (*Relay, error) {
	if from == nil || to == nil || letters == nil {
		return nil, errors.New("settle: a relay needs an outbox, a broker and a place for dead letters")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Lanes = bounded(cmp.Or(cfg.Lanes, 2))
	r := &Relay{cfg: cfg, from: from, to: to, letters: letters}
	r.init(newIntake(from, cfg.Log))
	return r, nil
}

// Start begins the work. A second call does nothing, nor does one after Stop.
func (r *Relay) Start() {
	r.begin(func() {
		for range r.cfg.Lanes {
			r.work.Go(r.run)
		}
	})
}

func (r *Relay) run() {
	for {
		items, t := r.in.take(r.ctx, nil, MaxBatch)
		if items == nil {
			return
		}
		t.end() // it writes nothing
		r.batch(items)
		r.in.finished(len(items))
	}
}

// batch publishes what can be read and keeps what cannot; each is acknowledged only once it is somewhere else.
func (r *Relay) batch(items []item) {
	began := time.Now()
	var claims []sluice.Claim
	var done []sluice.Delivery
	for i := range items {
		it := &items[i]
		if it.Fault == "" {
			claims = append(claims, it.Claim)
			done = append(done, it.Delivery)
			continue
		}
		err := r.patiently(outage, func(ctx context.Context) error {
			return r.letters.KeepDeadLetter(ctx, it.Raw, it.Fault)
		})
		if err != nil {
			r.cfg.Log.Error("a message that cannot be read could not be kept; it comes again", "fault", it.Fault, "err", err)
			continue
		}
		r.cfg.Log.Error("a message that cannot be read is a dead letter now", "fault", it.Fault, "bytes", len(it.Raw))
		r.ack([]sluice.Delivery{it.Delivery})
	}
	if len(claims) == 0 {
		return
	}
	always := func(error) bool { return true }
	err := r.patiently(always, func(ctx context.Context) error { return r.to.Publish(ctx, claims) })
	if err != nil {
		r.cfg.Log.Warn("claims were not published; they come again", "claims", len(claims), "err", err)
		return
	}
	r.ack(done)
	if r.cfg.OnBatch != nil {
		r.cfg.OnBatch(len(claims), time.Since(began))
	}
}

func (r *Relay) ack(done []sluice.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), callTimeout)
	defer cancel()
	if err := r.from.Ack(ctx, done); err != nil {
		r.cfg.Log.Warn("published claims could not be acknowledged; they are published again", "err", err)
	}
}

// patiently repeats a call that failed of what again says, until it is done, the relay stops, or the outbox is to be
// read by others.
func (r *Relay) patiently(again func(error) bool, call func(context.Context) error) error {
	var trouble backoff
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), callTimeout)
		err := call(ctx)
		cancel()
		if err == nil || !again(err) {
			return err
		}
		if trouble.first() {
			r.cfg.Log.Warn("claims wait in the outbox", "err", err)
			if r.cfg.OnPause != nil {
				r.cfg.OnPause(err)
			}
		}
		if r.paused() {
			return fmt.Errorf("settle: the broker is bypassed: %w", err)
		}
		if !trouble.wait(r.ctx) {
			return fmt.Errorf("settle: stopped: %w", errors.Join(r.ctx.Err(), err))
		}
	}
}
