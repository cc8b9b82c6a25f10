package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-sale/sluice"
)

// Settling where several writers share the database. The transaction locks the campaigns of its batch, reads with
// one statement which of the claims are there and what their users have used of the limits, decides in memory, in
// the order of the batch, and writes all rows of a table with one statement. Whoever settles a campaign has its
// lock, so that what was read stays so; campaigns of one limit group share the lock of the group's first campaign
// as well. Locks are taken in the order of the campaigns' numbers.

// errCareful means that the database refused a row of a statement that holds many. The batch begins again from the
// start, with a statement for each claim.
var errCareful = errors.New("sqldb: a row of the batch was refused")

// settleMany settles claims; refuse says that one which does not fit leaves no row.
func (db *DB) settleMany(ctx context.Context, claims []sluice.Claim, out []sluice.Outcome, refuse bool) error {
	careful := false
	for {
		err := db.writeAgain(ctx, laneClaims, func(t *tx) error {
			clear(out)
			return t.settleMany(&batch{t: t, claims: claims, out: out, refuse: refuse, careful: careful})
		})
		if !errors.Is(err, errCareful) || careful {
			return err
		}
		careful = true
	}
}

// batch is what one transaction settles.
type batch struct {
	t       *tx
	claims  []sluice.Claim
	out     []sluice.Outcome
	refuse  bool
	careful bool

	sales []*sale // by number
	used  map[spender]int64
	known map[sluice.ClaimID]knownClaim
}

// spender is a user under a limit.
type spender struct {
	limitNo int64
	user    string
}

// knownClaim is a claim that the ledger has.
type knownClaim struct {
	user     string
	quantity int64
	campaign int64
	live     int64
	reason   sluice.Reason
	codes    []string
}

// outcome gives the answer to c, which has the id of the claim that is known.
func (k *knownClaim) outcome(c *sluice.Claim, no int64) sluice.Outcome {
	if k.user != c.User || k.quantity != int64(c.Quantity) || k.campaign != no {
		return sluice.Outcome{Reason: sluice.ReasonRequestIDReused}
	}
	return sluice.Outcome{
		Reason: k.reason, State: recordedState(k.reason, k.live), Replayed: true, CouponCodes: k.codes,
	}
}

// sale is one campaign of a batch, under its lock.
type sale struct {
	place
	id    string
	limit int64 // per user
	epoch int64
	stock sluice.Stock // as it will be after this batch
	rows  int64        // ever written
	terms terms
	clock sluice.PaymentClock

	claims []int // of the batch
	seen   int64 // rows that were written when the batch read what is there

	leased bool // some node says SOLD_OUT by itself

	held, sold, wrote int64  // changes
	settled           int64  // units that leave "queued"
	ids               []byte // of the confirmed claims
	at                sluice.Millis
	values            []any // of rows to be written
}

// place is what of a campaign never changes.
type place struct {
	no      int64
	limitNo int64
	group   bool // its limit counts orders and coupons
	kind    sluice.Kind
}

func (t *tx) settleMany(b *batch) error {
	t.claims = len(b.claims)
	b.used, b.known = map[spender]int64{}, map[sluice.ClaimID]knownClaim{}
	if err := b.find(); err != nil {
		return err
	}
	if err := b.read(); err != nil {
		return err
	}
	for _, s := range b.sales {
		t.touch(s.id)
		for _, i := range s.claims {
			var err error
			if b.out[i], err = b.one(s, &b.claims[i]); err != nil {
				return err
			}
		}
		if err := b.close(s); err != nil {
			if myPoison(err) && !b.careful {
				return errCareful
			}
			return err
		}
	}
	return nil
}

// find finds the batch's campaigns.
func (b *batch) find() error {
	groups := groupClaims(b.claims)
	ids := make([]string, len(groups))
	for i, g := range groups {
		ids[i] = b.claims[g[0]].Campaign
	}
	places, err := b.t.places(ids)
	if err != nil {
		return err
	}
	for i, g := range groups {
		p, ok := places[ids[i]]
		if !ok {
			for _, n := range g {
				b.out[n] = sluice.Outcome{Reason: sluice.ReasonUnknownCampaign}
			}
			continue
		}
		b.sales = append(b.sales, &sale{place: p, id: ids[i], claims: g})
	}
	slices.SortFunc(b.sales, func(x, y *sale) int { return int(x.no - y.no) })
	return nil
}

