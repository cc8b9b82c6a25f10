package gate

import (
	"context"
	"hash/maphash"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of the gate.
const (
	DefaultPerUserRate = 3.0     // claims a second of one user, and of one device, on one campaign
	DefaultLimiterKeys = 1 << 21 // users and devices remembered at once, 8 bytes each: 16 MB
	DefaultLogQueue    = 8192    // lines of the decision log that wait for the writer
	maxRetryJitterMS   = 400
	minRetryMS         = 100
	burstOfRate        = 1.5 // a capacity bucket holds this many seconds of its rate
)

// Admitter takes units. It is safe for concurrent use.
type Admitter interface {
	// Admit decides on a claim and waits until the decision is durable. It may block for as long as a commit takes; one
	// that takes too long gives ReasonUnavailable with the claim's id, and the claim may still come to be. Idempotent
	// by the claim's id. The claim's RequestID may point into the buffers of a connection: an Admitter that keeps the
	// claim, be it in a batch that outlives a cancelled context, clones it. Campaign and User may be kept as they are.
	Admit(ctx context.Context, claim sluice.Claim) sluice.Decision
	// Replay gives the recorded answer of a known claim, and waits for one that is in flight; false, without I/O and
	// without an allocation, where the id is not known.
	Replay(ctx context.Context, campaign string, id sluice.ClaimID, quantity int) (sluice.Decision, bool)
	// SoldOut says that no unit is to be had; it never blocks. False for a campaign that is not armed.
	SoldOut(campaign string) bool
}

// Config sets up a Gate. The zero value of every field but Tokens is usable.
type Config struct {
	// Tokens verifies buyers; required. The gate does not close it.
	Tokens *Tokens
	// Now is the wall clock: windows, expiries and reports run on it. Default time.Now.
	Now func() time.Time
	// Mono is a clock that never jumps: limiters and buckets run on it. Default: the time since New.
	Mono func() time.Duration
	// Logger tells what could not be taken over, such as a block that is no address. Default: discarded.
	Logger *slog.Logger
	// PerUserRate is the claims a second of one user or device on one campaign, where neither the campaign nor a switch
	// says otherwise. Default DefaultPerUserRate.
	PerUserRate float64
	// MaxRate is the claims a second that the server hands to admission; 0 means no bound. The switch max_rate beats it.
	MaxRate float64
	// LimiterKeys bounds the users and devices that are remembered at once; rounded up to a power of two.
	LimiterKeys int
	// MeterKeys bounds the addresses, subnets and devices whose requests are counted at once; rounded up to a power of
	// two. Default DefaultMeterKeys.
	MeterKeys int
	// Passes reads passes; nil: none is ever asked for.
	Passes Passes
	// Nonces remembers the nonces of signed claims; required with Passes.
	Nonces Nonces
	// Suspicion is what risk rules say; nil: nothing.
	Suspicion Suspicion
	// Holding bounds unpaid orders; nil: nothing does.
	Holding Holding
	// DecisionLog takes one JSON line a decision while the switch decision_log is on; nil means none.
	DecisionLog io.Writer
	// DecisionLogQueue bounds the lines that wait to be written; more are dropped and counted.
	DecisionLogQueue int
}

// Gate walks claims through the funnel. It is safe for concurrent use: claims read snapshots, each replaced as a whole.
type Gate struct {
	cfg      Config
	admitter Admitter
	seed     maphash.Seed // keys of the limiter; random, so that nobody can aim at another's place
	limiter  *limiter
	meter    *meter
	server   bucket
	tally    *Tally
	log      *decisionLog // nil where there is no writer
	hits     hits         // of blocks
	crowd    crowd

	// Snapshots, read without a lock.
	registry atomic.Pointer[map[string]*entry]
	switches atomic.Pointer[switches]
	blocks   atomic.Pointer[blocks]
	allows   atomic.Pointer[blocks] // the allowlist

	mu        sync.Mutex           // guards the making of snapshots and what follows
	audiences map[string]*audience // by campaign id
}

// New makes a gate without campaigns: it refuses everything with UNKNOWN_CAMPAIGN until PutCampaign. Close it to end
// the decision log.
func New(cfg Config, admitter Admitter) *Gate {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Mono == nil {
		began := time.Now()
		cfg.Mono = func() time.Duration { return time.Since(began) }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.PerUserRate <= 0 {
		cfg.PerUserRate = DefaultPerUserRate
	}
	if cfg.LimiterKeys <= 0 {
		cfg.LimiterKeys = DefaultLimiterKeys
	}
	if cfg.MeterKeys <= 0 {
		cfg.MeterKeys = DefaultMeterKeys
	}
	if cfg.DecisionLogQueue <= 0 {
		cfg.DecisionLogQueue = DefaultLogQueue
	}
	g := &Gate{
		cfg: cfg, admitter: admitter, seed: maphash.MakeSeed(), limiter: newLimiter(cfg.LimiterKeys),
		meter: newMeter(cfg.MeterKeys), tally: newTally(cfg.Now), audiences: map[string]*audience{},
	}
	if cfg.DecisionLog != nil {
		g.log = newDecisionLog(cfg.DecisionLog, cfg.DecisionLogQueue, cfg.Logger)
	}
	g.registry.Store(&map[string]*entry{})
	g.blocks.Store(newBlocks(nil, cfg.Logger))
	g.allows.Store(newBlocks(nil, cfg.Logger))
	g.SetSwitches(nil)
	return g
}

// Claim decides on one claim. It blocks only in the Admitter. The strings of req are not kept.
func (g *Gate) Claim(ctx context.Context, req *sluice.ClaimRequest) sluice.Decision {
	w := takeWalk()
	began := g.cfg.Mono()
	w.begin(ctx, g, req, began)
	by := g.walk(w)
	g.finish(w, by, began)
	d := w.decision
	w.release()
	return d
}

// finish counts the decision and writes it down. The time to answer is the time from the request's arrival to the gate,
// by the wall clock, and the time in the gate, by the one that cannot jump.
func (g *Gate) finish(w *walk, by int, began time.Duration) {
	d := &w.decision
	if d.Reason.Admitted() && d.Kind == "" && w.entry != nil {
		d.Kind = w.entry.campaign.Kind
	}
	spent := g.cfg.Mono() - began
	took := spent
	if w.req.At > 0 {
		took += time.Duration(max(0, w.now-w.req.At)) * time.Millisecond
	}
	answered := w.now.Add(spent)
	g.tally.count(w.entry, d, answered, took)
	if d.Reason.Admitted() && !d.Replayed && w.token != nil {
		g.came(w.token.identity.User, w.device, w.req.Addr, w.now, true)
	}
	if g.cfg.Suspicion != nil && w.token != nil && w.entry != nil {
		reason := d.Reason
		if d.Replayed {
			reason = sluice.ReasonNone
		}
		g.cfg.Suspicion.Saw(w.subject(), reason)
	}
	if g.log != nil && g.switches.Load().decisionLog {
		g.log.write(w, funnel[by].name, answered, took)
	}
}

// Identify verifies a token, for callers other than claims. The error is an ErrInvalid Fault with code UNAUTHENTICATED.
// The identity's Claims are shared and must not be changed.
func (g *Gate) Identify(token []byte) (sluice.Identity, error) {
	v, ok := g.cfg.Tokens.verify(token, g.cfg.Now())
	if !ok {
		return sluice.Identity{}, sluice.NewFault(sluice.ErrInvalid, sluice.ReasonUnauthenticated.String(),
			"the bearer token is missing, expired or not signed by a known key")
	}
	return v.identity, nil
}

// Tally gives the gate's counts.
func (g *Gate) Tally() *Tally { return g.tally }

// DroppedLogLines gives how many lines the decision log has lost because its writer was too slow or failed.
func (g *Gate) DroppedLogLines() int64 {
	if g.log == nil {
		return 0
	}
	return g.log.dropped.Load()
}

// Close writes what the decision log still holds and ends it. Claims may go on. Idempotent.
func (g *Gate) Close() {
	if g.log != nil {
		g.log.close()
	}
}
