package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// OrderDesk serves operators. Steps may be repeated; who asked for them is put down in the audit log.
type OrderDesk interface {
	// Search gives a page of orders, newest first.
	Search(ctx context.Context, q sluice.OrderQuery) (sluice.Page[sluice.Order], error)
	// Get gives one order; ErrNotFound where there is none.
	Get(ctx context.Context, id sluice.ClaimID) (sluice.Order, error)
	// CancelFor ends an unpaid order; ErrConflict where it is paid or refunded.
	CancelFor(ctx context.Context, id sluice.ClaimID, by sluice.Actor) (sluice.Order, error)
	// Refund marks money as given back; ErrConflict where there is none on the order.
	Refund(ctx context.Context, id sluice.ClaimID, c sluice.RefundChoice, by sluice.Actor) (sluice.Order, error)
}

// PaymentBook lists payments as they came in.
type PaymentBook interface {
	Payments(ctx context.Context, q sluice.PaymentQuery) (sluice.Page[sluice.PaymentRecord], error)
}

// adminOrder is an order as operators see it.
type adminOrder struct {
	OrderBody
	UserID     string         `json:"user_id"`
	RequestID  string         `json:"request_id,omitempty"`
	Source     string         `json:"source" enum:"claim,grant"`
	Rejected   string         `json:"rejected,omitempty" doc:"Why a claim that was promised was not granted"`
	LiveUnits  int64          `json:"live_units" doc:"What it still takes from the stock"`
	LimitUnits int64          `json:"limit_units" doc:"What it still takes of the user's limit"`
	PaidAt     *time.Time     `json:"paid_at,omitempty"`
	ClosedAt   *time.Time     `json:"closed_at,omitempty"`
	Payments   []adminPayment `json:"payments,omitempty" doc:"With a single order: what came in for it, newest first"`
}

// adminPayment is a payment as it came in.
type adminPayment struct {
	Reference   string    `json:"reference"`
	OrderID     string    `json:"order_id" doc:"As it was sent"`
	AmountMinor int64     `json:"amount_minor"`
	Currency    string    `json:"currency"`
	Status      string    `json:"status"`
	Result      string    `json:"result" enum:"applied,refund_due,ignored,mismatch,unknown_order"`
	ReceivedAt  time.Time `json:"received_at"`
}

func adminOrderOf(o *sluice.Order) adminOrder {
	a := adminOrder{
		OrderBody: orderBodyOf(o), UserID: o.User, RequestID: o.RequestID, Source: o.Source.String(),
		LiveUnits: o.LiveUnits, LimitUnits: o.LimitUnits, PaidAt: timeOrNil(o.PaidAt), ClosedAt: timeOrNil(o.ClosedAt),
	}
	if o.Rejected != sluice.ReasonNone {
		a.Rejected = o.Rejected.String()
	}
	return a
}

func adminPaymentOf(r *sluice.PaymentRecord) adminPayment {
	order := r.OrderText
	if order == "" {
		order = r.Order.OrderID()
	}
	return adminPayment{
		Reference: r.Reference, OrderID: order, AmountMinor: r.AmountMinor, Currency: r.Currency, Status: r.Status,
		Result: string(r.Result), ReceivedAt: r.Received.Time(),
	}
}

// listOutput answers a page.
type listOutput[T any] struct {
	Body struct {
		Items      []T    `json:"items" nullable:"false"`
		NextCursor string `json:"next_cursor,omitempty"`
	}
}

// listOf makes the answer of a page; show turns each item into what is shown.
func listOf[T, S any](page sluice.Page[T], err error, show func(*T) S) (*listOutput[S], error) {
	if err != nil {
		return nil, problemOf(err)
	}
	out := &listOutput[S]{}
	out.Body.NextCursor, out.Body.Items = page.Next, answers(page.Items, show)
	return out, nil
}

