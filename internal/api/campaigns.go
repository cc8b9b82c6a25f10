package api

import (
	"context"

	"github.com/sluice-sale/sluice"
)

// Campaigns gives every campaign with what admission says of it, for people to see. It may take a few milliseconds: the
// listener asks it once per CampaignTTL at most.
type Campaigns interface {
	Views(ctx context.Context) ([]sluice.CampaignView, error)
}

type campaignViews struct{}

func newCampaignViews(*Public) *campaignViews { return &campaignViews{} }

func campaignRoutes() []route { return nil }
