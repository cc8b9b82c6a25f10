package fakeserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// PaymentSecret signs payment notifications.
const PaymentSecret = "payment-secret"

// pageLen keeps pages short, so that tests see more than one.
const pageLen = 2

func (s *Server) show(w http.ResponseWriter, r *http.Request, id []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(id) == 0 {
		var all []any
		for _, id := range s.order {
			all = append(all, s.campaignView(s.campaigns[id]))
		}
		s.page2(w, r, all)
		return
	}
	if c := s.campaigns[id[0]]; c != nil {
		s.answer(w, http.StatusOK, s.campaignView(c))
		return
	}
	s.problem(w, http.StatusNotFound, "UNKNOWN_CAMPAIGN", nil)
}

func (s *Server) campaignView(c *campaign) map[string]any {
	taken := int64(0)
	for _, k := range c.claims {
		taken += int64(k.quantity)
	}
	free := c.Stock.Total - taken
	return map[string]any{"id": c.ID, "kind": c.Kind, "title": c.Title, "total": c.Stock.Total, "available": free,
		"per_user_limit": c.PerUserLimit, "starts_at": c.StartsAt.Time(), "ends_at": c.EndsAt.Time(),
		"state": c.StateAt(sluice.MillisOf(s.now()), free)}
}

// page2 answers one page of all; the cursor is the index of the next item.
func (s *Server) page2(w http.ResponseWriter, r *http.Request, all []any) {
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	from = min(from, len(all))
	to := min(from+pageLen, len(all))
	v := map[string]any{"items": append([]any{}, all[from:to]...)}
	if to < len(all) {
		v["next_cursor"] = strconv.Itoa(to)
	}
	s.answer(w, http.StatusOK, v)
}

func (s *Server) wallet(w http.ResponseWriter, r *http.Request, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []any
	for _, id := range s.order {
		c := s.campaigns[id]
		for _, k := range c.claims {
			switch {
			case k.user != user(r):
			case what == "orders" && k.codes == nil:
				all = append(all, orderView(c, k))
			case what == "coupons" && k.codes != nil:
				all = append(all, map[string]any{"code": k.codes[0], "claim_id": k.id.String(), "campaign_id": c.ID,
					"state": k.coupon})
			}
		}
	}
	s.page2(w, r, all)
}

func orderView(c *campaign, k *claim) map[string]any {
	v := map[string]any{"id": k.id.OrderID(), "claim_id": k.id.String(), "campaign_id": c.ID, "quantity": k.quantity,
		"amount_minor": c.Goods.PriceMinor * int64(k.quantity), "currency": c.Goods.Currency, "state": k.state,
		"refund_due": false}
	if k.state == sluice.OrderClosed {
		v["close_reason"] = sluice.CloseCancelled
	}
	return v
}

func (s *Server) orderVerb(w http.ResponseWriter, r *http.Request, id, verb string) {
	c, k := s.byID(id, user(r))
	if k == nil {
		s.problem(w, http.StatusNotFound, "NOT_FOUND", nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case verb == "pay":
		k.state = sluice.OrderPaid
	case k.state == sluice.OrderPaid:
		s.problem(w, http.StatusConflict, "ORDER_STATE", nil)
		return
	default:
		k.state = sluice.OrderClosed
	}
	s.answer(w, http.StatusOK, orderView(c, k))
}

// notified checks a payment's signature by hand, not with the client's own helper.
func (s *Server) notified(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	at, sum, _ := strings.Cut(r.Header.Get("Sluice-Signature"), ",v1=")
	at = strings.TrimPrefix(at, "t=")
	mac := hmac.New(sha256.New, []byte(PaymentSecret))
	mac.Write([]byte(at + "." + string(raw)))
	sec, _ := strconv.ParseInt(at, 10, 64)
	age := s.now().Sub(time.Unix(sec, 0)).Abs()
	if hex.EncodeToString(mac.Sum(nil)) != sum || age > 5*time.Minute {
		s.problem(w, http.StatusUnauthorized, "SIGNATURE_INVALID", nil)
		return
	}
	var p struct {
		OrderID string `json:"order_id"`
	}
	_ = json.Unmarshal(raw, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.campaigns {
		for _, k := range c.claims {
			if k.id.OrderID() == p.OrderID {
				k.state = sluice.OrderPaid
				s.answer(w, http.StatusOK, orderView(c, k))
				return
			}
		}
	}
	s.problem(w, http.StatusNotFound, "NOT_FOUND", nil)
}

func (s *Server) couponVerb(w http.ResponseWriter, r *http.Request, code, verb string) {
	var body struct {
		Reference   string `json:"reference"`
		AmountMinor int64  `json:"amount_minor"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	code, ok := sluice.ParseCouponCode(code)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.campaigns {
		for _, k := range c.claims {
			if !ok || len(k.codes) == 0 || k.codes[0] != code {
				continue
			}
			switch {
			case k.coupon == sluice.CouponRedeemed && verb != "reverse" && k.ref != body.Reference:
				s.problem(w, http.StatusConflict, "COUPON_REDEEMED", nil)
				return
			case verb == "redeem":
				k.coupon, k.ref, k.discount = sluice.CouponRedeemed, body.Reference, c.Coupon.Discount(body.AmountMinor)
			case verb == "lock":
				k.coupon = sluice.CouponLocked
			default:
				k.coupon, k.discount = sluice.CouponIssued, 0
			}
			s.answer(w, http.StatusOK, map[string]any{"code": sluice.FormatCouponCode(code), "campaign_id": c.ID,
				"reference": body.Reference, "state": k.coupon, "amount_minor": body.AmountMinor,
				"discount_minor": k.discount, "currency": c.Coupon.Currency})
			return
		}
	}
	s.problem(w, http.StatusNotFound, "NOT_FOUND", nil)
}
