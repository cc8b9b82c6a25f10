package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-sale/sluice"
)

// released sums what claim gave back of units and of the limit, and counts how often.
func (b *tradeTest) released(id sluice.ClaimID) (units, limit int64, times int) {
	for _, op := range b.Released() {
		if op.Kind == sluice.PermitRelease && op.Claim == id {
			units, limit, times = units+op.Units, limit+op.LimitUnits, times+1
		}
	}
	return units, limit, times
}

func (b *tradeTest) closeOnce(t *testing.T) {
	for _, back := range []bool{true, false} {
		c := b.campaign(t, func(c *sluice.Campaign) { c.Goods.LimitBackOnClose = back })
		byUser, _ := b.claim(t, c, "u1", 3)
		byClock, _ := b.claim(t, c, "u1", 2)
		for range 3 {
			o, err := b.Orders.CloseOrder(t.Context(), byUser, sluice.CloseCancelled, sluice.Actor{}, tradeStart+5)
			if err != nil || o.State != sluice.OrderClosed || o.CloseReason != sluice.CloseCancelled ||
				o.ClosedAt != tradeStart+5 {
				t.Fatalf("close: %+v %v", o, err)
			}
		}
		for want := 1; want >= 0; want-- {
			s, err := b.Due.CloseDue(t.Context(), tradeStart+900_000, 0)
			if err != nil || s.Done != want {
				t.Fatalf("close what is due: %+v %v, want %d", s, err, want)
			}
		}
		for id, q := range map[sluice.ClaimID]int64{byUser: 3, byClock: 2} {
			limit := q
			if !back {
				limit = 0
			}
			if u, l, n := b.released(id); u != q || l != limit || n != 1 {
				t.Fatalf("policy %v: claim of %d gave back %d units and %d of the limit, %d times", back, q, u, l, n)
			}
		}
		o, err := b.Orders.Order(t.Context(), byClock, tradeStart)
		if err != nil || o.CloseReason != sluice.CloseExpired || o.LiveUnits != 0 || back != (o.LimitUnits == 0) {
			t.Fatalf("expired order: %+v %v", o, err)
		}
		b.audit(t, c)
	}
	_, err := b.Orders.CloseOrder(t.Context(), sluice.NewClaimID("t1", "x", 0, "x"), sluice.CloseCancelled,
		sluice.Actor{}, 1)
	refused(t, "close nothing", err, sluice.ErrNotFound, "")
	if log := b.Audited(t); len(log) != 0 {
		t.Fatalf("a buyer's cancel is in the audit log: %+v", log)
	}
}

func (b *tradeTest) refundChoices(t *testing.T) {
	c := b.campaign(t, nil)
	for i, choice := range []sluice.RefundChoice{
		{}, {UnitBack: true}, {LimitBack: true}, {UnitBack: true, LimitBack: true},
	} {
		id, _ := b.claim(t, c, fmt.Sprint("u", i), 2)
		_, err := b.Orders.RefundOrder(t.Context(), id, choice, tradeOperator(), tradeStart)
		refused(t, "refund of an unpaid order", err, sluice.ErrConflict, "ORDER_STATE")
		if _, err := b.pay(fmt.Sprint("p", i), id, 200); err != nil {
			t.Fatal(err)
		}
		_, err = b.Orders.CloseOrder(t.Context(), id, sluice.CloseCancelled, sluice.Actor{}, tradeStart)
		refused(t, "cancel of a paid order", err, sluice.ErrConflict, "ORDER_STATE")
		for range 2 {
			o, err := b.Orders.RefundOrder(t.Context(), id, choice, tradeOperator(), tradeStart+9)
			if err != nil || o.State != sluice.OrderRefunded || o.RefundedAt != tradeStart+9 {
				t.Fatalf("refund: %+v %v", o, err)
			}
		}
		var units, limit int64
		if choice.UnitBack {
			units = 2
		}
		if choice.LimitBack {
			limit = 2
		}
		if u, l, _ := b.released(id); u != units || l != limit {
			t.Fatalf("%+v gave back %d units and %d of the limit", choice, u, l)
		}
		if len(b.Audited(t)) != i+1 {
			t.Fatalf("%d refunds, audit log %+v", i+1, b.Audited(t))
		}
	}
	b.audit(t, c)
}

