package sluice

import "context"

// MessageVersion is the version of the encoding of a claim on a queue and in a gate. A reader keeps what it cannot read
// as a dead letter; it never drops it.
const MessageVersion = 1

// MaxShards bounds the shards of a campaign.
const MaxShards = 64

// AckLevel says what an answer QUEUED rests on.
type AckLevel string

// The levels, from the fastest to the surest.
const (
	AckPermit  AckLevel = "permit"  // the gate has it, and the node that answered keeps it until it has its outcome
	AckReplica AckLevel = "replica" // a replica of the gate has it too
	AckBroker  AckLevel = "broker"  // the broker has confirmed it
	AckLedger  AckLevel = "ledger"  // the ledger has committed it: the answer is CONFIRMED, or QUEUED after a bound
)

// Delivery is one claim as a queue hands it over. It may come more than once and in any order.
type Delivery struct {
	Claim Claim
	// Tag is the queue's own name of the delivery, to acknowledge it by.
	Tag string
	// Raw is the message as it was read, for a person to look at. Fault says why it could not be read; the Claim is
	// empty then.
	Raw   []byte
	Fault string
}

// Announcement tells every node that a claim has its outcome in the ledger. It is a hint to look there: it may come
// twice, late or never.
type Announcement struct {
	ID     ClaimID
	Reason Reason
}

// QueueState is how much waits on a queue. Oldest is when the oldest of it came, zero where nothing waits.
type QueueState struct {
	Entries int64 // of the queue itself; one may hold many claims
	Claims  int64 // at least; Entries where the queue does not count them
	Oldest  Millis
}

// DeadLetterState is what has become of a dead letter.
type DeadLetterState string

// The states of a dead letter.
const (
	DeadLetterKept      DeadLetterState = "kept"
	DeadLetterReplayed  DeadLetterState = "replayed"
	DeadLetterDiscarded DeadLetterState = "discarded"
)

// DeadLetter is a message that failed its bounded tries and is kept for a person. A message that cannot be read has no
// claim.
type DeadLetter struct {
	ID       int64
	Claim    Claim
	Raw      []byte
	Error    string // of the last try
	Tries    int
	State    DeadLetterState
	FirstAt  Millis
	LastAt   Millis
	Campaign string
}

// DeadLetterQuery selects dead letters, newest first; fields that are zero do not narrow it. Limit is 1 to MaxPage, 0
// means DefaultPage.
type DeadLetterQuery struct {
	IDs      []int64
	State    DeadLetterState
	Campaign string
	User     string
	// AsOf leaves out whatever was kept later, so that what is done in bulk is done to what its operator has seen.
	AsOf   Millis
	Cursor string
	Limit  int
}

// DeadLetterRun is what replaying or discarding dead letters in bulk came to.
type DeadLetterRun struct {
	Done   int    // letters that were replayed or discarded
	Failed int    // of those: messages that still cannot be read; they are kept again
	More   bool   // others are left: ask again with the same query
	AsOf   Millis // of the query
}

// Fence names the term of a leader. What is written under it is refused once another leader was elected.
type Fence struct {
	Job   string
	Token int64
}

type fenceKey struct{}

// WithFence has the ledger refuse what is written under ctx by a deposed leader.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// FenceOf gives the fence of ctx, false where it has none.
func FenceOf(ctx context.Context) (Fence, bool) {
	f, ok := ctx.Value(fenceKey{}).(Fence)
	return f, ok
}

// ShardState is one shard of a campaign's gate as it stands at one moment.
type ShardState struct {
	Shard     int
	Armed     bool // there is a gate at all
	Open      bool
	Epoch     int64
	SealedFor int64 // the epoch that the gate was sealed for; 0 where it was not
	Revision  int64
	Available int64
	Returning int64 // given back while a sold-out lease runs
	Queued    int64 // units admitted and not settled yet
	Out       int64 // units on their way to another shard
	Live      int64 // units of live claims, queued ones among them
	Share     int64
	Taken     int64 // units that decreases took since it was armed
	Oldest    Millis
	Backlog   int64  // messages of the outbox
	LastAt    Millis // when the newest of its claims came: since when a shard that has nothing is sold out
}

