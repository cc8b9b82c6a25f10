// Package settle carries admitted claims from a queue to the ledger, and tells those who wait for them what they came
// to. It decides when a claim is acknowledged (after the commit, never before), what counts as a failure of a claim
// itself, and when a claim is given up to a person as a dead letter. It refuses to guess: while the ledger cannot be
// written nothing is acknowledged, nothing is counted and nothing is thrown away.
package settle

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a settler and of a relay.
const (
	MaxBatch    = 1024                   // claims of one transaction
	MaxGathered = 4 * MaxBatch           // claims that one settler has in hand
	MaxSettlers = 16                     // of one node
	minPause    = 50 * time.Millisecond  // the first pause after an outage
	maxPause    = 2 * time.Second        // the longest one
	callTimeout = 10 * time.Second       // of one call to ledger, gate or broker
	retryAfter  = 500 * time.Millisecond // between two tries of a claim that failed by itself, times the tries so far
)

// Consumer is a queue as one node reads it. Its methods are safe for concurrent use.
type Consumer interface {
	// Receive gives at least one and at most limit deliveries. It blocks while there is nothing, and may then come back
	// with none after a second or so. Every delivery comes again, to this consumer or to another, until it was
	// acknowledged; it may come twice at once, and in any order. Any error: try again later.
	Receive(ctx context.Context, limit int) ([]sluice.Delivery, error)
	// Ack ends deliveries. It is idempotent. Any error: some of them may come again.
	Ack(ctx context.Context, done []sluice.Delivery) error
}

// Ledger is what a settler writes to.
type Ledger interface {
	// Settle writes claims in one transaction and gives their outcomes in order; it is idempotent by claim id. A claim
	// that can never be written has ReasonUnavailable, ReasonUnknownCampaign or ReasonRequestIDReused and leaves no row.
	// ErrUnavailable: nothing was written. ErrUncertain: some may have been.
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	// FailTries counts one more failed try of each claim and gives those that have used up their tries: they have been
	// kept as dead letters. ErrUnavailable: nothing was counted.
	FailTries(ctx context.Context, claims []sluice.Claim, reason string) ([]sluice.ClaimID, error)
	// KeepDeadLetter keeps a message that cannot be read; idempotent by its bytes.
	KeepDeadLetter(ctx context.Context, raw []byte, fault string) error
}

// Gate is told what was settled.
type Gate interface {
	// Settled ends "pending" for claims that are in the ledger. It is idempotent. What it fails to tell, a sweep tells
	// later.
	Settled(ctx context.Context, claims []sluice.Claim) error
}

// Announcer tells every node of outcomes. What it fails to tell is found by those who look.
type Announcer interface {
	Announce(ctx context.Context, all []sluice.Announcement) error
}

// Publisher hands claims to a broker.
type Publisher interface {
	// Publish returns nil once the broker has confirmed all of them. Any error: some may have been published, and all
	// are published again.
	Publish(ctx context.Context, claims []sluice.Claim) error
}

// Letters keeps messages that cannot be read.
type Letters interface {
	KeepDeadLetter(ctx context.Context, raw []byte, fault string) error
}

// Kinds says what a campaign sells, from what the node knows or from the ledger. ErrNotFound: there is no such
// campaign.
type Kinds interface {
	KindOf(ctx context.Context, campaign string) (sluice.Kind, error)
}

// Batch is what one transaction came to, for metrics.
type Batch struct {
	Claims    int
	Confirmed int
	Rejected  int
	Replayed  int // found in the ledger, whatever they came to
	Failed    int // by themselves
	Took      time.Duration
	Oldest    time.Duration // how long ago its first claim was made
}
