package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// Of a backend that answers at once every look here is the only one: nothing is softer for it.

// decide has a claim decided for good. Of a backend that queues, a claim that is BUSY is made again, as its client
// would, and one that is QUEUED too, until it has its outcome; Replayed is then that of the first answer that was not
// BUSY.
func (a *admissionTest) decide(claim sluice.Claim) sluice.Decision {
	is := a.Admission().Admit(context.Background(), claim)
	first := is
	a.within(func() bool {
		if is.Reason == sluice.ReasonQueued || is.Reason == sluice.ReasonBusy {
			is = a.Admission().Admit(context.Background(), claim)
			if first.Reason == sluice.ReasonBusy {
				first = is
			}
		}
		return is.Reason != sluice.ReasonQueued && is.Reason != sluice.ReasonBusy
	})
	if is.ID == first.ID {
		is.Replayed = first.Replayed
	}
	return is
}

// within looks until ok says so, for as long as the backend may take; once where it may take no time.
func (a *admissionTest) within(ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(a.Queues); ; <-tick.C {
		if ok() {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
	}
}

// soon claims until the answer is the one that is to come once what the ledger did has reached the gate. A refusal
// leaves no trace, so that it is one claim all the same.
func (a *admissionTest) soon(t *testing.T, what string, campaign, user, request string, r sluice.Reason) {
	t.Helper()
	var d sluice.Decision
	a.within(func() bool {
		d = a.admit(campaign, user, request, 1)
		return d.Reason == r
	})
	want(t, what, d, r)
}
