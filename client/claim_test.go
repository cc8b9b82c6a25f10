package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/client/internal/fakeserver"
)

// bubble runs test against a fake server inside a synctest bubble: no wait takes time.
func bubble(t *testing.T, test func(t *testing.T, s *fakeserver.Server, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := fakeserver.New()
		s.RetryAfter = 100 * time.Millisecond
		s.Add(goods("spring", 10, 2))
		hc, stop := s.Listen()
		defer stop()
		c := client.New("http://sale", client.StaticToken("alice"))
		c.HTTPClient = hc
		c.Rand = func() float64 { return 0.5 }
		test(t, s, c)
	})
}

// goods is a campaign that began a minute ago.
func goods(id string, total int64, limit int) sluice.Campaign {
	now := sluice.MillisOf(time.Now())
	return sluice.Campaign{
		ID: id, Kind: sluice.KindGoods, Title: "A thing", Stock: sluice.Stock{Total: total}, PerUserLimit: limit,
		StartsAt: now.Add(-time.Minute), EndsAt: now.Add(time.Hour), Control: sluice.ControlOpen,
		Goods: sluice.Goods{PriceMinor: 9900, Currency: "CNY"},
	}
}

// TestUncertain breaks the first tries in every way that leaves the outcome open. Whatever breaks, one claim comes
// to be, and it is sent again only where the server said that there is none.
func TestUncertain(t *testing.T) {
	type faults = []fakeserver.Fault
	tests := []struct {
		name    string
		script  faults
		badAsks int
		posts   int
		asks    int
	}{
		{"nothing breaks", faults{}, 0, 1, 0},
		{"lost after it was done", faults{fakeserver.LostAfter}, 0, 1, 1},
		{"lost before it was done", faults{fakeserver.LostBefore}, 0, 2, 1},
		{"lost before, twice", faults{fakeserver.LostBefore, fakeserver.LostBefore}, 0, 3, 2},
		{"lost before, then after", faults{fakeserver.LostBefore, fakeserver.LostAfter}, 0, 2, 2},
		{"the body breaks off", faults{fakeserver.CutBody}, 0, 1, 1},
		{"503 with a claim id, done", faults{fakeserver.Unavailable}, 0, 1, 1},
		{"503 with a claim id, not done", faults{fakeserver.UnavailableNo}, 0, 2, 1},
		{"a proxy's 502, done", faults{fakeserver.BadGateway}, 0, 1, 1},
		{"a proxy's 502, not done", faults{fakeserver.GatewayNo}, 0, 2, 1},
		{"a 200 that is no JSON", faults{fakeserver.Garbled}, 0, 1, 1},
		{"slow, done", faults{fakeserver.SlowAfter}, 0, 1, 1},
		{"slow, not done", faults{fakeserver.SlowBefore}, 0, 2, 1},
		{"the questions break as well", faults{fakeserver.LostAfter}, 3, 1, 4},
		{"the questions break, none was done", faults{fakeserver.LostBefore}, 3, 2, 4},
		{"busy, then lost after", faults{fakeserver.Busy, fakeserver.LostAfter}, 0, 2, 1},
		{"lost before, then busy", faults{fakeserver.LostBefore, fakeserver.Busy}, 0, 3, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
				s.Script(tt.script...)
				s.BreakAsks(tt.badAsks)
				claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !claim.Won() || claim.OrderID == "" || claim.RequestID == "" {
					t.Errorf("got %+v", claim)
				}
				got := s.Counts()
				if want := (fakeserver.Counts{Posts: tt.posts, Asks: tt.asks, Made: 1}); got != want {
					t.Errorf("the server saw %+v, want %+v", got, want)
				}
				oneRequestID(t, s.Bodies(), claim.RequestID)
			})
		})
	}
}

// oneRequestID checks that every send of the claim carried the same id.
func oneRequestID(t *testing.T, bodies []string, want string) {
	t.Helper()
	for _, b := range bodies {
		var got struct {
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(b), &got); err != nil || got.RequestID != want {
			t.Errorf("sent %s, want request id %s (%v)", b, want, err)
		}
	}
}

