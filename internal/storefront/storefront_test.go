package storefront_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice/internal/storefront"
)

func pages(t *testing.T, cfg storefront.Config) *storefront.Pages {
	t.Helper()
	p, err := storefront.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var script = regexp.MustCompile(`src="(/assets/main-[A-Z0-9]{8}\.js)"`)

// TestPaths: every path of the page is the same file, and may be kept for as long as it can be right.
func TestPaths(t *testing.T) {
	p := pages(t, storefront.Config{})
	_, index, _ := p.File("/", "")
	m := script.FindSubmatch(index)
	if m == nil {
		t.Fatalf("no script in %s", index)
	}
	const minute = "public, max-age=60, stale-while-revalidate=300"
	for path, cache := range map[string]string{
		"/": minute, "/orders": minute, "/coupons": minute, "/c/春": minute,
		string(m[1]): "public, max-age=31536000, immutable", "/sdk/sluice.js": "public, max-age=300",
		"/c/": "", "/c/a/b": "", "/assets/x.js": "", "/index.html": "", "/../go.mod": "", "/c": "",
	} {
		h, body, ok := p.File(path, "")
		if ok != (cache != "") || ok && (h.Get("Cache-Control") != cache || len(body) == 0) {
			t.Errorf("%s: %v %v", path, ok, h)
		}
		if ok && strings.HasPrefix(path, "/c/") && !bytes.Equal(body, index) {
			t.Errorf("%s is another page", path)
		}
	}
}

func TestCodings(t *testing.T) {
	p := pages(t, storefront.Config{})
	_, plain, _ := p.File("/", "")
	for accept, want := range map[string]string{
		"": "", "gzip": "gzip", "gzip, deflate, br": "br", "br;q=0, gzip": "gzip", "identity": "", "BR": "br",
	} {
		h, body, ok := p.File("/", accept)
		if !ok || h.Get("Content-Encoding") != want || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, h)
		}
		var err error
		switch want {
		case "gzip":
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		case "br":
			body, err = fasthttp.AppendUnbrotliBytes(nil, body)
		}
		if err != nil || !bytes.Equal(body, plain) {
			t.Errorf("%q: other bytes (%v)", accept, err)
		}
	}
}

// TestPolicy: nothing inline runs, and nobody else's script.
func TestPolicy(t *testing.T) {
	h, page, _ := pages(t, storefront.Config{}).File("/c/x", "")
	policy := h.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") ||
		!strings.Contains(policy, "script-src 'self'; ") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		h.Get("X-Frame-Options") != "DENY" || h.Get("Set-Cookie") != "" {
		t.Errorf("%v", h)
	}
	if bytes.Contains(page, []byte("<script>")) || bytes.Contains(page, []byte(" onclick")) ||
		bytes.Contains(page, []byte("http://")) || bytes.Contains(page, []byte("https://")) {
		t.Errorf("%s", page)
	}
	h, _, _ = pages(t, storefront.Config{
		Verifier: "turnstile", Images: []string{"https://img.shop.example"}, API: "https://api.shop.example",
	}).File("/", "")
	for _, part := range []string{
		"script-src 'self' https://challenges.cloudflare.com;", "frame-src https://challenges.cloudflare.com;",
		"img-src 'self' data: https://img.shop.example;", "connect-src 'self' https://api.shop.example;",
	} {
		if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, part) {
			t.Errorf("%s is not in %s", part, policy)
		}
	}
}

func TestTheme(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := storefront.New(storefront.Config{Theme: dir}); err == nil {
		t.Error("an empty folder is a theme")
	}
	write("theme.css", ":root{--brand:#00474f}")
	write("texts.json", `{"en":{"armed":["Grab it","Limit {l}"],"sales":"Deals"}}`)
	p := pages(t, storefront.Config{Theme: dir})
	_, page, _ := p.File("/", "")
	for _, re := range []string{
		`<link rel="stylesheet" href="(/theme/[0-9a-f]+\.css)">`,
		`<meta name="sluice-texts" content="(/theme/[0-9a-f]+\.json)">`,
	} {
		m := regexp.MustCompile(re).FindSubmatch(page)
		if m == nil {
			t.Fatalf("%s is not in %s", re, page)
		}
		at := string(bytes.Join(m[1:], nil))
		if h, _, ok := p.File(at, ""); !ok || !strings.Contains(h.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %v %v", at, ok, h)
		}
	}
	for _, bad := range []string{
		`[]`, `{"de":{}}`, `{"en":{"armed":["one"]}}`, `{"en":{"armed":7}}`, strings.Repeat(" ", 300<<10),
	} {
		write("texts.json", bad)
		if _, err := storefront.New(storefront.Config{Theme: dir}); err == nil {
			t.Errorf("%.40s is taken", bad)
		}
	}
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	p := pages(t, storefront.Config{API: "https://api.shop.example"})
	files, err := p.Export(dir, []string{"spring"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "404.html", "c/spring/index.html", "orders/index.html"} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		policy := `http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self';`
		if !bytes.Contains(body, []byte(`<meta name="sluice-api" content="https://api.shop.example">`)) ||
			!bytes.Contains(body, []byte(policy)) {
			t.Errorf("%s: %s", name, body)
		}
		if at := script.FindSubmatch(body); at == nil {
			t.Errorf("%s has no script", name)
		} else if _, err := os.Stat(filepath.Join(dir, string(at[1]))); err != nil {
			t.Error(err)
		}
	}
	if len(files) < 8 {
		t.Errorf("only %v", files)
	}
	for _, id := range []string{"..", "a/../../b", "", `a\b`} {
		if _, err := p.Export(dir, []string{id}); err == nil {
			t.Errorf("the campaign %q is a folder", id)
		}
	}
}
