package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/api"
)

// onePage is a sale page of one file.
type onePage struct{}

func (onePage) File(path, accept string) (http.Header, []byte, bool) {
	if path != "/" {
		return nil, nil, false
	}
	h := http.Header{"Content-Type": {"text/html"}, "Etag": {`"t"`}, "Cache-Control": {"public"}, "Content-Length": {"99"}}
	if accept != "" {
		h.Set("Content-Encoding", accept)
	}
	return h, []byte("<p>"), true
}

type tokens struct{}

func (tokens) Token(user string) (string, time.Time, error) {
	return "token of " + user, newClock().now().Add(time.Hour), nil
}

func TestPage(t *testing.T) {
	p := public(t, api.PublicConfig{}, api.PublicDeps{Pages: onePage{}})
	got := do(p, peer, "GET", "/", "", "Accept-Encoding: gzip")
	if got.status != 200 || got.body != "<p>" || got.header("Content-Type") != "text/html" ||
		got.header("Content-Encoding") != "gzip" || got.header("Cache-Control") != "public" ||
		got.header("Set-Cookie") != "" {
		t.Errorf("%+v", got)
	}
	if got := do(p, peer, "GET", "/", "", `If-None-Match: "t"`); got.status != 304 || got.body != "" {
		t.Errorf("known: %+v", got)
	}
	if got := do(p, peer, "HEAD", "/", ""); got.status != 200 {
		t.Errorf("HEAD: %+v", got)
	}
	for _, tt := range []struct{ method, path string }{{"POST", "/"}, {"GET", "/x"}, {"GET", "//"}} {
		if got := do(p, peer, tt.method, tt.path, ""); got.status != 404 {
			t.Errorf("%s %s: %d", tt.method, tt.path, got.status)
		}
	}
	bare := public(t, api.PublicConfig{}, api.PublicDeps{})
	if got := do(bare, peer, "GET", "/", ""); got.status != 404 {
		t.Errorf("no page: %d", got.status)
	}
}

const atHome = "Host: localhost:8080"

// TestDevToken: a token for any name exists only where it is wanted, and not for whoever comes through a proxy or by a
// name that a stranger has pointed at this machine.
func TestDevToken(t *testing.T) {
	p := public(t, api.PublicConfig{}, api.PublicDeps{SignIn: tokens{}})
	got := do(p, peer, "POST", "/v1/dev/token", `{"user":"李四"}`, isJSON, atHome)
	if got.status != 200 || !strings.Contains(got.body, `"token":"token of 李四"`) ||
		got.header("Cache-Control") != "no-store" {
		t.Errorf("%+v", got)
	}
	for body, status := range map[string]int{
		`{"user":""}`: 422, `{}`: 422, `{"user":"` + strings.Repeat("李", 22) + `"}`: 422, `{"user":"a\u0000b"}`: 422,
	} {
		if got := do(p, peer, "POST", "/v1/dev/token", body, isJSON, atHome); got.status != status {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "127.8.9.1": 200,
		"evil.example": 404, "evil.example:8080": 404, "127.0.0.1.evil.example": 404, "localhost.evil.example": 404,
		"192.0.2.7:8080": 404, "[2001:db8::1]:8080": 404, "": 404, "localhost@evil.example": 404, "0.0.0.0": 404,
	} {
		got := do(p, peer, "POST", "/v1/dev/token", `{"user":"u"}`, isJSON, "Host: "+host)
		if got.status != status {
			t.Errorf("Host %q: %d %s", host, got.status, got.body)
		}
	}
	proxied := []string{"X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "X-Real-Ip: 192.0.2.1", "Via: x"}
	for _, h := range proxied {
		if got := do(p, peer, "POST", "/v1/dev/token", `{"user":"u"}`, isJSON, atHome, h); got.status != 404 {
			t.Errorf("%s: %d", h, got.status)
		}
	}
	off := public(t, api.PublicConfig{}, api.PublicDeps{})
	if got := do(off, peer, "POST", "/v1/dev/token", `{"user":"u"}`, isJSON); got.status != 404 ||
		!strings.Contains(got.body, "NO_DEV_SIGN_IN") {
		t.Errorf("off: %d %s", got.status, got.body)
	}
}
