// Package fakeserver speaks Sluice's public API in memory, for the tests and examples of the client. It breaks on
// demand: a script of faults says what happens to the next claims that are sent. It has one campaign after
// another's rules and no durability; it is no backend.
package fakeserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Fault is what happens to one claim that is sent.
type Fault int

// The faults. Each "done" one carries the claim out first.
const (
	None          Fault = iota
	LostBefore          // the connection ends before anything is done
	LostAfter           // done, then the connection ends without an answer
	CutBody             // done, then the connection ends in the middle of the answer
	Unavailable         // done, then 503 UNAVAILABLE with the claim's id
	UnavailableNo       // 503 UNAVAILABLE with a claim id, nothing done
	BadGateway          // done, then a proxy's 502 page
	GatewayNo           // a proxy's 502 page, nothing done
	Garbled             // done, then 200 with a page that is not JSON
	SlowAfter           // done, then no answer for a minute
	SlowBefore          // no answer for a minute; it is done then, if the client still listens
	Busy                // BUSY with retry_after_ms
	TooFrequent         // TOO_FREQUENT with retry_after_ms
	Queued              // done, and answered QUEUED; Server.Settle says for how long
)

// slow is longer than any client waits for one answer.
const slow = time.Minute

// Server is the fake. Its fields are set before the first request; the counters are read through Counts.
type Server struct {
	Skew       time.Duration // how far its clock is ahead
	Delay      time.Duration // of every answer, half before and half after it is made
	RetryAfter time.Duration // with Busy and TooFrequent
	Settle     time.Duration // how long a Queued claim stays queued
	Status     bool          // refusals have an HTTP status of their own

	mu        sync.Mutex
	script    []Fault // of the next posts
	badAsks   int     // questions that get a 502
	campaigns map[string]*campaign
	order     []string // campaigns as they were added
	counts    Counts
	bodies    []string // of the posts
}

// Counts are the requests the server has seen.
type Counts struct {
	Posts int // claims sent
	Asks  int // questions by request id
	Polls int // questions by claim id
	Made  int // claims that came to be
}

type campaign struct {
	sluice.Campaign
	claims []*claim
}

type claim struct {
	id        sluice.ClaimID
	user      string
	requestID string
	quantity  int
	settled   time.Time // queued before it
	codes     []string
	state     sluice.OrderState
	coupon    sluice.CouponState
	ref       string
	discount  int64
}

// New makes a server without campaigns.
func New() *Server { return &Server{campaigns: map[string]*campaign{}} }

// Add puts a campaign on sale.
func (s *Server) Add(c sluice.Campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigns[c.ID] = &campaign{Campaign: c}
	s.order = append(s.order, c.ID)
}

// Script sets what happens to the next claims that are sent; those after them are answered as they should be.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = faults
}

// BreakAsks answers the next n questions by request id with a proxy's 502 page.
func (s *Server) BreakAsks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.badAsks = n
}

// Counts gives what was seen so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Bodies gives the bodies of the claims that were sent, in order.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func (s *Server) now() time.Time { return time.Now().Add(s.Skew) }

// ServeHTTP answers one request of the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.Delay / 2)
	defer time.Sleep(s.Delay / 2)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch key := r.Method + " " + strings.Join(parts[:min(2, len(parts))], "/"); {
	case key == "GET v1/time":
		s.answer(w, http.StatusOK, map[string]any{"server_time_ms": s.now().UnixMilli()})
	case key == "GET v1/campaigns" && len(parts) == 4:
		s.ask(w, r, parts[2])
	case key == "GET v1/campaigns":
		s.show(w, r, parts[2:])
	case key == "POST v1/campaigns" && len(parts) == 4:
		s.post(w, r, parts[2])
	case key == "GET v1/claims" && len(parts) == 3:
		s.poll(w, r, parts[2])
	case key == "GET v1/me" && len(parts) == 3:
		s.wallet(w, r, parts[2])
	case key == "POST v1/orders" && len(parts) == 4:
		s.orderVerb(w, r, parts[2], parts[3])
	case key == "POST v1/payments":
		s.notified(w, r)
	case key == "POST v1/coupons" && len(parts) == 4:
		s.couponVerb(w, r, parts[2], parts[3])
	default:
		s.problem(w, http.StatusNotFound, "NOT_FOUND", nil)
	}
}

func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) problem(w http.ResponseWriter, status int, code string, more map[string]any) {
	v := map[string]any{"type": "urn:sluice:problem:" + code, "title": code, "status": status, "code": code,
		"request_id": "log-1"}
	for k, x := range more {
		v[k] = x
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// page is what a proxy answers by itself.
func (s *Server) page(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<html><body><h1>" + strconv.Itoa(status) + "</h1></body></html>"))
}

// user is the bearer token itself.
func user(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}
