package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

func TestRoutes(t *testing.T) {
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{campaign: spring()}, Claims: &fakeClaims{}})
	for _, tt := range []struct {
		method, uri string
		status      int
		allow       string
	}{
		{"GET", "/v1/time", 200, ""},
		{"HEAD", "/v1/time", 200, ""},
		{"GET", "/v1/time?x=1", 200, ""},
		{"GET", "/healthz", 200, ""},
		{"POST", "/v1/time", 405, "GET, HEAD, OPTIONS"},
		{"DELETE", claims, 405, "GET, HEAD, OPTIONS, POST"},
		{"BREW", claims, 405, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", claims, 204, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/nothing", 404, ""},
		{"GET", "/", 404, ""},
		{"GET", "", 404, ""},
		{"GET", "/v1", 404, ""},
		{"GET", "/v1/time/", 404, ""},
		{"GET", "/V1/TIME", 404, ""},
		{"GET", "/v1/campaigns//claims", 404, ""},
		{"GET", "/v1/admin/campaigns", 404, ""},
		{"GET", "/metrics", 404, ""},
		{"GET", "/debug/pprof/", 404, ""},
		{"GET", "/" + strings.Repeat("a/", 100), 404, ""},
		{"GET", "/v1/time/../../etc/passwd", 404, ""},
		{"GET", "/v1/campaigns/%2e%2e/time", 200, ""},
		{"GET", "/v1/time?" + strings.Repeat("x", 5000), 414, ""},
	} {
		t.Run(tt.method+" "+tt.uri[:min(len(tt.uri), 40)], func(t *testing.T) {
			got := do(p, peer, tt.method, tt.uri, "", alice)
			if got.status != tt.status || got.header("Allow") != tt.allow {
				t.Errorf("%d, Allow %q: %s", got.status, got.header("Allow"), got.body)
			}
			if tt.status >= 400 && got.header("Content-Type") != "application/problem+json" {
				t.Errorf("Content-Type %q", got.header("Content-Type"))
			}
			if got.header("X-Content-Type-Options") != "nosniff" || got.header("Cache-Control") != "no-store" {
				t.Error("a header that every answer has is missing")
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	p := public(t, api.PublicConfig{}, api.PublicDeps{})
	if id := do(p, peer, "GET", "/v1/time", "", "X-Request-Id: abc-1.2_Z").header("X-Request-Id"); id != "abc-1.2_Z" {
		t.Errorf("a sane id came back as %q", id)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"", "a b", "a\tb", "<script>", strings.Repeat("x", 65), "é"} {
		id := do(p, peer, "GET", "/v1/none", "", "X-Request-Id: "+sent).header("X-Request-Id")
		if id == "" || id == sent || seen[id] {
			t.Errorf("%q became %q", sent, id)
		}
		seen[id] = true
	}
	got := do(p, peer, "GET", "/v1/none", "", "X-Request-Id: abc")
	if got.field(t, "request_id") != "abc" {
		t.Errorf("not in the problem: %s", got.body)
	}
}

func TestPanicsAreAnswered(t *testing.T) {
	gate := &fakeGate{decide: func(context.Context, *sluice.ClaimRequest) sluice.Decision { panic("boom") }}
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: gate})
	got := do(p, peer, "POST", claims, "")
	if got.status != 500 || got.field(t, "code") != "INTERNAL" || strings.Contains(got.body, "boom") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got = do(p, peer, "GET", "/v1/time", ""); got.status != 200 {
		t.Errorf("after it: %d", got.status)
	}
}

// TestACodeIsInNoLog: a coupon's code stands in paths. A panic is logged on either listener with the route alone.
func TestACodeIsInNoLog(t *testing.T) {
	const code = "ABCD-EFGH-JKMN-PQRS"
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := public(t, api.PublicConfig{Logger: logger}, everyPublicPort())
	got := do(p, peer, "POST", "/v1/coupons/"+code+"/unlock", `{"reference":"r"}`, isJSON, as("merchant"))
	if got.status != 500 {
		t.Errorf("public: %d %s", got.status, got.body)
	}
	a := operators(t, api.AdminConfig{Logger: logger}, everyPort(t))
	if got = ask(a, "GET", "/v1/admin/coupons/"+code, "", as("admin")); got.status != 500 {
		t.Errorf("operators: %d %s", got.status, got.body)
	}
	if text := log.String(); strings.Contains(text, code) || strings.Count(text, "/v1/admin/coupons/{code}") < 1 ||
		strings.Count(text, "/v1/coupons/{code}/unlock") < 1 {
		t.Errorf("the log: %s", text)
	}
}

func TestLanguages(t *testing.T) {
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{campaign: spring()}})
	for header, zh := range map[string]bool{
		"": false, "en": false, "zh": true, "zh-CN": true, "ZH-hans-cn": true, "zh-TW": true, "de": false,
		"de, zh;q=0.1":       true,
		"en;q=0.5, zh;q=0.6": true, "zh;q=0.5, en;q=0.6": false, "zh, en": true, "en, zh": false, "zh;q=0": false,
		"zh;q=x": false, "zhx": false, "*": false, ",,,": false, "zh;q=1.0": true, "zh ; q=0.9 , en;q=0.8": true,
		"zh;q=0.001": true, "zh;q=1000": false, strings.Repeat("de,", 500) + "zh": false, ";q=": false, "zh;": true,
	} {
		got := do(p, peer, "POST", claims, "", "Accept-Language: "+header).field(t, "message")
		if (got == "已抢光") != zh || (got == "Sold out") == zh {
			t.Errorf("%q: %q", header, got)
		}
	}
}

