package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the fleet.
const (
	DefaultEvery   = 500 * time.Millisecond // between two looks, and two heartbeats
	storeTimeout   = time.Second            // of one look at a store
	loadTimeout    = 20 * time.Second       // of taking over one kind of setting
	slowEvery      = 2 * time.Second        // at least, between two times that slow settings are taken over
	skewEvery      = 10 * time.Second       // between two looks at the ledger's clock
	listenAgain    = time.Second            // after a lost subscription
	leaveTimeout   = 2 * time.Second        // of saying good-bye
	pendingJob     = "pending_switches"     // who records what was set while the ledger was away
	pendingTerm    = 10 * time.Second
	recordTimeout  = 5 * time.Second // of one attempt at that
	spreadTimeout  = 3 * time.Second // how long an operator's answer waits for the other nodes
	spreadPoll     = 50 * time.Millisecond
	revTimeout     = 500 * time.Millisecond // of one look at the settings' revision for an answer
	overlayTimeout = 300 * time.Millisecond // of reading the ledger's switches, where Redis has new ones to lay over them
	listEvery      = 2 * time.Second        // at least, between two times that the ledger's nodes are read
	forgetDeadNode = time.Hour
)

// Config sets a Fleet up. Node, Registry and Switches are required.
type Config struct {
	Node     sluice.Node // ID, Name, Version, Addr and StartedAt
	Registry Registry
	Switches *Switches
	Control  Control // nil without a Redis
	Nudges   Nudges  // nil without a Redis
	Fast     []Loader
	Slow     []Loader                   // those that may take seconds; a node reports its settings before them
	Flushed  func() map[string]int64    // what Node.Flushed says; nil: nothing
	Standing func() sluice.NodeStanding // what Node.Standing says; nil: nothing
	Every    time.Duration              // default DefaultEvery
	Now      func() time.Time           // default time.Now
	Log      *slog.Logger               // default: discard
}

// Fleet is this node's part in the fleet. Safe for concurrent use.
type Fleet struct {
	cfg Config
	log *slog.Logger

	rev      atomic.Int64 // of the ledger's settings that are in force here
	control  atomic.Int64 // of the pending switches that are in force here
	current  atomic.Int64 // when the settings in force were last seen to be the newest; Unix ms, by the monotonic reading
	skew     atomic.Int64 // ms
	ledgerUp atomic.Bool
	redisUp  atomic.Bool
	beating  atomic.Bool
	reread   atomic.Bool  // settings were put in force that the ledger was not asked for
	wrote    atomic.Int64 // switches that this node has written into the ledger
	told     atomic.Int64 // how many of them some revision that was read later has in it

	look chan struct{} // one place each: look now
	meet chan struct{}
	slow chan struct{}
	tell chan struct{} // something was changed here
	pend chan struct{} // something waits to be recorded in the ledger

	ledger, redis source // of the nodes

	start  sync.Once
	stop   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	began  time.Time
	asked  time.Time // when the ledger's clock was read last; the look loop's own
	listed time.Time // when the ledger's nodes were read last; the look loop's own
}

// New makes a Fleet. Join takes part.
func New(cfg Config) *Fleet {
	if cfg.Every <= 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{cfg: cfg, log: cfg.Log, look: make(chan struct{}, 1), meet: make(chan struct{}, 1),
		slow: make(chan struct{}, 1), tell: make(chan struct{}, 1), pend: make(chan struct{}, 1), began: time.Now()}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.ledgerUp.Store(true)
	f.redisUp.Store(cfg.Control != nil)
	f.current.Store(f.mono())
	f.ledger.ctx, f.redis.ctx = f.ctx, f.ctx
	f.ledger.read = cfg.Registry.Nodes
	if cfg.Control != nil {
		f.redis.read = func(ctx context.Context) ([]sluice.Node, error) {
			nodes, _, err := cfg.Control.Meet(ctx, f.node())
			return nodes, err
		}
	}
	cfg.Switches.fleet = f
	return f
}

// mono is the time since New in milliseconds, by a clock that does not jump.
func (f *Fleet) mono() int64 { return time.Since(f.began).Milliseconds() }

