package admin

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// faults gathers what is wrong with a body, so that all of it is reported at once.
type faults []sluice.FieldFault

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, sluice.FieldFault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (f *faults) err() error { return sluice.Invalid(*f...) }

// bodyFault is a fault of an upload as a whole.
func bodyFault(format string, args ...any) error {
	return sluice.Invalid(sluice.FieldFault{Field: "body", Detail: fmt.Sprintf(format, args...)})
}

// full refuses to add to what has reached its bound.
func full(code, what string, most int) error {
	return sluice.NewFault(sluice.ErrConflict, code, fmt.Sprintf("there are %d %s, which is the most", most, what))
}

// within checks a number against its bounds.
func within[N int | int64 | float64](f *faults, field string, v, low, high N) {
	if !(v >= low && v <= high) { // written so that NaN fails
		f.add(field, "must be from %v to %v, and is %v", low, high, v)
	}
}

// text checks a line of text: valid UTF-8 without control characters, of low to high bytes.
func (f *faults) text(field, v string, low, high int) {
	switch {
	case v == "" && low > 0:
		f.add(field, "is required, up to %d bytes", high)
	case len(v) > high:
		f.add(field, "must be at most %d bytes, and has %d", high, len(v))
	case !plain(v):
		f.add(field, "must be UTF-8 without control characters")
	}
}

func plain(v string) bool {
	return utf8.ValidString(v) && !strings.ContainsFunc(v, unicode.IsControl)
}

// id checks an id that stands in paths: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
func (f *faults) id(field, v string, high int) {
	ok := v != "" && len(v) <= high && !strings.ContainsRune("._-", rune(v[0]))
	for i := 0; ok && i < len(v); i++ {
		c := v[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		f.add(field, "must be 1 to %d of A-Z a-z 0-9 . _ -, and begin with a letter or digit", high)
	}
}

// currency checks that v has the shape of an ISO 4217 code.
func (f *faults) currency(field, v string) {
	ok := len(v) == 3
	for i := 0; ok && i < 3; i++ {
		ok = v[i] >= 'A' && v[i] <= 'Z'
	}
	if !ok {
		f.add(field, "must be three capital letters (ISO 4217), such as CNY")
	}
}

// image checks a link to an image: http, https or relative, so that a page may show it as it stands.
func (f *faults) image(field, v string) {
	if v == "" {
		return
	}
	before := len(*f)
	if f.text(field, v, 0, sluice.MaxURL); len(*f) > before {
		return
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || strings.ContainsAny(v, " \\\"'<>"):
		f.add(field, "must be a URL")
	case u.Scheme == "http" || u.Scheme == "https":
		if u.Host == "" {
			f.add(field, "must name a host")
		}
	case u.Scheme != "" || u.Host != "" || u.Path == "":
		f.add(field, "must be http, https or a relative path")
	}
}
