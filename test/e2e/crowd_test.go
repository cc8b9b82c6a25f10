package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

// atOnce makes n calls from n goroutines and counts what they say.
func atOnce(n int, call func(i int) string) map[string]int {
	var mu sync.Mutex
	count := map[string]int{}
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			word := call(i)
			mu.Lock()
			count[word]++
			mu.Unlock()
		})
	}
	close(start)
	all.Wait()
	return count
}

// fast lifts the rate of one user, so that the limit and not the frequency check decides.
var fast = map[string]any{"protection": map[string]any{"per_user_rate": 1000}}

func TestCopiesOfOneClaimAreOneClaim(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("copies", 100, 1, fast))
	var ids sync.Map
	got := atOnce(500, func(int) string {
		c, err := s.TryClaim("copies", "u", "one", 1)
		if err != nil {
			return err.Error()
		}
		ids.Store(c.ClaimID, true)
		return c.Code
	})
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if got["CONFIRMED"] != 500 || n != 1 {
		t.Errorf("%v, %d claim ids", got, n)
	}
	if v := s.Verify(t, "copies"); v.Held != 1 {
		t.Errorf("%+v", v)
	}
}

func TestManyClaimsOfOneUser(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	for _, limit := range []int{1, 3} {
		id := fmt.Sprint("oneuser-", limit)
		s.Create(t, e2e.Goods(id, 100, limit, fast))
		got := atOnce(500, func(i int) string {
			c, err := s.TryClaim(id, "u", fmt.Sprint("r", i), 1)
			if err != nil {
				return err.Error()
			}
			return c.Code
		})
		if got["CONFIRMED"] != limit || got["CONFIRMED"]+got["LIMIT_REACHED"]+got["TOO_FREQUENT"] != 500 {
			t.Errorf("limit %d: %v", limit, got)
		}
		if v := s.Verify(t, id); v.Held != int64(limit) {
			t.Errorf("%+v", v)
		}
	}
}

// TestAnOrderEndsOnce lets payments and cancels of one order meet; whatever wins, the other is told, and no money is
// lost.
func TestAnOrderEndsOnce(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	const rounds = 40
	s.Create(t, e2e.Goods("once", rounds, 1, nil))
	paid := 0
	for i := range rounds {
		user := fmt.Sprint("u", i)
		c := s.Claim(t, "once", user, "r", 1)
		got := atOnce(8, func(j int) string {
			if j%2 == 0 {
				a, err := s.TryAsk("POST", s.URL+"/v1/orders/"+c.OrderID+"/cancel", e2e.Token(user), nil)
				return fmt.Sprint("cancel ", a.Status, err)
			}
			return fmt.Sprint("pay ", s.Pay(t, fmt.Sprintf("once-%d-%d", i, j), c.OrderID, 9900).Status)
		})
		if got["pay 200"] != 4 {
			t.Errorf("round %d: %v", i, got)
		}
		var o struct {
			State     string `json:"state"`
			RefundDue bool   `json:"refund_due"`
		}
		s.Admin(t, "GET", "/v1/admin/orders/"+c.OrderID, nil, http.StatusOK).Into(t, &o)
		switch {
		case o.State == "paid" && got["cancel 409 <nil>"] == 4, o.State == "closed" && got["cancel 200 <nil>"] >= 1:
		default:
			t.Errorf("round %d: %+v after %v", i, o, got)
		}
		if !o.RefundDue { // four payments, at most one of which counts
			t.Errorf("round %d: nothing is due after four payments: %+v", i, o)
		}
		if o.State == "paid" {
			paid++
		}
	}
	if v := s.Verify(t, "once"); v.Sold != int64(paid) || v.Available != int64(rounds-paid) {
		t.Errorf("%d paid: %+v", paid, v)
	}
}

func TestACouponIsRedeemedOnce(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	var key struct {
		Key string `json:"key"`
	}
	merchant := map[string]any{"role": "merchant", "name": "m", "merchant_id": "m1"}
	s.Admin(t, "POST", "/v1/admin/api-keys", merchant, 201).Into(t, &key)
	s.Create(t, e2e.Coupons("coupon", 20, 1, nil))
	for i := range 20 {
		c := s.Claim(t, "coupon", fmt.Sprint("u", i), "r", 1)
		got := atOnce(50, func(j int) string {
			a, err := s.TryAsk("POST", s.URL+"/v1/coupons/"+c.CouponCode+"/redeem", key.Key,
				map[string]any{"reference": fmt.Sprintf("buy-%d-%d", i, j), "merchant_id": "m1", "amount_minor": 8800})
			return fmt.Sprint(a.Status, err)
		})
		if got["200 <nil>"] != 1 || got["409 <nil>"] != 49 {
			t.Errorf("coupon %d: %v", i, got)
		}
	}
	s.Verify(t, "coupon")
}

// TestOneOfficeAddress: people behind one address are not punished for it.
func TestOneOfficeAddress(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("office", 500, 1, nil))
	got := atOnce(500, func(i int) string {
		c, err := s.TryClaim("office", fmt.Sprint("u", i), "r", 1)
		if err != nil {
			return err.Error()
		}
		return c.Code
	})
	if got["CONFIRMED"] != 500 {
		t.Errorf("%v", got)
	}
	s.Verify(t, "office")
}

// TestAdjustAfterPreheat: the stock changes minutes before the start, and the sale sells the new number.
func TestAdjustAfterPreheat(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("late", 10, 1, nil))
	s.Admin(t, "POST", "/v1/admin/campaigns/late/preheat", nil, 200)
	s.Admin(t, "POST", "/v1/admin/campaigns/late/adjustments", map[string]any{"change_id": "late-1", "delta": -7}, 200)
	got := atOnce(30, func(i int) string {
		c, err := s.TryClaim("late", fmt.Sprint("u", i), "r", 1)
		if err != nil {
			return err.Error()
		}
		return c.Code
	})
	if got["CONFIRMED"] != 3 || got["SOLD_OUT"] != 27 {
		t.Errorf("%v", got)
	}
	if v := s.Verify(t, "late"); v.Total != 3 || v.Held != 3 {
		t.Errorf("%+v", v)
	}
}
