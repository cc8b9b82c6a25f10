package pass

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// DefaultTTL is how long a pass holds: from the start of its campaign, or from when it was given where that is later.
// MaxTTL is the most, which keeps keys needed for less than keptMS.
const (
	DefaultTTL = 15 * time.Minute
	MaxTTL     = time.Hour
)

// Gate knows campaigns and how those who ask look.
type Gate interface {
	// Stand says how s looks to the gate, and counts the ask. False: there is no such campaign. It does no I/O.
	Stand(s *sluice.Subject) (sluice.Standing, bool)
}

// Challenges makes puzzles and judges answers.
type Challenges interface {
	// New makes a challenge for one user on one campaign with one device. It may block for a moment. A Fault of
	// ErrInvalid: there is none of that kind here; of ErrUnavailable: come again.
	New(ctx context.Context, ask sluice.ChallengeAsk) (sluice.Challenge, error)
	// Solve takes an answer, and uses the challenge up where it is right. It may do I/O in bounded time. A Fault of
	// ErrInvalid says whether another try is left; of ErrUnavailable, that it is not known whether it was right.
	Solve(ctx context.Context, a sluice.ChallengeAnswer) error
}

// Watcher is told how challenges end. It does not block, and does not keep the subject.
type Watcher interface {
	Challenged(s *sluice.Subject, solved bool)
}

// DeskConfig puts a Desk together. Keys and Gate are required.
type DeskConfig struct {
	Keys       *Keys
	Gate       Gate
	Challenges Challenges        // nil: whoever needs one hears that there is none
	Watcher    Watcher           // may be nil
	Told       func(what string) // what each call came to, of a few words or a reason; may be nil, must not block
	TTL        time.Duration     // of passes; default DefaultTTL, at most MaxTTL
	Now        func() time.Time  // default time.Now
}

// Desk hands out passes and challenges. Safe for concurrent use; it keeps how many it gave, and nothing else.
type Desk struct {
	cfg    DeskConfig
	issued sync.Map // campaign -> *atomic.Int64
}

// NewDesk makes the desk.
func NewDesk(cfg DeskConfig) *Desk {
	if cfg.Told == nil {
		cfg.Told = func(string) {}
	}
	if cfg.TTL <= 0 {
		cfg.TTL = DefaultTTL
	}
	cfg.TTL = min(cfg.TTL, MaxTTL)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Desk{cfg: cfg}
}

