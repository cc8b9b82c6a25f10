package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice/internal/console"
)

func built() fstest.MapFS {
	return fstest.MapFS{
		"index.html":           {Data: []byte("<!doctype html><title>Sluice</title>")},
		"favicon.svg":          {Data: []byte("<svg/>")},
		"assets/app-abc123.js": {Data: []byte(strings.Repeat("let x = 1;\n", 200))},
	}
}

func TestFiles(t *testing.T) {
	h, err := console.NewOf(built())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, kind, cache string
		status            int
	}{
		{"/", "text/html", "no-cache", 200},
		{"/campaigns/spring.2026/live", "text/html", "no-cache", 200},
		{"/shared/report", "text/html", "no-store", 200},
		{"/favicon.svg", "image/svg+xml", "no-cache", 200},
		{"/robots.txt", "text/plain", "", 404},
		{"/assets/app-abc123.js", "text/javascript", "public, max-age=31536000, immutable", 200},
		{"/assets/app-gone.js", "text/plain", "", 404},
		{"/assets/../../etc/passwd", "text/plain", "", 404},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = tt.path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.HasPrefix(w.Header().Get("Content-Type"), tt.kind) ||
			w.Header().Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d %v", tt.path, w.Code, w.Header())
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'self';") ||
			!strings.Contains(p, "frame-ancestors 'none'") || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: policy %q", tt.path, p)
		}
	}
}

func TestCompression(t *testing.T) {
	h, err := console.NewOf(built())
	if err != nil {
		t.Fatal(err)
	}
	plain := built()["assets/app-abc123.js"].Data
	for _, tt := range []struct {
		accept, coding string
	}{
		{"", ""}, {"gzip, br", "br"}, {"br;q=0, GZIP;q=0.8", "gzip"}, {"gzip", "gzip"}, {"gzip;q=0", ""}, {"identity", ""},
	} {
		r := httptest.NewRequest("GET", "/assets/app-abc123.js", nil)
		r.Header.Set("Accept-Encoding", tt.accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body := io.Reader(w.Body)
		coding := w.Header().Get("Content-Encoding")
		if coding != tt.coding {
			t.Errorf("%q: coding %q, want %q", tt.accept, coding, tt.coding)
		}
		switch coding {
		case "gzip":
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		case "br":
			raw, err := fasthttp.AppendUnbrotliBytes(nil, w.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(raw)
		}
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%q: %d bytes, %v", tt.accept, len(got), err)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("the same again: %d", w.Code)
	}
}

// TestBuiltIn: what is in the binary is whole, and no page has a script inside it.
func TestBuiltIn(t *testing.T) {
	h, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	policy := w.Header().Get("Content-Security-Policy")
	_, scripts, _ := strings.Cut(policy, "script-src ")
	if scripts, _, _ = strings.Cut(scripts, ";"); scripts != "'self'" || strings.Contains(policy, "http") ||
		strings.Contains(policy, "*") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the policy: %s", policy)
	}
	page := w.Body.String()
	if w.Code != 200 || !strings.Contains(page, "Sluice") {
		t.Errorf("%d %s", w.Code, page)
	}
	for piece := range strings.SplitSeq(page, "<script") {
		if tag, body, ok := strings.Cut(piece, ">"); ok && !strings.HasPrefix(piece, "<!") {
			if body, _, _ := strings.Cut(body, "</script"); strings.TrimSpace(body) != "" || !strings.Contains(tag, "src=") {
				t.Errorf("a script inside the page: %s", piece)
			}
		}
	}
	if _, err := console.NewOf(fstest.MapFS{}); err == nil {
		t.Error("nothing is built, and nothing is said")
	}
}
