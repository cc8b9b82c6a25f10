package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// areaOf gives the area of a tag: "dead-letters" of "Dead letters". The tags of the operators' description are the one
// list of areas that a key's scope may name.
func areaOf(tag string) string { return strings.ToLower(strings.ReplaceAll(tag, " ", "-")) }

// inScope refuses a call that is outside of a key's scope: it has to allow every area that the call has a tag of. A
// call changes something unless its method is GET or HEAD.
func inScope(scope sluice.KeyScope, method string, tags []string) error {
	if !scope.Narrow() {
		return nil
	}
	changes := method != http.MethodGet && method != http.MethodHead
	for _, tag := range tags {
		area := areaOf(tag)
		switch {
		case !scope.Allows(area, false):
			return outOfScope("this call is of the area "+area, scope)
		case !scope.Allows(area, changes):
			return outOfScope("this call of the area "+area+" changes something", scope)
		}
	}
	return nil
}

// outOfScope tells what is refused, and what the key's scope is.
func outOfScope(what string, scope sluice.KeyScope) *Problem {
	return newProblem(http.StatusForbidden, codeOutOfScope, what+"; the scope of the key is: "+scope.String())
}

// withoutScope marks a call that a key may make whatever its scope is: those without which nobody could sign in, look
// round and sign out, and which tell of nobody else.
func withoutScope(o huma.Operation) huma.Operation {
	o.Metadata[unscoped] = true
	o.Extensions = map[string]any{anyScope: true}
	return o
}

// areas gives every area of the description, in alphabetical order.
func areas(doc *huma.OpenAPI) []string {
	var all []string
	for _, item := range doc.Paths {
		for _, o := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if o == nil || o.Extensions[anyScope] != nil {
				continue
			}
			for _, tag := range o.Tags {
				all = append(all, areaOf(tag))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
