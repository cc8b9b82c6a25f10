package sluice

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// PreflightState is what a check before a sale came to.
type PreflightState string

// The states of a check.
const (
	CheckGo      PreflightState = "go"
	CheckNoGo    PreflightState = "no_go"
	CheckUnknown PreflightState = "unknown" // it could not be asked
	CheckAbsent  PreflightState = "absent"  // there is no such part
)

// PreflightCode names what a check found, for a page that says it in its own language.
type PreflightCode string

// PreflightArgs are what a code's text is filled with: strings and whole numbers. Names that end in _ms or _s are
// lengths of time; at is a moment in RFC 3339.
type PreflightArgs map[string]any

// PreflightCheck is one of the checks before a sale. Runs of earlier versions have no Code.
type PreflightCheck struct {
	Name   string         `json:"name"`
	State  PreflightState `json:"state"`
	Detail string         `json:"detail"` // in English
	Code   PreflightCode  `json:"code,omitempty"`
	Args   PreflightArgs  `json:"args,omitempty"`
}

// Preflight is one run of the checks before a sale. It is a go where no check is a no-go, and none is unknown.
type Preflight struct {
	Seq      int64
	Campaign string
	At       Millis
	OK       bool
	Checks   []PreflightCheck
	Author   string
	SignedAt Millis // zero: nobody has signed
	SignedBy string
	Reason   string // of who signed
}

// preflightTexts are all codes, each of the check that begins it, with their text in English. Codes are kept with
// every run: one that is here stays, and the console has a text for it in each of its languages.
var preflightTexts = map[PreflightCode]string{
	"schedule_opens":       "opens at {at}",
	"schedule_open":        "is open",
	"schedule_not_offered": "is {state}",

	"preheated_none":    "there is no permit yet: preheat it",
	"preheated_differs": "the permit has {permit} units, and the ledger {ledger}",
	"preheated_same":    "{units} units in permit and ledger, revision {revision}",

	"verified_unknown": "the rows could not be counted",
	"verified_drift":   "drift {drift}, {over_total} units over the total, {over_limit} users over their limit",
	"verified_sum":     "{available} available + {queued} queued + {held} held + {sold} sold = {total}",

	"rehearsed_none":       "no rehearsal yet: what this server can do is not measured",
	"rehearsed_unreadable": "the result of the rehearsal cannot be read",
	"rehearsed_failed":     "the rehearsal of {at} failed: {verdict}",
	"rehearsed_slow":       "{rate} claims a second were measured at {at}, and {want} are let through",
	"rehearsed_rate":       "{rate} claims a second, p99 {p99_ms} ms, by {buyers} buyers, at {at}",

	"nodes_part_down": "{part} does not answer",
	"nodes_behind":    "{alive} nodes, {in_force} with the newest settings, {dead} silent",
	"nodes_agree":     "{alive} nodes, all with the newest settings",

	"clocks_one":      "one node: its clock is the sale's",
	"clocks_apart":    "the largest difference is {skew_ms} ms",
	"clocks_together": "the largest difference is {skew_ms} ms",

	"backlog_letters": "{letters} dead letters wait for a person",
	"backlog_queued":  "{units} units are queued",
	"backlog_old":     "the queue's oldest message is {age_ms} ms old",
	"backlog_none":    "nothing waits",

	"passes_not_asked":    "the campaign asks for no pass",
	"passes_no_key":       "there is no key that passes are signed with",
	"passes_no_service":   "challenge.siteverify is not set up here: buyers would get proof of work",
	"passes_no_challenge": "no {challenge} challenge could be given out: {error}",
	"passes_given":        "passes are given out: {pass}, with {challenge}",

	"payments_none":    "nothing is to be paid",
	"payments_down":    "payments are marked down since {at}",
	"payments_sandbox": "the sandbox takes them: nobody pays with money",
	"payments_taken":   "notifications are taken",

	"blocklist_unknown":  "the ledger does not answer",
	"blocklist_in_force": "{blocks} blocks in force",

	"alarms_never":  "nobody has read /metrics since the start: alarms would not be raised",
	"alarms_silent": "nobody has read /metrics for {age_s} s",
	"alarms_read":   "/metrics was read {age_s} s ago",
}

// PreflightCodes gives all codes in order.
func PreflightCodes() []PreflightCode {
	all := make([]PreflightCode, 0, len(preflightTexts))
	for code := range preflightTexts {
		all = append(all, code)
	}
	slices.Sort(all)
	return all
}

var place = regexp.MustCompile(`\{\w+\}`)

// Found makes a check, without its name, out of what was found. Detail is the code's English text; fractions among
// args are rounded.
func Found(state PreflightState, code PreflightCode, args PreflightArgs) PreflightCheck {
	for name, v := range args {
		if x, ok := v.(float64); ok {
			args[name] = int64(math.Round(x))
		}
	}
	detail := place.ReplaceAllStringFunc(preflightTexts[code], func(p string) string {
		if v, ok := args[p[1:len(p)-1]]; ok {
			return fmt.Sprint(v)
		}
		return p
	})
	return PreflightCheck{State: state, Detail: detail, Code: code, Args: args}
}