// GateClaim is one claim as a gate holds it.
type GateClaim struct {
	ID         ClaimID
	Quantity   int32
	Live       bool
	LiveUnits  int32 // of a coupon claim of which some were given back, fewer than Quantity
	LimitUnits int32
	// Queued is the whole claim while it is not settled; nil later.
	Queued *Claim
	// Unread: it is not settled, and its message is of a version that this node cannot read. Queued is nil then.
	Unread bool
}

// FirstEpoch is that of a campaign whose gates were never armed: arming opens the next one.
const FirstEpoch = 1

// EpochCause says why a campaign's epoch was opened.
type EpochCause string

// The causes of an epoch.
const (
	EpochCreated EpochCause = "created"
	EpochPlanned EpochCause = "planned" // nothing was lost
	EpochLost    EpochCause = "lost"    // the gate may have forgotten claims
	// EpochDegraded: nobody can reach the gate, and nodes admit in the ledger. Such an epoch is never armed: the gate
	// comes back in a later one.
	EpochDegraded EpochCause = "degraded"
)

// Epoch is one row of a campaign's epochs.
type Epoch struct {
	Campaign string
	Epoch    int64
	Cause    EpochCause // why it was opened, which says how the one before it was closed
	ArmedAt  Millis     // 0 while it is not armed
}

// Node is one server of a fleet, as its heartbeat tells.
type Node struct {
	ID        string
	Name      string // host name
	Version   string
	Addr      string // of its operators' listener
	StartedAt Millis
	SeenAt    Millis
	Settings  int64            // the settings that are in force on it: see Settings
	Control   int64            // the switches that were set while the ledger was away and are in force on it
	Flushed   map[string]int64 // by campaign: no claim that it answered QUEUED in an epoch before this one is open
	SkewMS    int64            // its clock less the ledger's
	AgeMS     int64            // since its last heartbeat, by the ledger's clock
	Standing  NodeStanding
}

// NodeStanding is what a node does for the campaigns that it sells, those that run or are about to.
type NodeStanding struct {
	Epochs map[string]int64 `json:"epochs,omitempty"` // by campaign: the epoch that it admits in
	Cut    []string         `json:"cut,omitempty"`    // campaigns whose breaker is open: it does not ask the gate for them
	Passes map[string]int64 `json:"passes,omitempty"` // by campaign: passes that it has handed out since it began
	// Pages: by campaign to come, about how many buyers' pages that were open in the last minute have told it so.
	Pages map[string]int64 `json:"pages,omitempty"`
}

// Known says whether the node has told its standing.
func (s NodeStanding) Known() bool { return s.Epochs != nil || s.Passes != nil }

// Alive says whether the node's last heartbeat is recent.
func (n Node) Alive() bool { return n.AgeMS < NodeAlive }

// NodeAlive is how long after its last heartbeat a node counts as alive.
const NodeAlive = 5000 // ms

// DriftKind says what a difference between gate and ledger is.
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownClaim DriftKind = "unknown_claim" // live in the gate, in neither ledger nor flight
	DriftMissingClaim DriftKind = "missing_claim" // live in the ledger, not in the gate
	DriftEndedClaim   DriftKind = "ended_claim"   // live in the gate, ended in the ledger, no release under way
	DriftQuantity     DriftKind = "quantity"      // other units in gate and ledger
	DriftSum          DriftKind = "sum"           // the gate's own sum does not come out
	DriftCounters     DriftKind = "counters"      // the ledger's counters and rows differ
	DriftTotal        DriftKind = "total"         // total is not what was created plus all adjustments
	DriftStuck        DriftKind = "stuck"         // in flight for longer than the bound
)

// Drift is one difference, explained by what it is about.
type Drift struct {
	Kind   DriftKind
	Claim  string // of a claim
	Units  int64
	Detail string
	Repair string // what was done about it; empty where nothing could be, or nothing was to be done

	// Of a claim: what was seen, what would be done about it, what there would be then, and what names all of it.
	Before Sides
	Remedy Remedy
	After  Sides // Before where there is no remedy
	Seen   string
}

// ReconcileRun is one comparison of a campaign's gate with its ledger.
type ReconcileRun struct {
	ID         int64
	Campaign   string
	Epoch      int64
	StartedAt  Millis
	TookMS     int64
	OK         bool
	Total      int64
	Available  int64
	InTransfer int64
	Queued     int64
	Held       int64
	Sold       int64
	Claims     int64 // compared
	Drift      int64 // units in doubt
	Mode       RunMode
	Found      []Drift
	Error      string // the comparison itself failed
}
