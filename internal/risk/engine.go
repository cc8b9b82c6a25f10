package risk

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the engine.
const (
	MaxHolds     = 65_536 // records in force at once; more act and are not recorded
	maxRecord    = 500    // records written at once
	tradeEvery   = time.Second
	tradeTimeout = 2 * time.Second
	reloadEvery  = 30 * time.Second
)

// Ledger keeps rules and what they did. Every call may be repeated.
type Ledger interface {
	RiskRules(ctx context.Context) ([]sluice.RiskRule, error)
	// RecordFired writes records; of one that is there it changes count and end.
	RecordFired(ctx context.Context, all []sluice.RiskFired) error
	// ActiveFired gives the records that hold at now and were written after the mark, and the newest mark. Zero gives
	// all, at most MaxHolds.
	ActiveFired(ctx context.Context, now sluice.Millis, after int64) ([]sluice.RiskFired, int64, error)
}

// Exchange carries what nodes have counted. It may lose batches, and holds them for some minutes at most.
type Exchange interface {
	// Key gives what all nodes hash with: the key that came first.
	Key(ctx context.Context, mine []byte) ([]byte, error)
	Tell(ctx context.Context, node string, batch []byte) error
	// Hear calls back for the batches after a mark, oldest first, those of the node itself among them, and gives the
	// mark to ask from next. The empty mark is the beginning of what is held.
	Hear(ctx context.Context, after string, each func(node string, batch []byte)) (next string, err error)
}

// Config sets an Engine up. Zero values but Ledger are usable.
type Config struct {
	Ledger   Ledger
	Exchange Exchange // nil: this node counts alone
	Node     string
	// File are the rules of the configuration file. One of the ledger with the same name beats it.
	File []sluice.RiskRule
	// Allowed says whom no rule touches. It does no I/O and does not allocate. nil: nobody.
	Allowed func(s *sluice.Subject) bool
	// AgeClaim is the token claim with the time in Unix seconds at which the account was made; empty: none is known.
	AgeClaim string
	Now      func() time.Time
	Log      *slog.Logger
}

// Engine counts and judges. Look, Saw and Challenged do no I/O and do not allocate where nothing new fires. It is safe
// for concurrent use.
type Engine struct {
	cfg  Config
	log  *slog.Logger
	plan atomic.Pointer[plan]

	mu     sync.Mutex // held while rules are replaced
	tables map[tableKey]*table
	acted  map[actKey]*atomic.Int64
	key    Key
	given  bool // the key is the one that all nodes share

	holds   holds
	writing sync.Mutex // held over the ledger, while records are written

	mark     string // of the exchange; the loop's own, as are the next two
	seq      int64
	reloaded time.Time

	stop sync.Once
	end  chan struct{}
	done sync.WaitGroup
}

// New makes an engine without rules. Load puts those of the ledger in force; Start begins to record and to share.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, log: cfg.Log, tables: map[tableKey]*table{}, acted: map[actKey]*atomic.Int64{},
		end: make(chan struct{})}
	_, _ = rand.Read(e.key[:]) // never fails
	e.holds.init()
	e.setRules(nil)
	return e
}

func (e *Engine) now() sluice.Millis { return sluice.MillisOf(e.cfg.Now()) }

// Load puts in force what the ledger has: rules, what they did, and what was lifted.
func (e *Engine) Load(ctx context.Context) error {
	rules, err := e.cfg.Ledger.RiskRules(ctx)
	if err != nil {
		return err
	}
	fired, seq, err := e.cfg.Ledger.ActiveFired(ctx, e.now(), 0)
	if err != nil {
		return err
	}
	e.setRules(rules)
	e.take(fired)
	_ = seq // the loop has its own
	return nil
}

// Rules lists the rules in force: those of the ledger, and those of the file that no rule of the ledger replaces.
func (e *Engine) Rules() []sluice.RiskRule { return e.plan.Load().listed }

// subject is a subject with its hashes, each zero where it is not known or not needed.
type subject struct {
	*sluice.Subject
	hash [numBys]uint64
}

func (p *plan) subject(s *sluice.Subject) (x subject) {
	x.Subject = s
	if p.needs[byAccount] && s.User != "" {
		x.hash[byAccount] = p.hasher.text(byAccount, s.User)
	}
	if p.needs[byDevice] && s.Device != "" {
		x.hash[byDevice] = p.hasher.text(byDevice, s.Device)
	}
	if !s.Addr.IsValid() {
		return x
	}
	a := s.Addr.Unmap().WithZone("")
	if p.needs[byAddress] {
		x.hash[byAddress] = p.hasher.addr(byAddress, a)
	}
	if p.needs[bySubnet] {
		x.hash[bySubnet] = p.hasher.addr(bySubnet, network(a).Addr())
	}
	return x
}

