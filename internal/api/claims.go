package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluice-sale/sluice"
)

// Claims tells what became of claims: their rows in the ledger, and what is on its way there.
type Claims interface {
	// ClaimRecord gives the claim of that id, queued while it has no outcome; ErrNotFound where there is none so far.
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
	// Await waits for the claim's outcome, for wait at most, and gives what ClaimRecord gives then. Many may wait at
	// once. Where ctx ends before, its error comes back.
	Await(ctx context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error)
	// UserClaims gives a user's claims on a campaign, the oldest first, in a bounded number.
	UserClaims(ctx context.Context, user, campaign string) ([]sluice.ClaimRecord, error)
}

// Receipts says what a queued claim was promised, to whoever shows it when nobody else knows any more.
type Receipts interface {
	// AppendReceipt appends the receipt of a claim that was promised at now under an epoch of its campaign; nothing
	// where it needs none.
	AppendReceipt(dst []byte, now sluice.Millis, campaign string, id sluice.ClaimID, quantity int, epoch int64) []byte
	// ReadReceipt gives the claim as its receipt tells it, without its user; false for what is no receipt of it.
	ReadReceipt(now sluice.Millis, id sluice.ClaimID, text string) (sluice.Claim, bool)
}

// LostClaims ends claims that were promised and that nobody has any more.
type LostClaims interface {
	// Lost records that the claim is lost, or that it has a row after all. ErrConflict: it may still turn up.
	Lost(ctx context.Context, c sluice.Claim) (sluice.Outcome, error)
}

// claimRequest documents the body of a claim; claimBody reads it.
type claimRequest struct {
	RequestID string `json:"request_id,omitempty" minLength:"1" maxLength:"128" doc:"The same id gives the same claim"`
	Quantity  int    `json:"quantity,omitempty" minimum:"1" doc:"Default 1; at most the campaign's limit per user"`
	Pass      string `json:"pass,omitempty" maxLength:"512" doc:"Of POST /v1/campaigns/{id}/passes"`
}

type claimList struct {
	Items []claimAnswer `json:"items" nullable:"false"`
}

// deviceDoc documents the header that names the device.
func deviceDoc() paramDoc {
	return paramDoc{"X-Device-Id", "string", "The device, where the token has no claim did", 0, sluice.MaxDeviceID}
}

func claimRoutes() []route {
	return []route{
		{
			method: "POST", path: "/v1/campaigns/{id}/claims", auth: authClaim, lane: laneClaim, maxBody: maxClaimBody,
			handle: (*Public).claim,
			doc: opDoc{
				summary: "Claim", tag: "Claims", request: claimRequest{}, optionalBody: true, response: claimAnswer{},
				detail: "Decisions are 200 with a code, or 403, 409 and 429 where api.decision_status is http. " +
					"After a 503 or a broken connection ask for the claim, or send the same request id again: never a new one.",
				header: []paramDoc{
					{"Idempotency-Key", "string", "The same as request_id", 1, sluice.MaxRequestID}, deviceDoc(),
					{"Sluice-Timestamp", "string", "Of a signed claim: Unix milliseconds, at most a minute off", 1, 15},
					{"Sluice-Nonce", "string", "Of a signed claim: never used before, of A-Z a-z 0-9 - _", 16, 64},
					{"Sluice-Request-Signature", "string", "Hex HMAC-SHA256 under the signing key, of method, path, " +
						"hex SHA-256 of the body, timestamp and nonce, joined by line feeds", 64, 64},
				},
				problems: []int{http.StatusConflict, http.StatusServiceUnavailable},
			},
		},
		{
			method: "GET", path: "/v1/claims/{claim_id}", auth: authBuyer, lane: laneWait, handle: (*Public).result,
			doc: opDoc{
				summary: "The outcome of a claim", tag: "Claims", response: claimAnswer{},
				detail: "To its owner only. It answers as soon as there is an outcome, QUEUED where there is none within " +
					"wait_ms. 404 means that no claim came to be so far: send the same request id again.",
				query: []paramDoc{
					{"wait_ms", "integer", "How long to wait for the outcome", 0, maxWait.Milliseconds()},
					{"receipt", "string", "Of the queued answer: with it a claim that was lost with its server and with Redis " +
						"ends as LOST, not as 404", 1, sluice.MaxReceipt},
				},
			},
		},
		{
			method: "GET", path: "/v1/campaigns/{id}/claims", auth: authBuyer, lane: laneWait, handle: (*Public).ownClaims,
			doc: opDoc{
				summary: "The caller's own claims", tag: "Claims", response: claimList{},
				detail: "What to ask after an uncertain answer. With request_id at most one item.",
				query:  []paramDoc{{"request_id", "string", "Only the claim of this request id", 1, sluice.MaxRequestID}},
			},
		},
	}
}

