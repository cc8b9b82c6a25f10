package sluice_test

import (
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
)

// FuzzCouponCode: what is read as a code is in canonical form, and is the same code however it is shown.
func FuzzCouponCode(f *testing.F) {
	code := sluice.NewCouponCode()
	for _, s := range []string{
		code, sluice.FormatCouponCode(code), strings.ToLower(code), "", "0", "O0IL-il1o-OOOO-OOOO", " - - ", "\x00",
		"ÀÀÀÀÀÀÀÀ",
		strings.Repeat("0", 16), strings.Repeat("-", 64), code + code,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := sluice.ParseCouponCode(s)
		if !ok {
			if got != "" {
				t.Fatalf("%q: refused, and read as %q", s, got)
			}
			return
		}
		if len(got) != 16 || strings.ToUpper(got) != got || strings.ContainsAny(got, "OILU- ") {
			t.Fatalf("%q: %q is not canonical", s, got)
		}
		for _, again := range []string{got, sluice.FormatCouponCode(got), strings.ToLower(got)} {
			if same, ok := sluice.ParseCouponCode(again); !ok || same != got {
				t.Fatalf("%q: %q was read as %q %v", s, again, same, ok)
			}
		}
	})
}

// FuzzIDs: an id that is read is written the same again; so each thing has one name.
func FuzzIDs(f *testing.F) {
	id := sluice.NewClaimID("spring", "alice", sluice.SourceClaim, "r")
	for _, s := range []string{
		id.String(), id.OrderID(), strings.ToUpper(id.String()), "clm_", "ord_", "", "0", "0-0", "7-12", "+7-1", "7-+1",
		"07-1", "7--1", "-7-1", "9223372036854775807-9223372036854775807", "9223372036854775808-0", "7-1-1",
		"clm_" + id.OrderID()[4:], id.String()[:35] + "\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := sluice.ParseClaimID(s); ok && id.String() != s {
			t.Errorf("claim %q is written %q", s, id)
		}
		if id, ok := sluice.ParseOrderID(s); ok && id.OrderID() != s {
			t.Errorf("order %q is written %q", s, id.OrderID())
		}
		e, ok := sluice.ParseEventID(s)
		start := s == "" || s == "0"
		if ok && !start && e.String() != s || start && e != (sluice.EventID{Index: -1}) {
			t.Errorf("event %q is written %q", s, e)
		}
	})
}
