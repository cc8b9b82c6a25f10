package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// TestAStopLosesNothing stops a server under load: whatever was answered CONFIRMED is there afterwards, and no
// request was cut off without an answer after it had been taken.
func TestAStopLosesNothing(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("spring", 1_000_000, 1, nil))
	var confirmed sync.Map
	var count atomic.Int64
	var crowd sync.WaitGroup
	for w := range 16 {
		crowd.Go(func() {
			for i := 0; ; i++ {
				user := fmt.Sprintf("u%d-%d", w, i)
				c, err := s.TryClaim("spring", user, "r", 1)
				if err != nil {
					return // no server any more
				}
				if c.Code == "CONFIRMED" {
					confirmed.Store(user, c.ClaimID)
					count.Add(1)
				}
			}
		})
	}
	if !s.Eventually(askFor, func() bool { return count.Load() > 500 }) {
		t.Fatal("too few claims were confirmed")
	}
	s.Stop(t)
	crowd.Wait()
	s.Restart(t)
	v := s.Verify(t, "spring")
	if v.Held < count.Load() {
		t.Errorf("%d units are held, and %d were confirmed", v.Held, count.Load())
	}
	var report struct{ Decisions map[string]int64 }
	s.Admin(t, "GET", "/v1/admin/campaigns/spring/report", nil, 200).Into(t, &report)
	if n := report.Decisions["CONFIRMED"]; n != v.Held {
		t.Errorf("the funnel has %d confirmed claims, and there are %d", n, v.Held)
	}
	confirmed.Range(func(user, id any) bool {
		c := s.Claim(t, "spring", user.(string), "r", 1)
		if c.ClaimID != id || !c.Replayed {
			t.Errorf("%s: %+v, confirmed as %s", user, c, id)
			return false
		}
		return true
	})
}

// askFor bounds the wait for something that a server does by itself.
const askFor = 30 * time.Second

// TestReadinessGoesBeforeTheListener: while a stop is delayed, /readyz says no and claims are still answered. The
// next signal ends the delay and cuts what is under way.
func TestReadinessGoesBeforeTheListener(t *testing.T) {
	s := e2e.Start(t, e2e.Options{Args: []string{"--shutdown-delay", "5m"}})
	s.Create(t, e2e.Goods("spring", 5, 1, nil))
	s.Signal(t, syscall.SIGTERM)
	notReady := func() bool {
		a, err := s.TryAsk("GET", s.AdminURL+"/readyz", "", nil)
		return err == nil && a.Status == 503 && strings.Contains(string(a.Body), "stopping")
	}
	if !s.Eventually(askFor, notReady) {
		t.Fatal("/readyz does not say that it is stopping")
	}
	if c := s.Claim(t, "spring", "alice", "r", 1); c.Code != "CONFIRMED" {
		t.Errorf("a claim during the delay: %+v", c)
	}
	s.Signal(t, syscall.SIGTERM)
	if code := s.WaitExit(t); code != 0 {
		t.Errorf("code %d", code)
	}
	if !strings.Contains(s.Log(), "hurrying") {
		t.Errorf("the log:\n%s", s.Log())
	}
}

// TestAStopDuringTheStart: a signal is never lost, whatever moment of the start it meets.
func TestAStopDuringTheStart(t *testing.T) {
	for range 10 {
		s := e2e.Start(t, e2e.Options{NoReady: true})
		up := func() bool {
			_, err := s.TryAsk("GET", s.AdminURL+"/healthz", "", nil)
			return err == nil
		}
		if !s.Eventually(askFor, up) {
			t.Fatalf("it does not come up\n%s", s.Log())
		}
		s.Stop(t)
	}
}

// TestAnUnusableFolder: the error names the folder and what to run next.
func TestAnUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := e2e.Command(t, nil, "", "serve", "--data", filepath.Join(file, "data"), "--listen", e2e.FreeAddr(t),
		"--admin-listen", e2e.FreeAddr(t))
	if r.Code != 1 || !strings.Contains(r.Err, "sluice doctor") {
		t.Errorf("%+v", r)
	}
	if d := e2e.Command(t, nil, "", "doctor", "--data", filepath.Join(file, "data"), "--json"); d.Code != 1 ||
		!strings.Contains(d.Out, `"bad"`) {
		t.Errorf("doctor: %+v", d)
	}
}
