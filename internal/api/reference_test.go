package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/gate"
)

const reasonsHead = `# Reasons

Generated from the code: ''make golden'' writes it anew.

What a claim can be answered, in order of precedence: where several apply, the first is given. The order is that of the
funnel (''internal/gate/funnel.go''). A reason is the ''code'' of the answer.

Columns: the check of the funnel that gives it; the HTTP status with ''api.decision_status'' set to ''body'' (the
default) and to ''http''; what a client does next; the message in both languages.

Answers marked *problem* are ''application/problem+json'', the others are decisions.

| Reason | Check | body | http | What to do | en | zh-CN |
|---|---|---|---|---|---|---|
`

const codesHead = `
## Codes of problems

The ''code'' of other ''application/problem+json'' answers, on both listeners. ''detail'' says in English what exactly
is wrong; ''title'' is the sentence below, by ''Accept-Language''.

| Code | en | zh-CN |
|---|---|---|
`

// next says what a client does after each reason.
var next = map[sluice.Reason]string{
	sluice.ReasonClosed:           "wait; an operator opens it again, or does not",
	sluice.ReasonUnknownCampaign:  "stop",
	sluice.ReasonBlocked:          "stop; support can look up `reference`",
	sluice.ReasonUnauthenticated:  "sign in, then the same request id again",
	sluice.ReasonNotStarted:       "again after `starts_in_ms`",
	sluice.ReasonEnded:            "stop",
	sluice.ReasonPaused:           "wait; the sale goes on when it is resumed",
	sluice.ReasonNotEligible:      "stop",
	sluice.ReasonSoldOut:          "stop, or look later whether units have come back (`may_return`, `next_release_at`)",
	sluice.ReasonTooFrequent:      "again after `retry_after_ms`, the same request id",
	sluice.ReasonPassRequired:     "get a pass, then again",
	sluice.ReasonPassInvalid:      "get a new pass, then again",
	sluice.ReasonSignatureInvalid: "sign the request with the pass's key",
	sluice.ReasonBusy:             "again after `retry_after_ms` and a random while, the same request id",
	sluice.ReasonLimitReached:     "stop; `claims` are those that take up the limit",
	sluice.ReasonQueued:           "ask for the outcome: `GET /v1/claims/{claim_id}?wait_ms=`",
	sluice.ReasonConfirmed:        "pay the order, or use the coupon",
	sluice.ReasonRequestIDReused:  "a new claim needs a new request id",
	sluice.ReasonUnavailable:      "ask what became of it; where there is none, the same request id again",
	sluice.ReasonDiscarded:        "stop; support can say why, and a new claim needs a new request id",
	sluice.ReasonLost:             "claim again, with a new request id",
}

// TestReasonsReference writes docs/reference/reasons.md from the table of reasons, the funnel and the messages.
func TestReasonsReference(t *testing.T) {
	checks := map[sluice.Reason][]string{}
	for i, c := range gate.Funnel() {
		for _, r := range c.Reasons {
			checks[r] = append(checks[r], fmt.Sprintf("%d %s", i+1, c.Name))
		}
	}
	var out strings.Builder
	out.WriteString(strings.ReplaceAll(reasonsHead, "''", "`"))
	for _, r := range sluice.Reasons() {
		if next[r] == "" {
			t.Errorf("%v: nothing says what a client does next", r)
		}
		if len(checks[r]) == 0 {
			t.Errorf("%v: no check gives it", r)
		}
		body, problem := api.ReasonStatus(r, false)
		http, _ := api.ReasonStatus(r, true)
		mark := ""
		if problem {
			mark = " *problem*"
		}
		en, zh := api.ReasonText(r)
		fmt.Fprintf(&out, "| `%s` | %s | %d%s | %d | %s | %s | %s |\n",
			r, strings.Join(checks[r], ", "), body, mark, http, next[r], en, zh)
	}
	out.WriteString(strings.ReplaceAll(codesHead, "''", "`"))
	for _, code := range api.Codes() {
		en, zh := api.CodeText(code)
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", code, en, zh)
	}
	golden(t, "../../docs/reference/reasons.md", []byte(out.String()))
}
