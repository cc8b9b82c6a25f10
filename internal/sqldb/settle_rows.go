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
	text, args := s.rowsText()
	_, err := b.t.conn.ExecContext(b.t.ctx, string(text), args...)
	return err
}

// rowsText gives the statement that writes the rows that have gathered, and lets them go.
func (s *sale) rowsText() (text []byte, args []any) {
	into, width := orderInto, orderValues
	if s.kind == sluice.KindCoupon {
		into, width = couponInto, couponValues
	}
	row := `(` + questionMarks(width) + `)`
	n := len(s.values) / width
	text = make([]byte, 0, len(into)+n*(len(row)+1)+1024)
	text = append(text, into...)
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, row...)
	}
	args, s.values = s.values, nil
	return text, args
}

// close writes what the batch means for the campaign: its rows, its event, and its counters in one conditional update.
// They go to the server in one call, since the others wait for the campaign's lock meanwhile.
func (b *batch) close(s *sale) error {
	if s.settled > 0 && !b.refuse {
		b.t.permits = append(b.t.permits, sluice.PermitOp{Kind: sluice.PermitSettled, Campaign: s.id, Units: s.settled})
	}
	if s.wrote == 0 {
		return nil
	}
	var text []byte
	var args []any
	if len(s.values) > 0 {
		text, args = s.rowsText()
		text = append(text, ';')
	}
	add := func(query string, with ...any) {
		st := b.t.db.texts.of(query)
		text = append(text, st.text...)
		args = append(args, arrange(st, with)...)
	}
	for _, typ := range eventsOf(s.kind, &s.terms, s.ids) {
		add(insertEventBatch, s.at, typ, s.no, s.ids)
		text = append(text, ';')
	}
	add(updateSale, s.held, s.sold, s.wrote, s.no)
	r, err := b.t.conn.ExecContext(b.t.ctx, string(text), args...)
	if err != nil {
		return err
	}
	return fitted(s.id, s.held+s.sold)(r.RowsAffected()) // of the last statement
}
