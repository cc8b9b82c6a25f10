package admin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// How the live view is kept. All who look at a campaign share one computation a second.
const (
	liveFresh   = 950 * time.Millisecond // a little less than viewers wait between two looks
	liveKeep    = 15 * time.Minute       // of buckets
	maxWatched  = 64                     // campaigns looked at; the one that nobody has looked at for longest gives way
	unpaidEvery = 5 * time.Second
	verifyEvery = 10 * time.Second
	verifyShare = 20 // a count of all rows may take a twentieth of one reader's time
	verifyBound = time.Minute
	speedOver   = 5 * sluice.CoarseBucket // what "now" means for answers' times
)

// LiveLedger reads what the live view shows beside buckets.
type LiveLedger interface {
	// Glance gives the campaign as it is at one moment between two transactions, at which also is called.
	Glance(ctx context.Context, id string, also func()) (sluice.Campaign, error)
	Unpaid(ctx context.Context, campaign string, now sluice.Millis) (sluice.Unpaid, error)
}

// LiveConfig puts the live view together. All but Degraded and RowsAlone are required.
type LiveConfig struct {
	Ledger   LiveLedger
	Reports  *Reports
	Health   func(ctx context.Context) sluice.Health
	Switches func() []sluice.SwitchSetting
	Degraded func(campaign string) bool // its stock is taken in the ledger for want of Redis; nil: never
	// RowsAlone: the ledger itself takes the stock, and what the permit says is a copy of it.
	RowsAlone bool
}

// Live keeps what is shown of running campaigns, as long as somebody looks.
type Live struct {
	cfg LiveConfig

	mu     sync.Mutex // guards the rest
	all    map[string]*watched
	health sluice.Health
	asked  time.Time // when health was
	closed bool
	work   sync.WaitGroup // counts of rows under way
	ctx    context.Context
	cancel context.CancelFunc
}

// watched is one campaign that somebody looks at. mu is held while it is looked at anew; the fields are then the
// looker's.
type watched struct {
	mu      sync.Mutex
	at      time.Time // of look
	look    sluice.LiveLook
	line    []sluice.Bucket // of the last liveKeep, oldest first
	next    sluice.Millis   // what to ask the buckets from
	gone    [sluice.NumReasons]int64
	peak    second
	filling second // the second that left the line last
	unpaid  time.Time
	counted time.Time // when a count of all rows began
	took    time.Duration
	sold    int64 // units settled at the look before
	soldAt  sluice.Millis
	passes  int64 // handed out at the look before

	verifying sync.Mutex // guards the next two
	busy      bool
	verified  sluice.Verification
}

type second struct {
	at sluice.Millis
	n  int64
}

