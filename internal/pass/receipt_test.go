package pass_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/pass"
)

// TestReceiptOfAPromise: a receipt tells on every node what was promised, of its own claim and as long as it may
// matter; nobody can make one up.
func TestReceiptOfAPromise(t *testing.T) {
	l, now := &ledger{}, &clock{at: opening}
	node := func() *pass.Keys {
		k := pass.NewKeys(pass.KeysConfig{Ledger: l, Now: now.now})
		if err := k.Tend(t.Context()); err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, other := node(), node()
	longest := strings.Repeat("c", sluice.MaxCampaignID)
	id := sluice.NewClaimID(longest, "alice", sluice.SourceClaim, "r")
	text := string(one.AppendReceipt(nil, now.at, longest, id, 3, 7))
	if len(text) == 0 || len(text) > sluice.MaxReceipt {
		t.Fatalf("%d bytes", len(text))
	}
	c, ok := other.ReadReceipt(now.at, id, text)
	if !ok || c.ID != id || c.Campaign != longest || c.Quantity != 3 || c.Epoch != 7 || c.At != now.at {
		t.Errorf("%+v %v", c, ok)
	}
	foreign := pass.NewKeys(pass.KeysConfig{Ledger: &ledger{}, Now: now.now})
	if err := foreign.Tend(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]string{
		"of another claim": string(one.AppendReceipt(nil, now.at, longest, sluice.NewClaimID(longest, "bob", 0, "r"), 3, 7)),
		"of another shop":  string(foreign.AppendReceipt(nil, now.at, longest, id, 3, 7)),
		"too old":          string(one.AppendReceipt(nil, now.at.Add(-3*time.Hour), longest, id, 3, 7)),
		"a pass":           aPass(t, one, now.at, longest), "empty": "", "three dots": "r1...",
	} {
		if _, ok := one.ReadReceipt(now.at, id, made); ok {
			t.Errorf("believed: %s: %s", name, made)
		}
	}
	for i := range text { // every byte of it counts
		for _, b := range []byte{'A', '.'} {
			if forged := text[:i] + string(b) + text[i+1:]; forged != text {
				if _, ok := one.ReadReceipt(now.at, id, forged); ok {
					t.Errorf("believed with byte %d changed: %s", i, forged)
				}
			}
		}
	}
	if b := one.AppendReceipt(nil, now.at, longest, id, 1, 0); b != nil {
		t.Errorf("a receipt where there is no gate: %s", b)
	}
}

func aPass(t *testing.T, k *pass.Keys, now sluice.Millis, campaign string) string {
	t.Helper()
	text, err := k.Issue(now, campaign, "alice", "", sluice.Pass{From: now, Until: now + 1000})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
