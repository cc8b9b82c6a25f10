package memory

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Ledger is what admission needs of the truth.
type Ledger interface {
	// Settle writes claims in one transaction and gives their outcomes in order. It is idempotent by claim id and
	// blocks until the commit. ErrUnavailable: nothing was written. Any other error: it is not known what was.
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	// Load gives the campaign and its claims as one snapshot. begin runs between two transactions, at the moment of the
	// snapshot: PermitOps of commits after it are in no row that each will see. Any error: load again.
	Load(ctx context.Context, campaign string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error) error
	// ClaimRecord looks one claim up; ErrNotFound where there is none.
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
	// Adjustment gives the recorded answer of a change id; ErrNotFound where there is none.
	Adjustment(ctx context.Context, changeID string) (sluice.Adjustment, error)
	// RecordAdjustment writes an adjustment whose units have been taken from the permit (a decrease), or will be
	// added to it by the PermitAdjust of its commit (an increase). Idempotent by change id.
	RecordAdjustment(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
}

// Bounds of admission.
const (
	DefaultMaxBatch   = 1024
	DefaultMaxWaiting = 65_536
	DefaultMaxWait    = 10 * time.Second
)

// Config of an Admission. Zero values mean the defaults.
type Config struct {
	Now        func() time.Time // the wall clock; default time.Now
	Log        *slog.Logger
	MaxBatch   int           // claims of one transaction
	MaxWaiting int           // claims that may wait for a commit; more are BUSY
	MaxWait    time.Duration // a claim that waits longer is answered UNAVAILABLE and goes on
	// KeepEnded is how long the claims of a campaign stay in memory after its end.
	KeepEnded time.Duration
	// Doubt is told, in a goroutine of its own, that a campaign's invariants do not hold: it has to be frozen.
	Doubt func(campaign, note string)
	// BatchDone is told how many claims a finished batch had and how long it took from its first claim.
	BatchDone func(claims int, took time.Duration)
}

// Admission decides claims. It is safe for concurrent use.
type Admission struct {
	cfg    Config
	ledger Ledger

	byID atomic.Pointer[map[string]*campaign] // replaced as a whole under mu
	mu   sync.Mutex
	next uint32           // guarded by mu: the next campaign.no
	book map[string]*book // guarded by mu: by limit group

	retired atomic.Pointer[map[string]sluice.Kind] // ended long ago; replaced as a whole under mu
	lookups chan struct{}                          // a place for each replay that asks the ledger for one of them

	commit committer
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// campaign is the permit of one campaign.
type campaign struct {
	no      uint32
	id      string
	book    *book
	soldOut atomic.Bool // no units are available: read without the lock

	adjusting sync.Mutex // one adjustment at a time, and none while the state is read back

	// Guarded by book.mu:
	set       sluice.Campaign
	ready     chan struct{} // closed while the state is known
	known     bool
	again     bool // another reload was asked for while one was under way
	reloading bool // a reload is asked for or under way
	buffering bool // the snapshot is taken: ops are kept for after it
	buffered  []sluice.PermitOp
	reloads   int // since a commit that went well
	available int64
	queued    int64
	taken     int64 // by a decrease that is not committed yet
	soldOutAt sluice.Millis
}

// New makes an Admission over a ledger and starts its committer. Arm or Put gives it campaigns.
func New(cfg Config, ledger Ledger) *Admission {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = DefaultMaxBatch
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = DefaultMaxWaiting
	}
	if cfg.MaxWait == 0 {
		cfg.MaxWait = DefaultMaxWait
	}
	if cfg.KeepEnded == 0 {
		cfg.KeepEnded = DefaultKeepEnded
	}
	if cfg.Doubt == nil {
		cfg.Doubt = func(string, string) {}
	}
	a := &Admission{cfg: cfg, ledger: ledger, book: map[string]*book{}, lookups: make(chan struct{}, maxLookups)}
	a.retired.Store(&map[string]sluice.Kind{})
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.byID.Store(&map[string]*campaign{})
	a.commit.start(a)
	return a
}

// Close refuses new claims, commits those that wait and stops. It is idempotent.
func (a *Admission) Close() {
	a.commit.stop()
	a.cancel()
	a.done.Wait()
}

func (a *Admission) find(id string) *campaign { return (*a.byID.Load())[id] }

// SoldOut is the marker: whether the campaign has no unit left at this moment. It reads one atomic.
func (a *Admission) SoldOut(id string) bool {
	c := a.find(id)
	return c != nil && c.soldOut.Load()
}

// Permit says what is available and queued, and since when the campaign is sold out (zero while it is not). ok is false
// for a campaign that is not armed.
func (a *Admission) Permit(id string) (p sluice.Permit, soldOutAt sluice.Millis, ok bool) {
	c := a.find(id)
	if c == nil {
		return p, 0, false
	}
	c.book.mu.RLock()
	defer c.book.mu.RUnlock()
	return sluice.Permit{Available: c.available + c.taken, Queued: c.queued}, c.soldOutAt, c.known
}

// Waiting says how many claims wait for a commit.
func (a *Admission) Waiting() int { return int(a.commit.waiting.Load()) }

// Retry hints, in milliseconds.
const (
	retryReloadMS = 500
	retryFullMS   = 250
)

func busy(ms int64) sluice.Decision {
	return sluice.Decision{Reason: sluice.ReasonBusy, RetryAfterMS: ms}
}

// Admit decides a claim and, if it is admitted, waits for its commit. It blocks for a commit at most, bounded by
// MaxWait, not by ctx: after that the answer is UNAVAILABLE and the claim goes on. It may be repeated with the same
// claim id. Grants pass the window and the pause of their campaign, not its end, nor a freeze.
func (a *Admission) Admit(ctx context.Context, claim sluice.Claim) sluice.Decision {
	c := a.find(claim.Campaign)
	if c == nil {
		return a.admitUnarmed(ctx, &claim)
	}
	for {
		d, wait := a.decide(c, &claim)
		switch {
		case wait.batch == nil:
			return a.complete(ctx, d)
		case wait.own:
			return a.await(c, wait, claim)
		}
		// Another claim decides this one's answer: a copy in flight, or one that fills the limit. Wait, then look
		// again.
		if !wait.batch.wait() {
			return a.unavailable(c, claim)
		}
	}
}

// pendingOn says which batch an answer waits for.
type pendingOn struct {
	batch *batch
	slot  int
	own   bool
}

func (a *Admission) decide(c *campaign, claim *sluice.Claim) (sluice.Decision, pendingOn) {
	b := c.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unknown > 0 {
		return busy(retryReloadMS), pendingOn{}
	}
	if r := b.find(claim.ID); r != nil {
		if r.pending {
			return sluice.Decision{}, pendingOn{batch: b.pending[claim.ID]}
		}
		return c.recorded(r, claim.Quantity), pendingOn{}
	}
	if d, refused := c.set.Refuses(claim, sluice.MillisOf(a.cfg.Now())); refused {
		return d, pendingOn{}
	}
	q := int64(claim.Quantity)
	key := claim.ID.User()
	if b.holders[key].units+q > int64(c.set.PerUserLimit) {
		ids, waiting := b.list(key)
		if waiting != nil {
			return sluice.Decision{}, pendingOn{batch: waiting}
		}
		return sluice.Decision{Reason: sluice.ReasonLimitReached, Claims: ids}, pendingOn{}
	}
	if q > c.available {
		return sluice.Refuse(sluice.ReasonSoldOut), pendingOn{}
	}
	if a.commit.waiting.Load() >= int64(a.cfg.MaxWaiting) {
		return busy(retryFullMS), pendingOn{}
	}
	t, slot, ok := a.commit.add(c, c.set.Keep(claim))
	if !ok {
		return busy(retryReloadMS), pendingOn{} // stopping
	}
	b.add(record{
		id: claim.ID, quantity: int32(q), live: int32(q), limit: int32(q), campaign: c.no, pending: true,
	})
	b.pending[claim.ID] = t
	c.available -= q
	c.queued += q
	c.mark(claim.At)
	return sluice.Decision{}, pendingOn{batch: t, slot: slot, own: true}
}

// recorded gives the recorded answer of a settled claim.
func (c *campaign) recorded(r *record, quantity int) sluice.Decision {
	if int(r.quantity) != quantity || r.campaign != c.no {
		return sluice.Refuse(sluice.ReasonRequestIDReused)
	}
	d := sluice.Decision{
		Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, Replayed: true, HasID: true, ID: r.id,
		Kind: c.set.Kind, Quantity: int(r.quantity),
	}
	switch {
	case r.rejected != sluice.ReasonNone:
		d.Reason, d.State = r.rejected, sluice.ClaimRejected
	case r.live == 0:
		d.State = sluice.ClaimReleased
	}
	return d
}

// complete adds what only the ledger keeps: the codes of coupons, and how a released claim's order ended.
func (a *Admission) complete(ctx context.Context, d sluice.Decision) sluice.Decision {
	known := d.CouponCodes != nil || d.Kind == sluice.KindGoods && d.State != sluice.ClaimReleased
	if !d.Replayed || d.Reason != sluice.ReasonConfirmed || known {
		return d
	}
	rec, err := a.ledger.ClaimRecord(ctx, d.ID)
	if err != nil {
		a.cfg.Log.Warn("cannot read the row of a claim", "claim", d.ID.String(), "err", err)
		return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: d.ID, Kind: d.Kind, Quantity: d.Quantity}
	}
	d.CouponCodes, d.Closed = rec.CouponCodes, rec.Closed
	return d
}

