package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// maxReportBuckets bounds the buckets of a report: where a campaign ran for longer, the coarse ones are joined.
const maxReportBuckets = 2000

// ReportLedger reads what is kept of a campaign.
type ReportLedger interface {
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
	// Tallies sums a campaign's rows.
	Tallies(ctx context.Context, campaign string) (sluice.Tallies, error)
	// EachBucket hands over the kept buckets that begin in [from, until), oldest first; until 0 means no bound. Those of
	// other nodes come as one, this node's own as another.
	EachBucket(ctx context.Context, campaign string, from, until sluice.Millis,
		each func(b *sluice.Bucket, own bool) error) error
}

// Tally knows the latest buckets, those that are not kept yet among them.
type Tally interface {
	// Since gives the buckets that end after since, oldest first, at most limit (0: all), and the moment to ask
	// from next.
	Since(campaign string, since sluice.Millis, limit int) (buckets []sluice.Bucket, next sluice.Millis)
}

// ReportsConfig puts the desk of reports together. All but Now are required.
type ReportsConfig struct {
	Ledger   ReportLedger
	Tally    Tally
	Permits  Permits
	Verifier Verifier
	// Late is how long after its end a bucket of another node may come to the ledger; zero where this is the only node.
	Late time.Duration
	Now  func() time.Time // default time.Now
}

// Reports tells what happened. It changes nothing.
type Reports struct{ cfg ReportsConfig }

// NewReports makes the desk.
func NewReports(cfg ReportsConfig) *Reports {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Reports{cfg: cfg}
}

func (d *Reports) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }

// Report tells everything about one campaign: what the gate decided, what the rows say, and whether both agree.
func (d *Reports) Report(ctx context.Context, id string) (sluice.CampaignReport, error) {
	r := sluice.CampaignReport{}
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return r, unknown(err, id)
	}
	if r.Buckets, err = d.buckets(ctx, id); err != nil {
		return r, err
	}
	for i := range r.Buckets {
		for reason, n := range r.Buckets[i].Counts {
			r.Decisions[reason] += n
		}
		r.Latency.Merge(&r.Buckets[i].Latency)
	}
	if r.Rows, err = d.cfg.Ledger.Tallies(ctx, id); err != nil {
		return r, fmt.Errorf("admin: report of %s: %w", id, err)
	}
	if r.Verification, err = verify(ctx, d.cfg.Verifier, d.cfg.Permits, id); err != nil {
		return r, err
	}
	r.At = d.now()
	r.Campaign = viewOf(c, d.cfg.Permits, r.At)
	return r, nil
}

// buckets joins what is kept with what is in memory, which is the newer of the two where both have a bucket.
func (d *Reports) buckets(ctx context.Context, id string) ([]sluice.Bucket, error) {
	recent, _ := d.cfg.Tally.Since(id, 0, 0)
	line := timeline{width: sluice.CoarseBucket}
	if err := d.join(ctx, id, 0, recent, line.add); err != nil {
		return nil, fmt.Errorf("admin: report of %s: %w", id, err)
	}
	return line.buckets, nil
}

// join hands over what is kept from a moment on and what is in memory, oldest first. Parts of one bucket follow each
// other. Of this node's own, memory is the newer where both have a bucket.
func (d *Reports) join(
	ctx context.Context, id string, from sluice.Millis, recent []sluice.Bucket, add func(*sluice.Bucket),
) error {
	known := make(map[sluice.Millis]bool, len(recent))
	for i := range recent {
		known[recent[i].Start] = true
	}
	err := d.cfg.Ledger.EachBucket(ctx, id, from, 0, func(b *sluice.Bucket, own bool) error {
		for len(recent) > 0 && recent[0].Start < b.Start {
			add(&recent[0])
			recent = recent[1:]
		}
		if !own || !known[b.Start] {
			add(b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range recent {
		add(&recent[i])
	}
	return nil
}

// timeline is a list of buckets that stays short: fine ones stand as they are, coarse ones are joined where there
// are too many.
type timeline struct {
	width   sluice.Millis // of the coarse ones
	buckets []sluice.Bucket
}

func (l *timeline) add(b *sluice.Bucket) {
	l.put(b)
	for len(l.buckets) > maxReportBuckets {
		l.width *= 2
		all := l.buckets
		l.buckets = nil
		for i := range all {
			l.put(&all[i])
		}
	}
}

func (l *timeline) put(b *sluice.Bucket) {
	x := *b
	if x.Width >= sluice.CoarseBucket {
		x.Width = l.width
		x.Start -= x.Start % l.width
	}
	if n := len(l.buckets); n > 0 && l.buckets[n-1].Start == x.Start && l.buckets[n-1].Width == x.Width {
		l.buckets[n-1].Merge(b)
		return
	}
	l.buckets = append(l.buckets, x)
}

// since gives the buckets of all nodes that end after a moment, and the moment to ask from next. This node's own are
// fresh; those of others come with the ledger, so that what is younger than Late is given again the next time.
func (d *Reports) since(
	ctx context.Context, id string, since sluice.Millis, limit int, now sluice.Millis,
) (all []sluice.Bucket, next sluice.Millis, err error) {
	if d.cfg.Late == 0 {
		all, next = d.cfg.Tally.Since(id, since, limit)
		return all, next, nil
	}
	recent, _ := d.cfg.Tally.Since(id, since, 0)
	line := timeline{width: sluice.CoarseBucket}
	err = d.join(ctx, id, max(0, since-sluice.CoarseBucket), recent, func(b *sluice.Bucket) {
		if b.Start+b.Width > since {
			line.add(b)
		}
	})
	if err != nil {
		return nil, since, fmt.Errorf("admin: the buckets of %s: %w", id, err)
	}
	if all = line.buckets; limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	if len(all) == 0 {
		return nil, since, nil
	}
	last := all[len(all)-1]
	return all, max(since, min(last.Start+last.Width, now.Add(-d.cfg.Late))), nil
}

// Summary sums all campaigns; load tests are counted and left out.
func (d *Reports) Summary(ctx context.Context) (sluice.Summary, error) {
	all, err := d.cfg.Ledger.Campaigns(ctx)
	if err != nil {
		return sluice.Summary{}, err
	}
	s := sluice.Summary{ByState: map[sluice.CampaignState]int64{}, At: d.now()}
	for _, c := range all {
		if c.LoadTest {
			s.LoadTests++
			continue
		}
		v := viewOf(c, d.cfg.Permits, s.At)
		s.Campaigns++
		s.ByState[v.State]++
		s.Total, s.Held, s.Sold = s.Total+c.Stock.Total, s.Held+c.Stock.Held, s.Sold+c.Stock.Sold
	}
	return s, nil
}
