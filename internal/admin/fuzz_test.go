package admin_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// grantSink takes every grant, and has one coupon campaign with a limit of 5.
type grantSink struct {
	mu    sync.Mutex
	taken []sluice.Claim
}

func (s *grantSink) Campaign(context.Context, string) (sluice.Campaign, error) {
	return sluice.Campaign{
		ID: "c", Kind: sluice.KindCoupon, PerUserLimit: 5, StartsAt: now, EndsAt: now + 1_000_000,
		Control: sluice.ControlOpen,
	}, nil
}

func (s *grantSink) Admit(_ context.Context, c sluice.Claim) sluice.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, c)
	return sluice.Decision{Reason: sluice.ReasonConfirmed}
}

func (s *grantSink) Note(context.Context, sluice.Actor, string, string, any, any, sluice.Millis) error {
	return nil
}

// FuzzBulk: whatever comes as a file of grants, each line has one result, in order, and only what is within bounds is
// admitted.
func FuzzBulk(f *testing.F) {
	for _, s := range []string{
		"user_id,grant_id,quantity\nu1,g1,2\n,,\nu2,g2\n\"u,3\",g3,1\n\"\n", "grant_id,user_id\r\ng,u\r\n",
		"\ufeffuser_id,grant_id\na,b",
		"user_id\nu\n", "user_id,grant_id,colour\n", "", "\n\n",
		"user_id,grant_id,quantity\nu,g,-1\nu,g,9999999999999999999\nu,g,1.5\n", "user_id,user_id,grant_id\na,b,c\n",
		strings.Repeat("x", 5000) + "\nuser_id", "user_id,grant_id\n" + strings.Repeat("y", 5000) + "\nu,g",
	} {
		f.Add(true, []byte(s))
	}
	for _, s := range []string{
		`{"user_id":"u","grant_id":"g","quantity":2}` + "\n" + `{"user_id":"u","grant_id":"h"}`, `{}`, `null`, `[]`,
		`{"user_id":1}`, `{"user_id":"u","grant_id":"g","quantity":1.0}`, `{"user_id":"u","grant_id":"g","colour":1}`,
		`{"user_id":"u","grant_id":"g"} x`, `{"user_id":"u","grant_id":"g","quantity":null}`,
		`{"user_id":"\ud800","grant_id":"\u0000"}`, "\xff\xfe",
	} {
		f.Add(false, []byte(s))
	}
	f.Fuzz(func(t *testing.T, csv bool, body []byte) {
		sink := &grantSink{}
		desk := admin.NewGrants(admin.GrantsConfig{Ledger: sink, Admitter: sink, Noter: sink, MaxLines: 50, Window: 8})
		format := sluice.FormatJSONLines
		if csv {
			format = sluice.FormatCSV
		}
		var last, results, good int64
		totals, err := desk.Bulk(t.Context(), "c", format, bytes.NewReader(body), sluice.Actor{},
			func(r sluice.GrantResult) error {
				if r.Line <= last {
					t.Errorf("line %d after line %d", r.Line, last)
				}
				last = r.Line
				results++
				if r.Fault == "" {
					good++
				}
				return nil
			})
		if err != nil && !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%q: %v", body, err)
		}
		if totals.Lines != results || totals.Confirmed != good || int64(len(sink.taken)) != good ||
			totals.Faults != results-good {
			t.Errorf("%q: %+v, %d results, %d good, %d admitted", body, totals, results, good, len(sink.taken))
		}
		for _, c := range sink.taken {
			if c.Quantity < 1 || c.Quantity > 5 || len(c.CouponCodes) != c.Quantity || len(c.User) < 1 ||
				len(c.User) > sluice.MaxUserID || len(c.RequestID) < 1 || len(c.RequestID) > sluice.MaxReference ||
				!utf8.ValidString(c.User+c.RequestID) {
				t.Errorf("%q: admitted %+v", body, c)
			}
		}
	})
}
