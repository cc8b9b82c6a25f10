package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Config of a Settler. Zero values mean the defaults given.
type Config struct {
	Log      *slog.Logger
	Now      func() time.Time // the wall clock; default time.Now
	Settlers int              // transactions under way at once, 1 to MaxSettlers; default 2
	MaxBatch int              // claims of one transaction; default and at most MaxBatch

	OnBatch   func(Batch)                     // after each transaction; may be nil, must not block
	OnPause   func(err error)                 // the ledger cannot be written; may be nil
	OnSettled func(all []sluice.Announcement) // on this node, before the others are told; may be nil, must not block
}

// Ports are what a Settler works with. Announcer may be nil; the others are required.
type Ports struct {
	Consumer  Consumer
	Ledger    Ledger
	Gate      Gate
	Kinds     Kinds
	Announcer Announcer
}

// Settler takes claims from a queue and writes them to the ledger, in batches of what gathered while the last one was
// being written. Several of a node, and of other nodes, may work on one queue.
type Settler struct {
	cfg   Config
	ports Ports
	kinds kindCache

	typical atomic.Int64 // what a claim waits for at present, ns; 0 while nothing was settled
	waiting atomic.Int64 // workers that wait for the ledger
	since   atomic.Int64 // when the first of them began to, ns of the wall clock

	life                               // its mu guards what follows
	want    int                        // workers
	workers [MaxSettlers]chan struct{} // closed to end one; nil where there is none
}

// New makes a settler; Start starts it.
func New(cfg Config, ports Ports) (*Settler, error) {
	if ports.Consumer == nil || ports.Ledger == nil || ports.Gate == nil || ports.Kinds == nil {
		return nil, errors.New("settle: a settler needs a consumer, a ledger, a gate and the kinds of campaigns")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxBatch <= 0 || cfg.MaxBatch > MaxBatch {
		cfg.MaxBatch = MaxBatch
	}
	s := &Settler{cfg: cfg, ports: ports, want: bounded(cmp.Or(cfg.Settlers, 2))}
	s.kinds.kinds = ports.Kinds
	s.init(newIntake(ports.Consumer, cfg.Log))
	s.in.prepare = s.prepare
	return s, nil
}

func bounded(settlers int) int { return min(max(settlers, 1), MaxSettlers) }

// Start begins the work. A second call does nothing, nor does one after Stop.
func (s *Settler) Start() { s.begin(s.adjust) }

// SetSettlers changes how many transactions are under way at once.
func (s *Settler) SetSettlers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want = bounded(n)
	if s.started {
		s.adjust()
	}
}

// adjust starts and ends workers; mu is held.
func (s *Settler) adjust() {
	for i := range s.workers {
		switch have := s.workers[i] != nil; {
		case i < s.want && !have:
			end := make(chan struct{})
			s.workers[i] = end
			s.work.Go(func() { s.settleUntil(end) })
		case i >= s.want && have:
			close(s.workers[i])
			s.workers[i] = nil
		}
	}
}

// Typical says how long a claim waits for its outcome at present; 0 where that is not known. While the ledger is away
// it is as long as that has been.
func (s *Settler) Typical() time.Duration {
	wait := time.Duration(s.typical.Load())
	if s.Paused() {
		wait = max(wait, time.Duration(s.cfg.Now().UnixNano()-s.since.Load()))
	}
	return wait
}

// Paused says whether the ledger is being waited for.
func (s *Settler) Paused() bool { return s.waiting.Load() > 0 }

// Drive settles claims that did not come from the queue, such as dead letters that a person replays. It returns once
// they are in hand; their tries are counted like all others. ErrUnavailable: the settler does not run, or ctx was
// done before there was room.
func (s *Settler) Drive(ctx context.Context, claims []sluice.Claim) error {
	if !s.running() {
		return fmt.Errorf("settle: drive %d claims: %w: the settler does not run", len(claims), sluice.ErrUnavailable)
	}
	for len(claims) > 0 {
		room := s.in.room(ctx, s.ctx.Done())
		if room == 0 {
			why := errors.Join(ctx.Err(), s.ctx.Err())
			return fmt.Errorf("settle: drive %d claims: %w: %w", len(claims), sluice.ErrUnavailable, why)
		}
		n := min(room, len(claims), MaxBatch)
		got := make([]sluice.Delivery, n)
		for i := range got {
			got[i].Claim = claims[i]
		}
		s.in.add(got)
		claims = claims[n:]
	}
	return nil
}

func (s *Settler) settleUntil(end <-chan struct{}) {
	for {
		items, t := s.in.take(s.ctx, end, s.cfg.MaxBatch)
		if items == nil {
			return
		}
		s.batch(items, t)
		t.end()
	}
}

// prepare does what needs no transaction, while the last one is under way.
func (s *Settler) prepare(ctx context.Context, got []sluice.Delivery) {
	for i := range got {
		if got[i].Fault == "" {
			// Where it is not known now, it is asked again before the transaction.
			_ = s.drawCodes(ctx, &got[i].Claim)
		}
	}
}

