package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// operatorCall is one call of the operators' description.
type operatorCall struct {
	name, method, uri string
	areas             []string // by its tags
}

func operatorCalls(doc *huma.OpenAPI) (all []operatorCall) {
	for path, item := range doc.Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			o := operationOf(item, method)
			if o == nil {
				continue
			}
			c := operatorCall{name: method + " " + path, method: method}
			c.uri = strings.NewReplacer("{", "", "}", "").Replace(path)
			for _, tag := range o.Tags {
				c.areas = append(c.areas, strings.ReplaceAll(strings.ToLower(tag), " ", "-"))
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y operatorCall) int { return strings.Compare(x.uri+" "+x.method, y.uri+" "+y.method) })
	return all
}

// TestEveryScopeOnEveryCall: each call of the operators' listener, with an administrator's key of each single area, of
// all areas but its own, and of one that only reads. The golden file says of what area each call is. A key without it
// gets 403 before anything is looked at, and no other one does.
func TestEveryScopeOnEveryCall(t *testing.T) {
	known := keys()
	a := operators(t, api.AdminConfig{}, func() api.AdminDeps { d := everyPort(t); d.Keys = known; return d }())
	calls := operatorCalls(a.AdminOpenAPI())
	var areas []string
	for _, c := range calls {
		areas = append(areas, c.areas...)
	}
	slices.Sort(areas)
	areas = slices.Compact(areas)
	key := func(name string, scope sluice.KeyScope) string {
		known[name] = sluice.APIKey{Role: sluice.RoleAdmin, Name: name, Scope: scope}
		return as(name)
	}
	asReader := key("reader", sluice.KeyScope{ReadOnly: true})
	var table strings.Builder
	for n, c := range calls {
		refused := func(as, what string) bool {
			t.Helper()
			got := askFrom(a, n, c.method, c.uri, as)
			if got.status != http.StatusForbidden || strings.HasPrefix(got.field(t, "detail"), "a key cannot give") {
				return false // the latter is about what stands in the body
			}
			if got.field(t, "code") != "OUT_OF_SCOPE" || !strings.Contains(got.field(t, "detail"), what) {
				t.Errorf("%s as %s: %s", c.name, as, got.body)
			}
			return true
		}
		free := slices.Contains([]string{"POST /v1/admin/sessions", "GET /v1/admin/sessions/current",
			"DELETE /v1/admin/sessions/current", "GET /v1/admin/capabilities"}, c.name) ||
			strings.Contains(c.name, " /v1/admin/shared/") // no key opens it
		scope := strings.Join(c.areas, " + ")
		if free {
			scope = "any"
		}
		for _, area := range areas {
			as := key("only "+area, sluice.KeyScope{Areas: []string{area}})
			if want := !free && !slices.Equal(c.areas, []string{area}); refused(as, "; the scope of the key is: "+area) != want {
				t.Errorf("%s for a key of %s only: refused %v", c.name, area, !want)
			}
		}
		for _, own := range c.areas {
			rest := slices.DeleteFunc(slices.Clone(areas), func(area string) bool { return area == own })
			as := key("not "+own, sluice.KeyScope{Areas: rest})
			if refused(as, "this call is of the area "+own+"; the scope of the key is: "+strings.Join(rest, ", ")) == free {
				t.Errorf("%s for a key of all but %s: refused %v", c.name, own, free)
			}
		}
		if all := key("all", sluice.KeyScope{Areas: areas}); refused(all, "") {
			t.Errorf("%s for a key of every area is refused", c.name)
		}
		says := "changes something; the scope of the key is: all, read only"
		if want := !free && c.method != "GET"; refused(asReader, says) != want {
			t.Errorf("%s for a key that only reads: refused %v", c.name, !want)
		}
		fmt.Fprintf(&table, "%-20s %s\n", scope, c.name)
	}
	golden(t, "testdata/scopes.txt", []byte(table.String()))
}

// TestProfilesAreOutsideOfEveryScope: they are not described, so that no scope can name their area.
func TestProfilesAreOutsideOfEveryScope(t *testing.T) {
	known := keys()
	known["narrow"] = sluice.APIKey{Role: sluice.RoleAdmin, Scope: sluice.KeyScope{Areas: []string{"log-level"}}}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Keys: known})
	for who, want := range map[string]int{"admin": 200, "narrow": 403} {
		if got := ask(a, "GET", "/debug/pprof/cmdline", "", as(who)); got.status != want {
			t.Errorf("as %s: %d %s", who, got.status, got.body)
		}
	}
}

// TestRoleBeforeScope: who lacks the role is told so, and nothing of scopes.
func TestRoleBeforeScope(t *testing.T) {
	known := keys()
	known["both"] = sluice.APIKey{Role: sluice.RoleViewer, Scope: sluice.KeyScope{Areas: []string{"campaigns"}}}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Keys: known})
	if got := ask(a, "GET", level, "", as("both")); got.status != 403 || got.field(t, "code") != "FORBIDDEN" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestMerchantsHaveScopesToo: a scope that does not have coupons, or only reads, leaves a merchant's key nothing.
func TestMerchantsHaveScopesToo(t *testing.T) {
	known := fakeKeys{
		"wide":   {Role: sluice.RoleMerchant, MerchantID: "m"},
		"narrow": {Role: sluice.RoleMerchant, MerchantID: "m", Scope: sluice.KeyScope{Areas: []string{"coupons"}}},
		"other":  {Role: sluice.RoleMerchant, MerchantID: "m", Scope: sluice.KeyScope{Areas: []string{"orders"}}},
		"reader": {Role: sluice.RoleMerchant, MerchantID: "m", Scope: sluice.KeyScope{ReadOnly: true}},
	}
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{}, Keys: known, Coupons: struct{ api.Coupons }{}})
	for _, step := range []string{"lock", "unlock", "redeem", "reverse"} {
		for who, want := range map[string]int{"wide": 422, "narrow": 422, "other": 403, "reader": 403} {
			got := do(p, peer, "POST", "/v1/coupons/ABCD/"+step, `{"nothing":1}`, isJSON, as(who))
			if got.status != want || want == 403 && got.field(t, "code") != "OUT_OF_SCOPE" {
				t.Errorf("%s by %s: %d %s", step, who, got.status, got.body)
			}
		}
	}
}