// Join says that this node lives, takes over the settings as they are, and begins to look after them. The error is
// that of the ledger; nothing runs then.
func (f *Fleet) Join(ctx context.Context) error {
	if err := f.refresh(ctx); err != nil {
		return err
	}
	if err := f.cfg.Registry.Beat(ctx, f.node()); err != nil {
		return err
	}
	f.start.Do(func() {
		f.run(f.look, f.lookOnce)
		f.every(f.slow, 0, f.loadSlow)
		f.every(f.tell, 0, f.nudge)
		f.every(f.pend, 0, f.cfg.Switches.record)
		poke(f.look)
		if f.cfg.Control != nil {
			f.run(f.meet, f.meetOnce)
		}
		if f.cfg.Nudges != nil {
			f.done.Add(1)
			go f.listen()
		}
	})
	return nil
}

// Stop ends the node's part and takes it out of the lists, so that nobody waits for it. It is idempotent.
func (f *Fleet) Stop() {
	f.stop.Do(func() {
		f.cancel()
		f.done.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		if err := f.cfg.Registry.Leave(ctx, f.cfg.Node.ID); err != nil {
			f.log.Warn("the node could not leave the list of nodes; it counts as alive for some seconds", "err", err)
		}
		if f.cfg.Control != nil {
			_ = f.cfg.Control.Part(ctx, f.cfg.Node.ID)
		}
	})
}

func (f *Fleet) run(wake <-chan struct{}, once func(context.Context)) {
	f.every(wake, f.cfg.Every, once)
}

// every runs once at each tick and at each wake; pause 0 means at wakes only.
func (f *Fleet) every(wake <-chan struct{}, pause time.Duration, once func(context.Context)) {
	f.done.Add(1)
	go func() {
		defer f.done.Done()
		var ticks <-chan time.Time
		if pause > 0 {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			ticks = tick.C
		}
		for {
			select {
			case <-f.ctx.Done():
				return
			case <-ticks:
			case <-wake:
			}
			once(f.ctx)
		}
	}()
}

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lookOnce takes over what has changed in the ledger and writes the heartbeat there.
func (f *Fleet) lookOnce(ctx context.Context) {
	err := f.refresh(ctx)
	if err == nil {
		err = f.beat(ctx)
	}
	f.up(&f.ledgerUp, theLedger, err)
	if err != nil {
		return
	}
	if f.cfg.Switches.unrecorded() {
		poke(f.pend)
	}
	f.readSkew(ctx)
	if f.listed.IsZero() || time.Since(f.listed) >= listEvery {
		f.listed = time.Now()
		f.ledger.ask()
	}
}

// The stores, as logs call them.
const (
	theLedger = "the ledger"
	theRedis  = "Redis"
)

func (f *Fleet) beat(ctx context.Context) error {
	if !f.beating.CompareAndSwap(false, true) {
		return fmt.Errorf("fleet: the heartbeat before has not come back: %w", sluice.ErrUncertain)
	}
	return within(ctx, storeTimeout, func(ctx context.Context) error {
		defer f.beating.Store(false)
		return f.cfg.Registry.Beat(ctx, f.node())
	})
}

// within gives up waiting for a write after so long: a ledger's transaction that is under way heeds no context, and
// ends by itself. ErrUncertain: it was not waited for.
func within(ctx context.Context, d time.Duration, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- write(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // both at once
		return err
	default:
		return fmt.Errorf("fleet: no answer within %s: %w", d, sluice.ErrUncertain)
	}
}

// up notes whether a store answers, and tells of changes.
func (f *Fleet) up(now *atomic.Bool, what string, err error) {
	if f.ctx.Err() != nil {
		return
	}
	if was := now.Swap(err == nil); was != (err == nil) {
		if err != nil {
			f.log.Warn("settings cannot be read from "+what+"; what is in force stays in force", "err", err)
		} else {
			f.log.Info("settings are read from " + what + " again")
		}
	}
}

// strictly marks a context in which the switches are those of the ledger, or an error.
type strictly struct{}

