package sluice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// SideState is how far a claim has come in one of the two records that are compared.
type SideState string

// The states of a claim on one side.
const (
	SideAbsent  SideState = "absent"
	SidePending SideState = "pending" // of a gate: admitted and not settled
	SideLive    SideState = "live"
	SideEnded   SideState = "ended"
)

// Side is what one record, the gate's or the ledger's, has of a claim. Units are at least 0.
type Side struct {
	State      SideState
	Units      int64 // live ones
	LimitUnits int64 // that count against the user's limit
}

// Sides is what gate and ledger have of one claim.
type Sides struct{ Gate, Ledger Side }

// Remedy is the repair that the protocol has for a difference; empty where it has none: a claim would have to be
// forgotten, or a state to go back.
type Remedy string

// The remedies.
const (
	RemedyTake    Remedy = "take"    // the claim takes its units from the gate
	RemedyRelease Remedy = "release" // the gate is told that the claim has ended
	RemedySettled Remedy = "settled" // the gate is told that the claim is settled
	RemedySettle  Remedy = "settle"  // the claim goes to the settler again
	RemedyRearm   Remedy = "rearm"   // the gates are armed anew, all claims of the campaign at once
)

// Alone says whether the remedy touches one claim and nothing else.
func (r Remedy) Alone() bool { return r != "" && r != RemedyRearm }

// SeenOf names what was seen of a claim in an epoch and what would be done about it, so that somebody can ask for a
// repair of this and of nothing else: 32 hexadecimal digits.
func SeenOf(campaign string, epoch int64, claim ClaimID, s Sides, r Remedy) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s %q %d %d %q %d %d %q", campaign, epoch, claim,
		s.Gate.State, s.Gate.Units, s.Gate.LimitUnits, s.Ledger.State, s.Ledger.Units, s.Ledger.LimitUnits, r))
	return hex.EncodeToString(sum[:16])
}

// RunMode says what a comparison of a gate with its ledger was allowed to do.
type RunMode string

// The modes of a run. The empty one is that of every run that the agent makes.
const (
	RunRepairs RunMode = ""        // repairs all that has a repair, and freezes over what nothing explains
	RunDry     RunMode = "dry_run" // looks and changes nothing
	RunOne     RunMode = "one"     // repairs one difference that somebody chose; it has no sums
)

// Repair is the repair of one difference: Before is what was there when it was judged once more, After what was read
// when it was done.
type Repair struct {
	Run           ReconcileRun
	Before, After Sides
}
