package gate_test

import (
	"context"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// places counts what becomes of places.
type places struct{ held, freed int }

func (p *places) Hold(context.Context, string, string, sluice.ClaimID, int64) ([]sluice.ClaimID, bool, error) {
	p.held++
	return nil, true, nil
}

func (p *places) Free(context.Context, string, string, sluice.ClaimID) error {
	p.freed++
	return nil
}

// TestPlaceOfAnOrderThatIsThere: a claim that did not come to be gives its place back. One that is refused since its
// request id has an order already does not: the place is that order's, and whoever could free it could hold everything.
func TestPlaceOfAnOrderThatIsThere(t *testing.T) {
	for reason, freed := range map[sluice.Reason]int{
		sluice.ReasonConfirmed: 0, sluice.ReasonUnavailable: 0, sluice.ReasonRequestIDReused: 0,
		sluice.ReasonSoldOut: 1, sluice.ReasonLimitReached: 1, sluice.ReasonBusy: 1,
	} {
		p := &places{}
		r := newRig(t, func(c *gate.Config) { c.Holding = p })
		c := spring()
		c.Kind, c.Goods = sluice.KindGoods, sluice.Goods{PriceMinor: 100, UnpaidWindowSec: 900}
		r.PutCampaign(c)
		r.admitter.answer = sluice.Refuse(reason)
		r.claim(t, r.request(t, "alice"), reason)
		if p.held != 1 || p.freed != freed {
			t.Errorf("%s: held %d, freed %d, want %d", reason, p.held, p.freed, freed)
		}
	}
}
