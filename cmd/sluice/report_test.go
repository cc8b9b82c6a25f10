package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestReportCountsOneAsOne: what there is one of has no s.
func TestReportCountsOneAsOne(t *testing.T) {
	for n, want := range map[int64]string{0: "0 orders", 1: "1 order", 2: "2 orders", 1001: "1,001 orders"} {
		if got := some(n, "order"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	var out bytes.Buffer
	a := &app{out: &out}
	var r report
	r.Decisions, r.Replayed, r.Rows.Units = map[string]int64{"CONFIRMED": 1}, 1, 1
	r.Holding.Top = append(r.Holding.Top, struct {
		User    string `json:"user_id"`
		Orders  int64  `json:"orders"`
		Unpaid  int64  `json:"unpaid_units"`
		Expired int64  `json:"expired_units"`
	}{"u", 1, 1, 0})
	r.Holding.TopUnits, r.Holding.ExpiredUnits = 1, 1
	a.showReport(r)
	for _, plural := range []string{"1 orders", "1 units", "1 recorded answers", "1 holders"} {
		if strings.Contains(out.String(), plural) {
			t.Errorf("%q in:\n%s", plural, out.String())
		}
	}
	if !strings.Contains(out.String(), "u: 1 order, 1 unit unpaid, 0 expired") {
		t.Errorf("the holders are not told:\n%s", out.String())
	}
}