// Look says what the rules want done about s: a block that is in force, else what each rule finds now. Of a campaign
// that is sold out only the former.
func (e *Engine) Look(s *sluice.Subject) (v sluice.Verdict) {
	p := e.plan.Load()
	// Without a record in force only rules could say something, and of a campaign that is sold out they say nothing.
	if (len(p.rules) == 0 || s.SoldOut) && e.holds.n.Load() == 0 || e.cfg.Allowed != nil && e.cfg.Allowed(s) {
		return v
	}
	x := p.subject(s)
	if h := e.holds.block(&x); h != nil {
		h.acted.Add(1)
		return sluice.Verdict{Block: true, Reference: h.id, Rule: h.rule}
	}
	if s.SoldOut {
		return v // a refusal is cheap; it is counted all the same
	}
	for i := range p.rules {
		r := &p.rules[i]
		if r.campaign != "" && r.campaign != s.Campaign || r.hash(&x) == 0 {
			continue
		}
		if saw, yes := r.holds(e, &x); yes {
			e.fire(r, &x, &saw, &v)
		}
	}
	return v
}

// Stat is how often one rule has held for a claim on this node since the process began.
type Stat struct {
	Rule   string
	Mode   sluice.RiskMode
	Action string // its first word
	Acts   int64
}

// Stats gives a Stat for each rule in force, how many records hold now, and how many acts found no room for one.
func (e *Engine) Stats() (all []Stat, records, unrecorded int64) {
	p := e.plan.Load()
	for i := range p.rules {
		l := &p.rules[i]
		all = append(all, Stat{l.id, l.mode, deedNames[l.action.deed], l.acted.Load()})
	}
	return all, e.holds.n.Load(), e.holds.unrecorded.Load()
}

// Saw counts a decision. Recorded answers that are given again are told as ReasonNone.
func (e *Engine) Saw(s *sluice.Subject, reason sluice.Reason) {
	p := e.plan.Load()
	if len(p.tables) == 0 || e.cfg.Allowed != nil && e.cfg.Allowed(s) {
		return
	}
	x := p.subject(s)
	for _, t := range p.tables {
		if t.counts(reason) {
			t.add(&x)
		}
	}
}

// Challenged counts an answer to a challenge.
func (e *Engine) Challenged(s *sluice.Subject, solved bool) {
	p := e.plan.Load()
	if solved || len(p.tables) == 0 || e.cfg.Allowed != nil && e.cfg.Allowed(s) {
		return
	}
	x := p.subject(s)
	for _, t := range p.tables {
		if t.kind == kindFailed {
			t.add(&x)
		}
	}
}

// blamed says whether a refusal is the buyer's own doing. That the stock is gone, the server busy or the sale over is
// not, and what the rules themselves did would feed itself.
func blamed(r sluice.Reason) bool {
	switch r {
	case sluice.ReasonNotStarted, sluice.ReasonNotEligible, sluice.ReasonTooFrequent, sluice.ReasonPassInvalid,
		sluice.ReasonSignatureInvalid, sluice.ReasonLimitReached, sluice.ReasonRequestIDReused:
		return true
	}
	return false
}

// age gives how old the account is, in seconds; false where the token does not say.
func (e *Engine) age(s *sluice.Subject) (float64, bool) {
	if e.cfg.AgeClaim == "" {
		return 0, false
	}
	v := s.Claims[e.cfg.AgeClaim]
	if len(v) != 1 || len(v[0]) == 0 || len(v[0]) > 12 {
		return 0, false
	}
	var made int64
	for _, c := range []byte(v[0]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		made = made*10 + int64(c-'0')
	}
	return max(0, float64(s.Now)/1000-float64(made)), true
}

// value gives the text of what an action applies to. It allocates.
func (s *subject) value(b by) string {
	switch b {
	case byAccount:
		return s.User
	case byDevice:
		return s.Device
	case byAddress:
		return s.Addr.Unmap().WithZone("").String()
	}
	return network(s.Addr.Unmap().WithZone("")).String()
}

// hashOf gives the hash of a recorded value; zero where it cannot be read.
func (p *plan) hashOf(scope sluice.RiskScope, value string) uint64 {
	switch scope {
	case sluice.RiskAccount:
		return p.hasher.text(byAccount, value)
	case sluice.RiskDevice:
		return p.hasher.text(byDevice, value)
	case sluice.RiskAddress:
		if a, err := netip.ParseAddr(value); err == nil {
			return p.hasher.addr(byAddress, a)
		}
	case sluice.RiskSubnet:
		if n, err := netip.ParsePrefix(value); err == nil {
			return p.hasher.addr(bySubnet, n.Addr())
		}
	}
	return 0
}
