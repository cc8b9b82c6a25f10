package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// TestEveryRoleOnEveryCall: each call of the operators' listener, with a key of each role. The golden file says what
// the least role is; every role below it, and merchants, get 403 before anything is looked at, and no other one does.
func TestEveryRoleOnEveryCall(t *testing.T) {
	ladder := []sluice.Role{sluice.RoleViewer, sluice.RoleSupport, sluice.RoleOperator, sluice.RoleAdmin}
	a := operators(t, api.AdminConfig{}, everyPort(t))
	calls := []string{"GET /debug/pprof/heap"} // not described
	for path, item := range a.AdminOpenAPI().Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if operationOf(item, method) != nil {
				calls = append(calls, method+" "+path)
			}
		}
	}
	slices.SortFunc(calls, func(x, y string) int {
		_, px, _ := strings.Cut(x, " ")
		_, py, _ := strings.Cut(y, " ")
		if px != py {
			return strings.Compare(px, py)
		}
		return strings.Compare(x, y)
	})
	var table strings.Builder
	for n, call := range calls {
		method, path, _ := strings.Cut(call, " ")
		if noKey(method, path) {
			fmt.Fprintf(&table, "%-9s %s\n", "anybody", call)
			continue
		}
		uri := strings.NewReplacer("{", "", "}", "").Replace(path)
		least := "nobody"
		for _, role := range slices.Backward(ladder) {
			if got := askFrom(a, n, method, uri, as(string(role))); got.status == http.StatusForbidden {
				break
			}
			least = string(role)
		}
		for _, role := range append(ladder, sluice.RoleMerchant) {
			got := askFrom(a, n, method, uri, as(string(role)))
			if may := role.Covers(sluice.Role(least)); may == (got.status == http.StatusForbidden) ||
				got.status == http.StatusUnauthorized {
				t.Errorf("%s as %s: %d, and the least role is %s", call, role, got.status, least)
			}
		}
		fmt.Fprintf(&table, "%-9s %s\n", least, call)
	}
	golden(t, "testdata/roles.txt", []byte(table.String()))
}
