package api

import (
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// claimAnswer documents a decision, and a claim as it is looked up. The answer itself is built by appendDecision.
type claimAnswer struct {
	Code         string   `json:"code" doc:"A Reason: CONFIRMED, or why not"`
	Message      string   `json:"message" doc:"For the buyer, in the language of Accept-Language (en or zh-CN)"`
	ClaimID      string   `json:"claim_id,omitempty" doc:"Where a claim came to be"`
	CampaignID   string   `json:"campaign_id"`
	State        string   `json:"state,omitempty" enum:"queued,confirmed,rejected,released" doc:"Of the claim now"`
	CloseReason  string   `json:"close_reason,omitempty" enum:"expired,cancelled" doc:"With released: how the order ended"`
	Quantity     int      `json:"quantity,omitempty" minimum:"1"`
	OrderID      string   `json:"order_id,omitempty" doc:"Goods: what to pay"`
	CouponCode   string   `json:"coupon_code,omitempty" doc:"Coupons: the code, or the first of them"`
	CouponCodes  []string `json:"coupon_codes,omitempty" doc:"Coupons, quantity above 1: all codes"`
	Replayed     bool     `json:"replayed" doc:"This request id was answered before"`
	RetryAfterMS int64    `json:"retry_after_ms" doc:"With BUSY and TOO_FREQUENT when to try, with QUEUED when to ask"`
	Receipt      string   `json:"receipt,omitempty" doc:"With QUEUED: to be shown when asking"`
	TypicalMS    int64    `json:"typical_ms" doc:"With QUEUED: how long it takes at present, else 0"`
	StartsInMS   int64    `json:"starts_in_ms,omitempty" doc:"With NOT_STARTED: how long until the opening"`
	Reference    string   `json:"reference,omitempty" doc:"With BLOCKED: what support can look up"`
	ServerTimeMS int64    `json:"server_time_ms" doc:"UTC milliseconds since 1970"`
	Claims       []string `json:"claims,omitempty" doc:"With LIMIT_REACHED: the caller's claims that took the limit"`
}

// releasedText replaces "You got it" for a claim whose units have gone back.
var releasedText = text{"It was yours, and has been given back", "该笔已取消或退回"}

// decision answers a claim at now.
func (c *call) decision(d sluice.Decision, now sluice.Millis) {
	status, isProblem := reasonStatus(d.Reason, c.p.cfg.DecisionStatus == "http")
	if isProblem {
		c.decisionProblem(d, status)
		return
	}
	h := &c.ctx.Response.Header
	if d.RetryAfterMS > 0 {
		var room [20]byte
		h.SetCanonical(headerRetryAfter, strconv.AppendInt(room[:0], (d.RetryAfterMS+999)/1000, 10))
	}
	if c.lang != langEN {
		h.SetCanonical(headerLanguage, []byte("zh-CN"))
	}
	campaign := unsafeString(c.paramBytes("id"))
	typical := c.typical(&d)
	c.out = appendDecision(c.out[:0], &d, campaign, c.lang, now, typical, c.receipt(&d, campaign, now))
	c.raw(status, typeJSON, c.out)
}

// decisionProblem answers the decisions that are faults of the request or of the server.
func (c *call) decisionProblem(d sluice.Decision, status int) {
	p := newProblem(status, d.Reason.String(), "")
	switch d.Reason {
	case sluice.ReasonRequestIDReused:
		p.Detail = "the request id was used with another quantity"
	case sluice.ReasonUnavailable:
		p.Detail = "the outcome is not known; ask before claiming again, or send the same request id again"
		p.RetryAfter = max(d.RetryAfterMS, 1000)
		if d.HasID {
			p.ClaimID = d.ID.String()
			p.Ask = "/v1/claims/" + p.ClaimID + "?wait_ms=10000"
		} else if id := c.claim.RequestID; id != "" {
			p.Ask = "/v1/campaigns/" + url.PathEscape(c.param("id")) + "/claims?request_id=" + url.QueryEscape(id)
		}
	case sluice.ReasonNone:
		p = newProblem(status, codeInternal, "")
	}
	c.answerProblem(p)
}

// Bounds of when to ask again for a queued claim.
const (
	minAskAgain = 100  // ms
	maxAskAgain = 2000 // ms
)

// typical gives how long a queued claim waits at present, in ms, and puts into d when to ask again; 0 for any other
// one.
func (c *call) typical(d *sluice.Decision) int64 {
	if d.Reason != sluice.ReasonQueued {
		return 0
	}
	var typical int64
	if c.p.cfg.Typical != nil {
		typical = c.p.cfg.Typical().Milliseconds()
	}
	d.RetryAfterMS = min(max(typical, minAskAgain), maxAskAgain)
	return typical
}

// appendDecision appends a claimAnswer as JSON; typical is of a queued claim, ms, and receipt may be empty. It
// allocates nothing where out has room.
func appendDecision(
	out []byte, d *sluice.Decision, campaign string, l lang, now sluice.Millis, typical int64, receipt []byte,
) []byte {
	message := reasonText[d.Reason][l]
	if d.State == sluice.ClaimReleased {
		message = releasedText[l]
	}
	out = append(append(out, `{"code":"`...), d.Reason.String()...)
	out = append(append(out, `","message":"`...), message...)
	out = append(out, '"')
	if d.HasID {
		out = d.ID.AppendTo(append(out, `,"claim_id":"`...))
		out = append(out, '"')
	}
	out = appendQuoted(append(out, `,"campaign_id":`...), campaign)
	if d.State != sluice.ClaimNone {
		out = append(append(out, `,"state":"`...), d.State.String()...)
		out = append(out, '"')
	}
	if d.Closed != "" {
		out = append(append(append(out, `,"close_reason":"`...), d.Closed...), '"')
	}
	if d.Quantity > 0 {
		out = strconv.AppendInt(append(out, `,"quantity":`...), int64(d.Quantity), 10)
	}
	out = appendGoods(out, d)
	if d.Replayed {
		out = append(out, `,"replayed":true,"retry_after_ms":`...)
	} else {
		out = append(out, `,"replayed":false,"retry_after_ms":`...)
	}
	out = strconv.AppendInt(out, d.RetryAfterMS, 10)
	out = strconv.AppendInt(append(out, `,"typical_ms":`...), typical, 10)
	if len(receipt) > 0 {
		out = appendQuoted(append(out, `,"receipt":`...), unsafeString(receipt))
	}
	if d.StartsInMS > 0 {
		out = strconv.AppendInt(append(out, `,"starts_in_ms":`...), d.StartsInMS, 10)
	}
	if d.Reference != "" {
		out = appendQuoted(append(out, `,"reference":`...), d.Reference)
	}
	out = strconv.AppendInt(append(out, `,"server_time_ms":`...), int64(now), 10)
	if len(d.Claims) > 0 {
		out = append(out, `,"claims":`...)
		for i, id := range d.Claims {
			out = id.AppendTo(append(out, [2]string{`[`, `,`}[min(i, 1)]+`"`...))
			out = append(out, '"')
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendGoods appends what the buyer has got: the order of a claim on goods, the codes of one on coupons.
func appendGoods(out []byte, d *sluice.Decision) []byte {
	if !d.HasID || d.State != sluice.ClaimConfirmed && d.State != sluice.ClaimReleased {
		return out
	}
	if d.Kind == sluice.KindGoods {
		return append(d.ID.AppendOrderTo(append(out, `,"order_id":"`...)), '"')
	}
	if len(d.CouponCodes) == 0 {
		return out
	}
	out = appendCode(append(out, `,"coupon_code":`...), d.CouponCodes[0])
	if len(d.CouponCodes) == 1 {
		return out
	}
	out = append(out, `,"coupon_codes":[`...)
	for i, code := range d.CouponCodes {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendCode(out, code)
	}
	return append(out, ']')
}

func appendCode(out []byte, code string) []byte {
	return append(append(append(out, '"'), sluice.FormatCouponCode(code)...), '"')
}

// appendQuoted appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c == 0x7f || c == '<' || c == '>' || c == '&':
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			out = append(out, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		i++
	}
	return append(out, '"')
}

// decisionOf gives a recorded claim the form of a decision.
func decisionOf(r *sluice.ClaimRecord) sluice.Decision {
	kind := sluice.KindCoupon
	if r.OrderState != "" {
		kind = sluice.KindGoods
	}
	return sluice.Decision{
		Reason: r.Code, State: r.State, HasID: true, ID: r.ID, Kind: kind, Quantity: r.Quantity, CouponCodes: r.CouponCodes,
		Closed: r.Closed, Epoch: r.Epoch,
	}
}
