package direct

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Ledger is the truth, which decides.
type Ledger interface {
	// Admit decides claims in one transaction and gives their outcomes in order. One that does not fit is refused and
	// leaves no trace (ClaimNone). Idempotent by claim id. ErrUnavailable: nothing was written; any other error: it is
	// not known what was, and the same claims may be decided again.
	Admit(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	// ClaimRecord looks one claim up; ErrNotFound where there is none.
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
	// Campaigns gives every campaign with its stock as of the last commit.
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
	// AdjustFree changes a campaign's total, once a change id; a decrease takes what is free.
	AdjustFree(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
}

// Losers is what the ledger offers so that losers need not ask it. Each may be called again.
type Losers interface {
	// LeaseSoldOut lets this node say SOLD_OUT by itself for a second from its call, during which nobody is sold a unit
	// that came back; false where a unit is free.
	LeaseSoldOut(ctx context.Context, campaign string) (bool, error)
	// Holders gives the users of the next rows of a campaign's claims after a row, and the last of these rows; rows that
	// commit later come later.
	Holders(ctx context.Context, campaign string, after int64, limit int) ([]sluice.UserKey, int64, error)
	// LastSold says when the claim was made that was settled last of those that have units still.
	LastSold(ctx context.Context, campaign string) (sluice.Millis, error)
	// LimitClaims gives the claims of some users that take of the campaign's limit, or of its group's.
	LimitClaims(ctx context.Context, campaign string, users []string) (map[string][]sluice.ClaimID, error)
}

// Bounds of admission.
const (
	DefaultMaxBatch   = 512
	DefaultMaxWaiting = 65_536
	DefaultMaxWait    = 10 * time.Second
	DefaultWatch      = 250 * time.Millisecond
	DefaultKeepEnded  = 72 * time.Hour

	lease         = time.Second            // for which the ledger lets a node say SOLD_OUT
	renewAt       = 600 * time.Millisecond // left of a lease: it is renewed
	holdersAtOnce = 20_000                 // rows of one look
	maxLookups    = 16                     // replays that ask the ledger at once; others wait
	spareFor      = 5 * time.Second        // how long a spare admission looks around after a claim
	closedFor     = 5 * time.Second        // how long holders are looked for after a sale has closed
	maxLook       = 5 * time.Second        // one look at the ledger may take
	nudgedAfter   = 20 * time.Millisecond  // between two looks that were asked for
	lookupWait    = time.Second            // for the turn of a replay
)

// Config of an Admission. Zero values mean the defaults.
type Config struct {
	Now        func() time.Time // the wall clock; default time.Now
	Log        *slog.Logger
	MaxBatch   int           // claims of one transaction
	MaxWaiting int           // claims that may wait for one; more are BUSY
	MaxWait    time.Duration // a claim that waits longer is answered UNAVAILABLE and goes on
	Watch      time.Duration // between two looks at the campaigns
	KeepEnded  time.Duration // how long after its end the holders of a campaign are kept in memory
	// Spare says that claims go elsewhere as a rule: the ledger is looked at only for some seconds after a claim.
	Spare bool
	// BatchDone is told how many claims a decided batch had and how long it took from its first claim.
	BatchDone func(claims int, took time.Duration)
}

// Admission decides claims. It is safe for concurrent use.
type Admission struct {
	cfg    Config
	ledger Ledger
	losers Losers
	born   time.Time // for the monotonic clock

	byID atomic.Pointer[map[string]*campaign] // replaced as a whole under mu
	mu   sync.Mutex

	waiting atomic.Int64
	claimed atomic.Int64 // when the last claim came, by the monotonic clock
	gate    sync.RWMutex // held for reading while a lane is started, so that Close waits for it
	closing bool         // under gate
	nudged  chan *campaign
	lookups chan struct{}
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// campaign is what a node knows of a campaign.
type campaign struct {
	id      string
	holders holders
	marker  atomic.Int64 // SOLD_OUT until this reading of the monotonic clock
	retired atomic.Bool  // its holders are not kept: replays ask the ledger

	syncing sync.Mutex // held by who reads holders
	cursor  int64      // the last row read, under syncing

	mu        sync.Mutex // guards what follows
	set       sluice.Campaign
	soldOutAt sluice.Millis
	closedAt  time.Duration // when the sale was first seen not to be open; 0 while it is
	flights   map[sluice.ClaimID]*flight
	queue     []*flight
	running   bool
}

// New makes an Admission over a ledger and starts to watch it. Arm or Put gives it campaigns.
func New(cfg Config, ledger Ledger, losers Losers) *Admission {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, DefaultMaxBatch)
	cfg.MaxWaiting = cmp.Or(cfg.MaxWaiting, DefaultMaxWaiting)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, DefaultMaxWait)
	cfg.Watch = cmp.Or(cfg.Watch, DefaultWatch)
	cfg.KeepEnded = cmp.Or(cfg.KeepEnded, DefaultKeepEnded)
	a := &Admission{
		cfg: cfg, ledger: ledger, losers: losers, born: time.Now(), nudged: make(chan *campaign, 64),
		lookups: make(chan struct{}, maxLookups),
	}
	a.byID.Store(&map[string]*campaign{})
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.done.Add(1)
	go a.watch()
	return a
}

// Close refuses new claims, lets those that wait be decided and stops. It is idempotent.
func (a *Admission) Close() {
	a.gate.Lock()
	a.closing = true
	a.gate.Unlock()
	a.cancel()
	a.done.Wait()
}

func (a *Admission) find(id string) *campaign { return (*a.byID.Load())[id] }

// mono is a clock that never jumps.
func (a *Admission) mono() time.Duration { return time.Since(a.born) }

// SoldOut is the marker: whether the ledger has said within the last second that no unit is left, and lets this node
// say so. It neither blocks nor asks.
func (a *Admission) SoldOut(id string) bool {
	c := a.find(id)
	return c != nil && c.marked(a.mono())
}

func (c *campaign) marked(now time.Duration) bool { return int64(now) < c.marker.Load() }

// Permit says what was free at the last look, and since when the campaign is sold out (zero while it is not). Nothing
// is queued: a claim is answered once it is settled. ok is false for a campaign that is not known here.
func (a *Admission) Permit(id string) (p sluice.Permit, soldOutAt sluice.Millis, ok bool) {
	c := a.find(id)
	if c == nil {
		return p, 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return sluice.Permit{Available: c.set.Stock.Free()}, c.soldOutAt, true
}

// Waiting says how many claims wait for their decision.
func (a *Admission) Waiting() int { return int(a.waiting.Load()) }

// Put takes a new campaign, or the settings of a known one. It returns once the campaign's holders are known; an error
// means that they are not yet: they are read again.
func (a *Admission) Put(ctx context.Context, set sluice.Campaign) error {
	c := a.put(set)
	if c.retired.Load() {
		return nil
	}
	if err := a.sync(ctx, c); err != nil {
		return fmt.Errorf("direct: holders of %s: %w", set.ID, err)
	}
	return a.stock(ctx, c, set)
}

func (a *Admission) put(set sluice.Campaign) *campaign {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.find(set.ID)
	if c == nil {
		c = &campaign{id: set.ID, flights: map[sluice.ClaimID]*flight{}}
		all := maps.Clone(*a.byID.Load())
		all[set.ID] = c
		defer a.byID.Store(&all)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = set
	c.retired.Store(a.over(&set))
	return c
}

// Arm takes campaigns one after the other. progress is told of each; it may be nil.
func (a *Admission) Arm(
	ctx context.Context, all []sluice.Campaign, progress func(campaign string, rows, of int64),
) error {
	for _, set := range all {
		if err := a.Put(ctx, set); err != nil {
			return err
		}
		if progress != nil {
			of := set.Stock.Held + set.Stock.Sold
			progress(set.ID, of, of)
		}
	}
	return nil
}

// ReadBack reads a campaign's stock and holders anew. ErrNotFound: it is not known here.
func (a *Admission) ReadBack(ctx context.Context, id string) error {
	if a.find(id) == nil {
		return fmt.Errorf("direct: read back %s: %w", id, sluice.ErrNotFound)
	}
	all, err := a.ledger.Campaigns(ctx)
	if err != nil {
		return fmt.Errorf("direct: read back %s: %w", id, err)
	}
	for _, set := range all {
		if set.ID == id {
			return a.Put(ctx, set)
		}
	}
	return fmt.Errorf("direct: read back %s: %w", id, sluice.ErrNotFound)
}

// over says whether a campaign ended so long ago that its holders are not kept.
func (a *Admission) over(set *sluice.Campaign) bool {
	end := set.EndsAt
	if set.Control == sluice.ControlEnded {
		end = min(end, set.UpdatedAt)
	}
	return sluice.MillisOf(a.cfg.Now()) > end.Add(a.cfg.KeepEnded)
}

// Retire forgets the holders of campaigns that ended long ago, and says of how many. Call it now and then.
func (a *Admission) Retire() (n int) {
	for _, c := range *a.byID.Load() {
		c.mu.Lock()
		over := a.over(&c.set)
		c.mu.Unlock()
		if over && c.retired.CompareAndSwap(false, true) {
			c.syncing.Lock()
			c.cursor = 0
			c.holders.forget()
			c.syncing.Unlock()
			n++
		}
	}
	return n
}

// Adjust changes a campaign's total under a change id: a decrease takes what is free in the ledger.
func (a *Admission) Adjust(ctx context.Context, adj sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error) {
	c := a.find(adj.Campaign)
	if c == nil {
		return adj, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "no such campaign")
	}
	done, err := a.ledger.AdjustFree(ctx, adj, by)
	a.nudge(c)
	return done, err
}

// Apply hears what this node's ledger has committed: whatever it is, a look tells it.
func (a *Admission) Apply(ops []sluice.PermitOp) {
	last := ""
	for i := range ops {
		if id := ops[i].Campaign; id != last {
			last = id
			a.nudge(a.find(id))
		}
	}
}

// Uncertain hears of commits that may have failed: nothing is remembered here that they could have changed.
func (a *Admission) Uncertain(campaigns []string) {
	for _, id := range campaigns {
		a.nudge(a.find(id))
	}
}
