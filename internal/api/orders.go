package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sluice-sale/sluice"
)

// Orders serves buyers and the payment side. Every call may be repeated.
type Orders interface {
	// Wallet gives a page of the user's orders, newest first.
	Wallet(ctx context.Context, user, cursor string, limit int) (sluice.Page[sluice.Order], error)
	// Cancel ends the user's own unpaid order; ErrNotFound for somebody else's.
	Cancel(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error)
	// PaySandbox pays the user's own order without money; ErrNotFound where that is off.
	PaySandbox(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error)
	// Notify takes a notification whose signature was verified. A payment that is refused was kept first.
	Notify(ctx context.Context, p sluice.Payment) (sluice.Order, error)
}

// OrderBody is an order as its owner and the payment side see it.
type OrderBody struct {
	ID          string     `json:"id"`
	ClaimID     string     `json:"claim_id"`
	CampaignID  string     `json:"campaign_id"`
	Quantity    int        `json:"quantity"`
	AmountMinor int64      `json:"amount_minor" doc:"For the whole quantity, in minor units of the currency"`
	Currency    string     `json:"currency"`
	State       string     `json:"state" enum:"unpaid,paid,closed,refunded"`
	CloseReason string     `json:"close_reason,omitempty" enum:"expired,cancelled"`
	RefundDue   bool       `json:"refund_due" doc:"Money came after the close, or twice, and has not gone back"`
	RefundedAt  *time.Time `json:"refunded_at,omitempty"`
	ExpiresAt   time.Time  `json:"expires_at" doc:"Until when it can be paid; moves on while payments are down"`
	CreatedAt   time.Time  `json:"created_at"`
}

func orderBodyOf(o *sluice.Order) OrderBody {
	return OrderBody{
		ID: o.ID.OrderID(), ClaimID: o.ID.String(), CampaignID: o.Campaign, Quantity: o.Quantity,
		AmountMinor: o.AmountMinor, Currency: o.Currency, State: string(o.State), CloseReason: string(o.CloseReason),
		RefundDue: o.RefundDue, RefundedAt: timeOrNil(o.RefundedAt), ExpiresAt: o.ExpiresAt.Time(),
		CreatedAt: o.CreatedAt.Time(),
	}
}

// timeOrNil gives nil for "not yet".
func timeOrNil(m sluice.Millis) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}

// emptyBody is the body of a step without fields; it may be left out.
type emptyBody struct{}

type orderPage struct {
	Items      []OrderBody `json:"items" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// notificationBody is what the payment side sends.
type notificationBody struct {
	Reference   string `json:"reference" minLength:"1" maxLength:"128" doc:"Names the payment for good"`
	OrderID     string `json:"order_id" minLength:"1" maxLength:"128"`
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency" minLength:"1" maxLength:"16"`
	Status      string `json:"status" minLength:"1" maxLength:"64" doc:"succeeded; anything else is only recorded"`
}

func orderRoutes() []route {
	conflict := []int{http.StatusConflict, http.StatusServiceUnavailable}
	return []route{
		{
			method: "GET", path: "/v1/me/orders", auth: authBuyer, lane: laneList, handle: (*Public).ownOrders,
			doc: opDoc{
				summary: "The caller's orders, newest first", tag: "Orders", response: orderPage{}, query: pageDocs(),
			},
		},
		{
			method: "POST", path: "/v1/orders/{id}/cancel", auth: authBuyer, handle: (*Public).cancelOrder,
			doc: opDoc{
				summary: "Cancel an unpaid order", tag: "Orders", request: emptyBody{}, optionalBody: true,
				response: OrderBody{}, problems: conflict,
				detail: "To its owner only. Cancelling a closed order changes nothing.",
			},
		},
		{
			method: "POST", path: "/v1/orders/{id}/pay", auth: authBuyer, handle: (*Public).payOrder,
			doc: opDoc{
				summary: "Pay an order in the sandbox", tag: "Orders", request: emptyBody{}, optionalBody: true,
				response: OrderBody{}, problems: conflict,
				detail: "Only where the sandbox provider is on; no money moves. Paying a paid order changes nothing.",
			},
		},
		{
			method: "POST", path: "/v1/payments/notifications", auth: authPayment, handle: (*Public).notifyPayment,
			doc: opDoc{
				summary: "Tell of a payment", tag: "Payments", request: notificationBody{}, response: OrderBody{},
				problems: append(conflict, http.StatusNotFound),
				detail: "Idempotent by reference. Money that comes after the close or twice is kept as refund_due. A wrong " +
					"amount or currency (409) and an unknown order (404) are refused and kept for a person.",
			},
		},
	}
}

// noDesk answers that a part is not there; it says whether it did.
func (c *call) noDesk(missing bool, what string) bool {
	if missing {
		c.problem(newProblem(http.StatusServiceUnavailable, codeUnavailable, what+" are not set up"))
	}
	return missing
}

func (p *Public) ownOrders(c *call) {
	if c.noDesk(p.deps.Orders == nil, "orders") {
		return
	}
	limit, cursor, err := c.page()
	if err != nil {
		c.problem(err)
		return
	}
	page, err := p.deps.Orders.Wallet(c.context(), c.identity.User, cursor, limit)
	if err != nil {
		c.problem(err)
		return
	}
	out := orderPage{Items: answers(page.Items, orderBodyOf), NextCursor: page.Next}
	c.json(http.StatusOK, out)
}

func (p *Public) cancelOrder(c *call) {
	if c.noDesk(p.deps.Orders == nil, "orders") {
		return
	}
	c.stepOrder(p.deps.Orders.Cancel)
}

func (p *Public) payOrder(c *call) {
	if c.noDesk(p.deps.Orders == nil, "orders") {
		return
	}
	c.stepOrder(p.deps.Orders.PaySandbox)
}

// stepOrder is one step of a buyer on an order. The steps have no fields: a body other than {} is a mistake.
func (c *call) stepOrder(step func(ctx context.Context, user string, id sluice.ClaimID) (sluice.Order, error)) {
	if len(c.ctx.Request.Body()) > 0 {
		if err := c.decode(&emptyBody{}); err != nil {
			c.problem(err)
			return
		}
	}
	id, ok := sluice.ParseOrderID(c.param("id"))
	if !ok {
		c.problem(newProblem(http.StatusNotFound, codeNotFound, "there is no such order"))
		return
	}
	c.order(step(c.context(), c.identity.User, id))
}

func (c *call) order(o sluice.Order, err error) {
	if err != nil {
		c.problem(err)
		return
	}
	c.json(http.StatusOK, orderBodyOf(&o))
}

func (p *Public) notifyPayment(c *call) {
	if c.noDesk(p.deps.Orders == nil, "orders") {
		return
	}
	var body notificationBody
	if err := c.decode(&body); err != nil {
		c.problem(err)
		return
	}
	payment := sluice.Payment{
		Reference: body.Reference, AmountMinor: body.AmountMinor, Currency: body.Currency, Status: body.Status,
	}
	var ok bool
	if payment.Order, ok = sluice.ParseOrderID(body.OrderID); !ok {
		payment.OrderText = body.OrderID // money for what is no order is kept as well
	}
	c.order(p.deps.Orders.Notify(c.context(), payment))
}
