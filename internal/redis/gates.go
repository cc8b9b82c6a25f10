package redis

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what one call carries.
const (
	MaxAdmit = 1024 // claims of one call of Admit
	MaxOps   = 512  // operations, ids or rows that one script call carries; longer lists are cut into several calls
	LeaseMS  = 1000 // how long a lease lasts, by the clock of Redis
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

// AdmitCall is claims for one shard of a campaign. Window, limit, limit group and shards are those of Campaign; the claims'
// Epoch is set to Campaign.Epoch.
type AdmitCall struct {
	Campaign *sluice.Campaign
	Peers    []string // the other campaigns of the limit group: same tag, same Shards
	Shard    int
	Claims   []sluice.Claim // of users whose home is Shard
	// Replicas asks for so many replicas to have what the call did before it returns (WAIT); 0 asks for none. Fewer, or a
	// wait that fails, is no error: see AdmitReply.Replicas.
	Replicas int
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
	Replicas  int          // that have what the call did, where AdmitCall.Replicas asked for some
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

// Lease is a shard's word on being dry. It runs from the moment before the call was sent: see Verdict of SoldOut.
type Lease struct {
	Status    GateStatus
	Dry       bool
	Available int64
	Returning int64
	Pending   *Transfer // out of this shard and not forgotten: complete it
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

// Gates are the scripts over a Client. Safe for concurrent use. Every method may be repeated after any error.
type Gates struct {
	c         *Client
	campaigns func(id string) (sluice.Campaign, bool)
}

// NewGates makes the Gates of a client. campaigns says what the node knows of a campaign, for Apply and Settled, which
// name it by its id only; what it does not know is kept.
func NewGates(c *Client, campaigns func(id string) (sluice.Campaign, bool)) *Gates {
	return &Gates{c: c, campaigns: campaigns}
}

// Admit decides the claims of one shard in one script call.
func (g *Gates) Admit(ctx context.Context, call AdmitCall) (AdmitReply, error) {
	return AdmitReply{}, sluice.ErrUnavailable
}

// Settled ends "pending" for claims that are in the ledger, whatever the epoch.
func (g *Gates) Settled(ctx context.Context, claims []sluice.Claim) error {
	return sluice.ErrUnavailable
}

// Apply carries out operations, in order, and says for each what became of it. With an error, those from the first that
// could not be carried out are PermitKept.
func (g *Gates) Apply(ctx context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error) {
	return make([]sluice.PermitResult, len(ops)), sluice.ErrUnavailable
}

// Out takes up to units from a shard for another one. A transfer that is under way from that shard is given instead;
// nil where there is nothing to give.
func (g *Gates) Out(ctx context.Context, c *sluice.Campaign, from, to int, units int64) (*Transfer, error) {
	return nil, sluice.ErrUnavailable
}

// In gives the units of a transfer to their receiver, once.
func (g *Gates) In(ctx context.Context, c *sluice.Campaign, t Transfer) (TransferResult, error) {
	return TransferRefused, sluice.ErrUnavailable
}

// Forget ends a transfer at its giver, after TransferApplied or TransferAlready only.
func (g *Gates) Forget(ctx context.Context, c *sluice.Campaign, t Transfer) error {
	return sluice.ErrUnavailable
}

// Pull brings units to a shard that has run dry from the others, and completes transfers that it meets. It gives the
// units that arrived at the shard.
func (g *Gates) Pull(ctx context.Context, c *sluice.Campaign, to int, want int64) (int64, error) {
	return 0, sluice.ErrUnavailable
}

// Complete brings the transfers that are under way between the campaign's shards to their end.
func (g *Gates) Complete(ctx context.Context, c sluice.Campaign) error { return sluice.ErrUnavailable }

// Dry asks one shard for a lease on being dry.
func (g *Gates) Dry(ctx context.Context, c *sluice.Campaign, shard int) (Lease, error) {
	return Lease{}, sluice.ErrUnavailable
}

// SoldOut is whether a campaign is sold out, as PROTOCOL "Sold out" has it.
type SoldOut struct {
	SoldOut bool
	// Until is how long the marker may stand: the earliest send time of the overlapping leases + 1 s, by the monotonic
	// clock. Zero: SOLD_OUT is this answer only, or not sold out.
	Until time.Time
}

// SoldOut asks every shard, pulls where some have units, and says whether all are dry. ErrUnavailable where a shard does
// not answer: that is BUSY, never sold out.
func (g *Gates) SoldOut(ctx context.Context, c *sluice.Campaign, to int) (SoldOut, error) {
	return SoldOut{}, sluice.ErrUnavailable
}

// Home gives the shard that a user's claims belong to.
func (g *Gates) Home(c sluice.Campaign, user sluice.UserKey) int { return HomeShard(&c, user) }

// Seal stops admissions at every shard that answers, for the epoch that is to follow.
func (g *Gates) Seal(ctx context.Context, c sluice.Campaign, epoch int64) ([]sluice.ShardState, error) {
	return nil, sluice.ErrUnavailable
}

// Join puts rows of the ledger among the claims of a shard that is sealed for epoch c.Epoch.
func (g *Gates) Join(ctx context.Context, c sluice.Campaign, shard int, rows []sluice.ClaimRow) error {
	return sluice.ErrUnavailable
}

// Arm opens a shard for epoch c.Epoch with the revision of c and available = share - Σ live units.
func (g *Gates) Arm(ctx context.Context, c sluice.Campaign, shard int, share int64) error {
	return sluice.ErrUnavailable
}

// State reads every shard. A shard that does not answer is left out and is the error; Armed is false where there is no
// gate.
func (g *Gates) State(ctx context.Context, c sluice.Campaign) ([]sluice.ShardState, error) {
	return nil, sluice.ErrUnavailable
}

// Claims walks over all claims of a shard, in pieces and in no order; one that is changed meanwhile may come twice.
func (g *Gates) Claims(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.GateClaim) error) error {
	return sluice.ErrUnavailable
}

// Lookup gives what the gates hold of these claims.
func (g *Gates) Lookup(
	ctx context.Context, c sluice.Campaign, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.GateClaim, error) {
	return nil, sluice.ErrUnavailable
}

// Pending walks over what is admitted and not settled. Messages that cannot be read are left out: see PendingRaw.
func (g *Gates) Pending(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.Claim) error) error {
	return sluice.ErrUnavailable
}

// Find looks one claim up among what is not settled, at the user's home shard of each campaign, in one pipeline.
func (g *Gates) Find(ctx context.Context, campaigns []sluice.Campaign, id sluice.ClaimID) (sluice.Claim, bool, error) {
	return sluice.Claim{}, false, sluice.ErrUnavailable
}

// Holders reads a piece of a shard's list of holders, from a byte offset.
func (g *Gates) Holders(ctx context.Context, c *sluice.Campaign, shard int, from int64) (Holders, error) {
	return Holders{}, sluice.ErrUnavailable
}

// Drop deletes a slice of a campaign's keys and says whether there is more: first everything but the claims of its
// users, and with claims set these too. ErrConflict while claims are not settled.
func (g *Gates) Drop(ctx context.Context, c sluice.Campaign, claims bool) (more bool, err error) {
	return false, sluice.ErrUnavailable
}
