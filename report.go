package sluice

import (
	"encoding/json"
	"math/bits"
	"time"
)

// Widths of a Bucket: fine for the first FineFor after the opening, coarse before and after.
const (
	FineBucket   Millis = 100
	CoarseBucket Millis = 1000
	FineFor      Millis = 10_000
)

// BucketAt gives the bucket that a decision at `at` belongs to, for a campaign that starts at starts.
func BucketAt(at, starts Millis) (start, width Millis) {
	width = CoarseBucket
	// Seconds are cut finely as a whole, so that fine and coarse buckets never overlap.
	open, end := starts-starts%CoarseBucket, starts+FineFor+CoarseBucket-1
	if at >= open && at < end-end%CoarseBucket {
		width = FineBucket
	}
	return at - at%width, width
}

// Bucket is what the gate decided on one campaign in [Start, Start+Width): counts by Reason, where ReasonNone counts
// recorded answers that were given again, and how long the answers took.
type Bucket struct {
	Start   Millis
	Width   Millis
	Counts  [NumReasons]int64
	Latency Histogram
}

// Total sums the counts.
func (b *Bucket) Total() int64 {
	var n int64
	for _, c := range b.Counts {
		n += c
	}
	return n
}

// Merge adds o's counts to b.
func (b *Bucket) Merge(o *Bucket) {
	for i, c := range o.Counts {
		b.Counts[i] += c
	}
	b.Latency.Merge(&o.Latency)
}

// NumSteps is the length of a Histogram: four steps a power of two, from 1 µs to above a minute.
const NumSteps = 4 * 27

// Histogram counts durations in steps a quarter of a power of two wide, so that a quantile is at most 25% too
// high.
type Histogram [NumSteps]uint32

// StepOf gives the step that d belongs to, for those who count in atomics of their own.
func StepOf(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	if us < 4 {
		return int(us)
	}
	top := bits.Len64(us) - 1 // at least 2
	return min(NumSteps-1, (top-1)*4+int(us>>(top-2))&3)
}

// StepEnd gives the smallest duration above step i.
func StepEnd(i int) time.Duration {
	i++
	if i < 4 {
		return time.Duration(i) * time.Microsecond
	}
	return time.Duration(uint64(4+i%4)<<(i/4-1)) * time.Microsecond
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) { h[StepOf(d)]++ }

// Merge adds o's counts to h.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o {
		h[i] += c
	}
}

// Count gives how many durations were counted.
func (h *Histogram) Count() int64 {
	var n int64
	for _, c := range h {
		n += int64(c)
	}
	return n
}

// Quantile gives the end of the step below which the share q of the durations lies; zero where none was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	rank := max(1, int64(q*float64(n)+0.999999))
	for i, c := range h {
		if rank -= int64(c); rank <= 0 {
			return StepEnd(i)
		}
	}
	return StepEnd(NumSteps - 1)
}

// Tallies is what the ledger's rows say of one campaign, for its report.
type Tallies struct {
	Claims      int64 // claims that came to be
	Rejected    int64 // claims that were promised and then rejected
	Grants      int64 // of Claims
	Units       int64 // units of Claims
	Held        int64 // units live and unpaid
	Sold        int64 // units live and paid, or issued
	FirstUnitAt Millis
	LastUnitAt  Millis
	Orders      map[OrderState]int64
	Closes      map[CloseReason]int64
	Coupons     map[CouponState]int64
	// Payments that were applied to an order, and those due back.
	PaidCount, PaidMinor           int64
	RefundDueCount, RefundDueMinor int64
	RefundedCount, RefundedMinor   int64
	Holding                        Hoarding
	// Redemptions that stand, and what they took off.
	RedeemedSpendMinor, DiscountMinor int64
}

// MaxTopHolders bounds the holders that a report names.
const MaxTopHolders = 10

// Hoarding is what became of units that were ordered and not paid: where somebody orders everything and pays nothing,
// it shows here.
type Hoarding struct {
	ExpiredUnits int64    // of orders whose unpaid window ran out
	TopUnits     int64    // unpaid and expired units of the holders in Top
	Top          []Holder // those with most unpaid and expired units
}

// Holder is one user with units that were not paid.
type Holder struct {
	User    string
	Orders  int64 // unpaid and expired ones
	Unpaid  int64 // units that are held now
	Expired int64 // units that went back since nobody paid
}

// TimelineEntry is one thing that happened to a person, claim, order, coupon or request: a line of a lookup.
type TimelineEntry struct {
	At       Millis
	Type     string // such as claim, order.paid, payment, redemption, block, audit
	Campaign string
	Subject  string // the id of what it happened to
	Data     json.RawMessage
}

// AuditQuery chooses rows of the audit log. Empty fields choose everything; an Action or Object that ends in * is
// a prefix.
type AuditQuery struct {
	Actor  string // the key's id or name
	Action string
	Object string
	From   Millis // inclusive
	Until  Millis // exclusive; zero: no bound
	Before int64  // rows with a smaller Seq: the cursor, newest first; zero: from the newest
	Limit  int
}
