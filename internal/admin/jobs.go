package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of jobs.
const (
	maxRunningJobs = 4 // on one node
	jobBeat        = time.Second
	jobBound       = time.Hour // a job that has not ended by then is stopped
	jobKept        = 90 * 24 * time.Hour
)

// JobLedger keeps jobs. Starting and cancelling leave their audit rows in the same transaction.
type JobLedger interface {
	// CreateJob records a running job. Where one of this id is there, that one is given, and made is false.
	CreateJob(ctx context.Context, j sluice.Job, a sluice.Actor) (is sluice.Job, made bool, err error)
	// BeatJob tells how far a job has come and says whether it is to stop.
	BeatJob(ctx context.Context, id string, p sluice.JobProgress, now sluice.Millis) (stop bool, err error)
	EndJob(ctx context.Context, j sluice.Job) error
	CancelJob(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.Job, error)
	JobShelf
}

// JobShelf reads jobs.
type JobShelf interface {
	Job(ctx context.Context, id string) (sluice.Job, error)
	Jobs(ctx context.Context, q sluice.JobQuery) ([]sluice.Job, error)
	// LoseJobs ends running jobs that nobody has told of since before, and forgets those made before forget.
	LoseJobs(ctx context.Context, before, forget, now sluice.Millis) error
}

// Work does a job. It tells how far it is by told, which does not block, and ends soon after ctx. What it gives is kept
// as JSON.
type Work func(ctx context.Context, j sluice.Job, a sluice.Actor, told func(sluice.JobProgress)) (any, error)

// JobsConfig puts the desk of jobs together. Ledger is required.
type JobsConfig struct {
	Ledger JobLedger
	Node   string
	Kinds  map[string]Work
	Log    *slog.Logger     // default: discard
	Now    func() time.Time // default time.Now
}

// Jobs is the desk of what takes longer than a call.
type Jobs struct {
	cfg    JobsConfig
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards the rest
	work   sync.WaitGroup
	n      int
	closed bool
}

// NewJobs makes the desk.
func NewJobs(cfg JobsConfig) *Jobs {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Jobs{cfg: cfg}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Stop ends the jobs of this node; they count as cancelled.
func (d *Jobs) Stop() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.work.Wait()
}

func (d *Jobs) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }

var jobID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Start begins a job of j's Kind, Object, Reason and Ask, and gives it at once. The same ID again gives the same job:
// nothing is begun twice. ErrInvalid: there is no such kind, or a field is out of its bounds.
func (d *Jobs) Start(ctx context.Context, j sluice.Job, a sluice.Actor) (sluice.Job, error) {
	var f faults
	work := d.cfg.Kinds[j.Kind]
	if work == nil {
		f.add("kind", "must be one that GET /v1/admin/capabilities lists")
	}
	if j.ID == "" {
		j.ID = newID("job")
	} else if !jobID.MatchString(j.ID) {
		f.add("id", "must be 1 to 64 letters, digits, _ and -")
	}
	if len(j.Ask) > sluice.MaxJobAsk {
		f.add("ask", "must be at most %d bytes", sluice.MaxJobAsk)
	}
	f.text("reason", j.Reason, 0, sluice.MaxNote)
	if err := f.err(); err != nil {
		return j, err
	}
	if !d.enter() {
		return j, full("TOO_MANY_JOBS", "running jobs of this node", maxRunningJobs)
	}
	now := d.now()
	j.State, j.Author, j.KeyID, j.Node = sluice.JobRunning, a.Name, a.KeyID, d.cfg.Node
	j.Total, j.CreatedAt, j.BeatAt = -1, now, now
	j, made, err := d.cfg.Ledger.CreateJob(ctx, j, a)
	if err != nil || !made {
		d.leave()
		return j, err
	}
	go func() {
		defer d.leave()
		d.run(j, a, work)
	}()
	return j, nil
}

func (d *Jobs) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.n >= maxRunningJobs {
		return false
	}
	d.n++
	d.work.Add(1)
	return true
}

func (d *Jobs) leave() {
	d.mu.Lock()
	d.n--
	d.mu.Unlock()
	d.work.Done()
}