// refresh takes over the settings where the ledger has a newer revision. Only one runs at a time.
func (f *Fleet) refresh(ctx context.Context) error {
	began := f.mono()
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	rev, err := f.cfg.Registry.SettingsRev(ask)
	if err != nil {
		return err
	}
	if again := f.reread.Swap(false); again || rev != f.rev.Load() {
		for _, l := range f.cfg.Fast {
			if err := f.load(context.WithValue(ctx, strictly{}, true), l); err != nil {
				f.reread.Store(true)
				return err
			}
		}
		f.rev.Store(rev)
		poke(f.slow)
		poke(f.meet)
	}
	f.current.Store(began)
	return nil
}

func (f *Fleet) load(ctx context.Context, l Loader) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	err := l.Load(ctx)
	if err != nil && ctx.Err() == nil {
		f.log.Warn("settings are not taken over yet; it is tried again", "what", l.What, "err", err)
	}
	return err
}

// loadSlow takes over what may take seconds, apart from the rest, so that no switch waits for it.
func (f *Fleet) loadSlow(ctx context.Context) {
	failed := false
	for _, l := range f.cfg.Slow {
		failed = f.load(ctx, l) != nil || failed
	}
	select {
	case <-ctx.Done():
	case <-time.After(slowEvery):
		if failed {
			poke(f.slow)
		}
	}
}

// meetOnce writes the heartbeat into Redis, brings there what it is owed, and takes over the switches that are pending
// there.
func (f *Fleet) meetOnce(ctx context.Context) {
	rev, err := f.greet(ctx)
	if err == nil && f.cfg.Switches.pay(ctx) {
		rev, err = f.greet(ctx)
	}
	if err == nil && rev != f.control.Load() {
		if err = f.takePending(ctx); err == nil {
			_, err = f.greet(ctx)
		}
	}
	f.up(&f.redisUp, theRedis, err)
}

// greet writes the heartbeat into Redis and remembers the nodes there.
func (f *Fleet) greet(ctx context.Context) (rev int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	nodes, rev, err := f.cfg.Control.Meet(ctx, f.node())
	if err == nil {
		f.redis.note(nodes)
	}
	return rev, err
}

// takePending puts the pending switches in force. A ledger that is slow or frozen is not waited for: what was known of
// it is enough to lay them over.
func (f *Fleet) takePending(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	since := f.cfg.Switches.keepings()
	all, rev, err := f.cfg.Control.Pending(ask)
	if err != nil {
		return err
	}
	f.cfg.Switches.overlay(all, since)
	soon, cancel := context.WithTimeout(ctx, overlayTimeout)
	defer cancel()
	if err := f.cfg.Switches.apply(soon); err != nil {
		return err
	}
	f.control.Store(rev)
	return nil
}

func (f *Fleet) readSkew(ctx context.Context) {
	if !f.asked.IsZero() && time.Since(f.asked) < skewEvery {
		return
	}
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	before := f.cfg.Now()
	at, err := f.cfg.Registry.Clock(ask)
	if err != nil {
		return
	}
	after := f.cfg.Now()
	f.asked = time.Now()
	middle := before.Add(after.Sub(before) / 2)
	f.skew.Store(int64(sluice.MillisOf(middle) - at))
}

// listen looks at each nudge of another node.
func (f *Fleet) listen() {
	defer f.done.Done()
	for f.ctx.Err() == nil {
		err := f.cfg.Nudges.Listen(f.ctx, func() {
			poke(f.look)
			poke(f.meet)
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			f.log.Debug("no nudges from other nodes; settings are looked for every while all the same", "err", err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// node is this node as its heartbeat tells.
func (f *Fleet) node() sluice.Node {
	n := f.cfg.Node
	n.Settings, n.Control, n.SkewMS = f.rev.Load(), f.control.Load(), f.skew.Load()
	if f.cfg.Flushed != nil {
		n.Flushed = f.cfg.Flushed()
	}
	if f.cfg.Standing != nil {
		n.Standing = f.cfg.Standing()
	}
	return n
}