// drawCodes gives a claim on coupons its codes. A row that is in the ledger keeps those that it has.
func (s *Settler) drawCodes(ctx context.Context, c *sluice.Claim) error {
	if len(c.CouponCodes) > 0 {
		return nil
	}
	kind, err := s.kinds.of(ctx, c.Campaign)
	if err != nil || kind != sluice.KindCoupon {
		return err
	}
	for range min(c.Quantity, sluice.MaxCouponQuantity) {
		c.CouponCodes = append(c.CouponCodes, sluice.NewCouponCode())
	}
	return nil
}

// batch brings items to their end, or gives them back where the settler stops.
func (s *Settler) batch(items []item, t *turn) {
	readable := items[:0:0]
	for i := range items {
		if items[i].Fault != "" {
			s.keep(items[i])
			continue
		}
		readable = append(readable, items[i])
	}
	for len(readable) > 0 {
		var twins []item
		readable, twins = distinct(readable)
		s.settle(readable, t)
		readable = twins
	}
}

// distinct parts items whose claim differs from another one's of the same id: they cannot be in one transaction, since
// only one of them can be right.
func distinct(items []item) (fit, twins []item) {
	seen := make(map[sluice.ClaimID]int, len(items))
	fit = items[:0:0]
	for _, it := range items {
		first, again := seen[it.Claim.ID]
		if again && !sameBody(&fit[first].Claim, &it.Claim) {
			twins = append(twins, it)
			continue
		}
		if !again {
			seen[it.Claim.ID] = len(fit)
		}
		fit = append(fit, it)
	}
	return fit, twins
}

func sameBody(a, b *sluice.Claim) bool {
	return a.Quantity == b.Quantity && a.User == b.User && a.Campaign == b.Campaign && a.Source == b.Source
}

// keep makes a message that cannot be read a dead letter, and only then acknowledges it.
func (s *Settler) keep(it item) {
	defer s.in.finished(1)
	err := s.patiently(func(ctx context.Context) error {
		return s.ports.Ledger.KeepDeadLetter(ctx, it.Raw, it.Fault)
	})
	if err != nil {
		s.cfg.Log.Error("a message that cannot be read could not be kept; it comes again", "fault", it.Fault, "err", err)
		return
	}
	s.cfg.Log.Error("a message that cannot be read is a dead letter now", "fault", it.Fault, "bytes", len(it.Raw))
	s.ack([]sluice.Delivery{it.Delivery})
}

// patiently repeats a call that the ledger's outage or an unknown outcome ended, until it comes to anything else or the
// settler stops. Nothing is received meanwhile.
func (s *Settler) patiently(call func(context.Context) error) error {
	var trouble backoff
	defer func() {
		if !trouble.first() {
			s.waiting.Add(-1)
			s.in.release()
		}
	}()
	for {
		// A stop does not cut a transaction: what is under way is finished.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), callTimeout)
		err := call(ctx)
		cancel()
		if err == nil || !outage(err) {
			return err
		}
		if trouble.first() {
			if s.waiting.Add(1) == 1 {
				s.since.Store(s.cfg.Now().UnixNano())
			}
			s.in.hold()
			s.cfg.Log.Warn("the ledger cannot be written; settling waits", "err", err)
			if s.cfg.OnPause != nil {
				s.cfg.OnPause(err)
			}
		}
		if !trouble.wait(s.ctx) {
			return fmt.Errorf("settle: stopped: %w", errors.Join(s.ctx.Err(), err))
		}
	}
}

// outage says whether err tells of the ledger, not of what was to be written.
func outage(err error) bool {
	return errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// ack ends deliveries that are done. Those without a tag did not come from the queue.
func (s *Settler) ack(all []sluice.Delivery) {
	done := all[:0:0]
	for i := range all {
		if all[i].Tag != "" {
			done = append(done, all[i])
		}
	}
	if len(done) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), callTimeout)
	defer cancel()
	if err := s.ports.Consumer.Ack(ctx, done); err != nil {
		s.cfg.Log.Warn("settled claims could not be acknowledged; they come again", "claims", len(done), "err", err)
	}
}

// kindCache keeps what campaigns sell: that never changes. mu guards known.
type kindCache struct {
	kinds Kinds
	mu    sync.RWMutex
	known map[string]sluice.Kind
}

// maxKinds bounds the cache; it begins anew beyond.
const maxKinds = 10_000

func (k *kindCache) of(ctx context.Context, campaign string) (sluice.Kind, error) {
	k.mu.RLock()
	kind, ok := k.known[campaign]
	k.mu.RUnlock()
	if ok {
		return kind, nil
	}
	kind, err := k.kinds.KindOf(ctx, campaign)
	if err != nil {
		return kind, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKinds {
		k.known = map[string]sluice.Kind{}
	}
	k.known[campaign] = kind
	return kind, nil
}
