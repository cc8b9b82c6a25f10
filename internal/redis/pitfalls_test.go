package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestAQueuedClaimIsFoundOnEveryNodeAtOnce asks another node for claims in the moment after they were promised: a node
// that has not yet read the list of holders on must not say that there is no such claim.
func TestAQueuedClaimIsFoundOnEveryNodeAtOnce(t *testing.T) {
	server := servers.Redis(t)
	s := newSite(t, server.URL(), 1)
	a, b := s.open(t, "a", nil), s.open(t, "b", nil)
	if err := b.Put(t.Context(), a.create(t, goods("c", 100, 1))); err != nil {
		t.Fatal(err)
	}
	a.hush(true)
	b.hush(true)
	for i := range 50 {
		c := claimOf("c", fmt.Sprint("u", i), "r", 1)
		if d := insist(a, c, 5*time.Second); d.Reason != sluice.ReasonQueued {
			t.Fatalf("claim %d: %v", i, d.Reason)
		}
		if got, found, err := b.Find(t.Context(), c.ID); err != nil || !found || got.User != c.User {
			t.Fatalf("claim %d at the other node: %+v, %v, %v", i, got, found, err)
		}
		if i == 0 { // from here on the other node has read the list once
			eventually(2*time.Second, func() bool { p, _, _ := b.Permit("c"); return p.Queued == 1 })
			<-time.After(50 * time.Millisecond)
		}
	}
}
