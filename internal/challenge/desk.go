package challenge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of a Desk.
const (
	DefaultLife  = 2 * time.Minute
	MinLife      = 10 * time.Second
	MaxLife      = 30 * time.Minute
	DefaultTries = 3
	MaxTries     = 10
	// graceMS is how much longer than a challenge's life its use is remembered, for clocks of nodes that differ.
	graceMS = 10_000
)

// Event is what became of a challenge, for metrics.
type Event string

// The events.
const (
	Issued  Event = "issued"
	Solved  Event = "solved"
	Failed  Event = "failed"  // a wrong answer
	Gone    Event = "gone"    // an answer to what is over, used up, not the caller's, or no challenge at all
	Busy    Event = "busy"    // none could be made at the moment
	Trouble Event = "trouble" // a store or a service gave no answer
	Waived  Event = "waived"  // a service gave no answer, and its policy is to let through
)

// Events lists them.
func Events() []Event { return []Event{Issued, Solved, Failed, Gone, Busy, Trouble, Waived} }

// Config of a Desk. Keys and Once are required; zero values mean the defaults.
type Config struct {
	// Keys gives the secrets of all nodes: the first makes challenges, all are believed. It is asked each time, so that
	// keys rotate. None at all: no challenge can be made, or is believed.
	Keys func() [][]byte
	// Once remembers what was answered. Nodes that share Keys share it too.
	Once  sluice.Once
	Life  time.Duration // of a challenge, MinLife to MaxLife
	Tries int           // answers that are judged, 1 to MaxTries

	PoW    PoWConfig
	Slider SliderConfig
	Pool   PoolConfig
	Site   SiteConfig // zero: there is no such service, and who is to be sent there gets proof of work

	// Seen is told what became of challenges. It must not block.
	Seen func(sluice.ChallengeType, Event)
	Now  func() time.Time
	Log  *slog.Logger
}

// kind makes and judges one kind of challenge.
type kind interface {
	// issue draws the nonce of id, and what else is open in it, and gives what the client is sent, and the key that the
	// challenge was made with: one of keys. A Fault with ErrUnavailable: none can be made now.
	issue(ctx context.Context, keys [][]byte, id *ident, difficulty float64) (json.RawMessage, []byte, error)
	// read reads a solution; a Fault with ErrInvalid says what cannot be right about it. It does not judge.
	read(raw json.RawMessage) (solution, error)
}

// solution is an answer that could be read.
type solution interface {
	// right judges it. An error: it is not known, and a try is used up all the same.
	right(ctx context.Context, key []byte, id *ident, a *sluice.ChallengeAnswer) (bool, error)
}

// Desk makes challenges and judges answers. Safe for concurrent use.
type Desk struct {
	cfg   Config
	kinds [len(kinds)]kind // by number; nil: there is none here
	pools []*pool
	warn  sync.Once
	site  *siteverify // nil where there is no service
}

