package api

import (
	"maps"
	"slices"

	"github.com/sluice-sale/sluice"
)

// What the tests look at from outside.

func ReasonStatus(r sluice.Reason, asHTTP bool) (int, bool) { return reasonStatus(r, asHTTP) }

func ReasonText(r sluice.Reason) (en, zh string) { return reasonText[r][langEN], reasonText[r][langZH] }

func AsProblem(err error) *Problem { return asProblem(err) }

// Codes lists the codes of this package.
func Codes() []string { return slices.Sorted(maps.Keys(codeText)) }

// CodeText gives what is written for code itself, not the general sentence for its status.
func CodeText(code string) (en, zh string) {
	if t, ok := codeText[code]; ok {
		return t[langEN], t[langZH]
	}
	if r, ok := sluice.ParseReason(code); ok {
		return ReasonText(r)
	}
	return "", ""
}

// Documented lists method, path and whether the route says all that a reader needs.
func Documented() map[string]bool {
	all := map[string]bool{}
	for _, r := range publicRoutes() {
		all[r.method+" "+r.path] = r.doc.summary != "" && r.doc.tag != "" && r.doc.response != nil
	}
	return all
}
