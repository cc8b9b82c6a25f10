package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/client/internal/fakeserver"
)

// shop is a server for the examples, with one unit of "spring" at 99.00 and coupons of "ten-off".
func shop() *httptest.Server {
	s := fakeserver.New()
	s.Add(goods("spring", 1, 1))
	s.Add(coupons("ten-off"))
	return httptest.NewServer(s)
}

func ExampleClient_Claim() {
	server := shop()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	for _, user := range []string{"alice", "bob"} {
		buyer := client.New(server.URL, client.StaticToken(user)) // the token is the buyer's JWT
		claim, err := buyer.Claim(ctx, "spring", client.ClaimOptions{})
		switch {
		case errors.Is(err, sluice.ErrUncertain):
			fmt.Println("not known yet: ask again later")
		case err != nil:
			fmt.Println("failed:", err)
		case claim.Won():
			fmt.Println(user, "got it:", claim.State)
		default:
			fmt.Println(user, "did not:", claim.Code)
		}
	}
	// Output:
	// alice got it: confirmed
	// bob did not: SOLD_OUT
}

// A caller that keeps its own request ids can take a claim up again after a crash: it is asked for before it is sent.
func ExampleClient_Claim_resume() {
	server := shop()
	defer server.Close()
	ctx := context.Background()
	buyer := client.New(server.URL, client.StaticToken("alice"))

	first, _ := buyer.Claim(ctx, "spring", client.ClaimOptions{RequestID: "basket-7"})
	again, err := buyer.Claim(ctx, "spring", client.ClaimOptions{RequestID: "basket-7", Resume: true})
	fmt.Println(again.ID == first.ID, again.Replayed, err)
	// Output: true true <nil>
}

func ExampleClient_WaitForStart() {
	server := shop()
	defer server.Close()
	ctx := context.Background()
	buyer := client.New(server.URL, client.StaticToken("alice"))

	campaign, err := buyer.WaitForStart(ctx, "spring") // by the server's clock
	if err != nil {
		fmt.Println(err)
		return
	}
	claim, err := buyer.Claim(ctx, campaign.ID, client.ClaimOptions{})
	fmt.Println(campaign.State, claim.State, err)
	// Output: live confirmed <nil>
}

func ExampleClient_MyOrders() {
	server := shop()
	defer server.Close()
	ctx := context.Background()
	buyer := client.New(server.URL, client.StaticToken("alice"))
	if _, err := buyer.Claim(ctx, "spring", client.ClaimOptions{}); err != nil {
		fmt.Println(err)
	}

	for order, err := range buyer.MyOrders(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		paid, err := buyer.PayOrder(ctx, order.ID)
		fmt.Println(order.State, order.AmountMinor, order.Currency, "->", paid.State, err)
	}
	// Output: unpaid 9900 CNY -> paid <nil>
}

func ExampleClient_RedeemCoupon() {
	server := shop()
	defer server.Close()
	ctx := context.Background()
	buyer := client.New(server.URL, client.StaticToken("alice"))
	merchant := client.New(server.URL, client.StaticToken("the merchant's API key"))

	claim, err := buyer.Claim(ctx, "ten-off", client.ClaimOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	used, err := merchant.RedeemCoupon(ctx, claim.CouponCode, "till-3/0042", 8800)
	fmt.Println(used.State, used.DiscountMinor, err)

	_, err = merchant.RedeemCoupon(ctx, claim.CouponCode, "till-3/0043", 100)
	var refused *client.Problem
	fmt.Println(errors.As(err, &refused), refused.Code)
	// Output:
	// redeemed 1000 <nil>
	// true COUPON_REDEEMED
}

func ExampleSignNotification() {
	body := []byte(`{"reference":"psp-1","order_id":"ord_…","amount_minor":9900,"currency":"CNY","status":"succeeded"}`)
	header := client.SignNotification([]byte("the payment secret"), body, time.Unix(1_750_000_000, 0))
	fmt.Println(header[:len("t=1750000000,v1=")])
	// Output: t=1750000000,v1=
}
