package e2e_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestSDKOrders walks the SDK's calls of orders and payments against the real server.
func TestSDKOrders(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 10, 5, nil))
	alice := sdk(s, "alice")
	var orders []string
	for range 3 {
		claim, err := alice.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil || !claim.Won() {
			t.Fatalf("claim %+v, %v", claim, err)
		}
		orders = append(orders, claim.OrderID)
	}
	if o, err := alice.CancelOrder(t.Context(), orders[0]); err != nil || o.CloseReason != sluice.CloseCancelled {
		t.Errorf("cancelled: %+v, %v", o, err)
	}
	if o, err := alice.PayOrder(t.Context(), orders[1]); err != nil || o.State != sluice.OrderPaid {
		t.Errorf("paid in the sandbox: %+v, %v", o, err)
	}
	if _, err := alice.CancelOrder(t.Context(), orders[1]); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("cancelled a paid order: %v", err)
	}
	if _, err := sdk(s, "bob").PayOrder(t.Context(), orders[2]); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("paid another's order: %v", err)
	}
	pay := client.Payment{Reference: "psp-1", OrderID: orders[2], AmountMinor: 9900, Currency: "CNY", Status: "succeeded"}
	shop := client.New(s.URL, nil)
	if _, err := shop.NotifyPayment(t.Context(), []byte("not-the-secret"), pay); !refused(err, 401) {
		t.Errorf("signed with another secret: %v", err)
	}
	for range 2 {
		o, err := shop.NotifyPayment(t.Context(), []byte(e2e.PaymentSecret), pay)
		if err != nil || o.State != sluice.OrderPaid || o.RefundDue {
			t.Errorf("notified: %+v, %v", o, err)
		}
	}
	late := client.Payment{Reference: "psp-2", OrderID: orders[0], AmountMinor: 9900, Currency: "CNY", Status: "succeeded"}
	if o, err := shop.NotifyPayment(t.Context(), []byte(e2e.PaymentSecret), late); err != nil || !o.RefundDue {
		t.Errorf("paid after the close: %+v, %v", o, err)
	}
	states := map[sluice.OrderState]int{}
	for o, err := range alice.MyOrders(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		states[o.State]++
	}
	if states[sluice.OrderClosed] != 1 || states[sluice.OrderPaid] != 2 {
		t.Errorf("the wallet holds %v", states)
	}
	s.Verify(t, "spring")
}

// TestSDKCoupons walks the SDK's calls of coupons against the real server.
func TestSDKCoupons(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Coupons("ten-off", 10, 2, nil))
	alice := sdk(s, "alice")
	claim, err := alice.Claim(t.Context(), "ten-off", client.ClaimOptions{Quantity: 2})
	if err != nil || !claim.Won() || len(claim.CouponCodes) != 2 || claim.CouponCodes[0] != claim.CouponCode {
		t.Fatalf("claim %+v, %v", claim, err)
	}
	var key struct {
		Key string `json:"key"`
	}
	s.Admin(t, "POST", "/v1/admin/api-keys",
		map[string]any{"role": "merchant", "name": "till", "merchant_id": "m1"}, 201).Into(t, &key)
	till, code := client.New(s.URL, client.StaticToken(key.Key)), claim.CouponCode

	if r, err := till.LockCoupon(t.Context(), code, "buy-1", time.Minute); err != nil || r.LockedUntil == nil {
		t.Errorf("locked: %+v, %v", r, err)
	}
	if _, err := till.RedeemCoupon(t.Context(), code, "buy-2", 8800); problemCode(err) != "COUPON_LOCKED" {
		t.Errorf("redeemed for another purchase: %v", err)
	}
	if r, err := till.UnlockCoupon(t.Context(), code, "buy-1"); err != nil || r.State != sluice.CouponIssued {
		t.Errorf("unlocked: %+v, %v", r, err)
	}
	if _, err := till.RedeemCoupon(t.Context(), code, "buy-3", 4999); problemCode(err) != "MIN_SPEND_NOT_MET" {
		t.Errorf("redeemed below the minimum: %v", err)
	}
	for i := range 2 {
		r, err := till.RedeemCoupon(t.Context(), code, "buy-4", 8800)
		if err != nil || r.State != sluice.CouponRedeemed || r.DiscountMinor != 1000 || r.Replayed != (i == 1) {
			t.Errorf("redeemed, time %d: %+v, %v", i, r, err)
		}
	}
	if r, err := till.ReverseCoupon(t.Context(), code, "buy-4"); err != nil || r.State != sluice.CouponIssued {
		t.Errorf("reversed: %+v, %v", r, err)
	}
	if _, err := till.LockCoupon(t.Context(), sluice.NewCouponCode(), "buy-5", 0); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("a forged code: %v", err)
	}
	if _, err := alice.RedeemCoupon(t.Context(), code, "buy-6", 8800); !refused(err, 401) && !refused(err, 403) {
		t.Errorf("redeemed by a buyer: %v", err)
	}
	owned := 0
	for p, err := range alice.MyCoupons(t.Context()) {
		if err != nil || p.State != sluice.CouponIssued || p.ClaimID != claim.ID {
			t.Errorf("coupon %+v, %v", p, err)
		}
		owned++
	}
	if owned != 2 {
		t.Errorf("the wallet holds %d coupons", owned)
	}
	s.Verify(t, "ten-off")
}

func problemCode(err error) string {
	if p := (*client.Problem)(nil); errors.As(err, &p) {
		return p.Code
	}
	return ""
}
