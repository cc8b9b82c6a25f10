package sim

import (
	"fmt"

	"github.com/sluice-sale/sluice"
)

// claim is what the oracle knows of one claim.
type claim struct {
	id       sluice.ClaimID
	user     string
	request  string
	source   sluice.Source
	quantity int
	codes    []string
	live     int64
	limit    int64
	order    sluice.OrderState
	due      bool // refund due
	refunded bool
	deadline sluice.Millis // a reading of the payment clock
	payments []sluice.Payment
	results  map[string]sluice.PaymentResult // by reference
	coupons  []coupon
}

// coupon is what the oracle knows of one coupon.
type coupon struct {
	code     string
	redeemed string // the reference in force
	revoked  bool
}

// campaign is what the oracle knows of a campaign.
type campaign struct {
	set     sluice.Campaign
	claims  map[sluice.ClaimID]*claim
	order   []sluice.ClaimID // in the order of their coming to be
	changes []sluice.Adjustment
	paused  bool
	sibling *campaign // shares the limit
}

func (c *campaign) live() (n int64) {
	for _, x := range c.claims {
		n += x.live
	}
	return n
}

func (c *campaign) available() int64 { return c.set.Stock.Total - c.live() }

func (c *campaign) used(user string) (n int64) {
	for _, x := range c.claims {
		if x.user == user {
			n += x.limit
		}
	}
	if c.sibling != nil {
		for _, x := range c.sibling.claims {
			if x.user == user {
				n += x.limit
			}
		}
	}
	return n
}

// expect says what a claim has to be answered when nothing fails: the order of admission's checks, written down
// once more.
func (c *campaign) expect(
	id sluice.ClaimID, user string, source sluice.Source, quantity int,
) (sluice.Reason, sluice.ClaimState) {
	if x := c.claims[id]; x != nil {
		switch {
		case x.quantity != quantity:
			return sluice.ReasonRequestIDReused, sluice.ClaimNone
		case x.live == 0:
			return sluice.ReasonConfirmed, sluice.ClaimReleased
		}
		return sluice.ReasonConfirmed, sluice.ClaimConfirmed
	}
	switch {
	case c.paused && source == sluice.SourceClaim:
		return sluice.ReasonPaused, sluice.ClaimNone
	case c.used(user)+int64(quantity) > int64(c.set.PerUserLimit):
		return sluice.ReasonLimitReached, sluice.ClaimNone
	case int64(quantity) > c.available():
		return sluice.ReasonSoldOut, sluice.ClaimNone
	}
	return sluice.ReasonConfirmed, sluice.ClaimConfirmed
}

// come notes a claim that came to be.
func (c *campaign) come(x *claim, now sluice.Millis) {
	x.live, x.limit = int64(x.quantity), int64(x.quantity)
	if c.set.Kind == sluice.KindGoods {
		x.order = sluice.OrderUnpaid
		x.deadline = now + sluice.Millis(c.set.Goods.UnpaidWindowSec*1000)
		if c.set.Goods.PriceMinor == 0 {
			x.order = sluice.OrderPaid
		}
	}
	for _, code := range x.codes {
		x.coupons = append(x.coupons, coupon{code: code})
	}
	c.claims[x.id] = x
	c.order = append(c.order, x.id)
}

// close notes that an unpaid order ended; false where it was not unpaid.
func (c *campaign) close(x *claim) bool {
	if x.order != sluice.OrderUnpaid {
		return false
	}
	x.order, x.live = sluice.OrderClosed, 0
	if c.set.Goods.LimitBackOnClose {
		x.limit = 0
	}
	return true
}

// sums gives held and sold as the rows must show them.
func (c *campaign) sums() (held, sold int64) {
	for _, x := range c.claims {
		if x.order == sluice.OrderUnpaid {
			held += x.live
		} else {
			sold += x.live
		}
	}
	return held, sold
}

// judge compares an answer with what it has to be.
func (c *campaign) judge(
	what string, d sluice.Decision, reason sluice.Reason, state sluice.ClaimState, x *claim,
) error {
	if d.Reason != reason || d.State != state {
		return fmt.Errorf("%s: answered %v %v, has to be %v %v", what, d.Reason, d.State, reason, state)
	}
	if x == nil || reason != sluice.ReasonConfirmed {
		return nil
	}
	if d.ID != x.id || d.Quantity != x.quantity || fmt.Sprint(d.CouponCodes) != fmt.Sprint(x.codes) {
		return fmt.Errorf("%s: answered claim %v × %d %v, has to be %v × %d %v",
			what, d.ID, d.Quantity, d.CouponCodes, x.id, x.quantity, x.codes)
	}
	return nil
}
