package api_test

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice/internal/api"
)

func timeCtx(uri string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.SetRequestURI(uri)
	req.Header.SetHost("sluice.test")
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 4711}, nil)
	return &ctx
}

// TestTimeTellsOfOpenPages: who asks for the time in the name of an open page is counted for its campaign; everybody
// gets the time; neither costs memory.
func TestTimeTellsOfOpenPages(t *testing.T) {
	var told []string
	note := func(campaign string) { told = append(told, strings.Clone(campaign)) }
	p := public(t, api.PublicConfig{OnPage: note}, api.PublicDeps{})
	const path = "/v1/time"
	for _, uri := range []string{path, path + "?campaign=spring", path + "?campaign=", path + "?campaign=a%20b"} {
		ctx := timeCtx(uri)
		p.Handle(ctx)
		body, status := string(ctx.Response.Body()), ctx.Response.StatusCode()
		if status != 200 || !strings.Contains(body, "server_time_ms") {
			t.Errorf("%s: %d %s", uri, status, body)
		}
	}
	if want := []string{"spring", "a b"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	n := 0
	p = public(t, api.PublicConfig{OnPage: func(string) { n++ }}, api.PublicDeps{})
	for _, uri := range []string{"/v1/time", "/v1/time?campaign=spring"} {
		ctx := timeCtx(uri)
		got := testing.AllocsPerRun(1000, func() {
			ctx.Response.Reset()
			p.Handle(ctx)
		})
		if got != 0 && !raceDetector {
			t.Errorf("%s allocates %v times", uri, got)
		}
	}
	if n != 1001 { // AllocsPerRun runs it once more
		t.Errorf("told %d times", n)
	}
}
