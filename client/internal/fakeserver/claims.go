package fakeserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

func (s *Server) post(w http.ResponseWriter, r *http.Request, id string) {
	raw, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.counts.Posts++
	s.bodies = append(s.bodies, string(raw))
	fault := None
	if len(s.script) > 0 {
		fault, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if r.Header.Get("Idempotency-Key") != "" {
		panic("a request id in the header lets net/http send a claim twice by itself")
	}
	switch fault {
	case LostBefore:
		panic(http.ErrAbortHandler)
	case UnavailableNo:
		s.problem(w, http.StatusServiceUnavailable, "UNAVAILABLE", map[string]any{"claim_id": "clm_unknown"})
		return
	case GatewayNo:
		s.page(w, http.StatusBadGateway)
		return
	case Busy, TooFrequent:
		reason := map[Fault]sluice.Reason{Busy: sluice.ReasonBusy, TooFrequent: sluice.ReasonTooFrequent}[fault]
		s.refuse(w, id, reason, map[string]any{"retry_after_ms": s.RetryAfter.Milliseconds()})
		return
	case SlowBefore:
		if !wait(r, slow) {
			return
		}
	}
	s.made(w, r, id, raw, fault)
}

// made carries the claim out and answers as fault wants it.
func (s *Server) made(w http.ResponseWriter, r *http.Request, id string, raw []byte, fault Fault) {
	var body struct {
		RequestID string `json:"request_id"`
		Quantity  int    `json:"quantity"`
	}
	if json.Unmarshal(raw, &body) != nil || body.Quantity < 0 {
		s.problem(w, http.StatusUnprocessableEntity, "VALIDATION",
			map[string]any{"errors": []map[string]string{{"field": "quantity", "detail": "must be at least 1"}}})
		return
	}
	if user(r) == "" {
		s.problem(w, http.StatusUnauthorized, "UNAUTHENTICATED", nil)
		return
	}
	settle := time.Duration(0)
	if fault == Queued {
		settle = s.Settle
	}
	c, k, reason := s.decide(id, user(r), body.RequestID, max(1, body.Quantity), settle)
	if k == nil {
		s.refused(w, id, c, reason)
		return
	}
	view := s.view(c, k, reason == sluice.ReasonNone)
	switch fault {
	case LostAfter:
		panic(http.ErrAbortHandler)
	case CutBody:
		text, _ := json.Marshal(view)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Unavailable:
		s.problem(w, http.StatusServiceUnavailable, "UNAVAILABLE", map[string]any{"claim_id": k.id.String()})
		return
	case BadGateway:
		s.page(w, http.StatusBadGateway)
		return
	case Garbled:
		s.page(w, http.StatusOK)
		return
	case SlowAfter:
		if !wait(r, slow) {
			return
		}
	}
	s.answer(w, http.StatusOK, view)
}

// decide is a small funnel: replay, window, stock, limit. ReasonNone with a claim is a replay.
func (s *Server) decide(id, user, req string, q int, settle time.Duration) (*campaign, *claim, sluice.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.campaigns[id]
	if c == nil {
		return nil, nil, sluice.ReasonUnknownCampaign
	}
	cid := sluice.NewClaimID(id, user, sluice.SourceClaim, req)
	var taken, mine int64
	for _, k := range c.claims {
		if k.id == cid {
			if k.quantity != q {
				return c, nil, sluice.ReasonRequestIDReused
			}
			return c, k, sluice.ReasonNone
		}
		if k.state != sluice.OrderClosed {
			taken += int64(k.quantity)
			if k.user == user {
				mine += int64(k.quantity)
			}
		}
	}
	now := sluice.MillisOf(s.now())
	switch reason := c.Schedule(now); {
	case reason != sluice.ReasonNone:
		return c, nil, reason
	case taken+int64(q) > c.Stock.Total:
		return c, nil, sluice.ReasonSoldOut
	case mine+int64(q) > int64(c.PerUserLimit):
		return c, nil, sluice.ReasonLimitReached
	}
	k := &claim{id: cid, user: user, requestID: req, quantity: q, settled: time.Now().Add(settle)}
	if c.Kind == sluice.KindCoupon {
		k.coupon = sluice.CouponIssued
		for range q {
			k.codes = append(k.codes, sluice.NewCouponCode())
		}
	} else {
		k.state = sluice.OrderUnpaid
	}
	c.claims = append(c.claims, k)
	s.counts.Made++
	return c, k, sluice.ReasonConfirmed
}

func (s *Server) refused(w http.ResponseWriter, id string, c *campaign, reason sluice.Reason) {
	switch reason {
	case sluice.ReasonUnknownCampaign:
		s.problem(w, http.StatusNotFound, reason.String(), nil)
	case sluice.ReasonRequestIDReused:
		s.problem(w, http.StatusConflict, reason.String(), nil)
	case sluice.ReasonNotStarted:
		s.refuse(w, id, reason, map[string]any{"starts_in_ms": int64(c.StartsAt - sluice.MillisOf(s.now()))})
	default:
		s.refuse(w, id, reason, nil)
	}
}

// refuse answers a decision that made no claim.
func (s *Server) refuse(w http.ResponseWriter, id string, reason sluice.Reason, more map[string]any) {
	v := map[string]any{"code": reason.String(), "message": "no: " + reason.String(), "campaign_id": id,
		"server_time_ms": s.now().UnixMilli()}
	for k, x := range more {
		v[k] = x
	}
	status := http.StatusOK
	if s.Status {
		status = http.StatusTooManyRequests
	}
	s.answer(w, status, v)
}

func (s *Server) view(c *campaign, k *claim, replayed bool) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := map[string]any{"code": "CONFIRMED", "message": "it is yours", "claim_id": k.id.String(), "campaign_id": c.ID,
		"state": "confirmed", "quantity": k.quantity, "replayed": replayed, "server_time_ms": s.now().UnixMilli()}
	switch {
	case time.Now().Before(k.settled):
		v["code"], v["state"] = "QUEUED", "queued"
	case len(k.codes) > 0:
		v["coupon_code"] = sluice.FormatCouponCode(k.codes[0])
	default:
		v["order_id"] = k.id.OrderID()
		if k.state == sluice.OrderClosed {
			v["state"], v["close_reason"] = "released", "cancelled"
		}
	}
	return v
}