// NewLive makes the view.
func NewLive(cfg LiveConfig) *Live {
	l := &Live{cfg: cfg, all: map[string]*watched{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Stop ends counts that are under way.
func (l *Live) Stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.work.Wait()
}

// Live gives the view of a campaign with its buckets that end after since, at most limit, the oldest; since 0 means the
// latest limit.
func (l *Live) Live(ctx context.Context, id string, since sluice.Millis, limit int) (sluice.LiveLook, error) {
	w := l.find(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := l.cfg.Reports.cfg.Now(); w.at.IsZero() || now.Sub(w.at) >= liveFresh || now.Before(w.at) {
		if err := l.refresh(ctx, id, w); err != nil {
			if errors.Is(err, sluice.ErrNotFound) {
				l.forget(id, w)
			}
			return sluice.LiveLook{}, err
		}
		w.at = now
	}
	v := w.look
	v.Buckets, v.Next, v.More = cut(w.line, since, w.next, limit)
	return v, nil
}

// cut gives the buckets of a line that end after since, at most limit, and where to go on: whatever is younger than
// final may change and comes again.
func cut(
	line []sluice.Bucket, since, final sluice.Millis, limit int,
) (some []sluice.Bucket, next sluice.Millis, more bool) {
	from := max(0, len(line)-limit)
	if since > 0 {
		from, _ = slices.BinarySearchFunc(line, since, func(b sluice.Bucket, at sluice.Millis) int {
			if b.Start+b.Width > at {
				return 1
			}
			return -1
		})
	}
	some = line[from:]
	if more = len(some) > limit; more {
		some = some[:limit]
	}
	if len(some) == 0 {
		return nil, final, false
	}
	last := some[len(some)-1]
	if next = last.Start + last.Width; !more {
		next = min(next, final) // who has seen everything goes back to what may have grown
	}
	return slices.Clone(some), next, more
}

func (l *Live) find(id string) *watched {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.all[id]
	if w != nil {
		return w
	}
	if len(l.all) >= maxWatched {
		oldest, since := "", time.Time{}
		for id, x := range l.all {
			if x.mu.TryLock() { // who is being looked at stays
				if oldest == "" || x.at.Before(since) {
					oldest, since = id, x.at
				}
				x.mu.Unlock()
			}
		}
		delete(l.all, oldest)
	}
	w = &watched{}
	l.all[id] = w
	return w
}

func (l *Live) forget(id string, w *watched) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[id] == w {
		delete(l.all, id)
	}
}

// refresh looks at everything anew.
func (l *Live) refresh(ctx context.Context, id string, w *watched) error {
	now := l.cfg.Reports.now()
	v := sluice.LiveLook{At: now, Switches: setFor(l.cfg.Switches(), id), Unpaid: w.look.Unpaid}
	v.ExactAt = w.look.ExactAt
	if err := l.stock(ctx, id, &v); err != nil {
		return err
	}
	if err := w.follow(ctx, l.cfg.Reports, id, now); err != nil {
		return err
	}
	w.sum(&v, sluice.Millis(l.cfg.Reports.cfg.Late.Milliseconds()))
	v.Health = l.healthOf(ctx)
	if at := now.Time(); v.Campaign.Kind == sluice.KindGoods && at.Sub(w.unpaid) >= unpaidEvery || at.Before(w.unpaid) {
		if u, err := l.cfg.Ledger.Unpaid(ctx, id, now); err == nil { // else the old one stands, with its age
			v.Unpaid, w.unpaid = u, at
		}
	}
	settled := v.Campaign.Stock.Held + v.Campaign.Stock.Sold
	if dt := now - w.soldAt; w.soldAt > 0 && dt > 0 {
		v.PerSecond = max(0, (settled-w.sold)*1000/int64(dt))
	}
	v.Passes, v.Pages = v.Health.Passes[id], v.Health.Pages[id]
	if dt := now - w.soldAt; w.soldAt > 0 && dt > 0 {
		v.PassRate = max(0, (v.Passes-w.passes)*1000/int64(dt))
	}
	w.sold, w.soldAt, w.passes = settled, now, v.Passes
	v.Phase = v.Campaign.Phase(now, v.Switches, l.cfg.Degraded != nil && l.cfg.Degraded(id))
	l.verify(id, w, now.Time())
	w.verifying.Lock()
	v.Verified = w.verified
	w.verifying.Unlock()
	if v.Verified.OK {
		v.ExactAt = max(v.ExactAt, v.Verified.CheckedAt)
	}
	w.look = v
	return nil
}

// stock reads the units at one moment. Where they are counted in two places that differ for the moment, what is under
// way between them counts as queued: the parts always add up, and Exact says whether they did by themselves.
func (l *Live) stock(ctx context.Context, id string, v *sluice.LiveLook) error {
	var view sluice.CampaignView
	permits := l.cfg.Reports.cfg.Permits
	var p sluice.Permit
	var soldOutAt sluice.Millis
	var known bool
	c, err := l.cfg.Ledger.Glance(ctx, id, func() { p, soldOutAt, known = permits.Permit(id) })
	if err != nil {
		return unknown(err, id)
	}
	view = sluice.CampaignView{Campaign: c, Available: c.Stock.Free()}
	if known {
		view.Available, view.Queued, view.SoldOutAt = p.Available, p.Queued, soldOutAt
	}
	if l.cfg.RowsAlone {
		view.Available, view.Queued = c.Stock.Free(), 0
	}
	v.Off = view.Available + view.Queued + c.Stock.Held + c.Stock.Sold - c.Stock.Total
	if v.Exact = v.Off == 0; v.Exact {
		v.ExactAt = v.At
	} else {
		view.Available = min(view.Available, max(0, c.Stock.Free()))
		view.Queued = c.Stock.Total - view.Available - c.Stock.Held - c.Stock.Sold
	}
	if c.Kind == sluice.KindGoods {
		view.MayReturn = c.Stock.Held
	}
	view.State = c.StateAt(v.At, view.Available)
	v.Campaign = view
	return nil
}

// follow takes over the buckets that are new, or that have grown.
func (w *watched) follow(ctx context.Context, r *Reports, id string, now sluice.Millis) error {
	keep := now.Add(-liveKeep)
	if w.at.IsZero() {
		if err := w.catchUp(ctx, r, id, keep); err != nil {
			return err
		}
	}
	fresh, next, err := r.since(ctx, id, w.next, 0, now)
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		at := slices.IndexFunc(w.line, func(b sluice.Bucket) bool { return b.Start >= fresh[0].Start })
		if at >= 0 {
			w.line = w.line[:at]
		}
		w.line = append(w.line, fresh...)
		w.next = next
	}
	old := 0
	for old < len(w.line) && w.line[old].Start+w.line[old].Width <= min(keep, w.next) {
		w.leave(&w.line[old])
		old++
	}
	w.line = slices.Delete(w.line, 0, old)
	return nil
}

// catchUp sums what is older than the line, and begins the line.
func (w *watched) catchUp(ctx context.Context, r *Reports, id string, keep sluice.Millis) error {
	w.gone, w.peak, w.filling = [sluice.NumReasons]int64{}, second{}, second{}
	recent, _ := r.cfg.Tally.Since(id, 0, 0)
	line := timeline{width: sluice.CoarseBucket}
	err := r.join(ctx, id, 0, recent, func(b *sluice.Bucket) {
		if b.Start+b.Width > keep {
			line.add(b)
			return
		}
		w.leave(b)
	})
	if err != nil {
		return err
	}
	w.line, w.next = line.buckets, keep
	for i := range w.line {
		if end := w.line[i].Start + w.line[i].Width; end <= r.now().Add(-r.cfg.Late)-sluice.CoarseBucket {
			w.next = max(w.next, end)
		}
	}
	return nil
}

// leave takes a bucket out of the line: only its counts stay.
func (w *watched) leave(b *sluice.Bucket) {
	for i, n := range b.Counts {
		w.gone[i] += n
	}
	w.note(b)
}

// note keeps the busiest second; the buckets of one second follow each other.
func (w *watched) note(b *sluice.Bucket) {
	if at := b.Start - b.Start%sluice.CoarseBucket; at != w.filling.at {
		w.filling = second{at: at}
	}
	w.filling.n += b.Total() * int64(sluice.CoarseBucket) / int64(max(sluice.CoarseBucket, b.Width))
	if w.filling.n > w.peak.n {
		w.peak = w.filling
	}
}

// sum works out the figures of the line. late is how old others' buckets may be.
func (w *watched) sum(v *sluice.LiveLook, late sluice.Millis) {
	v.Decisions = w.gone
	over := v.At - late
	over -= over % sluice.CoarseBucket
	v.RateAt = over - sluice.CoarseBucket
	v.Peak, v.PeakAt = w.peak.n, w.peak.at
	var now second
	for i := range w.line {
		b := &w.line[i]
		for reason, n := range b.Counts {
			v.Decisions[reason] += n
		}
		if at := b.Start - b.Start%sluice.CoarseBucket; at != now.at {
			now = second{at: at}
		}
		now.n += b.Total()
		if now.n > v.Peak {
			v.Peak, v.PeakAt = now.n, now.at
		}
		if now.at == v.RateAt {
			v.Rate = now.n
		}
		if b.Start+b.Width > v.At-late-speedOver {
			v.Latency.Merge(&b.Latency)
			v.Failing += b.Counts[sluice.ReasonUnavailable]
		}
	}
	w.peak = second{v.PeakAt, v.Peak}
}

// healthOf asks once a second, for all campaigns.
func (l *Live) healthOf(ctx context.Context) sluice.Health {
	now := l.cfg.Reports.cfg.Now()
	l.mu.Lock()
	if age := now.Sub(l.asked); !l.asked.IsZero() && age >= 0 && age < liveFresh {
		defer l.mu.Unlock()
		return l.health
	}
	l.mu.Unlock()
	h := l.cfg.Health(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health, l.asked = h, now
	return h
}

// verify has all rows counted in the background, from time to time.
func (l *Live) verify(id string, w *watched, now time.Time) {
	w.verifying.Lock()
	defer w.verifying.Unlock()
	if w.busy || !w.counted.IsZero() && now.Sub(w.counted) < max(verifyEvery, verifyShare*w.took) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	w.busy, w.counted = true, now
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, verifyBound)
		defer cancel()
		began := time.Now()
		got, err := verify(ctx, l.cfg.Reports.cfg.Verifier, l.cfg.Reports.cfg.Permits, id)
		w.verifying.Lock()
		defer w.verifying.Unlock()
		w.busy, w.took = false, time.Since(began)
		if err == nil && got.CheckedAt >= w.verified.CheckedAt {
			w.verified = got
		}
	})
}

// Counted takes in a count of all rows that somebody asked for: whoever looks at the campaign sees it at the next look.
func (l *Live) Counted(id string, got sluice.Verification) {
	l.mu.Lock()
	w := l.all[id]
	l.mu.Unlock()
	if w == nil {
		return
	}
	w.verifying.Lock()
	defer w.verifying.Unlock()
	if got.CheckedAt >= w.verified.CheckedAt {
		w.verified = got
	}
}

// setFor gives the settings that are set for the server or the campaign.
func setFor(all []sluice.SwitchSetting, campaign string) (some []sluice.SwitchSetting) {
	for _, s := range all {
		if s.Set && (s.Campaign == "" || s.Campaign == campaign) {
			some = append(some, s)
		}
	}
	return some
}
