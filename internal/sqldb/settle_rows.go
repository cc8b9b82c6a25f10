package sqldb

import (
	"github.com/sluice-sale/sluice"
)

func (s *sale) addCoupons(c *sluice.Claim, why sluice.Reason) {
	if why != sluice.ReasonConfirmed {
		s.values = append(s.values, s.nextSeq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source),
			int64(c.Quantity), int64(0), nil, string(sluice.CouponRejected), int64(0), int64(0), c.Epoch, int64(c.At), int64(0),
			int64(0), why.String())
		return
	}
	from, until := s.terms.Coupon.Window(c.At)
	for n, code := range c.CouponCodes {
		s.values = append(s.values, s.nextSeq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source),
			int64(c.Quantity), int64(n), code, string(sluice.CouponIssued), int64(1), int64(1), c.Epoch, int64(c.At),
			int64(from), int64(until), nil)
	}
	q := int64(c.Quantity)
	s.sold, s.stock.Sold = s.sold+q, s.stock.Sold+q
}

// insert writes the rows that have gathered.
func (b *batch) insert(s *sale) error {
	if len(s.values) == 0 {
		return nil
	}
	into, width := orderInto, orderValues
	if s.kind == sluice.KindCoupon {
		into, width = couponInto, couponValues
	}
	row := `(` + questionMarks(width) + `)`
	n := len(s.values) / width
	text := make([]byte, 0, len(into)+n*(len(row)+1))
	text = append(text, into...)
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, row...)
	}
	_, err := b.t.conn.ExecContext(b.t.ctx, string(text), s.values...)
	s.values = s.values[:0]
	return err
}

// close writes what the batch means for the campaign: its counters, in one conditional update, and its event.
func (b *batch) close(s *sale) error {
	if s.settled > 0 && !b.refuse {
		b.t.permits = append(b.t.permits, sluice.PermitOp{Kind: sluice.PermitSettled, Campaign: s.id, Units: s.settled})
	}
	return b.t.closeSale(s.no, s.id, s.kind, &s.terms, saleChange{s.held, s.sold, s.wrote, s.ids, s.at})
}
