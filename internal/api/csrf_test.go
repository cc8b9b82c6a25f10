package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// oneSession is a desk at which one secret stands for an admin.
type oneSession struct {
	api.SessionDesk
	secret string
}

func (d oneSession) Who(_ context.Context, secret string) (sluice.APIKey, sluice.Session, error) {
	if secret != d.secret {
		return sluice.APIKey{}, sluice.Session{}, sluice.ErrNotFound
	}
	return sluice.APIKey{ID: "boss", Role: sluice.RoleAdmin}, sluice.Session{ID: "s1"}, nil
}

// TestEveryChangeByCookieNeedsItsToken: a call that changes anything, made with nothing but the session's cookie, is
// refused before anything is looked at: that is what another site's page could have a browser send. None is left out.
func TestEveryChangeByCookieNeedsItsToken(t *testing.T) {
	ports := everyPort(t)
	ports.Sessions = oneSession{secret: "secret"}
	a := operators(t, api.AdminConfig{}, ports)
	cookie := "Cookie: sluice_session=secret"
	n := 0
	for path, item := range a.AdminOpenAPI().Paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if operationOf(item, method) == nil || method+" "+path == "POST /v1/admin/sessions" { // the key is in the body
				continue
			}
			n++
			uri := strings.NewReplacer("{", "", "}", "").Replace(path)
			for _, tt := range []struct {
				header, code string
			}{
				{"Accept: */*", "CSRF_TOKEN"}, {"X-CSRF-Token: " + strings.Repeat("0", 64), "CSRF_TOKEN"},
				{"Origin: https://evil.example", "FOREIGN_SITE"}, {"Sec-Fetch-Site: same-site", "FOREIGN_SITE"},
			} {
				got := askFrom(a, n, method, uri, cookie, tt.header)
				if got.status != http.StatusForbidden || !strings.Contains(got.body, tt.code) {
					t.Errorf("%s %s, %s: %d %s", method, path, tt.header, got.status, got.body)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d calls change something", n)
	}
}
