package admin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what is done with dead letters.
const (
	maxLetterIDs  = 500 // that one call names
	maxLetters    = 500 // that one call replays or discards; it says where there are more
	letterPiece   = 50  // of one transaction
	defaultReplay = 200 // letters a second
)

// DeadLetterLedger keeps dead letters; replaying and discarding leave their audit rows in the same transaction.
type DeadLetterLedger interface {
	DeadLetters(ctx context.Context, q sluice.DeadLetterQuery) (sluice.Page[sluice.DeadLetter], error)
	DeadLetter(ctx context.Context, id int64) (sluice.DeadLetter, error)
	// ReplayDeadLetters marks up to q.Limit of the kept letters that q selects, the oldest first, gives them new tries
	// and hands them over; more says that others are left.
	ReplayDeadLetters(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor, now sluice.Millis) (
		done []sluice.DeadLetter, more bool, err error)
	// DiscardDeadLetters gives them up: a claim without a row is recorded as rejected, and its units go back.
	DiscardDeadLetters(ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor, now sluice.Millis) (
		done []sluice.DeadLetter, more bool, err error)
	// KeepDeadLetter keeps a message that cannot be read, again where it was replayed.
	KeepDeadLetter(ctx context.Context, raw []byte, fault string) error
}

// Driver settles claims that come from no queue. It returns once it has them in hand.
type Driver interface {
	Drive(ctx context.Context, claims []sluice.Claim) error
}

// DeadLettersConfig puts the desk of dead letters together. Ledger is required.
type DeadLettersConfig struct {
	Ledger DeadLetterLedger
	Driver Driver                                     // nil: this server settles nothing, and nothing can be replayed
	Decode func(raw []byte) (sluice.Claim, error)     // reads a message; nil: none can be read
	Rate   int                                        // letters replayed a second; default 200
	Log    *slog.Logger                               // default: discard
	Now    func() time.Time                           // default time.Now
	After  func(d time.Duration) (c <-chan time.Time) // default time.After
}

// DeadLetters is the desk of the messages that failed their bounded tries: a person looks at them, replays or discards
// them. What is done in bulk is done to what had failed by the moment that the person names, not to what fails
// meanwhile.
type DeadLetters struct{ cfg DeadLettersConfig }

// NewDeadLetters makes the desk.
func NewDeadLetters(cfg DeadLettersConfig) *DeadLetters {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.After == nil {
		cfg.After = time.After
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Rate <= 0 {
		cfg.Rate = defaultReplay
	}
	return &DeadLetters{cfg: cfg}
}

// List gives a page of dead letters, the newest first, and the moment to name in a bulk that means what is listed.
func (d *DeadLetters) List(
	ctx context.Context, q sluice.DeadLetterQuery,
) (page sluice.Page[sluice.DeadLetter], asOf sluice.Millis, err error) {
	asOf = sluice.MillisOf(d.cfg.Now())
	page, err = d.cfg.Ledger.DeadLetters(ctx, q)
	return page, asOf, err
}

// Get gives one.
func (d *DeadLetters) Get(ctx context.Context, id int64) (sluice.DeadLetter, error) {
	return d.cfg.Ledger.DeadLetter(ctx, id)
}

// Replay hands letters to the settler again, with new tries, and not faster than the rate. What fails again is a dead
// letter again.
func (d *DeadLetters) Replay(
	ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor,
) (sluice.DeadLetterRun, error) {
	if d.cfg.Driver == nil {
		return sluice.DeadLetterRun{}, sluice.NewFault(sluice.ErrConflict, "NO_SETTLER",
			"this server settles no claims from a queue")
	}
	pause := time.Second * letterPiece / time.Duration(d.cfg.Rate)
	return d.bulk(ctx, q, func(q sluice.DeadLetterQuery, run *sluice.DeadLetterRun) (err error) {
		if run.Done > 0 {
			select {
			case <-d.cfg.After(pause):
			case <-ctx.Done():
				return fmt.Errorf("admin: replay dead letters: %w: %w", sluice.ErrUnavailable, ctx.Err())
			}
		}
		var done []sluice.DeadLetter
		done, run.More, err = d.cfg.Ledger.ReplayDeadLetters(ctx, q, by, sluice.MillisOf(d.cfg.Now()))
		if err != nil {
			return err
		}
		run.Done += len(done)
		return d.drive(ctx, done, run)
	})
}

// drive hands over what can be read. What was marked and does not get there is driven by the sweep of the gates.
func (d *DeadLetters) drive(ctx context.Context, letters []sluice.DeadLetter, run *sluice.DeadLetterRun) error {
	var claims []sluice.Claim
	for i := range letters {
		l := &letters[i]
		if l.Claim.ID != (sluice.ClaimID{}) {
			claims = append(claims, l.Claim)
			continue
		}
		fault := l.Error
		if d.cfg.Decode != nil {
			claim, err := d.cfg.Decode(l.Raw)
			if err == nil {
				claims = append(claims, claim)
				continue
			}
			fault = err.Error()
		}
		run.Failed++
		if err := d.cfg.Ledger.KeepDeadLetter(ctx, l.Raw, fault); err != nil {
			return err
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if err := d.cfg.Driver.Drive(ctx, claims); err != nil {
		d.cfg.Log.Warn("replayed claims did not get to the settler; the sweep drives them", "claims", len(claims), "err", err)
		return err
	}
	return nil
}

// Discard gives letters up. Where the ledger knows the claim nothing changes but the letter.
func (d *DeadLetters) Discard(
	ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor,
) (sluice.DeadLetterRun, error) {
	return d.bulk(ctx, q, func(q sluice.DeadLetterQuery, run *sluice.DeadLetterRun) error {
		done, more, err := d.cfg.Ledger.DiscardDeadLetters(ctx, q, by, sluice.MillisOf(d.cfg.Now()))
		if err == nil {
			run.Done, run.More = run.Done+len(done), more
		}
		return err
	})
}

// bulk does a thing piece by piece, until nothing is left or the bound of one call is reached.
func (d *DeadLetters) bulk(
	ctx context.Context, q sluice.DeadLetterQuery, piece func(sluice.DeadLetterQuery, *sluice.DeadLetterRun) error,
) (run sluice.DeadLetterRun, err error) {
	if err = checkBulk(&q, sluice.MillisOf(d.cfg.Now())); err != nil {
		return run, err
	}
	q.State, q.Cursor, q.Limit = sluice.DeadLetterKept, "", letterPiece
	run.AsOf = q.AsOf
	for {
		if err = piece(q, &run); err != nil || !run.More || run.Done >= maxLetters {
			return run, err
		}
	}
}

func checkBulk(q *sluice.DeadLetterQuery, now sluice.Millis) error {
	var f faults
	if len(q.IDs) > maxLetterIDs {
		f.add("ids", "must be at most %d", maxLetterIDs)
	}
	for _, id := range q.IDs {
		if id < 1 {
			f.add("ids", "must be ids of dead letters")
			break
		}
	}
	if q.AsOf > now {
		f.add("as_of", "must not be in the future")
	}
	if len(q.IDs) == 0 && q.AsOf == 0 {
		f.add("as_of", "is required without ids: what failed later is left alone")
	}
	if q.AsOf == 0 {
		q.AsOf = now
	}
	return f.err()
}
