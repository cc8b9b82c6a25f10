package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// When a campaign's gate is there, where nothing else is said.
const (
	defaultAhead      = 30 * time.Minute   // before the start
	defaultKeepGate   = 300 * time.Second  // after the end
	defaultKeepClaims = 3 * 24 * time.Hour // after the end: replays are still answered from them
)

// endOf gives when a campaign ended or will: by its window, or earlier by an operator.
func endOf(c *sluice.Campaign) sluice.Millis {
	if c.Control == sluice.ControlEnded {
		return min(c.EndsAt, c.UpdatedAt)
	}
	return c.EndsAt
}

// armedOnce says whether a campaign ever had a gate: the first arming opens the epoch after the one it was created
// with.
func armedOnce(c *sluice.Campaign) bool { return c.Epoch > 1 }

// door drives claims that a gate has pending through the settler, which is the only way into the ledger.
type door struct {
	settler Settler
	repairs Repairs
	letters Letters // nil: there are no dead letters
}

// settle brings claims of one campaign to an end that the ledger knows, and tells the gate. It gives how many; those
// that fail by themselves are counted against their tries and stay pending.
func (d door) settle(ctx context.Context, c sluice.Campaign, claims []sluice.Claim) (int, error) {
	done := 0
	for len(claims) > 0 {
		piece := claims[:min(len(claims), maxPiece)]
		claims = claims[len(piece):]
		n, err := d.piece(ctx, c, piece)
		done += n
		if err != nil {
			return done, fmt.Errorf("upkeep: settle %d claims of %s: %w", len(piece), c.ID, err)
		}
	}
	return done, nil
}

func (d door) piece(ctx context.Context, c sluice.Campaign, claims []sluice.Claim) (int, error) {
	ids := make([]sluice.ClaimID, len(claims))
	for i := range claims {
		ids[i] = claims[i].ID
	}
	known, err := d.settler.ClaimRecords(ctx, ids)
	if err != nil {
		return 0, err
	}
	var settled, open []sluice.Claim
	for _, claim := range claims {
		if _, ok := known[claim.ID]; ok {
			settled = append(settled, claim)
			continue
		}
		for c.Kind == sluice.KindCoupon && len(claim.CouponCodes) < claim.Quantity {
			claim.CouponCodes = append(claim.CouponCodes, sluice.NewCouponCode())
		}
		open = append(open, claim)
	}
	var out []sluice.Outcome
	if len(open) > 0 {
		out, err = d.settler.Settle(ctx, open)
		switch {
		case err == nil:
		case !spoiled(ctx, err):
			return 0, err
		case len(claims) == 1:
			_, err = d.settler.FailTries(ctx, open, err.Error())
			return 0, err
		default:
			// One of them spoils the transaction: it is found by halves, and the others go through.
			half := len(claims) / 2
			n, first := d.piece(ctx, c, claims[:half])
			m, second := d.piece(ctx, c, claims[half:])
			return n + m, errors.Join(first, second)
		}
	}
	failed := map[string][]sluice.Claim{}
	for i, claim := range open {
		if why := itemFault(out[i].Reason); why != "" {
			failed[why] = append(failed[why], claim)
			continue
		}
		settled = append(settled, claim)
	}
	for why, list := range failed {
		if _, err := d.settler.FailTries(ctx, list, why); err != nil {
			return 0, err
		}
	}
	if len(settled) == 0 {
		return 0, nil
	}
	return len(settled), d.repairs.Settled(ctx, settled)
}

// spoiled says whether a transaction failed for a reason of its own, not since the ledger cannot be reached or written.
func spoiled(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, sluice.ErrUnavailable) && !errors.Is(err, sluice.ErrUncertain)
}

// itemFault gives why a claim failed by itself; empty where the ledger knows its outcome.
func itemFault(r sluice.Reason) string {
	switch r {
	case sluice.ReasonUnavailable:
		return "the ledger refuses the row itself"
	case sluice.ReasonUnknownCampaign:
		return "the ledger does not know the campaign"
	case sluice.ReasonRequestIDReused:
		return "the ledger has this claim with another user or quantity"
	}
	return ""
}

// dead gives the claims of a campaign that wait for a person as dead letters.
func (d door) dead(ctx context.Context, campaign string) (map[sluice.ClaimID]bool, error) {
	if d.letters == nil {
		return nil, nil
	}
	all := map[sluice.ClaimID]bool{}
	q := sluice.DeadLetterQuery{State: sluice.DeadLetterKept, Campaign: campaign, Limit: sluice.MaxPage}
	for {
		page, err := d.letters.DeadLetters(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("upkeep: dead letters of %s: %w", campaign, err)
		}
		for _, letter := range page.Items {
			all[letter.Claim.ID] = true
		}
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}
