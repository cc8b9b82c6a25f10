package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/test/e2e"
)

// sdk makes the SDK's client for one buyer.
func sdk(s *e2e.Server, user string) *client.Client {
	return client.New(s.URL, client.StaticToken(e2e.Token(user)))
}

// TestSDKClaims walks the SDK's calls of claims against the real server.
func TestSDKClaims(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 2, 1, nil))
	alice := sdk(s, "alice")

	clock, err := alice.SyncTime(t.Context())
	if err != nil || clock.Offset().Abs() > time.Second {
		t.Errorf("clock %+v, %v", clock, err)
	}
	campaign, err := alice.WaitForStart(t.Context(), "spring")
	if err != nil || campaign.State != sluice.StateLive || campaign.Goods == nil || campaign.Goods.PriceMinor != 9900 {
		t.Fatalf("campaign %+v, %v", campaign, err)
	}
	claim, err := alice.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"})
	if err != nil || !claim.Won() || claim.OrderID == "" || claim.Replayed {
		t.Fatalf("claim %+v, %v", claim, err)
	}
	again, err := alice.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1", Resume: true})
	if err != nil || again.ID != claim.ID {
		t.Errorf("taken up again: %+v, %v", again, err)
	}
	found, err := alice.LookupClaim(t.Context(), claim.ID)
	if err != nil || found.State != client.Confirmed || found.OrderID != claim.OrderID {
		t.Errorf("looked up: %+v, %v", found, err)
	}
	if _, err = sdk(s, "bob").LookupClaim(t.Context(), claim.ID); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("another's claim: %v", err)
	}
	if _, err = alice.FindClaim(t.Context(), "spring", "r2"); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("an unknown request id: %v", err)
	}
	if _, err = alice.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1", Quantity: 2}); !refused(err, 422) {
		t.Errorf("above the limit: %v", err)
	}
	if _, err = alice.Claim(t.Context(), "no-such", client.ClaimOptions{}); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("an unknown campaign: %v", err)
	}
	over, err := alice.Claim(t.Context(), "spring", client.ClaimOptions{})
	if err != nil || over.Reason() != sluice.ReasonLimitReached || len(over.Claims) != 1 || over.Claims[0] != claim.ID {
		t.Errorf("over the limit: %+v, %v", over, err)
	}
	listed := 0
	for c, err := range alice.Campaigns(t.Context()) {
		if err != nil || c.ID != "spring" {
			t.Errorf("listed %+v, %v", c, err)
		}
		listed++
	}
	if listed != 1 {
		t.Errorf("%d campaigns listed", listed)
	}
}

// refused says whether err is a problem of that status.
func refused(err error, status int) bool {
	var p *client.Problem
	return errors.As(err, &p) && p.Status == status && p.Code != "" && p.RequestID != ""
}

// TestSDKOutlivesAKill: the server is killed in the middle of a sale and started again. Every buyer gets one
// answer, every winner one unit, and the ledger knows each of them under the request id that the SDK chose.
func TestSDKOutlivesAKill(t *testing.T) {
	const buyers, units = 300, 200
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", units, 1, nil))
	transport := &http.Transport{MaxIdleConnsPerHost: 32, MaxConnsPerHost: 32}
	defer transport.CloseIdleConnections()

	var confirmed atomic.Int32
	killed := make(chan struct{})
	var once sync.Once
	answers, failed := make([]*client.Claim, buyers), make([]error, buyers)
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() {
			c := sdk(s, fmt.Sprintf("buyer-%d", i))
			c.HTTPClient = &http.Client{Transport: transport}
			answers[i], failed[i] = c.Claim(t.Context(), "spring", client.ClaimOptions{})
			if failed[i] == nil && answers[i].Won() && confirmed.Add(1) == units/4 {
				once.Do(func() { s.KillNow(); close(killed) })
			}
		})
	}
	<-killed
	s.WaitExit(t)
	s.Restart(t)
	all.Wait()

	won := 0
	for i, claim := range answers {
		switch {
		case failed[i] != nil:
			t.Errorf("buyer %d: %v", i, failed[i])
		case claim.Won():
			won++
			found, err := sdk(s, fmt.Sprintf("buyer-%d", i)).FindClaim(t.Context(), "spring", claim.RequestID)
			if err != nil || found.ID != claim.ID || !found.Won() {
				t.Errorf("buyer %d holds %s, and the ledger says %+v, %v", i, claim.ID, found, err)
			}
		case claim.Reason() != sluice.ReasonSoldOut:
			t.Errorf("buyer %d: %s", i, claim.Code)
		}
	}
	if v := s.Verify(t, "spring"); won != units || v.Held != units {
		t.Errorf("%d buyers were told that they won, the ledger holds %d, there were %d units", won, v.Held, units)
	}
}
