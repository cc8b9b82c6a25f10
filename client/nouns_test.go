package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/client/internal/fakeserver"
)

func coupons(id string) sluice.Campaign {
	c := goods(id, 100, 10)
	c.Kind, c.Goods = sluice.KindCoupon, sluice.Goods{}
	c.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1000, Currency: "CNY", ValidDays: 7}
	return c
}

// TestLists: every item comes once, over pages; breaking off the loop ends it; an error ends it.
func TestLists(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Add(goods("a", 100, 10))
		s.Add(coupons("b"))
		s.Add(goods("c", 100, 10))
		s.Add(goods("d", 100, 10))
		var ids []string
		for campaign, err := range c.Campaigns(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, campaign.ID)
		}
		if got := strings.Join(ids, " "); got != "spring a b c d" {
			t.Errorf("campaigns: %s", got)
		}
		for _, campaign := range []string{"a", "b", "b", "c", "b"} {
			if _, err := c.Claim(t.Context(), campaign, client.ClaimOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		orders := 0
		for o, err := range c.MyOrders(t.Context()) {
			if err != nil || o.State != sluice.OrderUnpaid || o.AmountMinor != 9900 {
				t.Errorf("order %+v, %v", o, err)
			}
			orders++
		}
		owned := 0
		for p, err := range c.MyCoupons(t.Context()) {
			if err != nil || p.State != sluice.CouponIssued {
				t.Errorf("coupon %+v, %v", p, err)
			}
			owned++
		}
		if orders != 2 || owned != 3 {
			t.Errorf("%d orders and %d coupons, want 2 and 3", orders, owned)
		}
		for _, err := range c.Campaigns(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
}

// TestReadsAreRepeated: a read that meets a proxy's page is made again, one that is refused is not.
func TestReadsAreRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fakeserver.Server, c *client.Client) {
		for _, tt := range []struct {
			status, tries int
			media, body   string
			kind          error
		}{
			{502, 4, "text/html", "<h1>", sluice.ErrUncertain},
			{503, 4, "text/html", "<h1>", sluice.ErrUncertain},
			{503, 4, "application/json", `{"code":"proxy"}`, sluice.ErrUncertain},
			{503, 4, "application/problem+json", `{"code":"UNAVAILABLE"}`, sluice.ErrUncertain},
			{503, 4, "application/problem+json", `{"code":"BUSY","retry_after_ms":5}`, sluice.ErrUnavailable},
			{404, 1, "application/problem+json", `{"code":"NOT_FOUND"}`, sluice.ErrNotFound},
			{429, 4, "text/html", "<h1>", sluice.ErrUnavailable},
			{200, 4, "text/html", "<h1>", sluice.ErrUncertain},
			{200, 4, "application/json", `{"id":`, sluice.ErrUncertain},
		} {
			tries := 0
			c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
				tries++
				return answer(tt.status, tt.media, tt.body), nil
			})}
			if _, err := c.Campaign(t.Context(), "spring"); !errors.Is(err, tt.kind) || tries != tt.tries {
				t.Errorf("status %d: %v after %d tries", tt.status, err, tries)
			}
			for _, err := range c.Campaigns(t.Context()) {
				if !errors.Is(err, tt.kind) {
					t.Errorf("list, status %d: %v", tt.status, err)
				}
			}
		}
	})
}

func TestOrders(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fakeserver.Server, c *client.Client) {
		first, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.CancelOrder(t.Context(), first.OrderID)
		if err != nil || o.State != sluice.OrderClosed || o.CloseReason != sluice.CloseCancelled {
			t.Errorf("cancelled: %+v, %v", o, err)
		}
		again, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"})
		if err != nil || again.State != client.Released || again.Won() {
			t.Errorf("replayed after the close: %+v, %v", again, err)
		}
		second, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if o, err = c.PayOrder(t.Context(), second.OrderID); err != nil || o.State != sluice.OrderPaid {
			t.Errorf("paid: %+v, %v", o, err)
		}
		if _, err = c.CancelOrder(t.Context(), second.OrderID); !errors.Is(err, sluice.ErrConflict) {
			t.Errorf("cancelled a paid order: %v", err)
		}
		if _, err = c.CancelOrder(t.Context(), "ord_other"); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("cancelled another's order: %v", err)
		}
	})
}

