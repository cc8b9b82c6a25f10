package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// signed gives the header of a notification.
func signed(secret, body string, at time.Time) string {
	stamp := fmt.Sprint(at.Unix())
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(stamp + "." + body))
	return "Sluice-Signature: t=" + stamp + ",v1=" + hex.EncodeToString(h.Sum(nil))
}

// everyPublicPort has ports that panic when they are used: what is broken must not reach them.
func everyPublicPort() api.PublicDeps {
	return api.PublicDeps{
		Gate: &fakeGate{campaign: spring()}, Keys: keys(), Claims: struct{ api.Claims }{},
		Campaigns: struct{ api.Campaigns }{}, Orders: struct{ api.Orders }{}, Coupons: struct{ api.Coupons }{},
	}
}

// TestBrokenBodiesOnEveryPublicRoute sends each kind of broken body, well authenticated, to each route that takes one.
func TestBrokenBodiesOnEveryPublicRoute(t *testing.T) {
	p := public(t, api.PublicConfig{PaymentSecrets: [][]byte{[]byte("s")}}, everyPublicPort())
	n := 0
	for path, item := range api.PublicOpenAPI().Paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			o := operationOf(item, method)
			if o == nil || o.RequestBody == nil {
				continue
			}
			n++
			uri := strings.NewReplacer("{id}", "spring", "{code}", "0123456789ABCDEF", "{", "", "}", "").Replace(path)
			for body, status := range map[string]int{
				`{`: 400, `{}{}`: 400, "\xff": 400, strings.Repeat("[", 5000): 400, `{"zzz":` + strings.Repeat("[", 40): 400,
				`[]`: 422, `null`: 422, `"x"`: 422, `7`: 422, `{"zzz":1}`: 422, `{"zzz":1,"zzz":2}`: 422,
				`{"reference":7,"quantity":"x"}`: 422, `{"reference":"r","merchant_id":null}`: 422,
				strings.Repeat("x", 100<<10): 413,
			} {
				who := as("merchant")
				if len(o.Security) > 0 && o.Security[0]["buyer"] != nil {
					who = alice
				}
				got := do(p, peer, method, uri, body, isJSON, who, signed("s", body, time.Now()))
				if got.status != status || got.header("Content-Type") != "application/problem+json" {
					t.Errorf("%s %s with %.20q: %d, want %d: %.200s", method, path, body, got.status, status, got.body)
				}
			}
			got := do(p, peer, method, uri, `{}`, "Content-Type: text/plain", alice, signed("s", `{}`, time.Now()))
			if (len(o.Security) == 0 || o.Security[0]["merchant"] == nil) && got.status != 415 {
				t.Errorf("%s %s as text: %d", method, path, got.status)
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d routes with a body", n)
	}
}

// TestNullIsNoWayToTakeSomethingAway: a field that is null would count as absent, and a change of it as made.
func TestNullIsNoWayToTakeSomethingAway(t *testing.T) {
	a := operators(t, api.AdminConfig{}, everyPort(t)) // its ports panic when they are used
	for _, tt := range []struct{ method, uri, body string }{
		{"PATCH", "/v1/admin/campaigns/spring", `{"eligibility":null}`},
		{"PATCH", "/v1/admin/campaigns/spring", `{"protection":{"max_rate":null}}`},
		{"POST", "/v1/admin/campaigns/spring/grants", `{"user_id":"u","grant_id":"g","quantity":null}`},
		{"POST", "/v1/admin/blocklist", `{"scope":"user","value":"u","expires_at":null}`},
	} {
		got := ask(a, tt.method, tt.uri, tt.body, as("admin"), isJSON)
		if got.status != 400 || !strings.Contains(got.body, "must not be null") {
			t.Errorf("%s: %d %s", tt.body, got.status, got.body)
		}
	}
}

// FuzzQuery: whatever stands in the path, query and headers, the answer is one of the listener's own, in JSON, and
// no 500.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"/v1/campaigns?limit=1&cursor=x", "/v1/claims/clm_1?wait_ms=-1", "/v1/campaigns/%00/claims?request_id=%ff", "/%2f%2f",
		"//x//", "/v1/campaigns/spring/claims?request_id=r&request_id=s", "/v1/time#x", "*", "http://x/v1/time",
		"/v1/campaigns/..", "/v1/campaigns?limit=%", "/v1/campaigns?&&==", "/v1/me/orders?limit=1e9",
		"/v1/me/coupons?cursor=" + strings.Repeat("9", 99),
	} {
		f.Add(s, "en")
	}
	deps := everyPublicPort()
	deps.Claims, deps.Campaigns = &fakeClaims{}, &fakeCampaigns{views: []sluice.CampaignView{view("spring", nil)}}
	deps.Orders, deps.Coupons = nil, nil
	p := public(f, api.PublicConfig{}, deps)
	f.Fuzz(func(t *testing.T, uri, header string) {
		if strings.ContainsAny(uri+header, "\r\n") || len(uri) > 3000 {
			return
		}
		got := do(p, peer, "GET", uri, "", alice, "Accept-Language: "+header, "X-Forwarded-For: "+header,
			"X-Request-Id: "+header)
		if !json.Valid([]byte(got.body)) || !utf8.ValidString(got.body) || got.status == 500 {
			t.Fatalf("%q: %d %q", uri, got.status, got.body)
		}
	})
}