// Replay gives the recorded answer of a claim that is known, whatever window, stock and limit say now; it joins a copy
// that is in flight. For an unknown claim it answers false, without I/O and without allocating; while the campaign is
// being read nobody can say that a claim is unknown, and the answer is BUSY.
func (a *Admission) Replay(ctx context.Context, id string, claim sluice.ClaimID, quantity int) (sluice.Decision, bool) {
	c := a.find(id)
	if c == nil {
		if kind, ok := (*a.retired.Load())[id]; ok {
			return a.lookUp(ctx, kind, claim, quantity)
		}
		return sluice.Decision{}, false
	}
	for {
		c.book.mu.RLock()
		r := c.book.find(claim)
		if r == nil {
			known := c.known
			c.book.mu.RUnlock()
			if !known {
				return busy(retryReloadMS), true
			}
			return sluice.Decision{}, false
		}
		var d sluice.Decision
		t := c.book.pending[claim]
		pending := r.pending
		if !pending {
			d = c.recorded(r, quantity)
		}
		c.book.mu.RUnlock()
		if !pending {
			return a.complete(ctx, d), true
		}
		if !t.wait() {
			return sluice.Decision{
				Reason: sluice.ReasonUnavailable, HasID: true, ID: claim, Kind: c.kind(), Quantity: quantity,
			}, true
		}
	}
}

