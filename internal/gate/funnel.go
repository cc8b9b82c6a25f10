package gate

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// check is one step of the funnel: run says whether it answered, and then the walk has the decision.
type check struct {
	name    string
	run     func(*Gate, *walk) bool
	reasons []sluice.Reason // that it gives, in order of precedence
}

// funnel is the list of checks. Its order is the order of sluice.Reason, of the reference page and of the tests.
var funnel = [...]check{
	{"switch", (*Gate).checkSwitch, []sluice.Reason{sluice.ReasonClosed}},
	{"campaign", (*Gate).checkCampaign, []sluice.Reason{sluice.ReasonUnknownCampaign}},
	{"address", (*Gate).checkAddress, []sluice.Reason{sluice.ReasonBlocked}},
	{"identity", (*Gate).checkIdentity, []sluice.Reason{sluice.ReasonUnauthenticated}},
	{"replay", (*Gate).checkReplay, nil}, // the recorded answer, whatever it is
	{"schedule", (*Gate).checkSchedule, []sluice.Reason{
		sluice.ReasonNotStarted, sluice.ReasonEnded, sluice.ReasonPaused,
	}},
	{"user", (*Gate).checkUser, []sluice.Reason{sluice.ReasonBlocked}},
	{"eligibility", (*Gate).checkEligibility, []sluice.Reason{sluice.ReasonNotEligible}},
	{"marker", (*Gate).checkMarker, []sluice.Reason{sluice.ReasonSoldOut}},
	{"frequency", (*Gate).checkFrequency, []sluice.Reason{sluice.ReasonTooFrequent}},
	{"pass", (*Gate).checkPass, []sluice.Reason{
		sluice.ReasonNotStarted, sluice.ReasonPassRequired, sluice.ReasonPassInvalid, sluice.ReasonSignatureInvalid,
		sluice.ReasonBusy,
	}},
	{"capacity", (*Gate).checkCapacity, []sluice.Reason{sluice.ReasonBusy}},
	{"admission", (*Gate).checkAdmission, []sluice.Reason{
		sluice.ReasonSoldOut, sluice.ReasonBusy, sluice.ReasonLimitReached, sluice.ReasonQueued, sluice.ReasonConfirmed,
		sluice.ReasonRequestIDReused, sluice.ReasonUnavailable, sluice.ReasonDiscarded, sluice.ReasonLost,
	}},
}

// CheckInfo describes one check of the funnel, for the reference page.
type CheckInfo struct {
	Name    string
	Reasons []sluice.Reason
}

// Funnel lists the checks in the order in which a claim meets them.
func Funnel() []CheckInfo {
	infos := make([]CheckInfo, 0, len(funnel))
	for _, c := range funnel {
		infos = append(infos, CheckInfo{c.name, append([]sluice.Reason(nil), c.reasons...)})
	}
	return infos
}

// walk is one claim on its way down. It is used again: whatever keeps a part of it copies that part.
type walk struct {
	ctx      context.Context
	req      sluice.ClaimRequest
	quantity int
	now      sluice.Millis // the wall clock at the walk's begin: one moment for all checks
	mono     time.Duration // the other clock, at the same moment
	entry    *entry        // nil where the campaign is not known
	switches *switches
	token    *verified      // from the identity check on
	device   string         // from the identity check on: the token's, else the header's
	soldOut  bool           // from the user check on, where risk rules are asked: what they were told
	who      sluice.Subject // from the user check on, where there are risk rules
	solved   bool           // its pass was earned by solving a challenge
	verdict  sluice.Verdict // of the risk rules, from the user check on
	times    float64        // how far above normal its source is, where the campaign asks; from the schedule on
	id       sluice.ClaimID
	hasID    bool
	decision sluice.Decision
}

var walks = sync.Pool{New: func() any { return new(walk) }}

func takeWalk() *walk { return walks.Get().(*walk) }

func (w *walk) begin(ctx context.Context, g *Gate, req *sluice.ClaimRequest, mono time.Duration) {
	w.ctx, w.req, w.mono = ctx, *req, mono
	w.quantity = req.Quantity
	if w.quantity == 0 {
		w.quantity = 1
	}
	w.now = sluice.MillisOf(g.cfg.Now())
	w.switches = g.switches.Load()
	w.entry = (*g.registry.Load())[req.Campaign]
}

// release forgets everything: the request's strings may point into buffers that others use next.
func (w *walk) release() {
	*w = walk{}
	walks.Put(w)
}

// refuse answers with a reason alone.
func (w *walk) refuse(r sluice.Reason) bool {
	w.decision.Reason = r
	return true
}

// walk asks each check in turn and says which one answered.
func (g *Gate) walk(w *walk) int {
	for i := range funnel {
		if funnel[i].run(g, w) {
			return i
		}
	}
	// The last check always answers.
	return len(funnel) - 1
}
