package client_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
	"github.com/sluice-sale/sluice/client/internal/fakeserver"
)

// transport answers requests without a server.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestRefusalsAreValues: each comes after one send, whether refusals have a status of their own or not.
func TestRefusalsAreValues(t *testing.T) {
	for _, status := range []bool{false, true} {
		bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
			s.Status = status
			s.Add(goods("none", 0, 1))
			later := goods("later", 1, 1)
			later.StartsAt = sluice.MillisOf(time.Now().Add(time.Hour))
			later.EndsAt = later.StartsAt + 1000
			s.Add(later)
			if _, err := c.Claim(t.Context(), "spring", client.ClaimOptions{Quantity: 2}); err != nil {
				t.Fatal(err)
			}
			for campaign, want := range map[string]sluice.Reason{
				"none": sluice.ReasonSoldOut, "spring": sluice.ReasonLimitReached, "later": sluice.ReasonNotStarted,
			} {
				before := s.Counts().Posts
				claim, err := c.Claim(t.Context(), campaign, client.ClaimOptions{})
				if err != nil {
					t.Fatalf("%s: %v", campaign, err)
				}
				if claim.Reason() != want || claim.Won() || claim.State != "" || claim.Message == "" {
					t.Errorf("%s: got %+v, want %s", campaign, claim, want)
				}
				if posts := s.Counts().Posts - before; posts != 1 {
					t.Errorf("%s: sent %d times", campaign, posts)
				}
			}
		})
	}
}

// TestProblems: what cannot be right is an error at once, after one send.
func TestProblems(t *testing.T) {
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		if _, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"}); err != nil {
			t.Fatal(err)
		}
		nobody := *c
		nobody.Token = nil
		tests := []struct {
			c        *client.Client
			campaign string
			opts     client.ClaimOptions
			kind     error
			status   int
			code     string
		}{
			{c, "no such", client.ClaimOptions{}, sluice.ErrNotFound, 404, "UNKNOWN_CAMPAIGN"},
			{c, "spring", client.ClaimOptions{RequestID: "r1", Quantity: 2}, sluice.ErrConflict, 409, "REQUEST_ID_REUSED"},
			{c, "spring", client.ClaimOptions{Quantity: -1}, sluice.ErrInvalid, 422, "VALIDATION"},
			{&nobody, "spring", client.ClaimOptions{}, nil, 401, "UNAUTHENTICATED"},
		}
		for _, tt := range tests {
			before := s.Counts().Posts
			_, err := tt.c.Claim(t.Context(), tt.campaign, tt.opts)
			var p *client.Problem
			if !errors.As(err, &p) || p.Status != tt.status || p.Code != tt.code || p.RequestID != "log-1" {
				t.Errorf("%s: got %v", tt.code, err)
				continue
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("%s: %v does not match %v", tt.code, err, tt.kind)
			}
			if tt.status == 422 && (len(p.Fields) != 1 || p.Fields[0].Field != "quantity") {
				t.Errorf("%s: fields %v", tt.code, p.Fields)
			}
			if n := s.Counts().Posts - before; n != 1 {
				t.Errorf("%s: sent %d times", tt.code, n)
			}
		}
	})
}

// TestBusy: a storm is waited out as the server asks; one without end gives the last refusal, in bounded tries and
// time.
func TestBusy(t *testing.T) {
	storm := func(n int) (all []fakeserver.Fault) {
		for i := range n {
			all = append(all, []fakeserver.Fault{fakeserver.Busy, fakeserver.TooFrequent}[i%2])
		}
		return all
	}
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Script(storm(5)...)
		began := time.Now()
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil || !claim.Won() {
			t.Fatalf("got %+v, %v", claim, err)
		}
		if took := time.Since(began); took < 5*s.RetryAfter {
			t.Errorf("took %v: came back before the server asked it to", took)
		}
		if got := s.Counts(); got.Posts != 6 || got.Asks != 0 {
			t.Errorf("the server saw %+v", got)
		}
	})
	bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
		s.Script(storm(1000)...)
		began := time.Now()
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
		if err != nil || claim.Won() || (claim.Code != "BUSY" && claim.Code != "TOO_FREQUENT") {
			t.Fatalf("got %+v, %v", claim, err)
		}
		if took := time.Since(began); took > client.DefaultPatience {
			t.Errorf("took %v", took)
		}
		if got := s.Counts(); got.Posts > 30 {
			t.Errorf("sent %d times", got.Posts)
		}
	})
}

// TestJitter: two who were refused together do not come back together.
func TestJitter(t *testing.T) {
	var took []time.Duration
	for _, r := range []float64{0, 0.9} {
		bubble(t, func(t *testing.T, s *fakeserver.Server, c *client.Client) {
			c.Rand = func() float64 { return r }
			s.Script(fakeserver.Busy)
			began := time.Now()
			if _, err := c.Claim(t.Context(), "spring", client.ClaimOptions{}); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
		})
	}
	if want := []time.Duration{100 * time.Millisecond, 325 * time.Millisecond}; !slices.Equal(took, want) {
		t.Errorf("waited %v, want %v", took, want)
	}
}
