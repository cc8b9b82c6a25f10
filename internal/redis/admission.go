package redis

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of admission.
const (
	DefaultMaxBatch   = 512             // claims of one script call
	DefaultFlights    = 2               // script calls of one shard under way at once: one runs while the other is read
	DefaultMaxWaiting = 65_536          // claims of one shard that may wait; more are BUSY
	DefaultCallTime   = time.Second     // of one script call; then it is sent again
	DefaultMaxWait    = 4 * time.Second // a claim that waits longer is answered UNAVAILABLE and goes on
	DefaultLedgerWait = 2 * time.Second // for an outcome, where the answer waits for it
	DefaultMaxBacklog = 5_000_000       // units of a campaign that are admitted and not settled; above it claims are BUSY
	maxLooks          = 64              // replays that ask gate and ledger at once; more are BUSY
	maxRounds         = 6               // tries of one claim to find units in other shards
)

// Policy says what a node does while it cannot reach Redis.
type Policy string

// The policies.
const (
	PolicyReject Policy = "reject" // claims are BUSY
	PolicyLedger Policy = "ledger" // claims go to the ledger, once every node has settled what it promised
)

// AdmissionConfig sets an Admission up. Zero values mean the defaults.
type AdmissionConfig struct {
	Node string           // this node's id, as its heartbeat has it
	Now  func() time.Time // the wall clock; default time.Now
	Log  *slog.Logger

	Ack      sluice.AckLevel // default AckPermit
	Replicas int             // of AckReplica; default 1

	MaxBatch, Flights, MaxWaiting int
	CallTime, MaxWait, LedgerWait time.Duration
	MaxBacklog                    int64
	MaxPromised                   int
	Poll                          time.Duration // between two looks at the gates; default 200 ms
	Policy                        Policy        // default PolicyReject
	DegradeAfter                  time.Duration // how long a breaker is open before the policy is followed; default 1 s
	DirectRate                    float64       // claims a second to the ledger while degraded; default 500
	KeepEnded                     time.Duration // how long holders of a campaign that ended are kept; default 72 h

	// Doubt is told that the gates of a campaign's epoch may have forgotten something, or are not there: they have to
	// be armed anew, unless those of a later epoch are armed. It is called again until that has happened, and must not
	// block.
	Doubt func(campaign string, epoch int64, why string)
	// BatchDone is told how many claims a script call had and how long it took.
	BatchDone func(claims int, took time.Duration)
}

// AdmissionDeps are the parts that an Admission stands on. Gates, Servers, Ledger and Adjustments are required; Fleet
// and Direct for PolicyLedger, Publisher for AckBroker. Without Outcomes the ledger is asked again and again.
type AdmissionDeps struct {
	Gates       *Gates
	Client      *Client
	Ledger      Ledger
	Adjustments Adjustments
	Fleet       Fleet
	Direct      Direct
	Outcomes    Outcomes
	Publisher   Publisher
}

// Admission decides claims by the gates in Redis. It is safe for concurrent use. Put gives it campaigns; their gates
// are armed elsewhere (internal/upkeep).
type Admission struct {
	cfg    AdmissionConfig
	gates  asking
	look   watching
	rdb    servers
	deps   AdmissionDeps
	began  time.Time // the monotonic clock runs from here
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	byID     atomic.Pointer[map[string]*campaign] // replaced as a whole under mu
	promised *promised
	records  gather[sluice.ClaimID, found]
	looks    chan struct{}
	ops      opQueue
	bucket   bucket
	runs     runs
	forced   atomic.Bool // an operator has claims go to the ledger

	mu     sync.Mutex // guards the making of byID, and closed
	closed bool
}

// campaign is what a node knows of one campaign's gates.
type campaign struct {
	a  *Admission
	id string

	marker  atomic.Int64 // until when, by the monotonic clock, the node says SOLD_OUT on its own; 0: it does not stand
	asked   atomic.Bool  // somebody asked the marker since it was last renewed
	kicking atomic.Bool  // a verdict is on its way

	set     atomic.Pointer[sluice.Campaign] // with the epoch that the node believes in
	peers   atomic.Pointer[[]string]        // the other campaigns of its limit group
	lanes   atomic.Pointer[[]*lane]         // by shard
	seen    atomic.Pointer[seen]            // the gates as they were last
	holders holders
	reader  chan struct{} // held by who fetches holders
	offsets []offset      // by shard: how far they are fetched; owned by the reader
	fetched atomic.Bool   // all of them were, once

	retired    atomic.Bool // ended long ago: the ledger alone answers for it
	refreshing atomic.Bool
	blind      atomic.Bool  // the last look at the gates found not all of them
	ranAt      atomic.Int64 // when the servers of the gates were last compared
	doubted    atomic.Int64 // the epoch that is not believed any more; nobody is admitted in it
	doubtAt    atomic.Int64 // when Doubt was last told
	flushed    atomic.Int64 // no claim of an epoch before this one is promised
	flushing   atomic.Bool

	directIn atomic.Int64 // the epoch in which claims go to the ledger; 0: none
	directs  atomic.Int64 // claims on their way there
	degrade  degrading

	mu sync.Mutex // guards replacing set and lanes, and setting the marker
}