func (a *Admission) unavailable(c *campaign, claim sluice.Claim) sluice.Decision {
	return sluice.Decision{
		Reason: sluice.ReasonUnavailable, HasID: true, ID: claim.ID, Kind: c.kind(), Quantity: claim.Quantity,
	}
}

func (c *campaign) kind() sluice.Kind {
	c.book.mu.RLock()
	defer c.book.mu.RUnlock()
	return c.set.Kind
}

// mark sets the marker after available changed. Callers hold the lock.
func (c *campaign) mark(at sluice.Millis) {
	out := c.known && c.available <= 0
	if out == c.soldOut.Load() {
		return
	}
	c.soldOut.Store(out)
	if out {
		c.soldOutAt = at
	} else {
		c.soldOutAt = 0
	}
}

// put makes the campaign's entry where there is none. Callers hold a.mu.
func (a *Admission) put(set sluice.Campaign) (*campaign, bool) {
	old := *a.byID.Load()
	if c, ok := old[set.ID]; ok {
		return c, false
	}
	if a.over(&set, sluice.MillisOf(a.cfg.Now())) {
		a.retire(&set)
		return nil, false
	}
	a.recall(set.ID)
	b := a.book[set.LimitGroup]
	if set.LimitGroup == "" || b == nil {
		b = &book{claims: newClaims(0)}
		if set.LimitGroup != "" {
			a.book[set.LimitGroup] = b
		}
	}
	c := &campaign{no: a.next, id: set.ID, book: b, set: set, ready: make(chan struct{}), reloading: true}
	a.next++
	b.mu.Lock()
	b.unknown++
	b.mu.Unlock()
	all := maps.Clone(old)
	all[set.ID] = c
	a.byID.Store(&all)
	return c, true
}
