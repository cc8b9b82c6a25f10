package settle

import (
	"context"
	"sync"
)

// life is the beginning, the pauses and the end of what works through an intake.
type life struct {
	in *intake

	start  sync.Once
	stop   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // whatever runs

	mu      sync.Mutex
	started bool
	idle    bool // Pause
}

func (l *life) init(in *intake) {
	l.in = in
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// begin starts the intake, then what follows, under mu. A second call does nothing, nor does one after Stop.
func (l *life) begin(then func()) {
	l.start.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ctx.Err() != nil {
			return
		}
		l.started = true
		l.work.Go(func() { l.in.run(l.ctx) })
		then()
	})
}

// Stop ends the work and returns when all is over: what is under way is finished, what was not begun comes again to
// others. It is idempotent.
func (l *life) Stop() {
	l.stop.Do(func() {
		l.mu.Lock()
		l.cancel()
		l.mu.Unlock()
	})
	l.work.Wait()
}

// Pause stops receiving, or goes on with it. What is in hand is finished all the same, but for a relay's: it is given
// up to the settlers that read the outbox instead while the broker is bypassed, and comes to them after the time of an
// abandoned entry at the latest.
func (l *life) Pause(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == on {
		return
	}
	if l.idle = on; on {
		l.in.hold()
	} else {
		l.in.release()
	}
}

func (l *life) paused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle
}

func (l *life) running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started && l.ctx.Err() == nil
}

// InHand says how many deliveries are being worked on.
func (l *life) InHand() int { return l.in.hand() }
