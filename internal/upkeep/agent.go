package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of every agent.
const (
	defaultEvery = 2 * time.Second
	maxPiece     = 256                   // rows of one transaction
	minWait      = 10 * time.Millisecond // between pieces that found nothing
	defaultTerm  = 5 * time.Second       // of office
)

// Config sets an agent up. Zero values mean the defaults given.
type Config struct {
	Now     func() time.Time                // default time.Now
	Log     *slog.Logger                    // default: discard
	Every   time.Duration                   // the sure road: how often it looks by itself; default 2 s unless said
	Piece   int                             // rows ended in one transaction, 1 to 256; default 256
	OnPiece func(s sluice.Sweep, err error) // after each piece, for metrics; may be nil

	// Where several nodes share the ledger, one of them at a time does the work: see Leader. A nil Leader leads always.
	Leader Leader
	Node   string        // this node's id
	Term   time.Duration // of office; default 5 s
}

// agent runs a piece of work again and again: at once while there is more, at the next due moment, when woken, and at
// every interval at the latest. mu guards next and told.
type agent struct {
	name  string
	cfg   Config
	lead  *tenure
	piece func(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)

	wake   chan struct{} // one place
	start  sync.Once
	stop   sync.Once
	cancel context.CancelFunc
	ctx    context.Context
	done   chan struct{}

	mu   sync.Mutex
	next sluice.Millis // what the loop waits for; zero while it works
	told sluice.Millis // the earliest moment told of while it worked; zero where none was
}

func newAgent(
	name string, cfg Config, piece func(context.Context, sluice.Millis, int) (sluice.Sweep, error),
) *agent {
	cfg.fill()
	a := &agent{
		name: name, cfg: cfg, piece: piece, lead: newTenure(name, cfg),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// fill puts the defaults where nothing is said.
func (cfg *Config) fill() {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Every <= 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Piece <= 0 || cfg.Piece > maxPiece {
		cfg.Piece = maxPiece
	}
	if cfg.Term <= 0 {
		cfg.Term = defaultTerm
	}
}

// Start begins the agent's work in the background. A second call does nothing, nor does one after Stop.
func (a *agent) Start() {
	a.start.Do(func() { go a.run() })
}

// Stop ends the work and returns when its last piece is over, and the job is free for another node. It is idempotent.
func (a *agent) Stop() {
	a.stop.Do(func() {
		a.cancel()
		a.start.Do(func() { close(a.done) }) // never started
		<-a.done
		a.lead.resign()
	})
	<-a.done
}

// RunOnce does one piece of the work and reports it. It does nothing where another node leads.
func (a *agent) RunOnce(ctx context.Context) (sluice.Sweep, error) {
	s, _, err := a.runOnce(ctx)
	return s, err
}

func (a *agent) runOnce(ctx context.Context) (s sluice.Sweep, led bool, err error) {
	fenced, led, err := a.lead.hold(ctx)
	if err == nil && !led {
		return s, false, nil
	}
	if err == nil {
		s, err = a.piece(fenced, sluice.MillisOf(a.cfg.Now()), a.cfg.Piece)
	}
	if err != nil && ctx.Err() == nil {
		a.cfg.Log.Error("upkeep failed; it is tried again", "agent", a.name, "err", err)
	}
	if a.cfg.OnPiece != nil {
		a.cfg.OnPiece(s, err)
	}
	return s, led, err
}

// wakeAt makes sure that the agent works at due, which may be earlier than what it waits for.
func (a *agent) wakeAt(due sluice.Millis) {
	a.mu.Lock()
	sooner := a.next != 0 && due < a.next
	if a.next == 0 && (a.told == 0 || due < a.told) {
		a.told = due // the piece under way may have looked already
	}
	a.mu.Unlock()
	if sooner {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

func (a *agent) run() {
	defer close(a.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-timer.C:
		case <-a.wake:
		}
		a.begin()
		s, led, err := a.runOnce(a.ctx)
		wait := a.end(s, err)
		if a.cfg.Leader != nil && !led {
			wait = min(wait, a.cfg.Term/5) // to be there when the leader is not
		}
		timer.Reset(wait)
	}
}

func (a *agent) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next, a.told = 0, 0
}

// end gives how long to wait after a piece.
func (a *agent) end(s sluice.Sweep, err error) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told != 0 && (s.Next == 0 || a.told < s.Next) {
		s.Next = a.told
	}
	wait := a.pause(s, err)
	a.next = max(1, sluice.MillisOf(a.cfg.Now().Add(wait)))
	return wait
}

// pause says how long to wait after a piece. A clock that jumps only moves the fast road: the sure one goes by
// intervals.
func (a *agent) pause(s sluice.Sweep, err error) time.Duration {
	if err != nil || s.Stopped || s.Next == 0 {
		return a.cfg.Every
	}
	left := time.Duration(s.Next-sluice.MillisOf(a.cfg.Now())) * time.Millisecond
	if left <= 0 && s.Done > 0 {
		return 0
	}
	return min(max(left, minWait), a.cfg.Every)
}
