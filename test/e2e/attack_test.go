package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

func dial(t *testing.T, s *e2e.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestIdleConnections holds 10,000 connections open and silent: claims go on beside them.
func TestIdleConnections(t *testing.T) {
	const idle = 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < idle+500 {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < idle+500 {
			t.Fatalf("this test needs %d open files; the limit is %d (%v)", idle+500, limit.Cur, err)
		}
	}
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("idle", 100, 1, nil))
	for range idle {
		dial(t, s)
	}
	got := atOnce(100, func(i int) string {
		c, err := s.TryClaim("idle", fmt.Sprint("u", i), "r", 1)
		if err != nil {
			return err.Error()
		}
		return c.Code
	})
	if got["CONFIRMED"] != 100 {
		t.Errorf("%v", got)
	}
}

// TestSlowLoris dribbles request heads and bodies: the server hangs up on each, and answers others meanwhile.
func TestSlowLoris(t *testing.T) {
	s := e2e.Start(t, e2e.Options{Args: []string{"--limits-read-timeout", "1s"}})
	s.Create(t, e2e.Goods("slow", 10, 1, nil))
	starts := []string{
		post("slow") + "X-A: ",
		post("slow") + "Content-Length: 100\r\nContent-Type: application/json\r\n\r\n{",
	}
	var all sync.WaitGroup
	for _, start := range starts {
		for range 50 {
			c := dial(t, s)
			all.Go(func() {
				if _, err := io.WriteString(c, start); err != nil {
					return
				}
				tick := time.NewTicker(100 * time.Millisecond)
				defer tick.Stop()
				closed := make(chan struct{})
				go func() { _, _ = io.Copy(io.Discard, c); close(closed) }()
				deadline := time.After(20 * time.Second)
				for {
					select {
					case <-closed:
						return
					case <-tick.C:
						_, _ = io.WriteString(c, "a") // fails once the server has hung up; closed tells
					case <-deadline:
						t.Error("the server still listens to a client that dribbles")
						return
					}
				}
			})
		}
	}
	if c := s.Claim(t, "slow", "u", "r", 1); c.Code != "CONFIRMED" {
		t.Errorf("meanwhile: %+v", c)
	}
	all.Wait()
}

// TestOversized sends more than the bounds allow, in each place.
func TestOversized(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	s.Create(t, e2e.Goods("big", 10, 1, nil))
	body := `{"request_id":"` + strings.Repeat("a", 1<<20) + `"}`
	if a, err := s.TryAsk("POST", s.URL+"/v1/campaigns/big/claims", e2e.Token("u"), body); err == nil && a.Status != 413 {
		t.Errorf("a body of 1 MB: %d %s", a.Status, a.Body)
	}
	for name, head := range map[string]string{
		"a header of 1 MB":     "GET /v1/time HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
		"a path of 1 MB":       "GET /v1/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"a length that lies":   post("big") + "Content-Length: 99999999999\r\n\r\n",
		"a negative length":    post("big") + "Content-Length: -1\r\n\r\n",
		"two lengths":          post("big") + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"no HTTP":              strings.Repeat("\x00\xff", 4096),
		"a huge chunk":         post("big") + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"both ways of a body":  post("big") + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a method of 100 KB":   strings.Repeat("A", 100_000) + " / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a thousand headers":   "GET /v1/time HTTP/1.1\r\nHost: x\r\n" + strings.Repeat(longHeader, 1000) + "\r\n",
		"a deep body":          request("big", strings.Repeat(`{"request_id":`, 2000)),
		"a body of open lists": request("big", strings.Repeat(`[`, 10000)),
	} {
		c := dial(t, s)
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		go func() { _, _ = io.WriteString(c, head) }() // the server may hang up before it has read it all
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			continue // hung up: an answer too
		}
		_ = resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if c := s.Claim(t, "big", "u", "r", 1); c.Code != "CONFIRMED" {
		t.Errorf("afterwards: %+v", c)
	}
}

const longHeader = "X-Long-Header-Name: 0123456789012345678901234567890123456789\r\n"

// post begins a claim on campaign; more headers, or the end of the head, follow.
func post(campaign string) string {
	return "POST /v1/campaigns/" + campaign + "/claims HTTP/1.1\r\nHost: x\r\n"
}

func request(campaign, body string) string {
	return post(campaign) + "Authorization: Bearer " + e2e.Token("u") + "\r\nContent-Type: application/json\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// TestListenersDoNotServeEachOther: a buyer's port knows no operator's route, and the other way round.
func TestListenersDoNotServeEachOther(t *testing.T) {
	s := e2e.Start(t, e2e.Options{})
	for _, path := range []string{
		"/metrics", "/readyz", "/v1/admin/campaigns", "/debug/pprof/", "/openapi.json", "/docs",
	} {
		if a := s.Ask(t, "GET", s.URL+path, e2e.AdminKey, nil); a.Status != 404 {
			t.Errorf("public %s: %d", path, a.Status)
		}
	}
	for _, path := range []string{"/v1/time", "/v1/campaigns", "/v1/me/orders"} {
		if a := s.Ask(t, "GET", s.AdminURL+path, e2e.AdminKey, nil); a.Status != 404 {
			t.Errorf("operators' %s: %d", path, a.Status)
		}
	}
}