// lock takes the locks of the batch's campaigns.
func (b *batch) lock() error {
	locks := map[int64]*sale{}
	for _, s := range b.sales {
		locks[s.no] = s
		if locks[s.limitNo] == nil {
			locks[s.limitNo] = nil // the group's first campaign, which need not be in the batch
		}
	}
	nos := make([]int64, 0, len(locks))
	for no := range locks {
		nos = append(nos, no)
	}
	slices.Sort(nos)
	for _, no := range nos {
		s := locks[no]
		if s == nil {
			s = &sale{place: place{no: no}}
		}
		if err := s.lock(b.t); err != nil {
			return err
		}
	}
	if b.refuse {
		return b.leases()
	}
	return nil
}

// places gives where campaigns are, without those that are not there.
func (t *tx) places(ids []string) (map[string]place, error) {
	found := map[string]place{}
	var ask []any
	for _, id := range ids {
		if p, ok := t.db.places.Load(id); ok {
			found[id] = p.(place)
		} else {
			ask = append(ask, id)
		}
	}
	if len(ask) == 0 {
		return found, nil
	}
	rows, err := t.conn.QueryContext(t.ctx, `SELECT id, no, limit_no, limit_group <> '', kind FROM campaigns
		WHERE id IN (`+questionMarks(len(ask))+`)`, ask...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		var p place
		if err := rows.Scan(&id, &p.no, &p.limitNo, &p.group, &p.kind); err != nil {
			return nil, err
		}
		found[id] = p
		t.db.places.Store(id, p)
	}
	return found, rows.Err()
}

// lockSale takes a campaign's lock and reads it as it is then, with the payment clock, whose row is not locked.
const lockSale = `SELECT id, per_user_limit, epoch, total, held, sold, claims, terms,
	(SELECT stopped_ms FROM payment_clock WHERE one = 1), (SELECT since_ms FROM payment_clock WHERE one = 1)
	FROM campaigns WHERE no = ? FOR UPDATE`

// lock takes the campaign's lock.
func (s *sale) lock(t *tx) error {
	rows, err := t.rows(lockSale, s.no)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return cmp.Or(rows.Err(), error(sluice.ErrNotFound))
	}
	return s.locked(t, rows)
}

// locked takes down the campaign's row as lockSale reads it.
func (s *sale) locked(t *tx, row scanner) error {
	var text, id string
	err := row.Scan(&id, &s.limit, &s.epoch, &s.stock.Total, &s.stock.Held, &s.stock.Sold, &s.rows, &text,
		&s.clock.Stopped, &s.clock.Since)
	if err != nil {
		return fmt.Errorf("sqldb: campaign no. %d: %w", s.no, err)
	}
	if s.id == "" {
		return nil
	}
	if id != s.id { // another database stands where this one stood
		t.db.places.Clear()
		return errMoved
	}
	s.terms, err = t.db.termsOf(text)
	return err
}

// one decides on one claim.
func (b *batch) one(s *sale, c *sluice.Claim) (sluice.Outcome, error) {
	if !writable(s.kind, c) {
		return b.failAlone(s, c), nil
	}
	if k, ok := b.known[c.ID]; ok {
		return k.outcome(c, s.no), nil
	}
	q, who := int64(c.Quantity), spender{s.limitNo, c.User}
	s.at = max(s.at, c.At)
	why := sluice.ReasonConfirmed
	switch {
	case b.used[who]+q > s.limit:
		why = sluice.ReasonLimitReached
	case s.stock.Free() < q || s.leased:
		why = sluice.ReasonSoldOut
	}
	if b.refuse && why != sluice.ReasonConfirmed {
		return sluice.Outcome{Reason: why}, nil
	}
	was := *s
	if s.kind == sluice.KindGoods {
		s.addOrder(c, why)
	} else {
		s.addCoupons(c, why)
	}
	if b.careful {
		if err := b.insert(s); err != nil {
			if !myPoison(err) {
				return sluice.Outcome{}, err
			}
			*s = was
			return b.refused(s, c, err)
		}
	}
	s.settled += q
	k := knownClaim{user: c.User, quantity: q, campaign: s.no, reason: why}
	if why != sluice.ReasonConfirmed {
		b.known[c.ID] = k
		b.t.release(s.id, c.ID, sluice.Effects{ReleaseUnits: q, ReleaseLimit: q})
		return sluice.Outcome{Reason: why, State: sluice.ClaimRejected}, nil
	}
	k.live, k.codes = q, c.CouponCodes
	b.known[c.ID] = k
	b.used[who] += q
	s.ids = append(s.ids, c.ID[:]...)
	if b.t.db.cfg.Remote && c.Epoch < s.epoch { // its permit has not heard of it, or has been armed without it
		b.t.take(s.id, c.ID, q, q)
	}
	return sluice.Outcome{Reason: why, State: sluice.ClaimConfirmed, CouponCodes: c.CouponCodes}, nil
}

