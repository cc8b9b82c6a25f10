package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-sale/sluice"
)

// State is what a claim has become.
type State string

// The states of a claim. The empty State means that no claim came to be.
const (
	Queued    State = "queued"    // admitted, on its way to the ledger
	Confirmed State = "confirmed" // in the ledger, on disk
	Rejected  State = "rejected"  // was queued and did not make it; Code says why
	Released  State = "released"  // ended: its units went back
)

// Claim is the server's answer to a claim: what it has become, or why there is none.
type Claim struct {
	Code         string        `json:"code"`    // CONFIRMED, QUEUED or the reason of a refusal
	Message      string        `json:"message"` // for people, in the client's language
	ID           string        `json:"claim_id"`
	CampaignID   string        `json:"campaign_id"`
	RequestID    string        `json:"request_id"`
	State        State         `json:"state"`
	Quantity     int           `json:"quantity"`
	OrderID      string        `json:"order_id"`     // goods
	CouponCode   string        `json:"coupon_code"`  // coupons: the first one
	CouponCodes  []string      `json:"coupon_codes"` // coupons: all, where there are several
	Replayed     bool          `json:"replayed"`     // the recorded answer, given again
	RetryAfterMS int64         `json:"retry_after_ms"`
	StartsInMS   int64         `json:"starts_in_ms"` // with NOT_STARTED
	Receipt      string        `json:"receipt"`      // with QUEUED: shown when its outcome is asked for
	TypicalMS    int64         `json:"typical_ms"`   // with QUEUED: what others wait at present
	ServerTimeMS sluice.Millis `json:"server_time_ms"`
	Claims       []string      `json:"claims"`       // with LIMIT_REACHED: the claims that take up the limit
	Reference    string        `json:"reference"`    // with BLOCKED: for support
	CloseReason  string        `json:"close_reason"` // of a released claim's order
}

// Won says whether the claim is in the ledger and still stands.
func (c *Claim) Won() bool { return c.State == Confirmed }

// Reason gives Code as a word of package sluice; ReasonNone for a code of a newer server.
func (c *Claim) Reason() sluice.Reason {
	r, _ := sluice.ParseReason(c.Code)
	return r
}

// ClaimOptions says what to claim. The zero value claims one unit under a new request id.
type ClaimOptions struct {
	// RequestID names the claim, 1 to 128 bytes; empty: a random one. The same id again is the same claim.
	RequestID string
	// Quantity is 1 to the campaign's limit; 0: one.
	Quantity int
	// Pass is the pass, where there is one already; where the server asks for one, Claim gets it by itself. SigningKey
	// is the pass's own, where it has one.
	Pass       string
	SigningKey string
	// Resume says that RequestID may have been sent before: the client asks first.
	Resume bool
	// NoWait gives a queued claim back as it is, without waiting for its outcome.
	NoWait bool
}

// A claim that came up to soon before the start waits for it, and for up to startSpread more.
const (
	soon        = 2 * time.Second
	startSpread = 20 * time.Millisecond
)

// Claim makes one claim on campaign and waits for its outcome. A refusal is a value: see [Claim.Won] and
// [Claim.Code]. It returns the last BUSY or TOO_FREQUENT where patience ends with it, and a queued claim where it
// ends before the outcome.
//
// Errors: a [Problem] where the request cannot be right or is not allowed; an [UncertainError] where the outcome stayed
// open; sluice.ErrUnavailable where the server was never reached. ctx bounds everything.
func (c *Client) Claim(ctx context.Context, campaign string, opts ClaimOptions) (*Claim, error) {
	if opts.RequestID == "" {
		opts.RequestID = NewRequestID()
	}
	end := time.Now().Add(orDefault(c.Patience, DefaultPatience))
	t := &attempt{c: c, campaign: campaign, opts: opts, end: end, doubt: opts.Resume}
	claim, err := t.run(ctx)
	if err != nil || claim.State != Queued || opts.NoWait {
		return claim, err
	}
	return c.waitUntil(ctx, claim, end)
}

// attempt is one Claim under way.
type attempt struct {
	c        *Client
	campaign string
	opts     ClaimOptions
	end      time.Time
	doubt    bool   // the claim may have come to be: ask before sending
	refused  *Claim // the last BUSY or TOO_FREQUENT
	err      error  // the last failure

	passes int           // that were asked for
	skew   sluice.Millis // the server's clock less this one's, where a signature was refused for it
	resent bool          // a signature that was refused was made once more by the server's clock
	sale   *Campaign     // nil until it is needed
}

func (t *attempt) run(ctx context.Context) (*Claim, error) {
	for n := 0; n < maxClaimSteps && ctx.Err() == nil; n++ {
		claim, wait, err := t.step(ctx, n)
		switch {
		case claim != nil:
			return claim, nil
		case err != nil:
			return nil, err
		}
		if time.Now().Add(wait).After(t.end) || t.c.pause(ctx, wait) != nil {
			break
		}
	}
	return t.giveUp(ctx)
}

