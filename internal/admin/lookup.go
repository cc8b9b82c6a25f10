package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of one lookup.
const (
	lookupRows = 500 // of each list
	lookupDeep = 50  // orders and coupons whose payments and audit rows are looked up
)

// LookupLedger finds what is kept of a person or thing.
type LookupLedger interface {
	Orders(ctx context.Context, q sluice.OrderQuery, now sluice.Millis) (sluice.Page[sluice.Order], error)
	Coupons(ctx context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error)
	Payments(ctx context.Context, q sluice.PaymentQuery) (sluice.Page[sluice.PaymentRecord], error)
	BlocksPage(ctx context.Context, scope sluice.BlockScope, value, after string, now sluice.Millis,
		limit int) ([]sluice.Block, error)
	Audit(ctx context.Context, q sluice.AuditQuery) ([]sluice.AuditEntry, error)
}

// LookupConfig puts the lookup together. Ledger is required.
type LookupConfig struct {
	Ledger LookupLedger
	// Decisions finds what the gate decided about q, refusals too, as far as a log of it is kept; nil: none is.
	Decisions func(ctx context.Context, q string) ([]sluice.TimelineEntry, error)
	// Fired reads what risk rules did; nil: there are none.
	Fired func(ctx context.Context, q sluice.RiskFiredQuery) (sluice.Page[sluice.RiskFired], error)
	Now   func() time.Time // default time.Now
}

// Lookup answers "why did this person not get one?": everything about one person or thing, in the order of time.
type Lookup struct{ cfg LookupConfig }

// NewLookup makes the lookup.
func NewLookup(cfg LookupConfig) *Lookup {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Lookup{cfg: cfg}
}

// Lookup tells everything about q: a claim id, an order id, a coupon code, the reference of a block or of what a risk
// rule did, a user id, a device, an address, the reference of a payment or a request id. An empty list means that
// nothing is known of it: refusals are recorded in the decision log only, where it is on.
func (d *Lookup) Lookup(ctx context.Context, q string) ([]sluice.TimelineEntry, error) {
	s := &search{ctx: ctx, ledger: d.cfg.Ledger, rules: d.cfg.Fired, now: sluice.MillisOf(d.cfg.Now())}
	id, isClaim := sluice.ParseClaimID(q)
	if !isClaim {
		id, isClaim = sluice.ParseOrderID(q)
	}
	code, isCode := sluice.ParseCouponCode(q)
	switch {
	case isClaim:
		s.orders(sluice.OrderQuery{ID: id})
		s.coupons(sluice.CouponQuery{ID: id})
	case isCode:
		s.coupons(sluice.CouponQuery{Code: code})
	case strings.HasPrefix(q, "blk_"):
		s.audit("block/" + q)
	case strings.HasPrefix(q, "rsk_"):
		s.fired(sluice.RiskFiredQuery{ID: q})
		s.audit("risk_fired/" + q)
	default:
		s.anything(q)
	}
	if d.cfg.Decisions != nil && s.err == nil {
		var decided []sluice.TimelineEntry
		decided, s.err = d.cfg.Decisions(ctx, q)
		s.found = append(s.found, decided...)
	}
	if s.err != nil {
		return nil, fmt.Errorf("admin: lookup: %w", s.err)
	}
	slices.SortStableFunc(s.found, func(a, b sluice.TimelineEntry) int { return cmp.Compare(a.At, b.At) })
	return s.found, nil
}

// search gathers what is found; after its first error it finds nothing more.
type search struct {
	ctx    context.Context
	ledger LookupLedger
	rules  func(ctx context.Context, q sluice.RiskFiredQuery) (sluice.Page[sluice.RiskFired], error)
	now    sluice.Millis
	found  []sluice.TimelineEntry
	err    error
}

// anything looks for a word that says nothing of its kind. Requests come last, and only where nothing else was
// found: no index serves them.
func (s *search) anything(q string) {
	if len(q) <= sluice.MaxUserID {
		s.orders(sluice.OrderQuery{User: q})
		s.coupons(sluice.CouponQuery{User: q})
	}
	for _, scope := range []sluice.BlockScope{sluice.BlockUser, sluice.BlockDevice, sluice.BlockAddress} {
		value := q
		if scope == sluice.BlockAddress {
			p, err := prefixOf(q)
			if err != nil {
				continue
			}
			value = p
		}
		s.blocks(scope, value)
	}
	s.fired(sluice.RiskFiredQuery{Value: q})
	s.orders(sluice.OrderQuery{Payment: q})
	if len(s.found) == 0 {
		s.orders(sluice.OrderQuery{RequestID: q})
		s.coupons(sluice.CouponQuery{RequestID: q})
	}
}

// add notes one thing that happened; at 0 it did not.
func (s *search) add(at sluice.Millis, typ, campaign, subject string, data map[string]any) {
	if at == 0 || s.err != nil {
		return
	}
	e := sluice.TimelineEntry{At: at, Type: typ, Campaign: campaign, Subject: subject}
	if data != nil {
		e.Data, s.err = json.Marshal(data)
	}
	s.found = append(s.found, e)
}

// failed keeps an error, but for that of a thing that is not there.
func (s *search) failed(err error) bool {
	if err != nil && !errors.Is(err, sluice.ErrNotFound) {
		s.err = cmp.Or(s.err, err)
	}
	return err != nil
}

