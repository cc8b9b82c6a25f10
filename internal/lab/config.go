package lab

import (
	"context"
	"crypto/x509"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/sluice-sale/sluice"
)

// Shape is how arrivals are spread over the schedule.
type Shape string

// The shapes. Arrivals are drawn independently from the shape's density, so that they clump as real ones do.
const (
	ShapeBurst Shape = "burst" // half of the crowd in the first eighth
	ShapeRamp  Shape = "ramp"  // the rate grows from nothing to twice its mean
	ShapeFlat  Shape = "flat"  // a constant rate
)

// Shapes lists every shape.
func Shapes() []Shape { return []Shape{ShapeBurst, ShapeRamp, ShapeFlat} }

// Bounds of a run.
const (
	MaxBuyers      = 4_000_000 // a buyer's request takes about 400 bytes of memory
	MaxConnections = 60_000
	MaxSeconds     = 3600
	maxResponse    = 64 << 10 // bytes of one answer
	maxAdminBody   = 64 << 20
	maxSamples     = 3 // bodies kept of answers that the lab does not understand
	maxTrouble     = 5 // examples kept of each fault that the audit finds
	auditPage      = 5000
	settleWait     = 30 * time.Second // for queued claims to settle before the audit
	adminWait      = 60 * time.Second // one call of the operators' API
)

// Config says who comes, when, and to which server. Zero values mean the defaults given.
type Config struct {
	URL       string // base of the public listener; required
	AdminURL  string // base of the operators' listener; required
	AdminKey  string // an API key with the role operator or admin; required
	JWTSecret string // HS256 secret that the server accepts buyers' tokens by; required

	Buyers      int         // default 100,000
	Stock       int64       // units on sale; default 10,000
	Seconds     float64     // the schedule's length; default 1: everyone at once
	Limit       int         // units per user; default the quantity
	Quantity    int         // units per claim; default 1
	Retry       float64     // share of buyers, 0 to 1, that click again with the same request id
	Shape       Shape       // default burst
	Page        bool        // each buyer looks at the campaign first, then claims
	Connections int         // keep-alive connections at most; default 1,024
	Kind        sluice.Kind // default goods
	Seed        uint64      // of the schedule and the users' names; default random

	Campaign string // an existing campaign to rush for; default: one is created, marked load_test
	// Patience is how long after the last answer those wait whose claim is queued; default 60 s. Who has no outcome
	// then was forgotten.
	Patience time.Duration
	Cursor   string        // with Campaign: audit the rows after this cursor of the claims list only
	NewID    string        // of the campaign that is created; default: the server chooses
	Title    string        // of the campaign that is created
	Listed   bool          // the campaign that is created is an ordinary one, not marked load_test
	Timeout  time.Duration // an answer that takes longer counts as lost; default 30 s
	Workers  int           // event loops of the client; default half of the processors
	PID      int           // of the server, where it runs on this machine: its CPU is measured
	PIDs     []int         // of what belongs to it: more nodes, stores, a proxy; their CPU counts as the server\'s
	Shared   bool          // the server runs in this process: its CPU cannot be told from the client's
	// Ready returns when the campaign that was created is on sale everywhere; default: it is at once.
	Ready func(ctx context.Context, campaign string) error `json:"-"`
	// RootCAs are trusted for https; default: the system's.
	RootCAs *x509.CertPool `json:"-"`

	// Progress is told five times a second how the run stands, and once when everyone was answered. It must not block.
	Progress func(Progress) `json:"-"`
	// Stage is told what the lab is about to do, for people to read. It must not block.
	Stage func(string) `json:"-"`
}

// Progress is how a run stands.
type Progress struct {
	Elapsed  time.Duration            // since the opening
	Sent     int64                    // claims sent
	Answered int64                    // claims answered, or lost for good
	Of       int64                    // claims that the schedule holds
	Reasons  [sluice.NumReasons]int64 // without replays
	Replayed int64                    // claims given again to a second click
	Trouble  int64                    // claims that ended without an answer the lab understands
	Done     bool
}

func (c Config) withDefaults() Config {
	if c.Patience <= 0 {
		c.Patience = time.Minute
	}
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	orInt(&c.Buyers, 100_000)
	orInt(&c.Quantity, 1)
	orInt(&c.Limit, c.Quantity)
	orInt(&c.Connections, 1024)
	orInt(&c.Workers, max(1, runtime.NumCPU()/2))
	if c.Stock == 0 {
		c.Stock = 10_000
	}
	if c.Seconds == 0 {
		c.Seconds = 1
	}
	if c.Shape == "" {
		c.Shape = ShapeBurst
	}
	if c.Kind == "" {
		c.Kind = sluice.KindGoods
	}
	for c.Seed == 0 {
		c.Seed = rand.Uint64() >> 33 // short enough to type
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Stage == nil {
		c.Stage = func(string) {}
	}
	c.Workers = min(c.Workers, c.Connections)
	return c
}

// check gives an ErrInvalid Fault that names every field that is out of bounds.
func (c Config) check() error {
	var faults []sluice.FieldFault
	need := func(ok bool, field, detail string) {
		if !ok {
			faults = append(faults, sluice.FieldFault{Field: field, Detail: detail})
		}
	}
	need(c.URL != "", "url", "is required")
	need(c.AdminURL != "", "admin-url", "is required")
	need(c.AdminKey != "", "admin key", "is required (SLUICE_ADMIN_KEY)")
	need(c.JWTSecret != "", "JWT secret", "is required (SLUICE_JWT_SECRET)")
	need(c.Buyers >= 1 && c.Buyers <= MaxBuyers, "buyers", "must be 1 to 4,000,000")
	need(c.Stock >= 1 && c.Stock <= sluice.MaxTotal, "stock", "must be 1 to 100,000,000")
	need(c.Seconds > 0 && c.Seconds <= MaxSeconds, "seconds", "must be above 0 and at most 3600")
	need(c.Limit >= 1 && c.Limit <= sluice.MaxPerUserLimit, "limit", "must be 1 to 10,000")
	need(c.Quantity >= 1 && c.Quantity <= c.Limit, "quantity", "must be 1 to the limit")
	need(c.Kind == sluice.KindGoods || c.Kind == sluice.KindCoupon, "kind", "must be goods or coupon")
	need(c.Kind != sluice.KindCoupon || c.Quantity <= sluice.MaxCouponQuantity, "quantity",
		"must be at most 100 for coupons")
	need(c.Retry >= 0 && c.Retry <= 1, "retry", "must be 0 to 1")
	need(c.Shape == ShapeBurst || c.Shape == ShapeRamp || c.Shape == ShapeFlat, "shape", "must be burst, ramp or flat")
	need(c.Connections >= 1 && c.Connections <= MaxConnections, "connections", "must be 1 to 60,000")
	return sluice.Invalid(faults...)
}