// step asks or sends once, for the n-th time. Neither a claim nor an error: go on after wait.
func (t *attempt) step(ctx context.Context, n int) (claim *Claim, wait time.Duration, err error) {
	if t.doubt {
		claim, err = t.c.findOnce(ctx, t.campaign, t.opts.RequestID)
		switch {
		case err == nil:
			return claim, 0, nil
		case !errors.Is(err, sluice.ErrNotFound):
			return nil, t.failed(err, n), t.fatal(err)
		}
		t.doubt = false // the server says that there is none
	}
	claim, err = t.post(ctx)
	switch {
	case err == nil && t.needsPass(claim):
		return t.withPass(ctx, claim)
	case err == nil && claim.Reason() == sluice.ReasonSignatureInvalid && !t.resent:
		t.resent, t.skew = true, claim.ServerTimeMS-sluice.MillisOf(time.Now())
		return nil, 0, nil
	case err == nil && (again(claim) || t.ownSlot(ctx, claim)):
		t.refused, t.err = claim, nil
		return nil, t.c.againAfter(claim, n), nil
	case err == nil:
		return claim, 0, nil
	}
	t.doubt = errors.Is(err, sluice.ErrUncertain)
	return nil, t.failed(err, n), t.fatal(err)
}

// withPass goes on with a new pass, or ends with the refusal that asked for one.
func (t *attempt) withPass(ctx context.Context, refusal *Claim) (*Claim, time.Duration, error) {
	p, err := t.takePass(ctx, refusal)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, 0, err
	case err != nil || p == nil:
		return refusal, 0, nil
	}
	t.opts.Pass, t.opts.SigningKey = p.Text, p.SigningKey
	return nil, 0, nil
}

// failed notes err and gives the pause after it.
func (t *attempt) failed(err error, n int) time.Duration {
	t.err = err
	wait := t.c.backoff(n)
	if p := (*Problem)(nil); errors.As(err, &p) {
		wait += p.RetryAfter
	}
	return wait
}

// fatal gives the error that ends the attempt, or nil where it goes on. A question that is refused leaves the doubt.
func (t *attempt) fatal(err error) error {
	switch {
	case transient(err):
		return nil
	case t.doubt:
		return &UncertainError{CampaignID: t.campaign, RequestID: t.opts.RequestID, Err: err}
	}
	return err
}

// giveUp is the end of patience, of the steps, or of ctx.
func (t *attempt) giveUp(ctx context.Context) (*Claim, error) {
	switch {
	case t.doubt:
		err := errors.Join(t.err, ctx.Err())
		return nil, &UncertainError{CampaignID: t.campaign, RequestID: t.opts.RequestID, Err: err}
	case ctx.Err() != nil:
		return nil, fmt.Errorf("client: claim %s on %s: %w", t.opts.RequestID, t.campaign, ctx.Err())
	case t.err != nil:
		return nil, t.err
	}
	return t.refused, nil
}

// again says whether a refusal is worth another try: the server is busy, or the sale is about to start.
func again(c *Claim) bool {
	switch c.Reason() {
	case sluice.ReasonBusy, sluice.ReasonTooFrequent:
		return true
	case sluice.ReasonNotStarted:
		return c.StartsInMS > 0 && c.StartsInMS <= soon.Milliseconds()
	}
	return false
}

// againAfter is the pause after such a refusal: what the server asks for and a random while longer. Nobody is made to
// stand back at the start of a sale, so that pause is spread by a few milliseconds only.
func (c *Client) againAfter(claim *Claim, n int) time.Duration {
	if claim.Reason() == sluice.ReasonNotStarted {
		return millis(claim.StartsInMS) + time.Duration(c.random()*float64(startSpread))
	}
	return millis(claim.RetryAfterMS) + c.backoff(n)
}

// post sends the claim once, signed anew where there is a key.
func (t *attempt) post(ctx context.Context) (*Claim, error) {
	opts := &t.opts
	body, err := json.Marshal(struct {
		RequestID string `json:"request_id"`
		Quantity  int    `json:"quantity,omitempty"`
		Pass      string `json:"pass,omitempty"`
	}{opts.RequestID, opts.Quantity, opts.Pass})
	if err != nil {
		return nil, fmt.Errorf("client: claim: %w: %w", sluice.ErrInvalid, err)
	}
	k := call{method: http.MethodPost, path: claimsPath(t.campaign), body: json.RawMessage(body)}
	if opts.SigningKey != "" {
		k.sign = func(h http.Header) { sign(h, opts.SigningKey, k.path, body, sluice.MillisOf(time.Now())+t.skew) }
	}
	r, err := t.c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	claim, err := decision(r)
	if err != nil {
		return nil, err
	}
	claim.RequestID = opts.RequestID
	return claim, nil
}