func (s *search) orders(q sluice.OrderQuery) {
	if s.err != nil {
		return
	}
	q.Limit = lookupRows
	page, err := s.ledger.Orders(s.ctx, q, s.now)
	if s.failed(err) {
		return
	}
	for i := range page.Items {
		o := &page.Items[i]
		s.order(o)
		if i < lookupDeep {
			s.payments(o)
			s.audit("order/" + o.ID.OrderID())
		}
	}
}

func (s *search) order(o *sluice.Order) {
	id := o.ID.OrderID()
	facts := map[string]any{"user_id": o.User, "quantity": o.Quantity, "claim_id": o.ID.String(),
		"source": o.Source.String(), "state": o.State}
	if o.RequestID != "" {
		facts["request_id"] = o.RequestID
	}
	if o.State == sluice.OrderRejected {
		facts["code"] = o.Rejected.String()
		s.add(o.CreatedAt, "claim.rejected", o.Campaign, o.ID.String(), facts)
		return
	}
	facts["amount_minor"], facts["currency"] = o.AmountMinor, o.Currency
	s.add(o.CreatedAt, "order.created", o.Campaign, id, facts)
	s.add(o.PaidAt, "order.paid", o.Campaign, id, nil)
	s.add(o.ClosedAt, "order.closed", o.Campaign, id, map[string]any{"close_reason": o.CloseReason})
	s.add(o.RefundedAt, "order.refunded", o.Campaign, id, map[string]any{"refund_due": o.RefundDue})
}

func (s *search) payments(o *sluice.Order) {
	if s.err != nil {
		return
	}
	page, err := s.ledger.Payments(s.ctx, sluice.PaymentQuery{Order: o.ID, Limit: lookupRows})
	if s.failed(err) {
		return
	}
	for _, p := range page.Items {
		s.add(p.Received, "payment", o.Campaign, o.ID.OrderID(), map[string]any{"reference": p.Reference,
			"amount_minor": p.AmountMinor, "currency": p.Currency, "status": p.Status, "result": p.Result})
	}
}

func (s *search) coupons(q sluice.CouponQuery) {
	if s.err != nil {
		return
	}
	q.Limit, q.At = lookupRows, s.now
	page, err := s.ledger.Coupons(s.ctx, q)
	if s.failed(err) {
		return
	}
	for i := range page.Items {
		c := &page.Items[i]
		facts := map[string]any{"user_id": c.User, "claim_id": c.ID.String(), "source": c.Source.String(), "state": c.State}
		if c.RequestID != "" {
			facts["request_id"] = c.RequestID
		}
		if c.State == sluice.CouponRejected {
			facts["code"] = c.Rejected.String()
			s.add(c.CreatedAt, "claim.rejected", c.Campaign, c.ID.String(), facts)
			continue
		}
		facts["valid_until_ms"] = c.ValidUntil
		code := sluice.FormatCouponCode(c.Code)
		s.add(c.CreatedAt, "coupon.issued", c.Campaign, code, facts)
		s.add(c.RedeemedAt, "coupon.redeemed", c.Campaign, code, map[string]any{"merchant_id": c.RedeemBy,
			"reference": c.RedeemRef, "spend_minor": c.Spend, "discount_minor": c.Discount})
		s.add(c.EndedAt, "coupon."+string(c.State), c.Campaign, code, nil)
		if c.N == 0 && i < lookupDeep {
			s.audit("coupon/" + c.ID.String())
		}
	}
}

func (s *search) blocks(scope sluice.BlockScope, value string) {
	if s.err != nil {
		return
	}
	list, err := s.ledger.BlocksPage(s.ctx, scope, value, "", s.now, lookupRows)
	if s.failed(err) {
		return
	}
	for _, b := range list {
		s.add(b.CreatedAt, "block", "", b.ID, map[string]any{"scope": b.Scope, "value": b.Value, "reason": b.Reason,
			"author": b.Author, "expires_at_ms": b.ExpiresAt})
	}
}

// fired finds what risk rules did, or in a dry run would have done.
func (s *search) fired(q sluice.RiskFiredQuery) {
	if s.err != nil || s.rules == nil {
		return
	}
	q.Limit = sluice.MaxPage
	page, err := s.rules(s.ctx, q)
	if s.failed(err) {
		return
	}
	for i := range page.Items {
		f := &page.Items[i]
		s.add(f.At, "rule.fired", f.Campaign, f.ID, map[string]any{"rule": f.Rule, "mode": f.Mode, "action": f.Action,
			"scope": f.Scope, "value": f.Value, "saw": f.Saw, "until_ms": f.Until, "count": f.Count})
		s.add(f.LiftedAt, "rule.lifted", f.Campaign, f.ID, map[string]any{"by": f.LiftedBy})
	}
}

func (s *search) audit(object string) {
	if s.err != nil {
		return
	}
	rows, err := s.ledger.Audit(s.ctx, sluice.AuditQuery{Object: object, Limit: lookupRows})
	if s.failed(err) {
		return
	}
	for _, e := range rows {
		s.add(e.At, "audit", "", e.Object, map[string]any{"action": e.Action, "actor": e.Actor.Name, "reason": e.Actor.Reason,
			"before": e.Before, "after": e.After})
	}
}
