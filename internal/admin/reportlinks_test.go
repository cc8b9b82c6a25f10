package admin_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// share makes a link to the report of spring and gives its secret and id.
func (s *stack) share(body object) (secret, id string) {
	s.t.Helper()
	a := s.want(201, "POST", "/v1/admin/campaigns/spring/report/links", body)
	path, secret, ok := strings.Cut(a.get(s.t, "path").(string), "#")
	if !ok || path != "/shared/report" || !regexp.MustCompile(`^slr_[A-Za-z0-9_-]{43}$`).MatchString(secret) {
		s.t.Fatalf("the link: %s", a.body)
	}
	return secret, a.get(s.t, "id").(string)
}

// key makes an API key of a role and gives it.
func (s *stack) key(name, role string) string {
	s.t.Helper()
	return s.want(201, "POST", "/v1/admin/api-keys", object{"name": name, "role": role}).get(s.t, "key").(string)
}

func TestALinkShowsOneReportAndNothingElse(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("autumn", 7))
	s.want(200, "POST", "/v1/admin/campaigns/spring/grants",
		object{"grant_id": "g1", "user_id": "zhang-san-4711", "quantity": 2})
	secret, id := s.share(object{"note": "for the board", "reason": "they asked"})
	operator := s.key("Olga the operator", "operator")

	a := s.call(secret, "GET", "/v1/admin/shared/report", nil)
	if a.status != 200 || a.get(t, "campaign.id") != "spring" || a.get(t, "rows.grants") != 1.0 ||
		a.get(t, "verification.ok") != true || a.get(t, "verification.total") != 100.0 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for header, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%s is %q", header, got)
		}
	}
	want := s.want(200, "GET", "/v1/admin/campaigns/spring/report", nil)
	for _, part := range []string{"decisions", "rows", "money", "buckets", "sell_out_ms", "campaign.title"} {
		if fmt.Sprint(a.get(t, part)) != fmt.Sprint(want.get(t, part)) {
			t.Errorf("%s is %v, for operators %v", part, a.get(t, part), want.get(t, part))
		}
	}
	csv := s.call(secret, "GET", "/v1/admin/shared/report.csv?part=seconds", nil)
	if csv.status != 200 || !strings.HasPrefix(csv.header.Get("Content-Type"), "text/csv") {
		t.Errorf("%d %s", csv.status, csv.body)
	}
	// Nothing about persons: neither the buyer, who is in the rows, nor whoever made the link.
	figures := s.call(secret, "GET", "/v1/admin/shared/report.csv", nil)
	for _, body := range [][]byte{a.body, csv.body, figures.body} {
		for _, never := range []string{"zhang-san", "user_id", "bootstrap", "holding", "state_note", "the board", "autumn"} {
			if strings.Contains(string(body), never) {
				t.Errorf("it shows %q: %s", never, body)
			}
		}
	}
	// The secret opens nothing else, and no key opens this.
	for _, path := range []string{"/v1/admin/campaigns/spring/report", "/v1/admin/campaigns", "/v1/admin/sessions/current",
		"/v1/admin/campaigns/spring/report/links"} {
		if a := s.call(secret, "GET", path, nil); a.status != 401 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.call(operator, "GET", "/v1/admin/shared/report", nil); a.status != 401 || a.get(t, "code") != "LINK_ENDED" {
		t.Errorf("with a key: %d %s", a.status, a.body)
	}
	// Kept is nothing that opens it: the ledger's file has the hash and not the secret.
	a = s.want(200, "GET", "/v1/admin/campaigns/spring/report/links", nil)
	if a.get(t, "items.0.id") != id || a.get(t, "items.0.note") != "for the board" ||
		a.get(t, "items.0.author") != "bootstrap" || strings.Contains(string(a.body), "slr_") {
		t.Errorf("the list: %s", a.body)
	}
	a = s.want(200, "GET", "/v1/admin/audit-log?action=report_link.*", nil)
	if a.get(t, "items.0.action") != "report_link.create" || a.get(t, "items.0.reason") != "they asked" ||
		strings.Contains(string(a.body), "slr_") {
		t.Errorf("the audit log: %s", a.body)
	}
}