// decision reads the answer to a claim. A server may be set to give refusals an HTTP status of their own: what is JSON,
// has a code and is no problem is a decision, whatever the status.
func decision(r *reply) (*Claim, error) {
	if r.is("application/json") && r.status < 500 {
		var claim Claim
		err := json.Unmarshal(r.body, &claim)
		switch {
		case err == nil && claim.Code != "" && claim.Reason() != sluice.ReasonUnavailable:
			return &claim, nil
		case err != nil && r.status < 300:
			return nil, fmt.Errorf("client: the answer cannot be read: %w: %w", sluice.ErrUncertain, err)
		}
	}
	if r.status < 300 {
		return nil, fmt.Errorf("client: the answer is no decision: %w", sluice.ErrUncertain)
	}
	return nil, problemOf(r)
}

// FindClaim asks what became of the caller's claim on campaign under requestID. sluice.ErrNotFound: there is none.
func (c *Client) FindClaim(ctx context.Context, campaign, requestID string) (*Claim, error) {
	var list claimList
	k := findCall(campaign, requestID)
	if err := c.repeat(ctx, k, &list); err != nil {
		return nil, err
	}
	return list.only(campaign, requestID)
}

func (c *Client) findOnce(ctx context.Context, campaign, requestID string) (*Claim, error) {
	var list claimList
	_, err := c.once(ctx, findCall(campaign, requestID), &list)
	if p := (*Problem)(nil); errors.As(err, &p) && p.Status == http.StatusNotFound && p.foreign {
		// This says nothing of the claim.
		return nil, fmt.Errorf("client: a 404 that is not of Sluice (%s): %w", p.Error(), sluice.ErrUncertain)
	}
	if err != nil {
		return nil, err
	}
	return list.only(campaign, requestID)
}

func findCall(campaign, requestID string) call {
	return call{
		method: http.MethodGet, path: claimsPath(campaign), query: url.Values{"request_id": {requestID}},
	}
}

// claimList is the answer to a search by request id. Items is a pointer so that an answer without it is told from an
// empty one: only a server that says so has none.
type claimList struct {
	Items *[]*Claim `json:"items"`
}

func (l claimList) only(campaign, requestID string) (*Claim, error) {
	switch {
	case l.Items == nil:
		return nil, fmt.Errorf("client: the list of claims has no items: %w", sluice.ErrUncertain)
	case len(*l.Items) == 0:
		return nil, fmt.Errorf("client: claim %s on %s: %w", requestID, campaign, sluice.ErrNotFound)
	}
	claim := (*l.Items)[0]
	claim.RequestID = requestID
	return claim, nil
}

// LookupClaim gives one of the caller's claims as it is now. sluice.ErrNotFound: there is none, or it is another's.
func (c *Client) LookupClaim(ctx context.Context, claimID string) (*Claim, error) {
	var claim Claim
	err := c.repeat(ctx, call{method: http.MethodGet, path: "/v1/claims/" + url.PathEscape(claimID)}, &claim)
	if err != nil {
		return nil, err
	}
	return &claim, nil
}

// Bounds of the wait for an outcome.
const (
	pollWait    = 10 * time.Second // what one long poll asks for
	pollSlack   = 5 * time.Second  // what the answer may take beyond it
	pollEarly   = time.Second      // an answer sooner than this was cut short by something in between
	pollSpread  = 250 * time.Millisecond
	pollBackoff = 5 * time.Second
)

// WaitForOutcome waits until claim is no longer queued, for up to the client's patience, by long poll. It gives
// back the queued claim where patience ends first.
func (c *Client) WaitForOutcome(ctx context.Context, claim *Claim) (*Claim, error) {
	return c.waitUntil(ctx, claim, time.Now().Add(orDefault(c.Patience, DefaultPatience)))
}

func (c *Client) waitUntil(ctx context.Context, claim *Claim, end time.Time) (*Claim, error) {
	k := call{
		method: http.MethodGet, path: "/v1/claims/" + url.PathEscape(claim.ID),
		query:   url.Values{"wait_ms": {fmt.Sprint(pollWait.Milliseconds())}},
		timeout: pollWait + pollSlack,
	}
	for try := 0; claim.State == Queued && time.Now().Before(end); try++ {
		asked := time.Now()
		if claim.Receipt != "" {
			k.query.Set("receipt", claim.Receipt)
		}
		next := Claim{RequestID: claim.RequestID}
		wait, err := c.once(ctx, k, &next)
		switch {
		case err == nil:
			claim = &next
			wait = millis(next.RetryAfterMS) + time.Duration(c.random()*float64(pollSpread))
			if time.Since(asked) < pollEarly {
				wait = max(wait, min(pollBackoff, time.Second<<min(try, 8)))
			} else {
				try = 0
			}
		case !transient(err) || ctx.Err() != nil:
			return claim, err
		default:
			wait += c.backoff(try + 1)
		}
		if claim.State != Queued {
			break
		}
		if err := c.pause(ctx, wait); err != nil {
			return claim, fmt.Errorf("client: waiting for claim %s: %w", claim.ID, err)
		}
	}
	return claim, nil
}

func claimsPath(campaign string) string {
	return "/v1/campaigns/" + url.PathEscape(campaign) + "/claims"
}
