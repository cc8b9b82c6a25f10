package sluice

// Decision is the gate's answer to a claim: why, and what the claim is now. It is a value; a refusal carries no stack
// and is never logged as an error.
type Decision struct {
	Reason       Reason
	State        ClaimState // ClaimNone where no claim came to be
	Replayed     bool       // the recorded answer, given again
	HasID        bool       // ID is set
	ID           ClaimID
	Kind         Kind
	Quantity     int
	Epoch        int64       // with ReasonQueued: that of the permit it was promised under; 0 where it is not known
	CouponCodes  []string    // coupons: one a unit
	Closed       CloseReason // with ClaimReleased: how the order ended
	StartsInMS   int64       // with ReasonNotStarted
	RetryAfterMS int64       // with ReasonBusy, ReasonTooFrequent
	Reference    string      // with ReasonBlocked: what support can look up
	Claims       []ClaimID   // with ReasonLimitReached: the user's live claims of the campaign or its limit group
}

// Refuse makes a Decision that only has a reason.
func Refuse(r Reason) Decision { return Decision{Reason: r} }