// claim reads a claim, asks the gate and answers. A refusal allocates nothing.
func (p *Public) claim(c *call) {
	began := p.cfg.Now()
	if p.deps.Gate == nil {
		c.problem(newProblem(http.StatusServiceUnavailable, codeUnavailable, "there is no gate"))
		return
	}
	campaign := unsafeString(c.paramBytes("id"))
	if err := p.readClaim(c, campaign); err != nil {
		c.answerProblem(err)
		return
	}
	h := &c.ctx.Request.Header
	c.claim.Campaign = campaign
	c.claim.Token = bearer(h.Peek("Authorization"))
	c.claim.Addr = c.addr()
	c.claim.Device = unsafeString(h.Peek("X-Device-Id"))
	c.claim.At = sluice.MillisOf(began)
	if mac := h.Peek("Sluice-Request-Signature"); len(mac) > 0 {
		c.claim.Signature = sluice.RequestSignature{MAC: mac, Timestamp: h.Peek("Sluice-Timestamp"),
			Nonce: h.Peek("Sluice-Nonce"), Method: c.ctx.Method(), Path: pathOf(h.RequestURI()), Body: c.ctx.Request.Body()}
	}
	if c.deadline == nil {
		c.deadline = new(lazyDeadline)
	}
	*c.deadline = lazyDeadline{base: p.base, after: p.cfg.ClaimTimeout}
	d := p.deps.Gate.Claim(c.deadline, &c.claim)
	answered := p.cfg.Now()
	if p.cfg.OnClaim != nil {
		p.cfg.OnClaim(d.Reason, answered.Sub(began))
	}
	c.decision(d, sluice.MillisOf(answered))
}

// readClaim fills c.claim with what body and header say; a body that cannot be right is refused before the funnel.
func (p *Public) readClaim(c *call, campaign string) *Problem {
	c.claim = sluice.ClaimRequest{}
	b := &c.body
	if body := c.ctx.Request.Body(); len(body) > 0 {
		if !isJSON(c.ctx.Request.Header.ContentType()) {
			return newProblem(http.StatusUnsupportedMediaType, codeMediaType, "send Content-Type: application/json")
		}
		if err := b.parse(body, p.claimLimit(campaign)); err != nil {
			return err
		}
	} else {
		*b = claimBody{room: b.room[:0], faults: b.faults[:0]}
	}
	b.header(c.ctx.Request.Header.PeekAll("Idempotency-Key"))
	if n := len(c.ctx.Request.Header.Peek("X-Device-Id")); n > sluice.MaxDeviceID {
		b.fault("X-Device-Id", "must be at most 128 bytes long")
	}
	c.claim.RequestID, c.claim.Pass, c.claim.Quantity = unsafeString(b.requestID), unsafeString(b.pass), b.quantity
	return b.refused()
}

// claimLimit is the largest quantity that a claim on the campaign can have.
func (p *Public) claimLimit(campaign string) int {
	known, ok := p.deps.Gate.Campaign(campaign)
	switch {
	case !ok:
		return sluice.MaxPerUserLimit
	case known.Kind == sluice.KindCoupon:
		return min(known.PerUserLimit, sluice.MaxCouponQuantity)
	}
	return known.PerUserLimit
}

// result answers one claim to its owner, waiting for it where it asks to.
func (p *Public) result(c *call) {
	wait, err := c.queryInt("wait_ms", 0, 0, int(maxWait.Milliseconds()))
	if err != nil {
		c.problem(err)
		return
	}
	id, ok := sluice.ParseClaimID(c.param("claim_id"))
	if !ok || p.deps.Claims == nil || id.User() != sluice.UserKeyOf(c.identity.User) {
		c.problem(noClaim())
		return
	}
	record, err := p.await(id, time.Duration(wait)*time.Millisecond)
	if errors.Is(err, sluice.ErrNotFound) && c.ctx.QueryArgs().Has("receipt") {
		if record, err = p.lost(c, id); err == nil && record.State == sluice.ClaimQueued {
			d := decisionOf(&record)
			shown := c.ctx.QueryArgs().Peek("receipt")
			c.out = appendDecision(c.out[:0], &d, record.Campaign, c.lang, c.now(), c.typical(&d), shown)
			c.raw(http.StatusOK, typeJSON, c.out)
			return
		}
	}
	switch {
	case errors.Is(err, sluice.ErrNotFound), err == nil && record.User != c.identity.User:
		c.problem(noClaim())
	case err != nil:
		c.problem(err)
	default:
		d := decisionOf(&record)
		c.out = appendDecision(c.out[:0], &d, record.Campaign, c.lang, c.now(), c.typical(&d),
			c.receipt(&d, record.Campaign, record.At))
		c.raw(http.StatusOK, typeJSON, c.out)
	}
}

