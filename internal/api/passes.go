package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Passes is the desk of passes. Asking again is harmless.
type Passes interface {
	// Ask gives a pass, a challenge, or the reason why there is neither. It may do I/O in bounded time.
	Ask(ctx context.Context, q sluice.PassAsk) (sluice.PassAnswer, error)
}

// passRequest asks for a pass, or hands in the solution of a challenge.
type passRequest struct {
	Challenge   string `json:"challenge,omitempty" enum:"pow,slider,image,siteverify" doc:"Ask for one"`
	ChallengeID string `json:"challenge_id,omitempty" minLength:"1" maxLength:"512" doc:"Of the challenge that is solved"`
	Solution    any    `json:"solution,omitempty" doc:"See docs/challenges.md"`
}

// passAnswer is a pass, or the challenge that comes before it.
type passAnswer struct {
	Pass         string           `json:"pass,omitempty" doc:"To be sent with the claim, as it is"`
	ValidUntilMS int64            `json:"valid_until_ms,omitempty"`
	StartsInMS   int64            `json:"starts_in_ms,omitempty" doc:"Until the start, or the buyer's own slot"`
	SigningKey   string           `json:"signing_key,omitempty" doc:"Its text is the key of Sluice-Request-Signature"`
	Challenge    *challengeAnswer `json:"challenge,omitempty" doc:"In place of a pass: to be solved first"`
	ServerTimeMS int64            `json:"server_time_ms"`
}

type challengeAnswer struct {
	ID          string `json:"id"`
	Type        string `json:"type" enum:"pow,slider,image,siteverify"`
	Data        any    `json:"data" doc:"What is needed to show and solve it: see docs/challenges.md"`
	ExpiresAtMS int64  `json:"expires_at_ms"`
}

func passRoutes() []route {
	return []route{{
		method: "POST", path: "/v1/campaigns/{id}/passes", auth: authBuyer, lane: lanePass,
		maxBody: sluice.MaxChallengeBody, handle: (*Public).pass,
		doc: opDoc{
			summary: "Ask for a pass, or trade a solution for it", tag: "Claims", request: passRequest{}, optionalBody: true,
			response: passAnswer{}, header: []paramDoc{deviceDoc()},
			detail: "From ten minutes before the start. The answer is the pass, or a challenge: send its id with the solution " +
				"to the same path. A pass serves the buyer who asked, with the same device. After PASS_REQUIRED in spite of a " +
				"pass ask for a challenge by name.",
			problems: []int{http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests,
				http.StatusServiceUnavailable},
		},
	}}
}

// pass answers one who asks for a pass.
func (p *Public) pass(c *call) {
	q, err := p.readPass(c)
	if err != nil {
		c.problem(err)
		return
	}
	if p.deps.Passes == nil {
		c.problem(newProblem(http.StatusServiceUnavailable, codeUnavailable, "this server gives no passes"))
		return
	}
	a, err := p.deps.Passes.Ask(c.context(), q)
	switch {
	case err != nil:
		c.problem(err)
	case a.Reason != sluice.ReasonNone:
		c.answerProblem(passProblem(&a))
	default:
		out := passAnswer{Pass: a.Pass, ValidUntilMS: int64(a.ValidUntil), StartsInMS: a.StartsInMS,
			SigningKey: a.SigningKey, ServerTimeMS: int64(c.now())}
		if ch := a.Challenge; a.Pass == "" {
			out.Challenge = &challengeAnswer{ch.ID, string(ch.Type), ch.Data, int64(ch.ExpiresAt)}
		}
		c.json(http.StatusOK, &out)
	}
}

// readPass reads who asks, and for what. Nothing of it points into the request.
func (p *Public) readPass(c *call) (q sluice.PassAsk, err error) {
	q.Campaign, q.User, q.Claims, q.Addr = c.param("id"), c.identity.User, c.identity.Claims, c.addr()
	q.Device, q.Vouched = c.identity.Device, c.identity.Device != ""
	if q.Device == "" {
		header := c.ctx.Request.Header.Peek("X-Device-Id")
		if len(header) > sluice.MaxDeviceID {
			return q, invalidField("X-Device-Id", fmt.Sprintf("must be at most %d bytes long", sluice.MaxDeviceID))
		}
		q.Device = string(header)
	}
	if len(c.ctx.Request.Body()) == 0 {
		return q, nil
	}
	var body passRequest
	if err := c.decode(&body); err != nil {
		return q, err
	}
	q.Challenge, q.ChallengeID = sluice.ChallengeType(body.Challenge), strings.Clone(body.ChallengeID)
	if body.Solution != nil {
		q.Solution, err = json.Marshal(body.Solution)
	}
	return q, err
}

// passProblem says why there is no pass. A table of every reason that the desk gives.
func passProblem(a *sluice.PassAnswer) *Problem {
	status, code, detail := http.StatusConflict, a.Reason.String(), ""
	switch a.Reason {
	case sluice.ReasonUnknownCampaign:
		status = http.StatusNotFound
	case sluice.ReasonBlocked:
		status, detail = http.StatusForbidden, "reference "+a.Reference
	case sluice.ReasonTooFrequent:
		status = http.StatusTooManyRequests
	case sluice.ReasonNotStarted:
		code, detail = "PASS_TOO_EARLY", "passes are given from ten minutes before the start"
	}
	p := newProblem(status, code, detail)
	p.RetryAfter = a.RetryAfterMS
	return p
}