func TestALinkEnds(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	over := func(secret string) string {
		t.Helper()
		a := s.call(secret, "GET", "/v1/admin/shared/report", nil)
		if a.status != 401 || a.get(t, "code") != "LINK_ENDED" {
			t.Errorf("%d %s", a.status, a.body)
		}
		return fmt.Sprint(a.get(t, "code"), a.get(t, "title"), a.get(t, "detail"))
	}
	works := func(secret string) {
		t.Helper()
		if a := s.call(secret, "GET", "/v1/admin/shared/report", nil); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	week, _ := s.share(object{})
	hour, _ := s.share(object{"life_s": 3600})
	taken, id := s.share(object{"life_s": 7776000})
	for _, secret := range []string{week, hour, taken} {
		works(secret)
	}
	s.want(200, "DELETE", "/v1/admin/campaigns/spring/report/links/"+id+"?reason=it+leaked", nil)
	s.want(404, "DELETE", "/v1/admin/campaigns/spring/report/links/"+id, nil)
	answers := []string{over(taken)}
	s.clock.add(time.Hour - time.Millisecond)
	works(hour)
	s.clock.add(time.Millisecond)
	answers = append(answers, over(hour))
	works(week)
	s.clock.add(7*24*time.Hour - time.Hour)
	wrong := sluice.LinkSecretPrefix + strings.Repeat("A", 43)
	answers = append(answers, over(week), over(wrong), over("slr_"), over(bootstrapKey))
	if len(slices.Compact(answers)) != 1 {
		t.Errorf("the answer tells why: %q", answers)
	}
	if a := s.want(200, "GET", "/v1/admin/campaigns/spring/report/links", nil); string(a.body) != "{\"items\":[]}\n" {
		t.Errorf("in force are %s", a.body)
	}
	a := s.want(200, "GET", "/v1/admin/audit-log?action=report_link.delete", nil)
	if a.get(t, "items.0.reason") != "it leaked" || a.get(t, "items.0.before.id") != id {
		t.Errorf("the audit log: %s", a.body)
	}
	for i := 0; ; i++ { // whoever guesses is held back, and does not keep operators out
		a := s.call(fmt.Sprintf("slr_%043d", i), "GET", "/v1/admin/shared/report", nil)
		if a.status == 429 && a.get(t, "retry_after_ms") != nil {
			break
		}
		if a.status != 401 || i > 50 {
			t.Fatalf("guess %d: %d %s", i, a.status, a.body)
		}
	}
	s.want(200, "GET", "/v1/admin/campaigns", nil)
}

func TestWhoMayShareAReport(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	const links = "/v1/admin/campaigns/spring/report/links"
	viewer, support, operator := s.key("v", "viewer"), s.key("s", "support"), s.key("Olga", "operator")
	for _, key := range []string{viewer, support} {
		if a := s.call(key, "POST", links, object{}); a.status != 403 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	a := s.call(operator, "POST", links, object{})
	if a.status != 201 || a.get(t, "author") != "Olga" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	at := links + "/" + a.get(t, "id").(string)
	if a := s.call(viewer, "DELETE", at, nil); a.status != 403 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.call(viewer, "GET", links, nil); a.status != 200 || a.get(t, "items.0.author") != "Olga" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.call(operator, "DELETE", at, nil); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for name, body := range map[string]object{
		"short": {"life_s": 3599}, "long": {"life_s": 7776001}, "before": {"life_s": -1}, "overflow": {"life_s": 1 << 62},
		"note": {"note": strings.Repeat("n", 101)}, "control": {"note": "a\nb"}, "field": {"ttl": 1},
		"reason": {"reason": strings.Repeat("r", 501)},
	} {
		if a := s.call(operator, "POST", links, body); a.status != 422 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	s.want(404, "POST", "/v1/admin/campaigns/nope/report/links", object{})
	s.want(404, "GET", "/v1/admin/campaigns/nope/report/links", nil)
	for range sluice.MaxReportLinks {
		s.want(201, "POST", links, object{})
	}
	if a := s.want(409, "POST", links, object{}); a.get(t, "code") != "TOO_MANY_LINKS" {
		t.Errorf("one too many: %s", a.body)
	}
	if a := s.call("", "GET", "/v1/admin/shared/report", nil); a.status != 401 {
		t.Errorf("without anything: %d", a.status)
	}
	if a := s.call(strings.Repeat("x", 200), "GET", "/v1/admin/shared/report", nil); a.status != 422 && a.status != 401 {
		t.Errorf("a long one: %d %s", a.status, a.body)
	}
}