func (b *tradeTest) due(t *testing.T) {
	slow := b.campaign(t, func(c *sluice.Campaign) { c.Goods.LimitBackOnClose = false })
	fast := b.campaign(t, func(c *sluice.Campaign) { c.Goods.UnpaidWindowSec = 60 })
	free := b.campaign(t, func(c *sluice.Campaign) { c.Goods.PriceMinor = 0 })
	for i := range 20 {
		b.claim(t, slow, fmt.Sprint("u", i), 1)
		b.claim(t, fast, fmt.Sprint("u", i), 2)
	}
	b.claim(t, free, "u", 1)
	steps := []struct {
		at         sluice.Millis
		most, done int
		next, lag  sluice.Millis
	}{
		{59_999, 100, 0, 60_000, 0},
		{60_000, 15, 15, 60_000, 0},
		{70_000, 15, 5, 900_000, 10_000},
		{899_999, 15, 0, 900_000, 0},
		{900_000, 7, 7, 900_000, 0},
		{900_001, 100, 13, 0, 1},
		{900_001, 100, 0, 0, 0},
	}
	for _, st := range steps {
		s, err := b.Due.CloseDue(t.Context(), tradeStart+st.at, st.most)
		want := sluice.Sweep{Done: st.done, Lag: st.lag}
		if st.next != 0 {
			want.Next = tradeStart + st.next
		}
		if err != nil || s != want {
			t.Fatalf("at %d: %+v %v, want %+v", st.at, s, err, want)
		}
		for _, c := range []sluice.Campaign{slow, fast, free} {
			b.audit(t, c)
		}
	}
	// Two campaigns in one piece.
	b.claim(t, slow, "v", 1)
	b.claim(t, fast, "v", 1)
	if s, err := b.Due.CloseDue(t.Context(), tradeStart+900_000, 0); err != nil || s.Done != 2 {
		t.Fatalf("two campaigns at once: %+v %v", s, err)
	}
	b.audit(t, slow)
	b.audit(t, fast)
}

func (b *tradeTest) paymentsDown(t *testing.T) {
	c := b.campaign(t, func(c *sluice.Campaign) { c.Goods.UnpaidWindowSec = 60 })
	before, _ := b.claim(t, c, "u1", 1)
	b.Down(t, true, tradeStart+10_000)
	during := b.claimAt(c, "u2", 1, tradeStart+20_000)
	b.Settle(t, during)
	s, err := b.Due.CloseDue(t.Context(), tradeStart+10_000_000, 0)
	if err != nil || !s.Stopped || s.Done != 0 || s.Next != 0 {
		t.Fatalf("while payments are down: %+v %v", s, err)
	}
	if rec, err := b.pay("p1", during.ID, 100); err != nil || rec.Result != sluice.PaymentApplied {
		t.Fatalf("a payment while payments are down: %+v %v", rec, err)
	}
	late := b.claimAt(c, "u3", 1, tradeStart+30_000)
	b.Settle(t, late)
	b.Down(t, false, tradeStart+1_000_000)
	// 990 s of standing still are added to each window; a claim made meanwhile has its whole window after it.
	for _, st := range []struct {
		at   sluice.Millis
		done int
	}{{60_000 + 990_000 - 1, 0}, {60_000 + 990_000, 1}, {1_000_000 + 60_000 - 1, 0}, {1_000_000 + 60_000, 1}} {
		o, err := b.Orders.Order(t.Context(), before, tradeStart+st.at)
		if err != nil || o.ExpiresAt != tradeStart+60_000+990_000 {
			t.Fatalf("the shown deadline: %+v %v", o, err)
		}
		if s, err := b.Due.CloseDue(t.Context(), tradeStart+st.at, 0); err != nil || s.Done != st.done {
			t.Fatalf("at %d: %+v %v, want %d", st.at, s, err, st.done)
		}
	}
	if o, err := b.Orders.Order(t.Context(), late.ID, tradeStart); err != nil || o.State != sluice.OrderClosed {
		t.Fatalf("the last order: %+v %v", o, err)
	}
	b.audit(t, c)
}