// Issued gives how many passes this desk has handed out, by campaign.
func (d *Desk) Issued() map[string]int64 {
	all := map[string]int64{}
	d.issued.Range(func(id, n any) bool {
		all[id.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return all
}

// Ask answers who asks for a pass: with it, with a challenge to solve first, or with the reason why there is neither. A
// solution that is right gives the pass. Asking again is harmless, and every pass of one buyer serves that buyer.
func (d *Desk) Ask(ctx context.Context, q sluice.PassAsk) (sluice.PassAnswer, error) {
	a, err := d.answer(ctx, &q)
	switch {
	case err != nil:
		d.cfg.Told("failed")
	case a.Reason != sluice.ReasonNone:
		d.cfg.Told(a.Reason.String())
	case a.Pass == "":
		d.cfg.Told("challenged")
	case q.ChallengeID != "":
		d.cfg.Told("solved")
	default:
		d.cfg.Told("given")
	}
	return a, err
}

func (d *Desk) answer(ctx context.Context, q *sluice.PassAsk) (a sluice.PassAnswer, err error) {
	q.Now = sluice.MillisOf(d.cfg.Now())
	st, known := d.cfg.Gate.Stand(&q.Subject)
	if !known {
		return sluice.PassAnswer{Reason: sluice.ReasonUnknownCampaign}, nil
	}
	if a, refused := refuse(&st, q.Now); refused {
		return a, nil
	}
	kind, err := kindOf(q, &st)
	if err != nil {
		return a, err
	}
	switch {
	case q.ChallengeID != "":
		if err := d.solve(ctx, q); err != nil {
			return a, err
		}
		return d.give(q, &st, true)
	case q.Challenge != "", st.Challenge, asksAlways(st.Campaign):
		if d.cfg.Challenges == nil {
			return a, sluice.NewFault(sluice.ErrUnavailable, "NO_CHALLENGES", "this server has no challenges")
		}
		a.Challenge, err = d.cfg.Challenges.New(ctx, sluice.ChallengeAsk{
			Campaign: q.Campaign, User: q.User, Device: q.Device, Addr: q.Addr, Type: kind, Difficulty: max(1, st.Times),
		})
		return a, err
	}
	return d.give(q, &st, false)
}

// refuse says why somebody gets neither pass nor challenge, in the order of the funnel.
func refuse(st *sluice.Standing, now sluice.Millis) (a sluice.PassAnswer, refused bool) {
	c := st.Campaign
	switch {
	case st.Closed:
		a.Reason = sluice.ReasonClosed
	case st.Blocked:
		a.Reason, a.Reference = sluice.ReasonBlocked, st.Reference
	case now < c.StartsAt-sluice.PassEarlyMS:
		a.Reason, a.RetryAfterMS = sluice.ReasonNotStarted, int64(c.StartsAt-sluice.PassEarlyMS-now)
	case c.StateAt(now, 1) == sluice.StateEnded:
		a.Reason = sluice.ReasonEnded
	case st.WaitMS > 0:
		a.Reason, a.RetryAfterMS = sluice.ReasonTooFrequent, st.WaitMS
	}
	return a, a.Reason != sluice.ReasonNone
}

// asksAlways says whether everybody who wants a pass of the campaign solves a challenge.
func asksAlways(c *sluice.Campaign) bool {
	return c.Protection.Pass == sluice.PassAlways && c.Protection.Challenge != ""
}

// kindOf says which kind of challenge it would be. Proof of work may always be asked for in place of the campaign's
// kind, by people who can neither drag nor see.
func kindOf(q *sluice.PassAsk, st *sluice.Standing) (sluice.ChallengeType, error) {
	own := st.Campaign.Protection.Challenge
	if own == "" {
		own = sluice.ChallengePoW
	}
	var faults []sluice.FieldFault
	if q.Challenge != "" && !slices.Contains([]sluice.ChallengeType{own, sluice.ChallengePoW}, q.Challenge) {
		faults = append(faults, sluice.FieldFault{Field: "challenge", Detail: "must be pow or the campaign's own, " +
			string(own)})
	}
	if (q.ChallengeID == "") != (len(q.Solution) == 0) {
		faults = append(faults, sluice.FieldFault{Field: "solution", Detail: "goes together with challenge_id"})
	}
	if q.ChallengeID != "" && q.Challenge != "" {
		faults = append(faults, sluice.FieldFault{Field: "challenge", Detail: "must be absent from a solution"})
	}
	if q.Challenge != "" {
		own = q.Challenge
	}
	return own, sluice.Invalid(faults...)
}

// solve hands a solution in and tells the watcher how it ended.
func (d *Desk) solve(ctx context.Context, q *sluice.PassAsk) error {
	if d.cfg.Challenges == nil {
		return sluice.NewFault(sluice.ErrUnavailable, "NO_CHALLENGES", "this server has no challenges")
	}
	err := d.cfg.Challenges.Solve(ctx, sluice.ChallengeAnswer{
		ID: q.ChallengeID, Campaign: q.Campaign, User: q.User, Device: q.Device, Addr: q.Addr, Solution: q.Solution,
	})
	if d.cfg.Watcher != nil && (err == nil || errors.Is(err, sluice.ErrInvalid)) {
		d.cfg.Watcher.Challenged(&q.Subject, err == nil)
	}
	return err
}

// give makes the pass.
func (d *Desk) give(q *sluice.PassAsk, st *sluice.Standing, solved bool) (a sluice.PassAnswer, err error) {
	c := st.Campaign
	p := sluice.Pass{From: q.Now, Until: min(max(q.Now, c.StartsAt).Add(d.cfg.TTL), c.EndsAt), Solved: solved}
	opens := c.StartsAt
	if st.HasSeed {
		p.Draw = st.Seed.Draw(q.User)
		opens += sluice.Millis(sluice.SpreadMS(p.Draw, c.Protection.SpreadSec))
	}
	if a.Pass, err = d.cfg.Keys.Issue(q.Now, q.Campaign, q.User, q.Device, p); err != nil {
		return a, err
	}
	a.ValidUntil, a.StartsInMS = p.Until, max(0, int64(opens-q.Now))
	if c.Protection.Signature {
		key, ok := d.cfg.Keys.SigningKey(a.Pass)
		if !ok { // the key went in this very moment
			return sluice.PassAnswer{}, sluice.NewFault(sluice.ErrUnavailable, "BUSY", "the keys are changing: ask again")
		}
		a.SigningKey = string(key[:])
	}
	n, ok := d.issued.Load(c.ID)
	if !ok {
		n, _ = d.issued.LoadOrStore(c.ID, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
	return a, nil
}
