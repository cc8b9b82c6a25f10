package admin_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestExportsAreSafeInASpreadsheet: what people wrote is never taken for a formula, and numbers stay numbers.
func TestExportsAreSafeInASpreadsheet(t *testing.T) {
	s := newStack(t)
	for i, title := range []string{`=cmd|' /C calc'!A0`, "+1+1", "-2+3", "@SUM(A1)", "  =1", "＝1",
		"plain, 中文 \"quoted\""} {
		id := "c" + string(rune('a'+i))
		body := goodsBody(id, 5)
		body["title"] = title
		s.want(201, "POST", "/v1/admin/campaigns", body)
		a := s.want(200, "GET", "/v1/admin/campaigns/"+id+"/report.csv", nil)
		if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
			t.Errorf("type %q", kind)
		}
		if d := a.header.Get("Content-Disposition"); d != `attachment; filename="`+id+`-report.csv"` {
			t.Errorf("disposition %q", d)
		}
		rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(a.body, []byte("\ufeff")))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		figures := map[string]string{}
		for _, row := range rows {
			figures[row[0]] = row[1]
			if strings.ContainsAny(row[1][:min(1, len(row[1]))], "=+@\t") {
				t.Errorf("a formula: %q", row[1])
			}
		}
		if got := strings.TrimPrefix(figures["title"], "'"); got != title || figures["total"] != "5" ||
			figures["verified"] != "true" {
			t.Errorf("%q: %v", title, figures)
		}
	}
	s.sell("ca")
	a := s.want(200, "GET", "/v1/admin/campaigns/ca/report.csv?part=seconds", nil)
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(a.body, []byte("\ufeff")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	decided := 0
	for _, row := range rows[1:] { // more than one, where a commit is slow
		n, e := strconv.Atoi(row[2])
		decided, err = decided+n, errors.Join(err, e)
	}
	if err != nil || decided != 10 || !strings.Contains(strings.Join(rows[0], ","), "SOLD_OUT") {
		t.Errorf("%v %v", rows, err)
	}
	if a := s.want(200, "GET", "/v1/admin/audit-log.csv", nil); !strings.Contains(string(a.body), "campaign.create") {
		t.Errorf("%s", a.body)
	}
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("later", 5))
	a = s.want(200, "GET", "/v1/admin/audit-log.json?object=campaign/ca", nil)
	var log []struct{ Action, Object string }
	if err := json.Unmarshal(a.body, &log); err != nil || len(log) == 0 || log[len(log)-1].Action != "campaign.create" {
		t.Errorf("%v: %s", err, a.body)
	}
	for _, e := range log {
		if e.Object != "campaign/ca" {
			t.Errorf("the filter let %q through", e.Object)
		}
	}
	if d := a.header.Get("Content-Disposition"); d != `attachment; filename="audit-log.json"` {
		t.Errorf("disposition %q", d)
	}
	if a := s.want(200, "GET", "/v1/admin/audit-log.json?action=never", nil); strings.TrimSpace(string(a.body)) != "[]" {
		t.Errorf("nothing fits: %s", a.body)
	}
}
