package storefront_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/storefront"
)

// FuzzTexts: what is taken is what the page can show, a text or two for each key, and nothing makes it panic.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"en":{"armed":["a","b"],"sales":"c"}}`, `{"zh-CN":{"x":"春"}}`, `null`, `{"en":null}`, `{"en":{"x":null}}`,
		`{"en":{"x":["a",null]}}`, `{"de":{}}`, `[`, `{"en":{"x":["a","b","c"]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if storefront.CheckTexts(body) != nil {
			return
		}
		var texts map[string]map[string]any
		if err := json.Unmarshal(body, &texts); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		for _, keys := range texts {
			for key, v := range keys {
				list, isList := v.([]any)
				if _, isText := v.(string); isText || isList && len(list) == 2 && text(list[0]) && text(list[1]) {
					continue
				}
				t.Errorf("%q was taken: %s is %v", body, key, v)
			}
		}
	})
}

func text(v any) bool { _, ok := v.(string); return ok }

// FuzzPath: a path gives the page, one of its files, or nothing; never a file outside.
func FuzzPath(f *testing.F) {
	p, err := storefront.New(storefront.Config{})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		"/", "/c/x", "/c/../assets", "/assets/../../go.mod", "/c/%2e%2e", "//", "", "/sdk/sluice.js",
	} {
		f.Add(s, "br, gzip;q=0")
	}
	f.Fuzz(func(t *testing.T, path, accept string) {
		h, body, ok := p.File(path, accept)
		if !ok {
			return
		}
		if len(body) == 0 || h.Get("Content-Type") == "" || h.Get("Etag") == "" {
			t.Errorf("%q: %v", path, h)
		}
		if strings.HasPrefix(h.Get("Content-Type"), "text/html") != (h.Get("Content-Security-Policy") != "") {
			t.Errorf("%q: a page without a policy: %v", path, h)
		}
	})
}
