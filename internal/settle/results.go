package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the results.
const (
	MaxWaiting  = 100_000 // requests that wait for outcomes at once; more are answered with what is known
	MaxLook     = 512     // claims of one look at the ledger
	maxLooks    = 4       // looks under way at once
	lookTimeout = 5 * time.Second
	firstLook   = 200 * time.Millisecond // until the first look of one who was not woken
	laterLook   = time.Second
)

// Records is the ledger, as those see it who ask for claims.
type Records interface {
	// ClaimRecords looks claims up at once; what is not in the ledger is not in the answer.
	ClaimRecords(ctx context.Context, ids []sluice.ClaimID) (map[sluice.ClaimID]sluice.ClaimRecord, error)
	// UserClaims gives a user's claims on a campaign, the oldest first, in a bounded number.
	UserClaims(ctx context.Context, user, campaign string) ([]sluice.ClaimRecord, error)
}

// Finder knows claims that are admitted and not settled.
type Finder interface {
	// Find gives a claim that is on its way to the ledger; false where there is none. It may ask other processes.
	Find(ctx context.Context, id sluice.ClaimID) (sluice.Claim, bool, error)
}

// ResultsConfig sets Results up. Zero values mean the defaults.
type ResultsConfig struct {
	Log *slog.Logger
	// MaxWaiting, FirstLook and LaterLook replace the bounds above.
	MaxWaiting           int
	FirstLook, LaterLook time.Duration
	// Promised says whether this process answered QUEUED for a claim and has not been told of its outcome, which it is
	// before Announced is called: then there is nothing to be seen yet. It must be fast; may be nil.
	Promised func(sluice.ClaimID) bool
	OnLook   func(claims int, took time.Duration, err error) // after each look at the ledger; may be nil
}

// Results answers what became of claims, and lets those wait who ask for one that has no outcome yet, on whichever
// node they are. It answers from the ledger, and from the gate what is still on its way there; an announcement only
// says that it is time to look.
type Results struct {
	cfg    ResultsConfig
	ledger Records
	finder Finder // nil where nothing is ever on its way

	mu      sync.Mutex
	waiting map[sluice.ClaimID][]chan struct{} // one place each; those who wait
	count   int                                // of them
	asked   []*question                        // gathered while looks are under way
	looks   int
}

// question is one claim that somebody asks the ledger for. record, found and err are set before done is closed.
type question struct {
	id     sluice.ClaimID
	record sluice.ClaimRecord
	found  bool
	err    error
	done   chan struct{}
}

// NewResults makes the results. finder may be nil.
func NewResults(cfg ResultsConfig, ledger Records, finder Finder) *Results {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxWaiting <= 0 {
		cfg.MaxWaiting = MaxWaiting
	}
	if cfg.FirstLook <= 0 {
		cfg.FirstLook = firstLook
	}
	if cfg.LaterLook <= 0 {
		cfg.LaterLook = laterLook
	}
	if cfg.Promised == nil {
		cfg.Promised = func(sluice.ClaimID) bool { return false }
	}
	return &Results{cfg: cfg, ledger: ledger, finder: finder, waiting: map[sluice.ClaimID][]chan struct{}{}}
}

// Waiting says how many requests wait for outcomes.
func (r *Results) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// Announced wakes those who wait for these claims. It never blocks.
func (r *Results) Announced(all []sluice.Announcement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return
	}
	for i := range all {
		for _, w := range r.waiting[all[i].ID] {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
}

// ClaimRecord gives the claim of that id: its row, or as queued while it is on its way to the ledger. ErrNotFound where
// there is none.
func (r *Results) ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	record, err := r.look(ctx, id)
	if err == nil || r.finder == nil {
		return record, err
	}
	claim, found, findErr := r.finder.Find(ctx, id)
	switch {
	case found:
		return sluice.ClaimRecord{Claim: claim, State: sluice.ClaimQueued, Code: sluice.ReasonQueued}, nil
	case findErr != nil && errors.Is(err, sluice.ErrNotFound):
		// "There is none" has to be true: without the gate nobody knows.
		return record, fmt.Errorf("settle: claim %s is not in the ledger: %w", id, findErr)
	case findErr == nil && errors.Is(err, sluice.ErrNotFound):
		// It may have been settled between the two looks.
		return r.look(ctx, id)
	}
	return record, err
}

