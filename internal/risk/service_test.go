package risk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/risk"
)

// standIn is a risk service that answers what it is told to.
type standIn struct {
	answer atomic.Pointer[string]
	asks   atomic.Int64
	hang   atomic.Bool
	end    chan struct{}
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asks.Add(1)
	if s.hang.Load() {
		select {
		case <-r.Context().Done():
		case <-s.end:
		}
		return
	}
	var q map[string]any
	if json.NewDecoder(r.Body).Decode(&q) != nil || q["user_id"] != "u1" || q["campaign_id"] != "spring" ||
		r.Header.Get("Authorization") != "Bearer secret-token" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte(*s.answer.Load()))
}

func TestService(t *testing.T) {
	in := &standIn{end: make(chan struct{})}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	say := func(s string) { in.answer.Store(&s) }
	sub := &sluice.Subject{Campaign: "spring", User: "u1", Device: "d1"}
	for _, closed := range []bool{false, true} {
		now := time.Now()
		s := risk.NewService(risk.ServiceConfig{URL: server.URL, Token: "secret-token", Closed: closed,
			Budget: 10 * time.Second, Now: func() time.Time { return now }})
		for _, tt := range []struct {
			answer string
			want   sluice.Verdict
		}{
			{`{"verdict":"allow"}`, sluice.Verdict{}},
			{`{"verdict":"challenge"}`, sluice.Verdict{Challenge: true, Rule: risk.ServiceRule}},
			{`{"verdict":"block","reference":"case-7"}`,
				sluice.Verdict{Block: true, Rule: risk.ServiceRule, Reference: "case-7"}},
			{`{"verdict":"maybe"}`, sluice.Verdict{Challenge: closed, Rule: risk.ServiceRule}},
			{`nonsense`, sluice.Verdict{Challenge: closed, Rule: risk.ServiceRule}},
		} {
			say(tt.answer)
			if v := s.Ask(t.Context(), sub); v != tt.want {
				t.Errorf("closed %v, %s: %+v, want %+v", closed, tt.answer, v, tt.want)
			}
		}
	}
}

// TestSlowServiceIsNotWaitedFor: a service that hangs costs its budget a few times, and then nothing until it is tried
// again.
func TestSlowServiceIsNotWaitedFor(t *testing.T) {
	in := &standIn{end: make(chan struct{})}
	in.hang.Store(true)
	allow := `{"verdict":"allow"}`
	in.answer.Store(&allow)
	server := httptest.NewServer(in)
	t.Cleanup(func() { close(in.end); server.Close() })
	now := time.Now()
	s := risk.NewService(risk.ServiceConfig{URL: server.URL, Token: "secret-token", Closed: true,
		Budget: 20 * time.Millisecond, Now: func() time.Time { return now }})
	sub := &sluice.Subject{Campaign: "spring", User: "u1"}
	for range 1000 {
		if v := s.Ask(context.Background(), sub); !v.Challenge {
			t.Fatalf("closed, and the verdict is %+v", v)
		}
	}
	if n := s.Asked(); n["failed"] != 5 || n["rested"] != 995 {
		t.Fatalf("asked %v", n)
	}
	in.hang.Store(false)
	now = now.Add(6 * time.Second)
	slow := risk.NewService(risk.ServiceConfig{URL: server.URL, Token: "secret-token", Budget: 10 * time.Second})
	if v := slow.Ask(t.Context(), sub); v != (sluice.Verdict{}) {
		t.Fatalf("the service answers again: %+v", v)
	}
	before := s.Asked()
	s.Ask(t.Context(), sub)
	if after := s.Asked(); after["rested"] != before["rested"] {
		t.Fatalf("it was not tried again after its rest: %v", after)
	}
}

func FuzzServiceAnswer(f *testing.F) {
	f.Add([]byte(`{"verdict":"block","reference":"x"}`))
	f.Add([]byte(`{"verdict":7}`))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = risk.ParseAnswer(b) })
}
