package sluice

import "strings"

// Kind is what a campaign gives out.
type Kind string

// The kinds of campaign.
const (
	KindGoods  Kind = "goods"
	KindCoupon Kind = "coupon"
)

// Control is what operators and the server have decided about a campaign; with the clock and the stock it gives the
// CampaignState.
type Control string

// The controls of a campaign.
const (
	ControlDraft  Control = "draft"  // not offered yet
	ControlOpen   Control = "open"   // offered: the window decides
	ControlPaused Control = "paused" // by an operator
	ControlFrozen Control = "frozen" // by the server: an invariant is in doubt
	ControlEnded  Control = "ended"  // by an operator, for good
)

// CampaignState is what people see.
type CampaignState string

// The states of a campaign.
const (
	StateDraft     CampaignState = "draft"
	StateScheduled CampaignState = "scheduled"
	StateLive      CampaignState = "live"
	StatePaused    CampaignState = "paused"
	StateFrozen    CampaignState = "frozen"
	StateSoldOut   CampaignState = "sold_out"
	StateEnded     CampaignState = "ended"
	StateClosed    CampaignState = "closed" // told to buyers alone: a switch has it closed
)

// CampaignStates lists every state that a campaign can be in; what only buyers are told is none.
func CampaignStates() []CampaignState {
	return []CampaignState{StateDraft, StateScheduled, StateLive, StatePaused, StateFrozen, StateSoldOut, StateEnded}
}

// Bounds of a campaign.
const (
	MaxTotal        = 100_000_000
	MaxPerUserLimit = 10_000
	MaxTitle        = 200 // bytes
	MaxURL          = 2048
	MaxPriceMinor   = 1_000_000_000_000
	MaxWindowSec    = 366 * 24 * 3600       // of an unpaid order
	MaxCampaignSec  = 100 * 366 * 24 * 3600 // from start to end
	MaxMerchants    = 1000
)

// Goods are the terms of a goods campaign. Prices are in minor units of Currency (ISO 4217).
type Goods struct {
	SKU              string
	PriceMinor       int64 // per unit; 0 means paid at once
	Currency         string
	UnpaidWindowSec  int64 // 1 to MaxWindowSec; default 900
	LimitBackOnClose bool  // a closed order gives the user's limit back; default true
}

// Eligibility narrows who may claim. Claims: each named token claim must have one of the values. Audience: only users
// that were uploaded for the campaign.
type Eligibility struct {
	Claims   map[string][]string
	Audience bool
}

// Campaign is one item on sale or one coupon being given out.
type Campaign struct {
	ID           string
	No           int64 // the ledger's number of it
	Kind         Kind
	Title        string
	ImageURL     string
	Stock        Stock
	Created      int64 // Total at creation: Total = Created + Σ adjustments
	PerUserLimit int
	StartsAt     Millis
	EndsAt       Millis
	Goods        Goods
	Coupon       CouponTerms
	Protection   Protection
	LimitGroup   string // campaigns of one group share the user's limit
	Eligibility  Eligibility
	LoadTest     bool
	Control      Control
	ControlNote  string // why paused or frozen
	Revision     int64  // grows with each change of Total
	Epoch        int64
	Shards       int // of its gate; 0 means one
	CreatedAt    Millis
	UpdatedAt    Millis
}

// StateAt gives the state at now, with available units left.
func (c *Campaign) StateAt(now Millis, available int64) CampaignState {
	switch {
	case c.Control == ControlDraft:
		return StateDraft
	case c.Control == ControlEnded || now >= c.EndsAt:
		return StateEnded
	case c.Control == ControlFrozen:
		return StateFrozen
	case c.Control == ControlPaused:
		return StatePaused
	case now < c.StartsAt:
		return StateScheduled
	case available <= 0:
		return StateSoldOut
	}
	return StateLive
}

// Schedule gives the reason for refusing a claim at now by the window and the control, or ReasonNone.
func (c *Campaign) Schedule(now Millis) Reason {
	switch c.StateAt(now, 1) {
	case StateDraft:
		return ReasonUnknownCampaign
	case StateEnded:
		return ReasonEnded
	case StateFrozen, StatePaused:
		return ReasonPaused
	case StateScheduled:
		return ReasonNotStarted
	}
	return ReasonNone
}

// Refuses says whether admission refuses a claim whatever its stock, by the window, the control and the quantity, and
// with what. A grant may be issued before the start and while people pause the campaign.
func (c *Campaign) Refuses(claim *Claim, now Millis) (Decision, bool) {
	if claim.Quantity < 1 || claim.Quantity > c.PerUserLimit {
		return Refuse(ReasonLimitReached), true // the API refuses such a body; a grant may ask for it
	}
	r := c.Schedule(now)
	if claim.Source == SourceGrant && r != ReasonEnded && c.Control != ControlFrozen {
		r = ReasonNone
	}
	if r == ReasonNone {
		return Decision{}, false
	}
	d := Refuse(r)
	if r == ReasonNotStarted {
		d.StartsInMS = int64(c.StartsAt - now)
	}
	return d, true
}

// Keep gives a copy of a claim on the campaign that does not point into the caller's buffers, with the codes of its
// coupons.
func (c *Campaign) Keep(claim *Claim) Claim {
	k := *claim
	k.Campaign, k.User, k.RequestID = c.ID, strings.Clone(claim.User), strings.Clone(claim.RequestID)
	if c.Kind == KindCoupon {
		k.CouponCodes = make([]string, k.Quantity)
		for i := range k.CouponCodes {
			k.CouponCodes[i] = NewCouponCode()
		}
	}
	return k
}

// ControlCommand is what an operator or the server asks of a campaign's control.
type ControlCommand string

// The commands.
const (
	CommandPublish ControlCommand = "publish"
	CommandPause   ControlCommand = "pause"
	CommandResume  ControlCommand = "resume"
	CommandEnd     ControlCommand = "end"
	CommandFreeze  ControlCommand = "freeze"
)

// Apply gives the control after cmd; an ErrConflict Fault where the campaign's state forbids it. Repeating a command is
// allowed and changes nothing. Resuming lifts a freeze as well as a pause.
func (c Control) Apply(cmd ControlCommand) (Control, error) {
	target, from := ControlOpen, []Control(nil)
	switch cmd {
	case CommandPublish:
		target, from = ControlOpen, []Control{ControlDraft}
	case CommandPause:
		target, from = ControlPaused, []Control{ControlOpen}
	case CommandResume:
		target, from = ControlOpen, []Control{ControlPaused, ControlFrozen}
	case CommandEnd:
		target, from = ControlEnded, []Control{ControlDraft, ControlOpen, ControlPaused, ControlFrozen}
	case CommandFreeze:
		target, from = ControlFrozen, []Control{ControlOpen, ControlPaused}
	}
	if c == target {
		return c, nil
	}
	for _, f := range from {
		if c == f {
			return target, nil
		}
	}
	return c, NewFault(ErrConflict, "CAMPAIGN_STATE", "cannot "+string(cmd)+" a campaign that is "+string(c))
}
