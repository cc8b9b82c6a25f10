package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// plainReceipts are not signed.
type plainReceipts struct{}

func (plainReceipts) AppendReceipt(
	dst []byte, _ sluice.Millis, campaign string, id sluice.ClaimID, _ int, epoch int64,
) []byte {
	if epoch == 0 {
		return dst
	}
	return append(dst, "of-"+campaign+"-"+id.String()...)
}

func (plainReceipts) ReadReceipt(_ sluice.Millis, id sluice.ClaimID, text string) (sluice.Claim, bool) {
	campaign, ok := strings.CutSuffix(strings.TrimPrefix(text, "of-"), "-"+id.String())
	return sluice.Claim{ID: id, Campaign: campaign, Quantity: 1, Epoch: 3}, ok
}

// lostLedger records what is lost among the claims, or says that it may still turn up.
type lostLedger struct {
	claims *fakeClaims
	err    error
	asked  []sluice.Claim
}

func (l *lostLedger) Lost(_ context.Context, c sluice.Claim) (sluice.Outcome, error) {
	l.asked = append(l.asked, c)
	if l.err == nil {
		l.claims.put(sluice.ClaimRecord{Claim: c, State: sluice.ClaimRejected, Code: sluice.ReasonLost})
	}
	return sluice.Outcome{Reason: sluice.ReasonLost, State: sluice.ClaimRejected}, l.err
}

// TestAPromiseThatNobodyKnows: a queued claim has a receipt; shown by its owner, where neither gate nor ledger knows
// the claim, it is queued as long as it may turn up and then lost, for good. Without one it is not found.
func TestAPromiseThatNobodyKnows(t *testing.T) {
	known := &fakeClaims{}
	ledger := &lostLedger{claims: known}
	p := public(t, api.PublicConfig{}, api.PublicDeps{
		Gate: &fakeGate{}, Claims: known, Receipts: plainReceipts{}, Lost: ledger,
	})
	c := record("alice", "r1", sluice.ClaimQueued)
	c.Code, c.Epoch, c.OrderState = sluice.ReasonQueued, 3, ""
	known.put(c)
	uri := "/v1/claims/" + c.ID.String()
	got := do(p, peer, "GET", uri, "", alice)
	receipt := got.field(t, "receipt")
	if receipt != "of-"+c.Campaign+"-"+c.ID.String() || len(ledger.asked) > 0 {
		t.Fatalf("queued: %s", got.body)
	}
	delete(known.all, c.ID)
	for name, tt := range map[string]struct{ uri, who string }{
		"without it":       {uri, alice},
		"of another claim": {uri + "?receipt=of-x-clm_y", alice},
		"of another user":  {uri + "?receipt=" + receipt, "Authorization: Bearer buyer-bob"},
	} {
		if got := do(p, peer, "GET", tt.uri, "", tt.who); got.status != 404 || len(ledger.asked) > 0 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	ledger.err = sluice.NewFault(sluice.ErrConflict, "NOT_LOST", "")
	got = do(p, peer, "GET", uri+"?receipt="+receipt, "", alice)
	if got.status != 200 || got.field(t, "state") != "queued" || got.field(t, "receipt") != receipt {
		t.Errorf("while it may turn up: %d %s", got.status, got.body)
	}
	ledger.err = sluice.ErrUnavailable
	if got = do(p, peer, "GET", uri+"?receipt="+receipt, "", alice); got.status != 503 {
		t.Errorf("nobody can say: %d %s", got.status, got.body)
	}
	ledger.err = nil
	for range 2 {
		got = do(p, peer, "GET", uri+"?receipt="+receipt, "", alice)
		if got.status != 200 || got.field(t, "code") != "LOST" || got.field(t, "state") != "rejected" {
			t.Errorf("lost: %d %s", got.status, got.body)
		}
	}
	if n := len(ledger.asked); n != 3 || ledger.asked[2].User != "alice" || ledger.asked[2].Epoch != 3 {
		t.Errorf("asked %d times: %+v", n, ledger.asked)
	}
}