func TestNotifyPayment(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fakeserver.Server, c *client.Client) {
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := client.Payment{
			Reference: "psp-1", OrderID: claim.OrderID, AmountMinor: 9900, Currency: "CNY", Status: "succeeded",
		}
		o, err := c.NotifyPayment(t.Context(), []byte(fakeserver.PaymentSecret), p)
		if err != nil || o.State != sluice.OrderPaid {
			t.Errorf("got %+v, %v", o, err)
		}
		var problem *client.Problem
		if _, err = c.NotifyPayment(t.Context(), []byte("wrong"), p); !errors.As(err, &problem) || problem.Status != 401 {
			t.Errorf("signed with another secret: %v", err)
		}
	})
}

// TestANotificationIsSignedAnewForEachTry: a server may ask to wait for longer than a signature lives.
func TestANotificationIsSignedAnewForEachTry(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fakeserver.Server, c *client.Client) {
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		inner, tries := c.HTTPClient.Transport, 0
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return answer(503, "application/problem+json", `{"code":"BUSY","retry_after_ms":600000}`), nil
			}
			return inner.RoundTrip(r)
		})}
		o, err := c.NotifyPayment(t.Context(), []byte(fakeserver.PaymentSecret), client.Payment{
			Reference: "psp-1", OrderID: claim.OrderID, AmountMinor: 9900, Currency: "CNY", Status: "succeeded",
		})
		if err != nil || o.State != sluice.OrderPaid || tries != 2 {
			t.Errorf("got %+v, %v after %d tries", o, err, tries)
		}
	})
}

// TestALockOfLessThanASecondIsShort: it is not the default of 15 minutes.
func TestALockOfLessThanASecondIsShort(t *testing.T) {
	for hold, want := range map[time.Duration]string{
		0: `{"reference":"r"}`, time.Millisecond: `{"reference":"r","lock_s":1}`,
		1500 * time.Millisecond: `{"reference":"r","lock_s":1}`, time.Minute: `{"reference":"r","lock_s":60}`,
	} {
		sent := ""
		c := client.New("http://x", nil)
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			sent = string(b)
			return answer(200, "application/json", `{"state":"locked"}`), err
		})}
		if _, err := c.LockCoupon(t.Context(), "code", "r", hold); err != nil || sent != want {
			t.Errorf("%v: sent %s, %v, want %s", hold, sent, err, want)
		}
	}
}

// TestSignNotification holds the signature to a value computed elsewhere (openssl dgst -sha256 -hmac).
func TestSignNotification(t *testing.T) {
	got := client.SignNotification([]byte("s3cret"), []byte(`{"reference":"p1"}`), time.Unix(1_750_000_000, 0))
	const want = "t=1750000000,v1=8c641ec28abc9c2243ef4aaccf64e3d52bf072fb681cfc0dd326ca7ed85f57ce"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCoupons(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Add(coupons("ten-off"))
		claim, err := c.Claim(t.Context(), "ten-off", client.ClaimOptions{})
		if err != nil || claim.CouponCode == "" {
			t.Fatalf("got %+v, %v", claim, err)
		}
		code := claim.CouponCode
		if r, err := c.LockCoupon(t.Context(), code, "till-1", time.Minute); err != nil || r.State != sluice.CouponLocked {
			t.Errorf("locked: %+v, %v", r, err)
		}
		if r, err := c.UnlockCoupon(t.Context(), code, "till-1"); err != nil || r.State != sluice.CouponIssued {
			t.Errorf("unlocked: %+v, %v", r, err)
		}
		r, err := c.RedeemCoupon(t.Context(), code, "till-1", 8800)
		if err != nil || r.State != sluice.CouponRedeemed || r.DiscountMinor != 1000 {
			t.Errorf("redeemed: %+v, %v", r, err)
		}
		var problem *client.Problem
		_, err = c.RedeemCoupon(t.Context(), code, "till-2", 100)
		if !errors.As(err, &problem) || problem.Code != "COUPON_REDEEMED" || !errors.Is(err, sluice.ErrConflict) {
			t.Errorf("redeemed twice: %v", err)
		}
		if r, err = c.ReverseCoupon(t.Context(), code, "till-1"); err != nil || r.State != sluice.CouponIssued {
			t.Errorf("reversed: %+v, %v", r, err)
		}
		if _, err = c.LockCoupon(t.Context(), "0000-0000-0000-0000", "till-1", 0); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("a forged code: %v", err)
		}
	})
}
