package api

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// Claims looks recorded claims up in the ledger.
type Claims interface {
	// ClaimRecord gives the claim of that id; ErrNotFound where there is none yet.
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
}

type claimBody struct{}

func (c *call) decision(d sluice.Decision) {}

func claimRoutes() []route { return nil }