// run does the work, tells how far it is once a second, and records the end.
func (d *Jobs) run(j sluice.Job, a sluice.Actor, work Work) {
	ctx, cancel := context.WithTimeout(d.ctx, jobBound)
	defer cancel()
	var progress atomic.Pointer[sluice.JobProgress]
	progress.Store(&sluice.JobProgress{Total: -1})
	done := make(chan struct{})
	beating := make(chan bool, 1)
	go func() { beating <- d.beat(ctx, cancel, j.ID, &progress, done) }()
	result, err := attempt(func() (any, error) {
		return work(ctx, j, a, func(p sluice.JobProgress) { progress.Store(&p) })
	})
	close(done)
	stopped := <-beating
	p := progress.Load()
	j.Total, j.Done, j.Failed, j.EndedAt, j.State = p.Total, p.Done, p.Failed, d.now(), sluice.JobDone
	switch {
	case err != nil && (stopped || d.ctx.Err() != nil):
		j.State, j.Code, j.Fault = sluice.JobCancelled, "STOPPED", "stopped before its end; what was done stays done"
	case err != nil:
		j.State = sluice.JobFailed
		j.Code, j.Fault = jobFault(err)
		d.cfg.Log.Error("a job failed", "job", j.ID, "kind", j.Kind, "err", err)
	}
	if result != nil {
		text, err := json.Marshal(result)
		if err == nil && len(text) <= sluice.MaxJobResult {
			j.Result = text
		}
	}
	end, over := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer over()
	if err := d.cfg.Ledger.EndJob(end, j); err != nil {
		d.cfg.Log.Error("a job has ended, and that is not recorded", "job", j.ID, "err", err)
	}
}

// jobFault gives the code of what a job failed of and a sentence of it in English.
func jobFault(err error) (code, text string) {
	var f *sluice.Fault
	switch {
	case errors.As(err, &f):
		code = f.Code
	case errors.Is(err, sluice.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		code = "UNAVAILABLE"
	default:
		code = "INTERNAL"
	}
	return code, cutTo(strings.TrimPrefix(err.Error(), code+": "), 500)
}

// attempt turns a panic of the work into an error: one job that goes wrong is not the end of the server.
func attempt(work func() (any, error)) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("admin: a job panicked: %v", cause)
		}
	}()
	return work()
}

// beat tells the ledger of the job until it is done, and says whether somebody had it stopped.
func (d *Jobs) beat(
	ctx context.Context, stop func(), id string, progress *atomic.Pointer[sluice.JobProgress], done <-chan struct{},
) (stopped bool) {
	tick := time.NewTicker(jobBeat)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return stopped
		case <-ctx.Done():
			return stopped
		case <-tick.C:
		}
		if wanted, err := d.cfg.Ledger.BeatJob(ctx, id, *progress.Load(), d.now()); err == nil && wanted {
			stopped = true
			stop()
		}
	}
}

// List gives jobs, the newest first.
func (d *Jobs) List(ctx context.Context, q sluice.JobQuery) ([]sluice.Job, error) {
	now := d.now()
	err := d.cfg.Ledger.LoseJobs(ctx, now-sluice.JobLost, now.Add(-jobKept), now)
	if err != nil && !errors.Is(err, sluice.ErrUnavailable) {
		return nil, err
	}
	return d.cfg.Ledger.Jobs(ctx, q)
}

// Get gives one. It does not run any more where its node has been silent for sluice.JobLost.
func (d *Jobs) Get(ctx context.Context, id string) (sluice.Job, error) {
	j, err := d.cfg.Ledger.Job(ctx, id)
	now := d.now()
	if err != nil || j.State != sluice.JobRunning || j.BeatAt >= now-sluice.JobLost {
		return j, err
	}
	if err := d.cfg.Ledger.LoseJobs(ctx, now-sluice.JobLost, now.Add(-jobKept), now); err != nil {
		return j, err
	}
	return d.cfg.Ledger.Job(ctx, id)
}

// Cancel has a job stop, on whichever node it runs; what it has done stays done.
func (d *Jobs) Cancel(ctx context.Context, id string, a sluice.Actor) (sluice.Job, error) {
	return d.cfg.Ledger.CancelJob(ctx, id, a, d.now())
}

// cutTo gives at most n bytes of s, in whole characters.
func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