// failAlone answers a claim that leaves no row. A permit in this process gets back what it had taken. One elsewhere
// does not: its claim is tried again, and the units of a claim that might be settled yet are not given to anybody;
// they go back when it is discarded, together with a row that says so.
func (b *batch) failAlone(s *sale, c *sluice.Claim) sluice.Outcome {
	if q := max(0, int64(c.Quantity)); !b.refuse && !b.t.db.cfg.Remote {
		s.settled += q
		b.t.release(s.id, c.ID, sluice.Effects{ReleaseUnits: q, ReleaseLimit: q})
	}
	return sluice.Outcome{Reason: sluice.ReasonUnavailable}
}

// refused deals with a claim whose rows the database did not take: its id is there already, under another limit or
// campaign, or the rows can never be written.
func (b *batch) refused(s *sale, c *sluice.Claim, why error) (sluice.Outcome, error) {
	table := "orders"
	if s.kind == sluice.KindCoupon {
		table = "coupons"
	}
	var no int64
	err := b.t.row(`SELECT campaign_no FROM `+table+` WHERE claim_id = ? LIMIT 1`, []any{c.ID[:]}, &no)
	switch {
	case err == nil:
		return sluice.Outcome{Reason: sluice.ReasonRequestIDReused}, nil
	case !errors.Is(err, sluice.ErrNotFound):
		return sluice.Outcome{}, err
	}
	b.t.db.log.Error("a claim cannot be written", "claim", c.ID.String(), "campaign", s.id, "err", why)
	return b.failAlone(s, c), nil
}

// The columns of the rows that settling writes.
const (
	orderInto = `INSERT INTO orders (seq, claim_id, limit_no, user_id, request_id, source, quantity, amount_minor, state,
		live_units, limit_units, epoch, created_ms, due_ms, paid_ms, rejected) VALUES `
	orderValues = 16

	couponInto = `INSERT INTO coupons (seq, claim_id, limit_no, user_id, request_id, source, quantity, n, code, state,
		live_units, limit_units, epoch, created_ms, valid_from_ms, valid_until_ms, rejected) VALUES `
	couponValues = 17
)

// nextSeq is that of the next row.
func (s *sale) nextSeq() int64 {
	s.wrote++
	return s.no<<32 | (s.rows + s.wrote)
}

func (s *sale) addOrder(c *sluice.Claim, why sluice.Reason) {
	if why != sluice.ReasonConfirmed {
		s.values = append(s.values, s.nextSeq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source),
			int64(c.Quantity), int64(0), string(sluice.OrderRejected), int64(0), int64(0), c.Epoch, int64(c.At), int64(0), nil,
			why.String())
		return
	}
	o, e := sluice.NewOrder(*c, s.terms.Goods, s.clock)
	var paid any
	if o.PaidAt != 0 {
		paid = int64(o.PaidAt)
	}
	q := int64(c.Quantity)
	s.values = append(s.values, s.nextSeq(), c.ID[:], s.limitNo, c.User, nullText(c.RequestID), int64(c.Source), q,
		o.AmountMinor, string(o.State), q, q, c.Epoch, int64(c.At), int64(o.DueAt), paid, nil)
	s.held, s.sold = s.held+e.Held, s.sold+e.Sold
	s.stock.Held, s.stock.Sold = s.stock.Held+e.Held, s.stock.Sold+e.Sold
}