func (b *tradeTest) clockJumps(t *testing.T) {
	c := b.campaign(t, nil)
	for i := range 10 {
		b.Settle(t, b.claimAt(c, fmt.Sprint("u", i), 1, tradeStart+sluice.Millis(i)*100_000))
	}
	closed := 0
	for _, at := range []sluice.Millis{950_000, -86_400_000, 0, 1_150_000, 1_000_000, 86_400_000, 0} {
		s, err := b.Due.CloseDue(t.Context(), tradeStart+at, 0)
		if err != nil || s.Lag < 0 {
			t.Fatalf("at %d: %+v %v", at, s, err)
		}
		closed += s.Done
	}
	if closed != 10 {
		t.Fatalf("closed %d of 10", closed)
	}
	b.Down(t, true, tradeStart+100)
	b.Down(t, false, tradeStart-100) // the clock jumped back behind the stop
	b.Settle(t, b.claimAt(c, "v", 1, tradeStart))
	if s, err := b.Due.CloseDue(t.Context(), tradeStart+900_000, 0); err != nil || s.Done != 1 {
		t.Fatalf("after a stop of no length: %+v %v", s, err)
	}
	b.audit(t, c)
}

func (b *tradeTest) findOrders(t *testing.T) {
	one, two := b.campaign(t, nil), b.campaign(t, nil)
	var mine []sluice.ClaimID
	for i := range 20 {
		claim := b.claimAt([]sluice.Campaign{one, two}[i%2], "Alice", 1, tradeStart+sluice.Millis(i))
		b.Settle(t, claim)
		mine = append(mine, claim.ID)
		b.claim(t, one, "alice", 1)
	}
	for _, reference := range []string{"paid", "paid twice"} {
		if _, err := b.pay(reference, mine[3], 100); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(orders []sluice.Order) (all []sluice.ClaimID) {
		for _, o := range orders {
			all = append(all, o.ID)
		}
		return all
	}
	slices.Reverse(mine)
	if got := ids(b.allOrders(t, sluice.OrderQuery{User: "Alice"})); !slices.Equal(got, mine) {
		t.Fatalf("a wallet, newest first: %v, want %v", got, mine)
	}
	paid := mine[len(mine)-1-3]
	for what, q := range map[string]sluice.OrderQuery{
		"payment": {Payment: "paid"}, "state": {State: sluice.OrderPaid}, "id": {ID: paid},
		"state of a user": {User: "Alice", State: sluice.OrderPaid}, "state in a campaign": {Campaign: two.ID,
			State: sluice.OrderPaid},
	} {
		if got := ids(b.allOrders(t, q)); !slices.Equal(got, []sluice.ClaimID{paid}) {
			t.Fatalf("by %s: %v, want %v", what, got, paid)
		}
	}
	for what, q := range map[string]struct {
		sluice.OrderQuery
		n int
	}{
		"campaign": {sluice.OrderQuery{Campaign: one.ID}, 30}, "all": {sluice.OrderQuery{}, 40},
		"user in a campaign": {sluice.OrderQuery{User: "Alice", Campaign: two.ID}, 10},
		"no such payment":    {sluice.OrderQuery{Payment: "none"}, 0},
		"no such campaign":   {sluice.OrderQuery{Campaign: "none"}, 0},
		// The order of the payment is of the second campaign.
		"refund due":                     {sluice.OrderQuery{RefundDue: true}, 1},
		"refund due in its campaign":     {sluice.OrderQuery{RefundDue: true, Campaign: two.ID}, 1},
		"refund due in another campaign": {sluice.OrderQuery{RefundDue: true, Campaign: one.ID}, 0},
		"no such user":                   {sluice.OrderQuery{User: "bob"}, 0},
		"an order of somebody else":      {sluice.OrderQuery{User: "alice", ID: paid}, 0},
	} {
		if got := b.allOrders(t, q.OrderQuery); len(got) != q.n {
			t.Fatalf("by %s: %d orders, want %d", what, len(got), q.n)
		}
	}
	_, err := b.Orders.Orders(t.Context(), sluice.OrderQuery{Cursor: "soup"}, tradeStart)
	refused(t, "a cursor that is none", err, sluice.ErrInvalid, "")
}

// loadTests: their orders lie before, between and after those of the sales, and no page has one unless it is asked for.
func (b *tradeTest) loadTests(t *testing.T) {
	rehearsal := func(c *sluice.Campaign) { c.LoadTest = true }
	var sales, tests []sluice.ClaimID
	var sale, test sluice.Campaign
	for i, isTest := range []bool{true, false, true, true, false, false, true} {
		c := b.campaign(t, nil)
		if isTest {
			c = b.campaign(t, rehearsal)
		}
		for n := range 10 {
			claim := b.claimAt(c, "Alice", 1, tradeStart+sluice.Millis(10*i+n))
			b.Settle(t, claim)
			if isTest {
				test, tests = c, append(tests, claim.ID)
			} else {
				sale, sales = c, append(sales, claim.ID)
			}
		}
	}
	slices.Reverse(sales)
	late := []sluice.ClaimID{sales[0], tests[len(tests)-1]}
	for i, id := range late {
		for _, time := range []string{"once", "twice"} {
			if _, err := b.pay(fmt.Sprint(time, i), id, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, q := range map[string]struct {
		sluice.OrderQuery
		want []sluice.ClaimID
	}{
		"all":                    {sluice.OrderQuery{}, sales},
		"a user's":               {sluice.OrderQuery{User: "Alice"}, sales},
		"due for a refund":       {sluice.OrderQuery{RefundDue: true}, sales[:1]},
		"paid":                   {sluice.OrderQuery{State: sluice.OrderPaid}, sales[:1]},
		"an id":                  {sluice.OrderQuery{ID: late[1]}, late[1:]},
		"a payment":              {sluice.OrderQuery{Payment: "twice1"}, late[1:]},
		"due in its campaign":    {sluice.OrderQuery{RefundDue: true, Campaign: test.ID}, late[1:]},
		"due in another's":       {sluice.OrderQuery{RefundDue: true, Campaign: sale.ID}, late[:1]},
		"a user's of a campaign": {sluice.OrderQuery{User: "Bob", Campaign: test.ID}, nil},
	} {
		q.NoLoadTests = true
		var got []sluice.ClaimID
		for _, o := range b.allOrders(t, q.OrderQuery) {
			got = append(got, o.ID)
		}
		if !slices.Equal(got, q.want) {
			t.Errorf("%s: %d orders %v, want %d %v", what, len(got), got, len(q.want), q.want)
		}
	}
	if n := len(b.allOrders(t, sluice.OrderQuery{Campaign: test.ID, NoLoadTests: true})); n != 10 {
		t.Errorf("%d orders of a load test that is asked for, want 10", n)
	}
	if n := len(b.allOrders(t, sluice.OrderQuery{})); n != 70 {
		t.Errorf("%d orders of all, want 70", n)
	}
	if p, err := b.Orders.Orders(t.Context(), sluice.OrderQuery{NoLoadTests: true, Limit: 1000}, tradeStart); err != nil ||
		len(p.Items) != 30 || p.Next != "" {
		t.Errorf("in one page: %d orders, next %q, %v", len(p.Items), p.Next, err)
	}
}
