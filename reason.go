package sluice

import "fmt"

// Reason is the gate's answer to one claim. The values stand in the order of the funnel (DESIGN section 5), which is
// also the order of precedence: where several would apply, the first one is given. The last two no check gives: they
// are recorded for a claim that was promised before, and stand behind the others so that these keep their numbers. A
// Reason is a value, never an error.
type Reason uint8

// The reasons, in order of precedence.
const (
	ReasonNone             Reason = iota
	ReasonClosed                  // 1 the fuse: global or of the campaign
	ReasonUnknownCampaign         // 2 no such campaign
	ReasonBlocked                 // 3 and 7: address, user or device is on the blocklist
	ReasonUnauthenticated         // 4 no token, or one that does not verify
	ReasonNotStarted              // 6 before the window
	ReasonEnded                   // 6 after the window, or ended by hand
	ReasonPaused                  // 6 paused by an operator, or frozen by the server
	ReasonNotEligible             // 7 outside the audience
	ReasonSoldOut                 // 8 by the marker, 12 by admission
	ReasonTooFrequent             // 9
	ReasonPassRequired            // 10
	ReasonPassInvalid             // 10
	ReasonSignatureInvalid        // 10
	ReasonBusy                    // 11 capacity; 12 not armed
	ReasonLimitReached            // 12
	ReasonQueued                  // 12 admitted, not settled yet
	ReasonConfirmed               // 12 admitted and settled
	ReasonRequestIDReused         // the id was used with another body
	ReasonUnavailable             // trouble: the outcome is not known
	ReasonDiscarded               // recorded: promised, could not be settled, and an operator gave it up
	ReasonLost                    // recorded: promised, and lost with the permit and the node that held it
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	"", "CLOSED", "UNKNOWN_CAMPAIGN", "BLOCKED", "UNAUTHENTICATED", "NOT_STARTED", "ENDED", "PAUSED", "NOT_ELIGIBLE",
	"SOLD_OUT", "TOO_FREQUENT", "PASS_REQUIRED", "PASS_INVALID", "SIGNATURE_INVALID", "BUSY", "LIMIT_REACHED", "QUEUED",
	"CONFIRMED", "REQUEST_ID_REUSED", "UNAVAILABLE", "DISCARDED", "LOST",
}

// NumReasons is one more than the largest Reason: the length of an array indexed by Reason.
const NumReasons = int(reasonEnd)

// String gives the code as it stands in an answer.
func (r Reason) String() string {
	if r >= reasonEnd {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return reasonNames[r]
}

// ParseReason is the inverse of String; false where s is no reason.
func ParseReason(s string) (Reason, bool) {
	for i := 1; i < NumReasons; i++ {
		if reasonNames[i] == s {
			return Reason(i), true
		}
	}
	return ReasonNone, false
}

// Reasons lists every reason in order of precedence.
func Reasons() []Reason {
	all := make([]Reason, 0, NumReasons-1)
	for r := ReasonNone + 1; r < reasonEnd; r++ {
		all = append(all, r)
	}
	return all
}

// Admitted says whether the reason means that a claim came to be.
func (r Reason) Admitted() bool { return r == ReasonQueued || r == ReasonConfirmed }