// UserClaims gives a user's claims on a campaign that are in the ledger.
func (r *Results) UserClaims(ctx context.Context, user, campaign string) ([]sluice.ClaimRecord, error) {
	return r.ledger.UserClaims(ctx, user, campaign)
}

// Await waits for the claim's outcome, for wait at most, and gives what ClaimRecord gives then. It looks when the claim
// is announced, and now and then where nobody announces it; at once too, unless this process would know. A ctx that
// ends ends the wait with its error.
func (r *Results) Await(ctx context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error) {
	news := make(chan struct{}, 1)
	if wait <= 0 || !r.enter(id, news) {
		return r.ClaimRecord(ctx, id)
	}
	defer r.leave(id, news)
	over := time.NewTimer(wait)
	defer over.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	pause, sleeps := r.cfg.FirstLook, r.cfg.Promised(id)
	if sleeps {
		pause = r.cfg.LaterLook
	}
	for ; ; pause = min(2*pause, r.cfg.LaterLook) {
		var record sluice.ClaimRecord
		if !sleeps {
			var err error
			if record, err = r.look(ctx, id); err == nil && record.State != sluice.ClaimQueued {
				return record, nil
			}
		}
		sleeps = false
		again.Reset(pause)
		select {
		case <-news:
		case <-again.C:
		case <-over.C:
			return r.ClaimRecord(ctx, id)
		case <-ctx.Done():
			return record, fmt.Errorf("settle: wait for claim %s: %w", id, ctx.Err())
		}
	}
}

// enter puts news among those who are told of id; false where too many wait.
func (r *Results) enter(id sluice.ClaimID, news chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= r.cfg.MaxWaiting {
		return false
	}
	r.count++
	r.waiting[id] = append(r.waiting[id], news)
	return true
}

func (r *Results) leave(id sluice.ClaimID, news chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
	rest := r.waiting[id][:0]
	for _, w := range r.waiting[id] {
		if w != news {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		delete(r.waiting, id)
		return
	}
	r.waiting[id] = rest
}

// look asks the ledger for one claim, together with whoever asks at the same time.
func (r *Results) look(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	q := &question{id: id, done: make(chan struct{})}
	r.mu.Lock()
	r.asked = append(r.asked, q)
	if r.looks < maxLooks {
		r.looks++
		go r.answer()
	}
	r.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		return sluice.ClaimRecord{}, fmt.Errorf("settle: look claim %s up: %w", id, ctx.Err())
	}
	switch {
	case q.err != nil:
		return sluice.ClaimRecord{}, q.err
	case !q.found:
		return sluice.ClaimRecord{}, fmt.Errorf("settle: claim %s: %w", id, sluice.ErrNotFound)
	}
	return q.record, nil
}

// answer asks the ledger for what gathered, until nothing is left. Before each look it lets everybody go first who can
// run: those who were woken together are among them and ask together.
func (r *Results) answer() {
	for {
		runtime.Gosched()
		r.mu.Lock()
		n := min(len(r.asked), MaxLook)
		if n == 0 {
			r.looks--
			r.mu.Unlock()
			return
		}
		asked := r.asked[:n:n]
		r.asked = r.asked[n:]
		if len(r.asked) == 0 {
			r.asked = nil
		}
		r.mu.Unlock()
		r.ask(asked)
	}
}

func (r *Results) ask(asked []*question) {
	seen := make(map[sluice.ClaimID]bool, len(asked))
	ids := make([]sluice.ClaimID, 0, len(asked))
	for _, q := range asked {
		if !seen[q.id] {
			seen[q.id] = true
			ids = append(ids, q.id)
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	found, err := r.ledger.ClaimRecords(ctx, ids)
	if r.cfg.OnLook != nil {
		r.cfg.OnLook(len(ids), time.Since(began), err)
	}
	if err != nil {
		r.cfg.Log.Debug("claims could not be looked up", "claims", len(ids), "err", err)
	}
	for _, q := range asked {
		q.err = err
		if err == nil {
			q.record, q.found = found[q.id]
		}
		close(q.done)
	}
}