// lost ends a claim that neither ledger nor gate knows, by its owner's receipt: it is recorded as lost, or queued as
// long as it may still turn up. ErrNotFound: that is no receipt of it.
func (p *Public) lost(c *call, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	if p.deps.Receipts == nil || p.deps.Lost == nil {
		return sluice.ClaimRecord{}, sluice.ErrNotFound
	}
	claim, ok := p.deps.Receipts.ReadReceipt(c.now(), id, string(c.ctx.QueryArgs().Peek("receipt")))
	if !ok {
		return sluice.ClaimRecord{}, sluice.ErrNotFound
	}
	claim.User = c.identity.User
	_, err := p.deps.Lost.Lost(c.context(), claim)
	switch {
	case errors.Is(err, sluice.ErrConflict):
		return sluice.ClaimRecord{Claim: claim, State: sluice.ClaimQueued, Code: sluice.ReasonQueued}, nil
	case err != nil:
		return sluice.ClaimRecord{}, err
	}
	return p.deps.Claims.ClaimRecord(c.context(), id)
}

// receipt gives the receipt of a queued claim that was promised at the time at, nothing for any other one.
func (c *call) receipt(d *sluice.Decision, campaign string, at sluice.Millis) []byte {
	if d.Reason != sluice.ReasonQueued || c.p.deps.Receipts == nil {
		return nil
	}
	return c.p.deps.Receipts.AppendReceipt(nil, at, campaign, d.ID, d.Quantity, d.Epoch)
}

func noClaim() *Problem {
	return newProblem(http.StatusNotFound, codeNotFound, "no such claim came to be so far, or it is not yours")
}

// await waits until the claim has an outcome, wait is over or the listener stops; in the end it tells what is known.
func (p *Public) await(id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error) {
	ctx, cancel := context.WithTimeout(p.base, wait+p.cfg.RequestTimeout)
	defer cancel()
	if wait <= 0 {
		return p.deps.Claims.ClaimRecord(ctx, id)
	}
	waiting, enough := context.WithTimeout(p.waits, wait+p.cfg.RequestTimeout)
	defer enough()
	record, err := p.deps.Claims.Await(waiting, id, wait)
	if err != nil && waiting.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.RequestTimeout)
		defer cancel()
		return p.deps.Claims.ClaimRecord(last, id)
	}
	return record, err
}

// ownClaims answers the caller's claims on one campaign.
func (p *Public) ownClaims(c *call) {
	campaign, requestID := c.param("id"), c.ctx.QueryArgs().Peek("request_id")
	byRequest := c.ctx.QueryArgs().Has("request_id")
	if detail := wrongName(requestID, sluice.MaxRequestID); byRequest && detail != "" {
		c.problem(invalidField("request_id", detail))
		return
	}
	if p.deps.Claims == nil {
		c.problem(noClaim())
		return
	}
	var found []sluice.ClaimRecord
	var err error
	if byRequest {
		id := sluice.NewClaimID(campaign, c.identity.User, sluice.SourceClaim, string(requestID))
		var one sluice.ClaimRecord
		one, err = p.deps.Claims.ClaimRecord(c.context(), id)
		if err == nil && one.User == c.identity.User {
			found = append(found, one)
		}
	} else {
		found, err = p.deps.Claims.UserClaims(c.context(), c.identity.User, campaign)
	}
	if err != nil && !errors.Is(err, sluice.ErrNotFound) {
		c.problem(err)
		return
	}
	out := append(c.out[:0], `{"items":[`...)
	for i := range found[:min(len(found), maxPage)] {
		if i > 0 {
			out = append(out, ',')
		}
		d := decisionOf(&found[i])
		out = appendDecision(out, &d, found[i].Campaign, c.lang, c.now(), c.typical(&d),
			c.receipt(&d, found[i].Campaign, found[i].At))
	}
	c.out = append(out, `]}`...)
	c.raw(http.StatusOK, typeJSON, c.out)
}
