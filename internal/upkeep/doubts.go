package upkeep

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Pauses between two tries of one doubt.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Second
)

// maxRearms bounds the campaigns that one node arms at once.
const maxRearms = 8

// doubt is a campaign whose gates may have forgotten something in an epoch.
type doubt struct {
	epoch int64
	cause sluice.EpochCause
}

// doubts are what a re-armer has been told of. One loop takes each campaign in turn until its gates are armed. mu
// guards all, which keeps the latest doubt of each campaign.
type doubts struct {
	r    *Rearmer
	wake chan struct{}

	start  sync.Once
	stop   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	all map[string]doubt
}

func newDoubts(r *Rearmer) *doubts {
	d := &doubts{r: r, wake: make(chan struct{}, 1), done: make(chan struct{}), all: map[string]doubt{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Doubt has the campaign armed anew, where that has not happened since epoch: the gates of that epoch may have
// forgotten claims, or are not there. Gates that never were have lost nothing. It never blocks, and may be called as
// often as anybody notices.
func (r *Rearmer) Doubt(campaign string, epoch int64) {
	if epoch <= sluice.FirstEpoch {
		r.Ask(campaign, epoch)
		return
	}
	r.doubts.add(campaign, doubt{epoch, sluice.EpochLost})
}

// Ask has the campaign armed anew where that has not happened since epoch, for a reason that loses nothing.
func (r *Rearmer) Ask(campaign string, epoch int64) {
	r.doubts.add(campaign, doubt{epoch, sluice.EpochPlanned})
}

// Start begins the work in the background. A second call does nothing, nor does one after Stop.
func (r *Rearmer) Start() {
	r.doubts.start.Do(func() { go r.doubts.run() })
}

// Stop ends the work; a campaign that is being armed stays closed for another node to arm. It is idempotent.
func (r *Rearmer) Stop() {
	d := r.doubts
	d.stop.Do(func() {
		d.cancel()
		d.start.Do(func() { close(d.done) })
	})
	<-d.done
}

// RunOnce tries each doubt there is once, and says how many are settled.
func (r *Rearmer) RunOnce(ctx context.Context) (s sluice.Sweep, err error) {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex // guards s and err
		turns = make(chan struct{}, maxRearms)
	)
	for campaign, doubted := range r.doubts.list() {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			_, e := r.Rearm(ctx, campaign, doubted.epoch, doubted.cause)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e == nil || errors.Is(e, sluice.ErrNotFound):
				r.doubts.settled(campaign, doubted)
				s.Done++
			case !errors.Is(e, sluice.ErrConflict):
				err = errors.Join(err, e)
			}
		})
	}
	all.Wait()
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Error("a campaign is closed until it is armed; it is tried again", "err", err)
	}
	if r.cfg.OnPiece != nil {
		r.cfg.OnPiece(s, err)
	}
	return s, err
}

func (d *doubts) add(campaign string, is doubt) {
	d.mu.Lock()
	was, known := d.all[campaign]
	if is.epoch > was.epoch || !known || is.epoch == was.epoch && is.cause == sluice.EpochLost {
		d.all[campaign] = is
	}
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *doubts) list() map[string]doubt {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]doubt, len(d.all))
	for campaign, is := range d.all {
		all[campaign] = is
	}
	return all
}

func (d *doubts) settled(campaign string, is doubt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[campaign] == is {
		delete(d.all, campaign)
	}
}

func (d *doubts) run() {
	defer close(d.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause := firstRetry
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-timer.C:
		case <-d.wake:
			pause = firstRetry
		}
		if len(d.list()) == 0 {
			continue
		}
		if _, err := d.r.RunOnce(d.ctx); err != nil {
			pause = min(2*pause, lastRetry)
		}
		if len(d.list()) > 0 {
			timer.Reset(pause)
		}
	}
}
