package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
)

// Bounds of the reminders.
const (
	remindEvery = time.Second // at most one for each unpaid window
	maxWindows  = 16          // different ones that are reminded of; orders of others are found by the expirer alone
	duePiece    = 256         // orders closed in one transaction
	duePieces   = 64          // of them for one reminder; the expirer does what is left
)

// reminder has the broker say when orders may fall due: for each second in which claims were settled, one message a
// window goes into the delay queue of that window, and whichever node it comes out at closes what is due. That is the
// fast road. The expirer, which one node runs, looks by itself and is the sure one: a reminder may be early, late,
// doubled or lost, and closing is idempotent.
type reminder struct {
	publisher *rabbitmq.Publisher
	due       *rabbitmq.Consumer
	close     func(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)
	log       *slog.Logger

	told   chan struct{} // one place
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	windows []time.Duration
}

func newReminder(
	p *rabbitmq.Publisher, due *rabbitmq.Consumer, log *slog.Logger,
	closeDue func(context.Context, sluice.Millis, int) (sluice.Sweep, error),
) *reminder {
	return &reminder{publisher: p, due: due, close: closeDue, log: log, told: make(chan struct{}, 1)}
}

// note keeps a window that some campaign has.
func (r *reminder) note(window time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if window > 0 && len(r.windows) < maxWindows && !slices.Contains(r.windows, window) {
		r.windows = append(r.windows, window)
	}
}

// tell says that orders were made. It never blocks.
func (r *reminder) tell() {
	select {
	case r.told <- struct{}{}:
	default: // one is to be sent yet, and will be later than this
	}
}

// Start begins to send and to hear.
func (r *reminder) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.group.Go(func() { r.send(ctx) })
	r.group.Go(func() { r.hear(ctx) })
}

// Stop ends both.
func (r *reminder) Stop() {
	r.cancel()
	r.group.Wait()
}

func (r *reminder) send(ctx context.Context) {
	tick := time.NewTicker(remindEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.told:
		}
		r.mu.Lock()
		windows := slices.Clone(r.windows)
		r.mu.Unlock()
		for _, w := range windows {
			// It names no order: what is due is the ledger's to say.
			one := sluice.Claim{
				ID: sluice.NewClaimID("due", "due", sluice.SourceClaim, ""), Campaign: "due", User: "due", Quantity: 1,
				At: sluice.MillisOf(time.Now()),
			}
			if err := r.publisher.Delay(ctx, w, []sluice.Claim{one}); err != nil {
				r.log.Debug("no reminder of due orders", "window", w, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *reminder) hear(ctx context.Context) {
	for ctx.Err() == nil {
		got, err := r.due.Receive(ctx, duePiece)
		if err != nil || len(got) == 0 {
			continue // it waited
		}
		for range duePieces {
			sweep, err := r.close(ctx, sluice.MillisOf(time.Now()), duePiece)
			if err != nil {
				r.log.Debug("due orders are left to the expirer", "error", err)
			}
			if err != nil || sweep.Stopped || sweep.Done < duePiece {
				break
			}
		}
		_ = r.due.Ack(ctx, got) // a reminder that comes again does no harm
	}
}
