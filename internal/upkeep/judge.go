package upkeep

import (
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// evidence is what gate and ledger say of one claim, read one after the other.
type evidence struct {
	id       sluice.ClaimID
	gate     sluice.GateClaim
	inGate   bool
	row      sluice.ClaimRow
	inLedger bool
	onItsWay bool // the ledger has an operation for the gate that is not marked done
	dead     bool // kept for a person as a dead letter
}

// repair is what brings a gate back to what the ledger says.
type repair uint8

// The repairs. There is none where a claim would have to be forgotten, or a state to go back.
const (
	repairNone    repair = iota
	repairTake           // an operation that a claim takes its units
	repairRelease        // an operation that a claim has ended
	repairSettled        // the claim is settled: it is not pending any more
	repairSettle         // the claim goes to the settler again
	repairRearm          // the gates are armed anew, which takes what the ledger has
)

// words is what a run's record says of a repair.
func (r repair) words() string {
	return [...]string{"", "taken from the permit", "released to the permit", "told the gate that it is settled",
		"settled", "armed anew"}[r]
}

// verdict is a difference and what is to be done about it.
type verdict struct {
	drift  sluice.Drift
	repair repair
	claim  evidence
}

// judge says whether gate and ledger differ over a claim: false where they agree, and where what makes them agree is on
// its way. stuck is how long a claim may be in flight.
func judge(e evidence, now sluice.Millis, stuck time.Duration) (v verdict, differs bool) {
	differ := func(kind sluice.DriftKind, units int64, r repair, format string, args ...any) (verdict, bool) {
		return verdict{sluice.Drift{
			Kind: kind, Claim: e.id.String(), Units: units, Detail: fmt.Sprintf(format, args...),
		}, r, e}, true
	}
	units, live := int64(e.gate.LiveUnits), int64(e.row.LiveUnits)
	switch {
	case e.onItsWay:
		return v, false
	case e.inGate && !e.inLedger:
		return judgeUnknown(e, now, stuck, differ)
	case !e.inGate && e.inLedger && live > 0:
		return differ(sluice.DriftMissingClaim, live, repairTake, "the ledger has it, the gate does not")
	case !e.inGate && e.inLedger:
		return differ(sluice.DriftMissingClaim, 0, repairRelease, "ended in the ledger, and the gate does not know it")
	case !e.inGate:
		return v, false
	case e.gate.Live && live == 0:
		return differ(sluice.DriftEndedClaim, units, repairRelease, "live in the gate, ended in the ledger")
	case !e.gate.Live && live > 0:
		return differ(sluice.DriftMissingClaim, live, repairNone, "ended in the gate, live in the ledger")
	case e.gate.Live && units > live: // some of its coupons were given back
		return differ(sluice.DriftQuantity, units-live, repairRearm, "%d units in the gate, %d in the ledger", units, live)
	case e.gate.Live && units < live:
		return differ(sluice.DriftQuantity, live-units, repairNone, "%d units in the gate, %d in the ledger", units, live)
	case e.gate.Live && e.gate.Queued != nil:
		return differ(sluice.DriftStuck, 0, repairSettled, "settled, and the gate was not told")
	}
	return v, false
}

// judgeUnknown judges a claim that only the gate has.
func judgeUnknown(
	e evidence, now sluice.Millis, stuck time.Duration,
	differ func(sluice.DriftKind, int64, repair, string, ...any) (verdict, bool),
) (v verdict, differs bool) {
	units := int64(e.gate.LiveUnits)
	switch {
	case !e.gate.Live:
		return differ(sluice.DriftUnknownClaim, 0, repairNone, "ended in the gate, unknown to the ledger")
	case e.gate.Unread:
		return v, false // in flight between nodes of another version, or a dead letter
	case e.gate.Queued == nil:
		return differ(sluice.DriftUnknownClaim, units, repairNone, "settled for the gate, unknown to the ledger")
	case e.dead || now-e.gate.Queued.At <= sluice.Millis(stuck.Milliseconds()):
		return v, false // in flight
	}
	return differ(sluice.DriftStuck, units, repairSettle, "in flight for %d s", (now-e.gate.Queued.At)/1000)
}

// op gives the operation that a repair is made of, in the epoch of the campaign.
func (v verdict) op(c sluice.Campaign) sluice.PermitOp {
	row := v.claim.row
	op := sluice.PermitOp{Campaign: c.ID, Claim: v.claim.id, Epoch: c.Epoch, Quantity: int64(row.Quantity)}
	if v.repair == repairTake {
		op.Kind, op.Units, op.LimitUnits = sluice.PermitTake, int64(row.LiveUnits), int64(row.LimitUnits)
		return op
	}
	op.Kind, op.Units = sluice.PermitRelease, int64(row.Quantity)
	op.LimitUnits = int64(row.Quantity - row.LimitUnits)
	return op
}
