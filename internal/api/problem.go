package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/sluice-sale/sluice"
)

// Problem is an RFC 9457 answer of either listener. It is an error, so that a handler can return it.
type Problem struct {
	Type       string         `json:"type" example:"urn:sluice:problem:VALIDATION" doc:"The code as a URN"`
	Title      string         `json:"title" doc:"A sentence for people, in the language asked for (en or zh-CN)"`
	Status     int            `json:"status" minimum:"400" maximum:"599" doc:"The HTTP status"`
	Code       string         `json:"code" example:"VALIDATION" doc:"Stable; what a program should look at"`
	Detail     string         `json:"detail,omitempty" doc:"What exactly is wrong, in English"`
	Errors     []FieldProblem `json:"errors,omitempty" doc:"The fields at fault"`
	RequestID  string         `json:"request_id,omitempty" doc:"What to tell support"`
	ClaimID    string         `json:"claim_id,omitempty" doc:"With UNAVAILABLE: the claim whose outcome is not known"`
	Ask        string         `json:"ask,omitempty" doc:"With UNAVAILABLE: the path that tells the outcome"`
	RetryAfter int64          `json:"retry_after_ms,omitempty" doc:"When to try again, in milliseconds"`
}

// FieldProblem names one field and the bound that it broke.
type FieldProblem struct {
	Field  string `json:"field" example:"quantity"`
	Detail string `json:"detail" example:"must be at most 2"`
}

// Error gives code and detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus lets huma answer with the problem's own status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType lets huma answer application/problem+json.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// The codes that this package gives by itself; those of a sluice.Fault pass through.
const (
	codeMalformed       = "MALFORMED_JSON"
	codeBadRequest      = "BAD_REQUEST"
	codeValidation      = "VALIDATION"
	codeMediaType       = "UNSUPPORTED_MEDIA_TYPE"
	codeTooLarge        = "BODY_TOO_LARGE"
	codeURITooLong      = "URI_TOO_LONG"
	codeHeadersTooLarge = "HEADERS_TOO_LARGE"
	codeTimeout         = "REQUEST_TIMEOUT"
	codeNotFound        = "NOT_FOUND"
	codeNoDevSignIn     = "NO_DEV_SIGN_IN"
	codeMethod          = "METHOD_NOT_ALLOWED"
	codeUnauthenticated = "UNAUTHENTICATED"
	codeSignature       = "SIGNATURE_INVALID"
	codeForbidden       = "FORBIDDEN"
	codeOutOfScope      = "OUT_OF_SCOPE"
	codeTooManyFailures = "TOO_MANY_FAILURES"
	codeConflict        = "CONFLICT"
	codeInvalid         = "INVALID"
	codeBusy            = "BUSY"
	codeUnavailable     = "UNAVAILABLE"
	codeUncertain       = "OUTCOME_UNKNOWN"
	codeInternal        = "INTERNAL"
)

// newProblem makes a problem; Title and RequestID are filled in where it is answered.
func newProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "urn:sluice:problem:" + code, Status: status, Code: code, Detail: detail}
}

// invalidField is a 422 that names one field.
func invalidField(field, detail string) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, codeValidation, "the request cannot be carried out as it stands")
	p.Errors = []FieldProblem{{Field: field, Detail: detail}}
	return p
}

// errorStatus is the one table of sentinel -> status and of the code that is given where the error carries none.
func errorStatus() []struct {
	kind   error
	status int
	code   string
} {
	return []struct {
		kind   error
		status int
		code   string
	}{
		{sluice.ErrInvalid, http.StatusUnprocessableEntity, codeInvalid},
		{sluice.ErrNotFound, http.StatusNotFound, codeNotFound},
		{sluice.ErrConflict, http.StatusConflict, codeConflict},
		{sluice.ErrUncertain, http.StatusServiceUnavailable, codeUncertain},
		{sluice.ErrUnavailable, http.StatusServiceUnavailable, codeUnavailable},
	}
}

// asProblem turns any error into a problem. What is not one of ours is a 500 that tells nothing of its cause.
func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var fault *sluice.Fault
	hasFault := errors.As(err, &fault)
	for _, row := range errorStatus() {
		if !errors.Is(err, row.kind) {
			continue
		}
		if !hasFault {
			return newProblem(row.status, row.code, "")
		}
		p = newProblem(row.status, fault.Code, fault.Detail)
		for _, f := range fault.Fields[:min(len(fault.Fields), maxErrors)] {
			p.Errors = append(p.Errors, FieldProblem{Field: f.Field, Detail: f.Detail})
		}
		return p
	}
	return newProblem(http.StatusInternalServerError, codeInternal, "")
}

// failureLevel says how loudly a 5xx is logged: one that was foreseen and named, such as a server that was made
// read-only, is a warning.
func failureLevel(err error) slog.Level {
	var fault *sluice.Fault
	if errors.As(err, &fault) && errors.Is(err, sluice.ErrUnavailable) {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// problemOf is asProblem for handlers of the operators' listener: they return what it gives. nil stays nil.
func problemOf(err error) error {
	if err == nil {
		return nil
	}
	return asProblem(err)
}

// reasonStatus gives the HTTP status of a decision. asHTTP is the mode api.decision_status: http, in which
// refusals have statuses of their own; problem says that the answer is a problem and no decision, in both modes.
func reasonStatus(r sluice.Reason, asHTTP bool) (status int, problem bool) {
	row := reasonTable[r]
	if asHTTP || row.problem {
		return row.asHTTP, row.problem
	}
	return http.StatusOK, false
}

// reasonTable is indexed by Reason; a test holds it complete.
var reasonTable = [sluice.NumReasons]struct {
	asHTTP  int
	problem bool
}{
	sluice.ReasonNone:             {http.StatusInternalServerError, true},
	sluice.ReasonClosed:           {http.StatusForbidden, false},
	sluice.ReasonUnknownCampaign:  {http.StatusNotFound, true},
	sluice.ReasonBlocked:          {http.StatusForbidden, false},
	sluice.ReasonUnauthenticated:  {http.StatusUnauthorized, true},
	sluice.ReasonNotStarted:       {http.StatusConflict, false},
	sluice.ReasonEnded:            {http.StatusConflict, false},
	sluice.ReasonPaused:           {http.StatusConflict, false},
	sluice.ReasonNotEligible:      {http.StatusForbidden, false},
	sluice.ReasonSoldOut:          {http.StatusConflict, false},
	sluice.ReasonTooFrequent:      {http.StatusTooManyRequests, false},
	sluice.ReasonPassRequired:     {http.StatusForbidden, false},
	sluice.ReasonPassInvalid:      {http.StatusForbidden, false},
	sluice.ReasonSignatureInvalid: {http.StatusForbidden, false},
	sluice.ReasonBusy:             {http.StatusTooManyRequests, false},
	sluice.ReasonLimitReached:     {http.StatusConflict, false},
	sluice.ReasonQueued:           {http.StatusOK, false},
	sluice.ReasonConfirmed:        {http.StatusOK, false},
	sluice.ReasonRequestIDReused:  {http.StatusConflict, true},
	sluice.ReasonUnavailable:      {http.StatusServiceUnavailable, true},
	sluice.ReasonDiscarded:        {http.StatusConflict, false},
	sluice.ReasonLost:             {http.StatusConflict, false},
}
