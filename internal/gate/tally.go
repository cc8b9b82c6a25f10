package gate

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what the tally keeps in memory. A bucket takes 0.6 KB.
const (
	KeepBuckets    = 15 * time.Minute
	MaxKeptBuckets = 100_000 // of all campaigns; above it they are kept for less time
	MaxFlush       = 128     // buckets of one call of keep
)

// steadyBack is how far the wall clock may go back before it counts as a jump.
const steadyBack sluice.Millis = 1000

// lateBy is how long a bucket stays open after its end where nothing opens the next one, for decisions on their way
// to it.
const lateBy sluice.Millis = 250

// Tally counts decisions by campaign and reason, in the buckets of sluice.BucketAt, and how long the answers took. In a
// bucket, ReasonNone counts recorded answers that were given again, so that the other counts are claims and refusals,
// each once. What is decided without a known campaign is counted for the server only.
//
// Counting is lock-free but for the one decision a bucket that opens it.
type Tally struct {
	now    func() time.Time
	server totals

	flush sync.Mutex // one Flush at a time

	mu        sync.Mutex // guards what follows
	campaigns map[string]*campaignTally
	dropped   []*campaignTally // with buckets to hand on
}

// totals are counts since the start.
type totals struct {
	reasons   [sluice.NumReasons]atomic.Int64
	units     atomic.Int64
	firstUnit atomic.Int64 // UTC ms; zero before it
	lastUnit  atomic.Int64
}

// Totals are counts since the process began. Reasons[ReasonNone] counts recorded answers given again. Units are those
// of claims that came to be; FirstUnitAt and LastUnitAt tell when the first and the last of those claims were
// answered.
type Totals struct {
	Reasons                 [sluice.NumReasons]int64
	Units                   int64
	FirstUnitAt, LastUnitAt sluice.Millis
}

// campaignTally is one campaign's share.
type campaignTally struct {
	id     string
	starts atomic.Int64 // UTC ms: where fine buckets begin
	totals totals
	open   atomic.Pointer[slot] // written under mu only, together with closing and opening slots

	mu   sync.Mutex // guards what follows, and the opening of buckets
	kept []*slot    // in the order in which they were opened; the last may be the open one
}

// slot is a bucket that is being filled or was filled. users counts the decisions that are about to be added, so that a
// closed slot is handed on only when nobody can add to it any more.
type slot struct {
	start, width, end sluice.Millis
	state             atomic.Int64 // closedSlot, plus the decisions that are being added
	handed            bool         // guarded by campaignTally.mu
	counts            [sluice.NumReasons]atomic.Uint32
	latency           [sluice.NumSteps]atomic.Uint32
}

const closedSlot = 1 << 62

func newTally(now func() time.Time) *Tally {
	return &Tally{now: now, campaigns: map[string]*campaignTally{}}
}

// of gives the campaign's tally, and makes it when there is none.
func (t *Tally) of(id string, starts sluice.Millis) *campaignTally {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.campaigns[id]
	if c == nil {
		c = &campaignTally{id: id}
		t.campaigns[id] = c
	}
	c.starts.Store(int64(starts))
	return c
}

func (t *Tally) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.campaigns[id]; c != nil {
		delete(t.campaigns, id)
		t.dropped = append(t.dropped, c)
	}
}

// count adds a decision that was answered at `at` after took.
func (t *Tally) count(e *entry, d *sluice.Decision, at sluice.Millis, took time.Duration) {
	reason := d.Reason
	if d.Replayed {
		reason = sluice.ReasonNone
	}
	t.server.add(reason, d, at)
	if e == nil {
		return
	}
	e.tally.totals.add(reason, d, at)
	s := e.tally.enter(at)
	s.counts[reason].Add(1)
	s.latency[sluice.StepOf(took)].Add(1)
	s.state.Add(-1)
}

func (t *totals) add(reason sluice.Reason, d *sluice.Decision, at sluice.Millis) {
	t.reasons[reason].Add(1)
	if !reason.Admitted() {
		return
	}
	t.units.Add(int64(d.Quantity))
	if t.firstUnit.Load() == 0 {
		t.firstUnit.CompareAndSwap(0, int64(at))
	}
	for last := t.lastUnit.Load(); last < int64(at) && !t.lastUnit.CompareAndSwap(last, int64(at)); {
		last = t.lastUnit.Load()
	}
}

func (t *totals) read() Totals {
	out := Totals{
		Units: t.units.Load(), FirstUnitAt: sluice.Millis(t.firstUnit.Load()), LastUnitAt: sluice.Millis(t.lastUnit.Load()),
	}
	for i := range t.reasons {
		out.Reasons[i] = t.reasons[i].Load()
	}
	return out
}

// enter gives the slot for a decision at `at`, counted as one that is being added. Moments just before an open slot go
// into it.
func (c *campaignTally) enter(at sluice.Millis) *slot {
	s := c.open.Load()
	for s == nil || !s.covers(at) || !s.join() {
		s = c.turn(at)
	}
	return s
}

func (s *slot) covers(at sluice.Millis) bool { return at < s.end && at >= s.start-steadyBack }

// join announces a decision; false where the slot has been closed.
func (s *slot) join() bool {
	if s.state.Add(1) < closedSlot {
		return true
	}
	s.state.Add(-1)
	return false
}

