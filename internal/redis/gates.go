package redis

import (
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what one call carries.
const (
	MaxAdmit = 1024 // claims of one call of Admit
	MaxOps   = 512  // operations, ids or rows that one call carries; longer lists are cut into several
)

// GateStatus is what a gate says of a whole call.
type GateStatus uint8

// The statuses. Everything but GateOK means that nothing was done.
const (
	GateOK     GateStatus = iota
	GateNone              // there is no gate: never armed, or lost
	GateEpoch             // the gate is of another epoch
	GateClosed            // the gate is sealed
)

// Verdict is a gate's answer to one claim.
type Verdict uint8

// The verdicts, in the order in which they are looked for.
const (
	VerdictNone        Verdict = iota
	VerdictQueued              // replay: live and not settled yet
	VerdictLive                // replay: live and settled: the ledger has its row
	VerdictEnded               // replay: ended: ask the ledger
	VerdictReused              // the id is in use with another quantity
	VerdictClosed              // the gate is sealed
	VerdictNotStarted          // before the window
	VerdictEndedWindow         // after the window
	VerdictLimit               // Claims names what the user has
	VerdictDry                 // q > available
	VerdictAdmitted            // new
)

// AdmitCall is claims for one shard of a campaign. Window, limit, limit group and shards are those of Campaign; the
// claims' Epoch is set to Campaign.Epoch.
type AdmitCall struct {
	Campaign *sluice.Campaign
	Peers    []string // the other campaigns of the limit group: same tag, same Shards
	Shard    int
	Claims   []sluice.Claim // of users whose home is Shard
}

// AdmitReply answers an AdmitCall. Where Status is not GateOK nothing was done and Claims is empty; a sealed gate
// still answers replays.
type AdmitReply struct {
	Status    GateStatus
	Epoch     int64 // the gate's; 0 where there is none
	Now       sluice.Millis
	Available int64 // after the call
	Returning int64
	Queued    int64
	Claims    []ClaimReply // one for each claim, in order
	Sent      []byte       // the claims' messages as they were sent, in order; nobody changes them
}

// ClaimReply answers one claim.
type ClaimReply struct {
	Verdict Verdict
	Claims  []sluice.ClaimID // with VerdictLimit: newest first, at most 100
}

// Transfer is units on their way from one shard to another.
type Transfer struct {
	From, To   int
	Epoch, Seq int64
	Units      int64
}

// TransferResult is what a receiver says of a transfer.
type TransferResult uint8

// The results.
const (
	TransferRefused TransferResult = iota // another epoch, or no gate: the giver's next arm forgets it
	TransferApplied
	TransferAlready
	TransferWait // a sold-out lease runs at the receiver: try again when it has ended
)

// Dryness is a shard's word on being dry.
type Dryness struct {
	Status    GateStatus
	Epoch     int64
	Granted   bool // dry, and a lease runs for a second from now
	Available int64
	Returning int64
	Pending   *Transfer // out of this shard and not forgotten: complete it
}

// SoldOut is whether a campaign is sold out, as PROTOCOL "Sold out" has it.
type SoldOut struct {
	SoldOut bool
	// Until is how long the marker may stand: the earliest send time of the leases + 1 s, by the monotonic clock.
	// Zero: the answer is SOLD_OUT for this claim, without a marker.
	Until time.Time
	// Pulled: the shard has units now.
	Pulled bool
	// Status is not GateOK where a gate is missing, sealed or of another epoch.
	Status GateStatus
}

// Holders is a piece of the list of users who hold claims at a shard, in order of admission. Next is where the next
// piece begins. A list of another Epoch is another list: read it from the start.
type Holders struct {
	Status GateStatus
	Epoch  int64
	Total  int64 // bytes of the list
	Next   int64
	Keys   []sluice.UserKey
}

// Gates are the scripts over a Client. Safe for concurrent use. Every method may be repeated after any error: each
// script does nothing the second time.
type Gates struct {
	c         *Client
	campaigns func(id string) (sluice.Campaign, bool)

	mu    sync.Mutex
	loads map[loadKey]*loading // guarded by mu
}

// NewGates makes the Gates of a client. campaigns says what the node knows of a campaign, for Apply and Settled,
// which name it by its id only; what it does not know is kept.
func NewGates(c *Client, campaigns func(id string) (sluice.Campaign, bool)) *Gates {
	return &Gates{c: c, campaigns: campaigns, loads: map[loadKey]*loading{}}
}