// ask answers the caller's claims by request id.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, id string) {
	s.mu.Lock()
	s.counts.Asks++
	bad := s.badAsks > 0
	if bad {
		s.badAsks--
	}
	c := s.campaigns[id]
	var found *claim
	if c != nil {
		for _, k := range c.claims {
			if k.user == user(r) && k.requestID == r.URL.Query().Get("request_id") {
				found = k
			}
		}
	}
	s.mu.Unlock()
	switch {
	case bad:
		s.page(w, http.StatusBadGateway)
	case found == nil:
		s.answer(w, http.StatusOK, map[string]any{"items": []any{}})
	default:
		s.answer(w, http.StatusOK, map[string]any{"items": []any{s.view(c, found, true)}})
	}
}

// poll answers a claim by its id, once it is settled or the wait is over.
func (s *Server) poll(w http.ResponseWriter, r *http.Request, id string) {
	s.mu.Lock()
	s.counts.Polls++
	s.mu.Unlock()
	c, k := s.byID(id, user(r))
	if k == nil {
		s.problem(w, http.StatusNotFound, "NOT_FOUND", nil)
		return
	}
	ms, _ := strconv.Atoi(r.URL.Query().Get("wait_ms"))
	if !wait(r, min(time.Duration(ms)*time.Millisecond, time.Until(k.settled))) {
		return
	}
	s.answer(w, http.StatusOK, s.view(c, k, false))
}

func (s *Server) byID(id, user string) (*campaign, *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.campaigns {
		for _, k := range c.claims {
			if k.user == user && (k.id.String() == id || k.id.OrderID() == id) {
				return c, k
			}
		}
	}
	return nil, nil
}

// wait lets d pass; false where the client left.
func wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