// New makes a Desk. Close ends it. ErrInvalid: a setting is out of its bounds, or pictures cannot be read.
func New(cfg Config) (*Desk, error) {
	if cfg.Keys == nil || cfg.Once == nil {
		return nil, fmt.Errorf("challenge: %w: keys and once are required", sluice.ErrInvalid)
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	d := &Desk{cfg: cfg}
	pictures, err := cfg.Slider.pictures()
	if err != nil {
		return nil, err
	}
	slider := &slider{cfg: cfg.Slider, pictures: pictures, now: cfg.Now}
	slider.pool = newPool(cfg.Pool, kindSlider, slider.draw)
	image := &textImage{}
	image.pool = newPool(cfg.Pool, kindImage, image.draw)
	d.pools = []*pool{slider.pool, image.pool}
	d.kinds[kindPoW] = newPoW(cfg.PoW, cfg.Now)
	d.kinds[kindSlider], d.kinds[kindImage] = slider, image
	if cfg.Site.Provider != "" {
		if d.site, err = newSiteverify(cfg.Site, cfg.Once, cfg.Log); err != nil {
			d.Close()
			return nil, err
		}
		d.site.waived = func() { d.seen(kindSite, Waived) }
		d.kinds[kindSite] = d.site
	}
	return d, nil
}

// The numbers of the kinds.
const (
	kindPoW    = 1
	kindSlider = 2
	kindImage  = 3
	kindSite   = 4
)

func (cfg *Config) complete() error {
	if cfg.Life == 0 {
		cfg.Life = DefaultLife
	}
	if cfg.Tries == 0 {
		cfg.Tries = DefaultTries
	}
	if cfg.Seen == nil {
		cfg.Seen = func(sluice.ChallengeType, Event) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Life < MinLife || cfg.Life > MaxLife {
		return fmt.Errorf("challenge: %w: a life of %v is not within %v and %v",
			sluice.ErrInvalid, cfg.Life, MinLife, MaxLife)
	}
	if cfg.Tries < 1 || cfg.Tries > MaxTries {
		return fmt.Errorf("challenge: %w: %d tries are not within 1 and %d", sluice.ErrInvalid, cfg.Tries, MaxTries)
	}
	if err := cfg.PoW.complete(); err != nil {
		return err
	}
	if err := cfg.Slider.complete(); err != nil {
		return err
	}
	return cfg.Pool.complete()
}

// Close ends what draws in the background.
func (d *Desk) Close() {
	for _, p := range d.pools {
		p.close()
	}
}

func (d *Desk) seen(number byte, e Event) { d.cfg.Seen(kinds[number], e) }

// New makes a challenge of the kind that is asked for; proof of work where no kind is, or one that is not set up here.
// A Fault with ErrInvalid: there is no such kind. With ErrUnavailable, code BUSY: not now.
func (d *Desk) New(ctx context.Context, ask sluice.ChallengeAsk) (sluice.Challenge, error) {
	number, err := d.number(ask.Type)
	if err != nil {
		return sluice.Challenge{}, err
	}
	now := sluice.MillisOf(d.cfg.Now())
	id := ident{kind: number, issued: now, ends: now.Add(d.cfg.Life)}
	keys := d.cfg.Keys()
	if len(keys) == 0 {
		d.seen(number, Trouble)
		return sluice.Challenge{}, sluice.NewFault(sluice.ErrUnavailable, "BUSY", "there is no key for challenges yet")
	}
	data, key, err := d.kinds[number].issue(ctx, keys, &id, ask.Difficulty)
	if err != nil {
		d.seen(number, Busy)
		return sluice.Challenge{}, err
	}
	d.seen(number, Issued)
	who := owner{ask.Campaign, ask.User, ask.Device}
	return sluice.Challenge{ID: id.text(key, who), Type: kinds[number], Data: data, ExpiresAt: id.ends}, nil
}

// number finds the kind that is made where t is asked for.
func (d *Desk) number(t sluice.ChallengeType) (byte, error) {
	if t == "" {
		return kindPoW, nil
	}
	for n := range kinds {
		if n == 0 || kinds[n] != t {
			continue
		}
		if d.kinds[n] == nil {
			d.warn.Do(func() {
				d.cfg.Log.Warn("a campaign asks for a challenge that is not set up here; buyers get proof of work", "type", t)
			})
			return kindPoW, nil
		}
		return byte(n), nil
	}
	return 0, sluice.Invalid(sluice.FieldFault{
		Field: "challenge", Detail: "must be one of pow, slider, image, siteverify",
	})
}

// errGone is the answer to what cannot be answered any more, or never could.
func errGone() error {
	return sluice.NewFault(sluice.ErrInvalid, "CHALLENGE_GONE",
		"this challenge is over, used up or somebody else's: ask for another one")
}

// Solve judges an answer; nil: it is right, and the challenge is used up by it. Faults with ErrInvalid: VALIDATION (the
// solution cannot be read; no try is used up), CHALLENGE_FAILED (it is wrong; the detail says how many tries are left),
// CHALLENGE_GONE. With ErrUnavailable: it is not known; ask for another challenge.
func (d *Desk) Solve(ctx context.Context, a sluice.ChallengeAnswer) error {
	id, key, ok := parse(a.ID, d.cfg.Keys(), owner{a.Campaign, a.User, a.Device})
	if !ok {
		d.seen(kindPoW, Gone)
		return errGone()
	}
	now := sluice.MillisOf(d.cfg.Now())
	if now >= id.ends || d.kinds[id.kind] == nil {
		d.seen(id.kind, Gone)
		return errGone()
	}
	if len(a.Solution) > sluice.MaxChallengeBody {
		return solutionFault("must have at most %d bytes", sluice.MaxChallengeBody)
	}
	answer, err := d.kinds[id.kind].read(a.Solution)
	if err != nil {
		return err
	}
	left, err := d.try(ctx, &id, now)
	if err != nil {
		return err
	}
	right, err := answer.right(ctx, key, &id, &a)
	switch {
	case err != nil:
		d.seen(id.kind, Trouble)
		return err
	case !right:
		d.seen(id.kind, Failed)
		return sluice.NewFault(sluice.ErrInvalid, "CHALLENGE_FAILED", triesLeft(left))
	}
	return d.use(ctx, &id, now)
}

func triesLeft(n int) string {
	switch n {
	case 0:
		return "that is not right, and it was the last try: ask for another challenge"
	case 1:
		return "that is not right; 1 try is left"
	}
	return fmt.Sprintf("that is not right; %d tries are left", n)
}

// try takes the next try and says how many are left after it. Each try is a key of its own, taken before the answer is
// looked at: so many answers as come at once, so many are judged as there are tries, on all nodes together.
func (d *Desk) try(ctx context.Context, id *ident, now sluice.Millis) (left int, err error) {
	for i := range d.cfg.Tries {
		first, err := d.first(ctx, id, now, byte('0'+i))
		if err != nil {
			return 0, err
		}
		if first {
			return d.cfg.Tries - 1 - i, nil
		}
	}
	d.seen(id.kind, Gone)
	return 0, errGone()
}

// use uses the challenge up. Of many right answers one does.
func (d *Desk) use(ctx context.Context, id *ident, now sluice.Millis) error {
	first, err := d.first(ctx, id, now, 'u')
	if err != nil {
		return err
	}
	if !first {
		d.seen(id.kind, Gone)
		return errGone()
	}
	d.seen(id.kind, Solved)
	return nil
}

func (d *Desk) first(ctx context.Context, id *ident, now sluice.Millis, what byte) (bool, error) {
	ttl := time.Duration(id.ends-now+graceMS) * time.Millisecond
	first, err := d.cfg.Once.First(ctx, "c"+string(id.nonce[:])+string(rune(what)), min(ttl, sluice.MaxOnceTTL))
	if err != nil {
		d.seen(id.kind, Trouble)
		return false, fmt.Errorf("challenge: whether it was answered before is not known: %w", unavailable(err))
	}
	return first, nil
}

// unavailable makes a Fault of an error of the store, which stays what it wraps.
func unavailable(err error) error {
	f := sluice.NewFault(sluice.ErrUnavailable, "UNAVAILABLE", "the answer could not be judged: ask for another challenge")
	return errors.Join(f, err)
}

// solutionFault is the fault of a solution that cannot be read.
func solutionFault(format string, args ...any) error {
	return sluice.Invalid(sluice.FieldFault{Field: "solution", Detail: fmt.Sprintf(format, args...)})
}