func TestClientAddresses(t *testing.T) {
	gate := &fakeGate{}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	p := public(t, api.PublicConfig{TrustedProxies: trusted}, api.PublicDeps{Gate: gate})
	blind := public(t, api.PublicConfig{}, api.PublicDeps{Gate: gate})
	const proxy = "10.0.0.1:99"
	for _, tt := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"nobody says", "198.51.100.7:1", nil, "198.51.100.7"},
		{"a stranger says", "198.51.100.7:1", []string{"203.0.113.9"}, "198.51.100.7"},
		{"a proxy says", proxy, []string{"203.0.113.9"}, "203.0.113.9"},
		{"a proxy says nothing", proxy, nil, "10.0.0.1"},
		{"the client lies to a proxy", proxy, []string{"1.2.3.4, 203.0.113.9"}, "203.0.113.9"},
		{"the client claims to be a proxy", proxy, []string{"10.9.9.9, 203.0.113.9"}, "203.0.113.9"},
		{"two proxies", proxy, []string{"203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"two lines", proxy, []string{"1.2.3.4", "203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"proxies only", proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"rubbish", proxy, []string{"rubbish"}, "10.0.0.1"},
		{"rubbish left of a client", proxy, []string{"rubbish, 203.0.113.9"}, "203.0.113.9"},
		{"rubbish right of a client", proxy, []string{"203.0.113.9, rubbish"}, "10.0.0.1"},
		{"rubbish behind a proxy", proxy, []string{"203.0.113.9, rubbish, 10.0.0.2"}, "10.0.0.2"},
		{"empty entry", proxy, []string{"203.0.113.9, "}, "10.0.0.1"},
		{"with a port", proxy, []string{"203.0.113.9:8443"}, "203.0.113.9"},
		{"IPv6", proxy, []string{"2001:db8::5"}, "2001:db8::5"},
		{"IPv6 with a port", proxy, []string{"[2001:db8::5]:8443"}, "2001:db8::5"},
		{"IPv6 proxy", "[2001:db8:1::1]:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"mapped peer", "[::ffff:10.0.0.1]:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"mapped client", proxy, []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"with a zone", proxy, []string{"fe80::1%eth0"}, "10.0.0.1"},
		{"very long", proxy, []string{strings.Repeat("10.0.0.5, ", 100) + "10.0.0.2"}, "10.0.0.5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var headers []string
			for _, f := range tt.forwarded {
				headers = append(headers, "X-Forwarded-For: "+f)
			}
			do(p, tt.peer, "POST", claims, "", headers...)
			if got, _ := gate.last(); got.Addr.String() != tt.want {
				t.Errorf("%s, want %s", got.Addr, tt.want)
			}
			do(blind, tt.peer, "POST", claims, "", headers...)
			peerAddr := netip.MustParseAddrPort(tt.peer).Addr().Unmap()
			if got, _ := gate.last(); got.Addr != peerAddr {
				t.Errorf("without trusted proxies: %s, want %s", got.Addr, peerAddr)
			}
		})
	}
}