// FuzzSignature: no header that was made without the secret lets a payment through, and one that carries a right MAC
// among whatever else does, or is refused: it is never an error of the server.
func FuzzSignature(f *testing.F) {
	at := time.Unix(1_900_000_000, 0)
	body := `{"reference":"p","order_id":"x","amount_minor":1,"currency":"CNY","status":"succeeded"}`
	_, good, _ := strings.Cut(signed("s", body, at), ": ")
	_, other, _ := strings.Cut(signed("t", body, at), ": ")
	for _, s := range []string{
		"", other, "t=,v1=", "t=1900000000,v1=" + strings.Repeat("0", 64), "t=1900000000", ",,,===",
		"t=1900000000,t=1900000000", "v1=zz", "v1=" + strings.Repeat("a", 63), "t=+1900000000", "T=1900000000,V1=0",
	} {
		f.Add(s)
	}
	deps := everyPublicPort()
	deps.Orders = paidOnly{}
	p := public(f, api.PublicConfig{
		PaymentSecrets: [][]byte{[]byte("s")}, Now: func() time.Time { return at },
	}, deps)
	f.Fuzz(func(t *testing.T, header string) {
		if strings.ContainsAny(header, "\r\n") || strings.Contains(header, good[len(good)-64:]) {
			return
		}
		got := do(p, peer, "POST", "/v1/payments/notifications", body, isJSON, "Sluice-Signature: "+header)
		if got.status != 401 {
			t.Fatalf("%q: %d %s", header, got.status, got.body)
		}
		got = do(p, peer, "POST", "/v1/payments/notifications", body, isJSON, "Sluice-Signature: "+good+","+header)
		if got.status != 401 && got.status != 200 {
			t.Fatalf("%q with a right one: %d %s", header, got.status, got.body)
		}
	})
}

// paidOnly takes every payment.
type paidOnly struct{ api.Orders }

func (paidOnly) Notify(context.Context, sluice.Payment) (sluice.Order, error) {
	return sluice.Order{}, nil
}

func TestTLS(t *testing.T) {
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	defer own.Close()
	cert := own.TLS.Certificates[0]
	secure := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	_, addr := serve(t, api.PublicConfig{TLS: secure}, api.PublicDeps{Gate: &fakeGate{}})
	client := own.Client()
	resp, err := client.Get("https://" + addr + "/v1/time")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d, %v", resp.StatusCode, resp.Header)
	}
}

// bulkDesk takes what comes line by line and answers while it reads.
type bulkDesk struct{ api.GrantDesk }

func (bulkDesk) Bulk(_ context.Context, _ string, _ sluice.BulkFormat, body io.Reader, _ sluice.Actor,
	emit func(sluice.GrantResult) error,
) (sluice.GrantTotals, error) {
	buf := make([]byte, 1<<10)
	var lines int64
	for {
		n, err := body.Read(buf)
		lines += int64(strings.Count(string(buf[:n]), "\n"))
		if err != nil {
			return sluice.GrantTotals{Lines: lines}, nil
		}
		if err := emit(sluice.GrantResult{Line: lines}); err != nil {
			return sluice.GrantTotals{}, err
		}
	}
}

// TestBulkStreams: a bulk is larger than the bound of a body, and is answered while it is sent.
func TestBulkStreams(t *testing.T) {
	deps := everyPort(t)
	deps.Grants = bulkDesk{}
	a := operators(t, api.AdminConfig{}, deps)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Serve(ln) }()
	line := `{"grant_id":"g","user_id":"u"}` + "\n"
	body := io.LimitReader(repeat(line), int64(len(line)*100_000))
	req, err := http.NewRequest("POST", "http://"+ln.Addr().String()+"/v1/admin/campaigns/spring/grants/bulk", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Authorization", "Bearer admin")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(all), `"lines":100000`) {
		t.Errorf("%v, %d: …%s", err, resp.StatusCode, all[max(0, len(all)-200):])
	}
	if err := a.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// repeat reads the same text for ever.
func repeat(text string) io.Reader { return &repeater{text: text} }

type repeater struct {
	text string
	at   int
}

func (r *repeater) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}
