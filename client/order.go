package client

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// Order is one of the caller's orders. Amounts are in minor units of Currency.
type Order struct {
	ID          string             `json:"id"`
	ClaimID     string             `json:"claim_id"`
	CampaignID  string             `json:"campaign_id"`
	Quantity    int                `json:"quantity"`
	AmountMinor int64              `json:"amount_minor"`
	Currency    string             `json:"currency"`
	State       sluice.OrderState  `json:"state"`
	CloseReason sluice.CloseReason `json:"close_reason"`
	RefundDue   bool               `json:"refund_due"` // money came after the close, or twice
	RefundedAt  *time.Time         `json:"refunded_at"`
	ExpiresAt   time.Time          `json:"expires_at"` // moves while payments are marked down
	CreatedAt   time.Time          `json:"created_at"`
}

// MyOrders iterates over the caller's orders. An error ends the iteration.
func (c *Client) MyOrders(ctx context.Context) iter.Seq2[Order, error] {
	return pages[Order](ctx, c, "/v1/me/orders")
}

// CancelOrder closes an unpaid order of the caller. Cancelling a closed order changes nothing; a paid one is an
// sluice.ErrConflict.
func (c *Client) CancelOrder(ctx context.Context, orderID string) (*Order, error) {
	return c.order(ctx, orderID, "cancel")
}

// PayOrder pays an order in full by the sandbox provider, which is there for tests and demonstrations; a server without
// it answers sluice.ErrNotFound. Paying a paid order changes nothing; a closed one is an sluice.ErrConflict.
func (c *Client) PayOrder(ctx context.Context, orderID string) (*Order, error) {
	return c.order(ctx, orderID, "pay")
}

func (c *Client) order(ctx context.Context, id, verb string) (*Order, error) {
	var o Order
	k := call{method: http.MethodPost, path: "/v1/orders/" + url.PathEscape(id) + "/" + verb}
	if err := c.repeat(ctx, k, &o); err != nil {
		return nil, err
	}
	return &o, nil
}

// Payment is what the payment side tells of one payment. Reference names it for good, 1 to 128 bytes.
type Payment struct {
	Reference   string `json:"reference"`
	OrderID     string `json:"order_id"`
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
	Status      string `json:"status"` // "succeeded"; anything else is recorded and changes nothing
}

// signatureHeader carries the payment side's signature.
const signatureHeader = "Sluice-Signature"

// SignNotification gives the value of the header Sluice-Signature for body, as it goes out, at the moment at. The
// server takes signatures up to five minutes old.
func SignNotification(secret, body []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// NotifyPayment tells the server of a payment, signed with secret, and gives the order as it is then. Telling it again
// changes nothing: the call is repeated where its answer is lost. Order.RefundDue says that the money has to go back.
func (c *Client) NotifyPayment(ctx context.Context, secret []byte, p Payment) (*Order, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var o Order
	k := call{
		method: http.MethodPost, path: "/v1/payments/notifications", body: json.RawMessage(body),
		sign: func(h http.Header) { h.Set(signatureHeader, SignNotification(secret, body, time.Now())) },
	}
	if err := c.repeat(ctx, k, &o); err != nil {
		return nil, err
	}
	return &o, nil
}