func TestCORS(t *testing.T) {
	const shop, other = "https://shop.example", "https://evil.example"
	named := api.PublicConfig{Origins: []string{shop, "http://localhost:5173"}, AllowCredentials: true}
	for _, tt := range []struct {
		name        string
		cfg         api.PublicConfig
		origin      string
		allowed     string
		credentials string
	}{
		{"off", api.PublicConfig{}, shop, "", ""},
		{"named", named, shop, shop, "true"},
		{"other", named, other, "", ""},
		{"prefix", named, shop + ".evil.example", "", ""},
		{"scheme", named, "http://shop.example", "", ""},
		{"null", named, "null", "", ""},
		{"no origin", named, "", "", ""},
		{"any", api.PublicConfig{Origins: []string{"*"}}, other, "*", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := public(t, tt.cfg, api.PublicDeps{Gate: &fakeGate{}})
			got := do(p, peer, "POST", claims, "", "Origin: "+tt.origin)
			o, c := got.header("Access-Control-Allow-Origin"), got.header("Access-Control-Allow-Credentials")
			if o != tt.allowed || c != tt.credentials {
				t.Errorf("origin %q, credentials %q", o, c)
			}
			pre := do(p, peer, "OPTIONS", claims, "", "Origin: "+tt.origin, "Access-Control-Request-Method: POST")
			methods, age := pre.header("Access-Control-Allow-Methods"), pre.header("Access-Control-Max-Age")
			if (methods != "") != (tt.allowed != "") || (age != "") != (tt.allowed != "") || pre.status != 204 {
				t.Errorf("preflight %d: methods %q, age %q", pre.status, methods, age)
			}
			if len(tt.cfg.Origins) > 0 && tt.allowed != "*" && got.header("Vary") != "Origin" {
				t.Errorf("Vary %q", got.header("Vary"))
			}
		})
	}
	for _, o := range []string{"*", "shop.example", "https://shop.example/", "https://shop.example/path", ""} {
		origins := []string{o}
		if _, err := api.NewPublic(api.PublicConfig{Origins: origins, AllowCredentials: true}, api.PublicDeps{}); err == nil {
			t.Errorf("%q with credentials was let through", origins)
		}
	}
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	gate := &fakeGate{campaign: spring(), decide: func(context.Context, *sluice.ClaimRequest) sluice.Decision {
		entered <- struct{}{}
		<-leave
		return sluice.Refuse(sluice.ReasonSoldOut)
	}}
	p := public(t, api.PublicConfig{MaxClaims: 2}, api.PublicDeps{Gate: gate, Claims: &fakeClaims{}})
	done := make(chan answer, 2)
	for range 2 {
		go func() { done <- do(p, peer, "POST", claims, "") }()
		<-entered
	}
	third := make(chan answer, 1)
	go func() { third <- do(p, peer, "POST", claims, "") }()
	select {
	case got := <-third:
		if got.field(t, "code") != "BUSY" || got.status != 200 || got.header("Retry-After") != "1" {
			t.Errorf("claims are full, and yet: %d %s", got.status, got.body)
		}
	case <-entered:
		t.Error("claims are full, and yet a third one came through")
	}
	if got := do(p, peer, "GET", claims+"?request_id=r", "", alice); got.status != 200 {
		t.Errorf("a result waited for claims: %d", got.status)
	}
	if got := do(p, peer, "GET", "/v1/time", ""); got.status != 200 {
		t.Errorf("the time waited for claims: %d", got.status)
	}
	close(leave)
	for range 2 {
		if got := <-done; got.field(t, "code") != "SOLD_OUT" {
			t.Error(got.body)
		}
	}
}

// serve runs the listener on the loopback.
func serve(t *testing.T, cfg api.PublicConfig, deps api.PublicDeps) (*api.Public, string) {
	t.Helper()
	p := public(t, cfg, deps)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p, ln.Addr().String()
}