// NewAdmission starts an Admission.
func NewAdmission(cfg AdmissionConfig, deps AdmissionDeps) *Admission {
	return newAdmission(cfg, deps, deps.Gates, deps.Gates, deps.Client)
}

func newAdmission(cfg AdmissionConfig, deps AdmissionDeps, g asking, look watching, rdb servers) *Admission {
	cfg.fill()
	a := &Admission{
		cfg: cfg, gates: g, look: look, rdb: rdb, deps: deps, began: time.Now(),
		promised: newPromised(cfg.MaxPromised), looks: make(chan struct{}, maxLooks),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.byID.Store(&map[string]*campaign{})
	a.records = gather[sluice.ClaimID, found]{call: a.lookUp, max: maxAsk, flights: 2, wait: cfg.MaxWait}
	a.ops.wake = make(chan struct{}, 1)
	a.bucket = bucket{rate: cfg.DirectRate, burst: max(1, cfg.DirectRate/4), tokens: max(1, cfg.DirectRate/4)}
	a.done.Add(3)
	go a.watch()
	go a.carry()
	go a.remind()
	return a
}

func (cfg *AdmissionConfig) fill() {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Doubt == nil {
		cfg.Doubt = func(string, int64, string) {}
	}
	if cfg.BatchDone == nil {
		cfg.BatchDone = func(int, time.Duration) {}
	}
	if cfg.Ack == "" {
		cfg.Ack = sluice.AckPermit
	}
	if cfg.Policy == "" {
		cfg.Policy = PolicyReject
	}
	orInt(&cfg.Replicas, 1)
	orInt(&cfg.MaxBatch, DefaultMaxBatch)
	cfg.MaxBatch = min(cfg.MaxBatch, MaxAdmit)
	orInt(&cfg.Flights, DefaultFlights)
	orInt(&cfg.MaxWaiting, DefaultMaxWaiting)
	orInt(&cfg.MaxPromised, DefaultMaxPromised)
	orInt(&cfg.MaxBacklog, DefaultMaxBacklog)
	orInt(&cfg.CallTime, DefaultCallTime)
	orInt(&cfg.MaxWait, DefaultMaxWait)
	orInt(&cfg.LedgerWait, DefaultLedgerWait)
	orInt(&cfg.Poll, 200*time.Millisecond)
	orInt(&cfg.DegradeAfter, time.Second)
	orInt(&cfg.KeepEnded, 72*time.Hour)
	if cfg.DirectRate <= 0 {
		cfg.DirectRate = 500
	}
}

func orInt[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// mono is the clock that never jumps.
func (a *Admission) mono() time.Duration { return time.Since(a.began) }

func (a *Admission) find(id string) *campaign { return (*a.byID.Load())[id] }

// Close refuses new claims, lets calls under way come back and stops. It is idempotent.
func (a *Admission) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	for _, c := range *a.byID.Load() {
		for _, l := range *c.lanes.Load() {
			l.claims.drain()
			l.verdicts.drain()
		}
	}
	a.records.drain()
	a.done.Wait()
}

// background runs work that Close waits for; false once the admission is closed.
func (a *Admission) background(work func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.done.Go(work)
	return true
}

// Waiting says how many claims wait for a script call.
func (a *Admission) Waiting() (n int) {
	for _, c := range *a.byID.Load() {
		for _, l := range *c.lanes.Load() {
			n += int(l.claims.waiting.Load())
		}
	}
	return n
}

// Admit decides a claim. It blocks for a script call, bounded by MaxWait, not by ctx: after that the answer is
// UNAVAILABLE with the claim's id, and the claim may still come to be. Where the answer has to wait for the ledger
// (AckLedger, grants) it waits for LedgerWait more. It may be repeated with the same claim id. Grants pass the window
// and the pause of their campaign, not its end, nor a freeze.
func (a *Admission) Admit(ctx context.Context, claim sluice.Claim) sluice.Decision {
	c := a.find(claim.Campaign)
	if c == nil {
		return sluice.Refuse(sluice.ReasonUnknownCampaign)
	}
	set := c.set.Load()
	if d, refused := outside(set, &claim, sluice.MillisOf(a.cfg.Now())); refused {
		if known, ok := a.Replay(ctx, claim.Campaign, claim.ID, claim.Quantity); ok {
			return known
		}
		return d
	}
	if c.soldOut() && !c.holders.has(claim.ID.User()) {
		return sluice.Refuse(sluice.ReasonSoldOut)
	}
	if c.directIn.Load() != 0 {
		return a.admitDirect(ctx, c, claim)
	}
	l := c.lane(claim.ID.User())
	switch {
	case c.doubted.Load() == set.Epoch && set.Epoch != 0:
		return busy(retrySealedMS)
	case l.claims.waiting.Load() >= int64(a.cfg.MaxWaiting), a.promised.full(), c.backlogged(a.cfg.MaxBacklog):
		return busy(retryFullMS)
	}
	claim.Campaign = c.id
	return a.assured(ctx, c, claim.Source, a.admit(c, l, &claim))
}

// admit asks the claim's home shard, and the others where that one has too little.
func (a *Admission) admit(c *campaign, l *lane, claim *sluice.Claim) sluice.Decision {
	had := int64(-1)
	for round := range maxRounds {
		r, ok := l.claims.do(claim)
		if !ok {
			return unknown(c, claim.ID, claim.Quantity)
		}
		if r.status != callDone || r.verdict != VerdictDry {
			return a.decide(c, claim, &r)
		}
		if left := r.call.available; left > 0 && (c.shards() == 1 || left == had) {
			return sluice.Refuse(sluice.ReasonSoldOut) // more than is left; whoever wants less may still have it
		}
		had = r.call.available
		if c.shards() == 1 {
			c.kick() // the one shard's own verdict is enough for this claim; the marker comes in the background
			return sluice.Refuse(sluice.ReasonSoldOut)
		}
		v, ok := l.verdicts.do(&claim.Quantity)
		switch {
		case !ok || v.err != nil:
			return busy(retryReloadMS)
		case v.soldOut:
			return sluice.Refuse(sluice.ReasonSoldOut)
		case v.came:
			had = -1 // others may have been faster: as many as before says nothing of the other shards
		case !a.rest(resend << round):
			return busy(retryReloadMS)
		}
	}
	return busy(retryFullMS)
}

// decide turns the script's answer into a decision.
func (a *Admission) decide(c *campaign, claim *sluice.Claim, r *answer) sluice.Decision {
	switch {
	case r.status == callUnknown:
		return unknown(c, claim.ID, claim.Quantity)
	case r.status == callRefused:
		return busy(r.call.retry)
	case r.own != nil && r.own.late != nil:
		return *r.own.late
	}
	set := c.set.Load()
	switch r.verdict {
	case VerdictAdmitted:
		return queuedNow(set.Kind, claim.ID, claim.Quantity, r.call.epoch, false)
	case VerdictQueued:
		return queuedNow(set.Kind, claim.ID, claim.Quantity, r.call.epoch, !r.call.again)
	case VerdictLive, VerdictEnded:
		return a.settled(c, claim.ID, claim.Quantity, r.verdict == VerdictLive)
	case VerdictReused:
		return sluice.Refuse(sluice.ReasonRequestIDReused)
	case VerdictNotStarted:
		return sluice.Decision{Reason: sluice.ReasonNotStarted, StartsInMS: max(0, int64(set.StartsAt-r.call.now))}
	case VerdictEndedWindow:
		return sluice.Refuse(sluice.ReasonEnded)
	case VerdictLimit:
		return sluice.Decision{Reason: sluice.ReasonLimitReached, Claims: r.own.claims}
	}
	return busy(retrySealedMS) // sealed: it is being armed
}

// outside checks a claim against window and control by the node's own settings, which may be fresher than the gate's.
func outside(set *sluice.Campaign, claim *sluice.Claim, now sluice.Millis) (sluice.Decision, bool) {
	if claim.Quantity < 1 || claim.Quantity > set.PerUserLimit {
		return sluice.Decision{Reason: sluice.ReasonLimitReached}, true // the API refuses such a body; a grant may ask for it
	}
	r := set.Schedule(now)
	if claim.Source == sluice.SourceGrant && r != sluice.ReasonEnded && set.Control != sluice.ControlFrozen {
		r = sluice.ReasonNone
	}
	if r == sluice.ReasonNone {
		return sluice.Decision{}, false
	}
	d := sluice.Refuse(r)
	if r == sluice.ReasonNotStarted {
		d.StartsInMS = int64(set.StartsAt - now)
	}
	return d, true
}

func (c *campaign) shards() int { return len(*c.lanes.Load()) }

func (c *campaign) lane(user sluice.UserKey) *lane {
	lanes := *c.lanes.Load()
	if len(lanes) == 1 {
		return lanes[0]
	}
	return lanes[HomeShard(&sluice.Campaign{Shards: len(lanes)}, user)]
}
