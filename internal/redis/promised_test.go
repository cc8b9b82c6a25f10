package redis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// TestPromisesComeBackWhole keeps claims of all shapes and drops some; those of epochs that are over come back as they
// were, each once.
func TestPromisesComeBackWhole(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	p := redis.NewPromises(1 << 20)
	want := map[sluice.ClaimID]sluice.Claim{}
	for call := range 300 {
		claims := make([]sluice.Claim, 1+random.IntN(700))
		for i := range claims {
			user, request := fmt.Sprint("user ", call, " ", i), strings.Repeat("r", random.IntN(sluice.MaxRequestID+1))
			campaign := fmt.Sprint("c", random.IntN(2))
			claims[i] = sluice.Claim{
				ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
				RequestID: request, Quantity: 1 + random.IntN(sluice.MaxPerUserLimit), Source: sluice.Source(random.IntN(2)),
				At: sluice.Millis(random.Int64N(1 << 40)), Epoch: 1 + random.Int64N(3),
			}
			if claims[i].Campaign == "c0" && claims[i].Epoch < 3 {
				want[claims[i].ID] = claims[i]
			}
		}
		p.Keep(claims, 0)
		gone := claims[random.IntN(len(claims))]
		p.Drop(gone.ID)
		delete(want, gone.ID)
		clear(claims) // they are not the list's
	}
	got := p.Before("c0", 3, 1<<20)
	if len(got) != len(want) {
		t.Fatalf("%d come back, of %d", len(got), len(want))
	}
	for i := range got {
		w, ok := want[got[i].ID]
		delete(want, got[i].ID)
		if g := got[i]; !ok || fmt.Sprint(g) != fmt.Sprint(w) {
			t.Fatalf("%+v, kept as %+v", g, w)
		}
	}
}

// TestARequestIDIsNotTheConnections: whoever has given up reads the next request into the buffer in which its id stood,
// while the claim still waits for its call.
func TestARequestIDIsNotTheConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.answering = func(n int, _ *redis.AdmitReply) error {
			if n == 1 {
				<-time.After(3 * time.Second)
			}
			return nil
		}
		a := over(t, f, func(c *redis.AdmissionConfig, d *redis.AdmissionDeps) {
			c.Flights, c.MaxWait, d.Ledger = 1, time.Second, &stubborn{away: true}
		})
		defer a.Close()
		go a.Admit(t.Context(), claimOf("c", "first", "r1", 1))
		synctest.Wait()
		buffers := [][]byte{[]byte("request 2"), []byte("req 3"), nil}
		for i, b := range buffers {
			go func() {
				id := unsafe.String(unsafe.SliceData(b), len(b))
				d := a.Admit(t.Context(), claimOf("c", fmt.Sprint(i), id, 1))
				if d.Reason != sluice.ReasonUnavailable {
					t.Error(d.Reason)
				}
				copy(b, "overwritten")
			}()
			synctest.Wait()
		}
		<-time.After(4 * time.Second)
		var ids []string
		for _, c := range a.Promised("c", 2) {
			ids = append(ids, c.User+": "+c.RequestID)
		}
		slices.Sort(ids)
		if got := strings.Join(ids, ", "); got != "0: request 2, 1: req 3, 2: , first: r1" {
			t.Error(got)
		}
	})
}
