package upkeep

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// LostLedger records that a claim is lost, where the campaign's epoch is still the one under which nobody held it.
type LostLedger interface {
	Lost(ctx context.Context, c sluice.Claim, seen int64) (sluice.Outcome, error)
}

// Lost ends claims that were promised and that nobody has any more: PROTOCOL "lost".
type Lost struct {
	campaigns Campaigns
	gates     Gates
	ledger    LostLedger
}

// NewLost makes it.
func NewLost(campaigns Campaigns, gates Gates, ledger LostLedger) *Lost {
	return &Lost{campaigns, gates, ledger}
}

// Lost records that a claim which its owner's receipt tells of is lost, and gives its outcome: that of its row, where
// it has one. It is an ErrConflict Fault NOT_LOST while the claim may still turn up: a gate holds it, or is not armed
// for the campaign's epoch, or what the ledger says. The gates are asked for the claim first and how they stand after
// that: one that has forgotten it meanwhile is not armed then, or only for an epoch that the ledger compares.
func (l *Lost) Lost(ctx context.Context, c sluice.Claim) (sluice.Outcome, error) {
	is, err := l.campaigns.Campaign(ctx, c.Campaign)
	if err != nil {
		return sluice.Outcome{}, err
	}
	held, err := l.gates.Lookup(ctx, is, []sluice.ClaimID{c.ID})
	if err != nil {
		return sluice.Outcome{}, err
	}
	states, err := l.gates.State(ctx, is)
	if err != nil {
		return sluice.Outcome{}, err
	}
	if len(held) > 0 || !allArmed(is, states) {
		return sluice.Outcome{}, sluice.NewFault(sluice.ErrConflict, "NOT_LOST", "the claim may still turn up")
	}
	return l.ledger.Lost(ctx, c, is.Epoch)
}
