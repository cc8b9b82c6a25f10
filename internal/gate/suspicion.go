package gate

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Passes reads passes. No method does I/O, blocks or allocates.
type Passes interface {
	// Check says whether a pass was given to user with device for campaign, and holds now.
	Check(now sluice.Millis, campaign, user, device, pass string) (sluice.Pass, bool)
	// Signed says whether s was made with the signing key that came with pass, over this request. It looks at neither
	// the timestamp nor at whether the nonce was used before.
	Signed(pass string, s *sluice.RequestSignature) bool
}

// Nonces remembers what was used once, on all nodes together. It may do I/O, gathers what comes at once into one
// call, and returns in bounded time. An error means that it is not known; nothing is tried again.
type Nonces interface {
	First(ctx context.Context, key string, ttl time.Duration) (bool, error)
}

// Suspicion is what risk rules say of who claims. Neither method does I/O, blocks or allocates; neither keeps the
// subject, whose strings point into a connection's buffers.
type Suspicion interface {
	// Look is asked once a claim, at the check of the user: what it says holds for the whole walk. Where the subject's
	// campaign is sold out it need say no more than blocks that are in force.
	Look(s *sluice.Subject) sluice.Verdict
	// Saw is told every decision on a claim of an identified buyer; a recorded answer that was given again as
	// ReasonNone.
	Saw(s *sluice.Subject, reason sluice.Reason)
}

// Holding bounds how many unpaid orders a user or a device has, over all campaigns. It may do I/O: it is asked just
// before admission, for orders that have to be paid.
type Holding interface {
	// Hold takes a place for an order; ok is false where all are taken, and claims are those that have them. A claim that
	// has a place keeps it. An error means that it is not known. The strings are not kept.
	Hold(ctx context.Context, user, device string, id sluice.ClaimID, windowSec int64) (
		claims []sluice.ClaimID, ok bool, err error)
	// Free gives back the place of a claim that did not come to be. An error is harmless.
	Free(ctx context.Context, user, device string, id sluice.ClaimID) error
}

// subject is w's buyer for the risk rules; it points into w.
func (w *walk) subject() *sluice.Subject {
	s := &w.who
	if s.User == "" {
		*s = sluice.Subject{Campaign: w.entry.campaign.ID, User: w.token.identity.User, Device: w.device,
			Vouched: w.vouched(), Addr: w.req.Addr, Claims: w.token.identity.Claims, Now: w.now}
	}
	return s
}

// vouched says whether the shop vouches for the device: it stands in the token.
func (w *walk) vouched() bool { return w.token != nil && w.token.identity.Device != "" }