// TestStoppedBeforeItServes: a stop may come before the goroutine that serves has run. The address is free after it.
func TestStoppedBeforeItServes(t *testing.T) {
	for range 100 {
		p := public(t, api.PublicConfig{}, api.PublicDeps{})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- p.Serve(ln) }()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("it serves after the stop")
		}
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("the address is not free: %v", err)
		}
	}
}

// raw sends bytes and gives the status line of the answer; "" where the server closed without one.
func raw(t *testing.T, addr string, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }() // the server may close before it has read all of it
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestOversizedAndBrokenRequests(t *testing.T) {
	_, addr := serve(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{campaign: spring()}})
	for _, tt := range []struct{ name, text, status string }{
		{"fine", "GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n", "200"},
		{"long header", "GET /v1/time HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "431"},
		{"many headers", "GET /v1/time HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: y\r\n", 4<<10) + "\r\n", "431"},
		{"long line", "GET /" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", "431"},
		{"long URI", "GET /v1/time?" + strings.Repeat("x", 5<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
		{"announces too much", "POST " + claims + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n", "413"},
		{"no HTTP", "\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n", "400"},
		{"negative length", "POST " + claims + " HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400"},
		{"two lengths", "POST " + claims + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
		{"bad chunk", "POST " + claims + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if line := raw(t, addr, tt.text); !strings.Contains(line, " "+tt.status+" ") {
				t.Errorf("answered %q, want %s", line, tt.status)
			}
		})
	}
}

// TestNothingIsSmuggled: behind a proxy that goes by the length, the second request would be another client's.
func TestNothingIsSmuggled(t *testing.T) {
	_, addr := serve(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{campaign: spring()}})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	inner := "GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n"
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", claims, len(inner)+5, inner)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	all, err := io.ReadAll(conn)
	if err != nil || strings.Count(string(all), "HTTP/1.1 ") != 1 {
		t.Errorf("%v: %s", err, all)
	}
}

// TestConnectionsAreKept: a crowd that looks at the page and then claims does both on one connection.
func TestConnectionsAreKept(t *testing.T) {
	_, addr := serve(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{campaign: spring()}})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(conn)
	for _, text := range []string{
		"GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST " + claims + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"POST " + claims + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.Close {
			t.Errorf("%q: closed %v, %v", text, res.Close, err)
		}
	}
}

// TestSlowLoris: whoever dribbles a request is cut off after the read timeout, in headers and in the body, and an
// idle connection after the idle timeout.
func TestSlowLoris(t *testing.T) {
	_, addr := serve(t, api.PublicConfig{ReadTimeout: 300 * time.Millisecond, IdleTimeout: 300 * time.Millisecond},
		api.PublicDeps{Gate: &fakeGate{campaign: spring()}})
	for name, start := range map[string]string{
		"nothing": "", "line": "GET /v1/", "headers": "GET /v1/time HTTP/1.1\r\nHost: x\r\n",
		"body": "POST " + claims + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"idle": "GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				_, _ = io.WriteString(conn, start)
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for name == "line" || name == "headers" || name == "body" {
					select {
					case <-tick.C:
						_, _ = io.WriteString(conn, "a") // fails once the server has had enough
					case <-stop:
						return
					}
				}
			}()
			_ = conn.SetReadDeadline(began.Add(5 * time.Second))
			_, err = io.Copy(io.Discard, conn)
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("still open after %v", time.Since(began))
			}
		})
	}
}

func TestShutdownFinishesWhatRuns(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	gate := &fakeGate{campaign: spring(), decide: func(ctx context.Context, _ *sluice.ClaimRequest) sluice.Decision {
		close(entered)
		select {
		case <-leave:
			return sluice.Decision{Reason: sluice.ReasonConfirmed}
		case <-ctx.Done():
			return sluice.Decision{Reason: sluice.ReasonUnavailable}
		}
	}}
	p, addr := serve(t, api.PublicConfig{}, api.PublicDeps{Gate: gate})
	status := make(chan string, 1)
	go func() {
		resp, err := http.Post("http://"+addr+claims, "application/json", strings.NewReader("{}"))
		if err != nil {
			status <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		status <- string(body)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- p.Shutdown(context.Background()) }()
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			break // it accepts no more
		}
		_ = conn.Close()
	}
	close(leave)
	if got := <-status; !strings.Contains(got, `"CONFIRMED"`) {
		t.Errorf("the running claim got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
