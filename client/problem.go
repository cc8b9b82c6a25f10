package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// Problem is the server's refusal of a request as such: it cannot be right, it is not allowed, the thing is not
// there, or the server is in trouble. errors.Is matches it with the sentinels of package sluice: 400, 413, 415 and
// 422 are ErrInvalid, 404 ErrNotFound, 409 ErrConflict, 429 and a 503 that names its cause (BUSY, READ_ONLY)
// ErrUnavailable: nothing was done. Other 5xx are ErrUncertain.
type Problem struct {
	Status     int             // of HTTP
	Code       string          // stable, upper case, such as COUPON_REDEEMED; HTTP_502 where the answer had none
	Title      string          // a sentence for people, in the client's language
	Detail     string          // what exactly is wrong, in English
	Fields     []ProblemField  // what is wrong in the body
	ClaimID    string          // with UNAVAILABLE of a claim: the claim whose outcome is not known
	RequestID  string          // of the server's log, for support
	RetryAfter time.Duration   // what the server asks to wait; 0: nothing said
	Body       json.RawMessage // the whole answer where it was JSON

	foreign bool // something on the way answered, not Sluice
}

// outcomeUnknown is the code of a call whose commit failed.
const outcomeUnknown = "OUTCOME_UNKNOWN"

// ProblemField names one field of a body and what is wrong with it.
type ProblemField struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error gives status, code, detail and fields.
func (p *Problem) Error() string {
	s := fmt.Sprintf("sluice: %d %s", p.Status, p.Code)
	if what := cmp.Or(p.Detail, p.Title); what != "" {
		s += ": " + what
	}
	for _, f := range p.Fields {
		s += "; " + f.Field + ": " + f.Detail
	}
	if p.RequestID != "" {
		s += " (request " + p.RequestID + ")"
	}
	return s
}

// Is says whether target is the sentinel of the status.
func (p *Problem) Is(target error) bool { return target == p.kind() }

func (p *Problem) kind() error {
	switch p.Status {
	case http.StatusServiceUnavailable:
		if p.foreign || p.Code == sluice.ReasonUnavailable.String() || p.Code == outcomeUnknown {
			return sluice.ErrUncertain
		}
		return sluice.ErrUnavailable
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return sluice.ErrInvalid
	case http.StatusNotFound:
		return sluice.ErrNotFound
	case http.StatusConflict:
		return sluice.ErrConflict
	case http.StatusTooManyRequests:
		return sluice.ErrUnavailable
	case http.StatusRequestTimeout:
		return sluice.ErrUncertain
	}
	if p.Status >= 500 || p.Status < 400 {
		return sluice.ErrUncertain
	}
	return nil
}

// problemOf reads the problem in an answer whose status is not 2xx, whoever wrote it.
func problemOf(r *reply) *Problem {
	var b struct {
		Code         string         `json:"code"`
		Title        string         `json:"title"`
		Detail       string         `json:"detail"`
		Errors       []ProblemField `json:"errors"`
		ClaimID      string         `json:"claim_id"`
		RequestID    string         `json:"request_id"`
		RetryAfterMS int64          `json:"retry_after_ms"`
	}
	p := &Problem{Status: r.status, RetryAfter: retryAfter(r.header), foreign: !r.is("application/problem+json")}
	if err := json.Unmarshal(r.body, &b); err == nil {
		p.Body = r.body
		p.Code, p.Title, p.Detail, p.Fields = b.Code, b.Title, b.Detail, b.Errors
		p.ClaimID, p.RequestID = b.ClaimID, b.RequestID
		p.RetryAfter = max(p.RetryAfter, millis(b.RetryAfterMS))
	}
	if p.Code == "" {
		p.Code = "HTTP_" + strconv.Itoa(r.status)
	}
	if p.RequestID == "" {
		p.RequestID = r.header.Get("X-Request-Id")
	}
	return p
}

// millis turns what a server asks to wait into a duration: at least nothing, at most maxAsked.
func millis(ms int64) time.Duration {
	return time.Duration(min(max(0, ms), maxAsked.Milliseconds())) * time.Millisecond
}

// retryAfter reads the header of that name where it is a number of seconds.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return min(time.Duration(min(s, 1<<20))*time.Second, maxAsked)
}

// UncertainError says that patience or the context ended while the outcome of a claim was open. It matches
// sluice.ErrUncertain, and what the last try failed with. The claim may have come to be: ask with
// [Client.FindClaim], or call [Client.Claim] again with this RequestID and Resume.
type UncertainError struct {
	CampaignID string
	RequestID  string // of the claim
	Err        error  // what the last try failed with
}

// Error names the claim and the last failure.
func (e *UncertainError) Error() string {
	return fmt.Sprintf("client: the outcome of claim %s on %s is not known: %v", e.RequestID, e.CampaignID, e.Err)
}

// Unwrap gives the sentinel and the last failure.
func (e *UncertainError) Unwrap() []error { return []error{sluice.ErrUncertain, e.Err} }