type (
	orderOutput struct{ Body adminOrder }
	// OrderPath is exported because huma passes over what is embedded and is not.
	OrderPath struct {
		ID string `path:"id" maxLength:"64" doc:"An order id or the id of its claim"`
	}
	orderSearch struct {
		Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor    string `query:"cursor" maxLength:"256" doc:"next_cursor of the page before"`
		User      string `query:"user" maxLength:"64"`
		Order     string `query:"order" maxLength:"64" doc:"An order id"`
		Claim     string `query:"claim" maxLength:"64" doc:"A claim id"`
		Request   string `query:"request" maxLength:"128" doc:"A request id; quick together with user"`
		Campaign  string `query:"campaign" maxLength:"64"`
		Payment   string `query:"payment" maxLength:"128" doc:"The reference of a payment"`
		State     string `query:"state" enum:"unpaid,paid,closed,refunded,rejected"`
		RefundDue bool   `query:"refund_due" doc:"Only orders with money to give back"`
	}
	cancelInput struct {
		OrderPath
		Body *struct {
			Reason string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
	refundInput struct {
		OrderPath
		Body *struct {
			UnitBack  bool   `json:"unit_back,omitempty" doc:"The units return to the stock"`
			LimitBack bool   `json:"limit_back,omitempty" doc:"The user may buy again within the limit"`
			ExtraOnly bool   `json:"extra_only,omitempty" doc:"Only money that came late or twice; never the order itself"`
			Reason    string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
	paymentSearch struct {
		Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor    string `query:"cursor" maxLength:"256" doc:"next_cursor of the page before"`
		Reference string `query:"reference" maxLength:"128"`
		Order     string `query:"order" maxLength:"64" doc:"An order id"`
		Result    string `query:"result" enum:"applied,refund_due,ignored,mismatch,unknown_order"`
	}
)

// orderID reads an id of an order or of its claim; they are one row.
func orderID(s string) (sluice.ClaimID, error) {
	if id, ok := sluice.ParseOrderID(s); ok {
		return id, nil
	}
	if id, ok := sluice.ParseClaimID(s); ok {
		return id, nil
	}
	return sluice.ClaimID{}, newProblem(http.StatusNotFound, codeNotFound, "there is no such order")
}

// query turns the parameters into a query; false where an id cannot be one, so that nothing is found.
func (in *orderSearch) query() (q sluice.OrderQuery, ok bool) {
	q = sluice.OrderQuery{
		User: in.User, RequestID: in.Request, Campaign: in.Campaign, Payment: in.Payment,
		State: sluice.OrderState(in.State), RefundDue: in.RefundDue, NoLoadTests: true,
		Limit: in.Limit, Cursor: in.Cursor,
	}
	for _, text := range [...]string{in.Order, in.Claim} {
		if text == "" {
			continue
		}
		id, err := orderID(text)
		if err != nil || q.ID != (sluice.ClaimID{}) && q.ID != id {
			return q, false
		}
		q.ID = id
	}
	return q, true
}

// registerOrders adds what operators do with orders and payments.
func (a *Admin) registerOrders(api huma.API) {
	if desk := a.deps.Orders; desk != nil {
		a.registerOrderSearch(api, desk)
		a.registerOrderSteps(api, desk)
	}
	if book := a.deps.Payments; book != nil {
		huma.Register(api, op("GET", "/v1/admin/payments", "Search payments, newest first", sluice.RoleSupport),
			func(ctx context.Context, in *paymentSearch) (*listOutput[adminPayment], error) {
				q := sluice.PaymentQuery{
					Reference: in.Reference, Result: sluice.PaymentResult(in.Result), Limit: in.Limit, Cursor: in.Cursor,
				}
				if in.Order != "" {
					id, err := orderID(in.Order)
					if err != nil {
						return listOf(sluice.Page[sluice.PaymentRecord]{}, nil, adminPaymentOf)
					}
					q.Order = id
				}
				page, err := book.Payments(ctx, q)
				return listOf(page, err, adminPaymentOf)
			})
	}
}

func (a *Admin) registerOrderSearch(api huma.API, desk OrderDesk) {
	search := op("GET", "/v1/admin/orders", "Search orders, newest first", sluice.RoleSupport)
	search.Description += " A page may be short, even empty, and still have a next_cursor: a search that no index helps " +
		"looks at a bounded number of orders. Orders of load tests are among them where campaign, order, claim, request or " +
		"payment asks for them."
	huma.Register(api, search, func(ctx context.Context, in *orderSearch) (*listOutput[adminOrder], error) {
		q, ok := in.query()
		if !ok {
			return listOf(sluice.Page[sluice.Order]{}, nil, adminOrderOf)
		}
		page, err := desk.Search(ctx, q)
		return listOf(page, err, adminOrderOf)
	})
	huma.Register(api, op("GET", "/v1/admin/orders/{id}", "One order, with its payments", sluice.RoleSupport),
		func(ctx context.Context, in *OrderPath) (*orderOutput, error) {
			id, err := orderID(in.ID)
			if err != nil {
				return nil, err
			}
			o, err := desk.Get(ctx, id)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &orderOutput{Body: adminOrderOf(&o)}
			if a.deps.Payments != nil {
				page, err := a.deps.Payments.Payments(ctx, sluice.PaymentQuery{Order: id})
				if err != nil {
					return nil, problemOf(err)
				}
				for i := range page.Items {
					out.Body.Payments = append(out.Body.Payments, adminPaymentOf(&page.Items[i]))
				}
			}
			return out, nil
		})
}

func (a *Admin) registerOrderSteps(api huma.API, desk OrderDesk) {
	answer := func(o sluice.Order, err error) (*orderOutput, error) {
		if err != nil {
			return nil, problemOf(err)
		}
		return &orderOutput{Body: adminOrderOf(&o)}, nil
	}
	huma.Register(api, op("POST", "/v1/admin/orders/{id}/cancel", "Cancel an unpaid order", sluice.RoleSupport),
		func(ctx context.Context, in *cancelInput) (*orderOutput, error) {
			id, err := orderID(in.ID)
			if err != nil {
				return nil, err
			}
			by := actorOf(ctx)
			if in.Body != nil {
				by.Reason = in.Body.Reason
			}
			return answer(desk.CancelFor(ctx, id, by))
		})
	refund := op("POST", "/v1/admin/orders/{id}/refund", "Mark an order's money as given back", sluice.RoleSupport)
	refund.Description += " The shop moves the money; Sluice marks and announces it. Where money came late or twice, " +
		"the first refund is of that; extra_only never touches the order itself and is safe to repeat."
	huma.Register(api, refund, func(ctx context.Context, in *refundInput) (*orderOutput, error) {
		id, err := orderID(in.ID)
		if err != nil {
			return nil, err
		}
		var choice sluice.RefundChoice
		by := actorOf(ctx)
		if b := in.Body; b != nil {
			choice = sluice.RefundChoice{UnitBack: b.UnitBack, LimitBack: b.LimitBack, ExtraOnly: b.ExtraOnly}
			by.Reason = b.Reason
		}
		return answer(desk.Refund(ctx, id, choice, by))
	})
}