// turn opens the slot for `at`. After a wall clock that jumped back it goes on with the slot that it finds there,
// which is then handed on once more as a whole.
func (c *campaignTally) turn(at sluice.Millis) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.open.Load(); s != nil {
		if s.covers(at) {
			return s
		}
		s.shut()
	}
	start, width := sluice.BucketAt(at, sluice.Millis(c.starts.Load()))
	for _, s := range c.kept {
		if s.start == start && s.width == width {
			s.handed = false
			if s.state.Load() >= closedSlot {
				s.state.Add(-closedSlot)
			}
			c.open.Store(s)
			return s
		}
	}
	s := &slot{start: start, width: width, end: start + width}
	c.kept = append(c.kept, s)
	c.open.Store(s)
	return s
}

// shut closes the slot to further decisions. The caller holds the campaign's mu.
func (s *slot) shut() {
	if s.state.Load() < closedSlot {
		s.state.Add(closedSlot)
	}
}

// complete says that the slot is closed and everything is in it.
func (s *slot) complete() bool { return s.state.Load() == closedSlot }

func (s *slot) bucket() sluice.Bucket {
	b := sluice.Bucket{Start: s.start, Width: s.width}
	for i := range s.counts {
		b.Counts[i] = int64(s.counts[i].Load())
	}
	for i := range s.latency {
		b.Latency[i] = s.latency[i].Load()
	}
	return b
}

// Finish hands everything to keep, the buckets that are still filling among them, as a last Flush before the end.
func (t *Tally) Finish(keep func(campaign string, buckets []sluice.Bucket) error) error {
	return t.hand(sluice.MillisOf(t.now()), math.MaxInt64, keep)
}

// Flush hands the finished buckets of each campaign to keep, oldest first, each once: those that keep took without an
// error are not handed again. Only where the wall clock jumped back is a bucket handed a second time, with everything
// that is in it. Buckets older than KeepBuckets are forgotten, handed or not. It is to be called about once a second,
// and may block in keep without holding claims up. The first error of keep is returned, after the other campaigns had
// their turn.
func (t *Tally) Flush(keep func(campaign string, buckets []sluice.Bucket) error) error {
	now := sluice.MillisOf(t.now())
	return t.hand(now, now, keep)
}

// hand hands on the buckets that are over at closing.
func (t *Tally) hand(now, closing sluice.Millis, keep func(string, []sluice.Bucket) error) error {
	t.flush.Lock()
	defer t.flush.Unlock()
	t.mu.Lock()
	all := make([]*campaignTally, 0, len(t.campaigns)+len(t.dropped))
	for _, c := range t.campaigns {
		all = append(all, c)
	}
	gone := t.dropped
	t.dropped = nil
	t.mu.Unlock()
	var first error
	kept := 0
	for _, c := range all {
		if err := c.flush(closing, keep); err != nil && first == nil {
			first = err
		}
		kept += c.size()
	}
	for _, c := range gone {
		if err := c.flush(math.MaxInt64, keep); err != nil && first == nil {
			first = err
		}
	}
	keepFor := KeepBuckets
	if kept > MaxKeptBuckets {
		keepFor = KeepBuckets * MaxKeptBuckets / time.Duration(kept)
	}
	for _, c := range all {
		c.forget(now.Add(-keepFor))
	}
	return first
}

func (c *campaignTally) flush(now sluice.Millis, keep func(string, []sluice.Bucket) error) error {
	for {
		done := c.finished(now)
		if len(done) == 0 {
			return nil
		}
		buckets := make([]sluice.Bucket, len(done))
		for i, s := range done {
			buckets[i] = s.bucket()
		}
		if err := keep(c.id, buckets); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, s := range done {
				s.handed = false
			}
			return err
		}
	}
}

// finished marks up to MaxFlush finished slots as handed and gives them.
func (c *campaignTally) finished(now sluice.Millis) (done []*slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.open.Load(); s != nil && now-lateBy >= s.end {
		s.shut()
		c.open.Store(nil)
	}
	for _, s := range c.kept {
		if len(done) < MaxFlush && !s.handed && s.complete() {
			s.handed = true
			done = append(done, s)
		}
	}
	return done
}

func (c *campaignTally) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept)
}

func (c *campaignTally) forget(before sluice.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.open.Load()
	c.kept = slices.DeleteFunc(c.kept, func(s *slot) bool { return s.end <= before && s != open })
}

// Totals gives the counts of all decisions since the process began.
func (t *Tally) Totals() Totals { return t.server.read() }

// Campaign gives a campaign's counts since the process began; false where it is not known.
func (t *Tally) Campaign(id string) (Totals, bool) {
	t.mu.Lock()
	c := t.campaigns[id]
	t.mu.Unlock()
	if c == nil {
		return Totals{}, false
	}
	return c.totals.read(), true
}

// Since gives a campaign's buckets that end after since, oldest first, the unfinished one included, and the moment to
// ask from next: a bucket that comes again replaces the one before. At most limit buckets, the oldest; limit <= 0
// means all.
func (t *Tally) Since(id string, since sluice.Millis, limit int) (buckets []sluice.Bucket, next sluice.Millis) {
	t.mu.Lock()
	c := t.campaigns[id]
	t.mu.Unlock()
	next = since
	if c == nil {
		return nil, next
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slots := slices.DeleteFunc(slices.Clone(c.kept), func(s *slot) bool { return s.end <= since })
	slices.SortFunc(slots, func(a, b *slot) int { return int(a.start - b.start) })
	for _, s := range slots {
		if limit > 0 && len(buckets) == limit {
			break
		}
		buckets = append(buckets, s.bucket())
		if next = s.end; !s.complete() {
			next = s.start
			break
		}
	}
	return buckets, next
}