// TestKeptConnectionBreaks: net/http sends a request again by itself where a kept connection breaks and it takes the
// request for repeatable. A claim must not look like that.
func TestKeptConnectionBreaks(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		if _, err := c.Campaign(t.Context(), "spring"); err != nil { // leaves a connection to be kept
			t.Fatal(err)
		}
		s.Script(fakeserver.LostBefore, fakeserver.Unavailable)
		if _, err := c.Claim(t.Context(), "spring", client.ClaimOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := s.Counts(); got.Posts != 2 || got.Asks != 2 {
			t.Errorf("the server saw %+v, want 2 posts and 2 questions", got)
		}
	})
}

// TestReset breaks a real connection with a RST in the middle of the answer.
func TestReset(t *testing.T) {
	s := fakeserver.New()
	s.Add(goods("spring", 10, 2))
	broken := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || broken {
			s.ServeHTTP(w, r)
			return
		}
		broken = true
		s.ServeHTTP(httptest.NewRecorder(), r) // done, and nobody hears of it
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
		_, _ = conn.Write([]byte(head + `{"code":`))
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}))
	defer web.Close()
	c := client.New(web.URL, client.StaticToken("alice"))
	c.Rand = func() float64 { return 0 }
	claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
	if err != nil || !claim.Won() {
		t.Fatalf("got %+v, %v", claim, err)
	}
	if got := s.Counts(); got.Posts != 1 || got.Asks != 1 || got.Made != 1 {
		t.Errorf("the server saw %+v", got)
	}
}

// TestOutcomeStaysOpen: where nobody can tell, the error says so and the claim can be taken up again.
func TestOutcomeStaysOpen(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Script(fakeserver.LostAfter)
		s.BreakAsks(1000)
		began := time.Now()
		_, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if took := time.Since(began); took > client.DefaultPatience {
			t.Errorf("took %v, longer than its patience", took)
		}
		var open *client.UncertainError
		var problem *client.Problem
		if !errors.As(err, &open) || !errors.Is(err, sluice.ErrUncertain) || !errors.As(err, &problem) {
			t.Fatalf("got %v", err)
		}
		if problem.Status != http.StatusBadGateway || problem.Code != "HTTP_502" {
			t.Errorf("the last failure is %+v", problem)
		}
		s.BreakAsks(0)
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: open.RequestID, Resume: true})
		if err != nil || !claim.Won() || !claim.Replayed {
			t.Errorf("taken up again: %+v, %v", claim, err)
		}
		if got := s.Counts(); got.Posts != 1 || got.Made != 1 {
			t.Errorf("the server saw %+v", got)
		}
	})
}

// TestQuestionRefused: a question that is refused for good says nothing of the claim.
func TestQuestionRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client.New("http://sale", nil)
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return nil, errors.New("broken")
			}
			return answer(http.StatusUnauthorized, "application/problem+json", `{"code":"UNAUTHENTICATED"}`), nil
		})}
		_, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		var problem *client.Problem
		if !errors.Is(err, sluice.ErrUncertain) || !errors.As(err, &problem) || problem.Status != http.StatusUnauthorized {
			t.Errorf("got %v", err)
		}
	})
}

// TestForeign404: a proxy that does not know the path has not said that there is no claim.
func TestForeign404(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := 0
		c := client.New("http://sale", nil)
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				posts++
				return nil, errors.New("broken")
			}
			return answer(http.StatusNotFound, "text/html", "<h1>404</h1>"), nil
		})}
		_, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if !errors.Is(err, sluice.ErrUncertain) || posts != 1 {
			t.Errorf("got %v after %d posts", err, posts)
		}
	})
}

// TestContextEnds: the context may end while the claim is under way, and before it began.
func TestContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Script(fakeserver.SlowAfter)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Claim(ctx, "spring", client.ClaimOptions{})
		if !errors.Is(err, sluice.ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("under way: %v", err)
		}
		_, err = c.Claim(ctx, "spring", client.ClaimOptions{})
		if errors.Is(err, sluice.ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before it began: %v", err)
		}
		if got := s.Counts(); got.Posts != 1 {
			t.Errorf("the server saw %+v", got)
		}
	})
}

// TestNobodyListens: a server that cannot be reached has done nothing.
func TestNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc, stop := fakeserver.New().Listen()
		stop()
		c := client.New("http://sale", nil)
		c.HTTPClient = hc
		_, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if !errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain) {
			t.Errorf("got %v", err)
		}
	})
}
